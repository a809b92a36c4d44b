//! How telemetry gets to an OTLP receiver through a proxy's HTTP calls: the request, what an answer means, when to try
//! again, what waits meanwhile, and who of several workers sends.
//!
//! ```
//! use otlp_delivery::{Outcome, Protocol, Reply, judge};
//!
//! let reply = Reply {
//!     headers: vec![(b":status".as_slice(), b"200".as_slice()), (b"content-type", b"application/grpc")],
//!     body: &[],
//!     trailers: vec![(b"grpc-status".as_slice(), b"14".as_slice())],
//! };
//! let verdict = judge(Protocol::Grpc, &reply);
//! assert_eq!(verdict.outcome, Outcome::Unavailable);
//! assert!(verdict.may_retry());
//! ```
//!
//! gRPC goes as an ordinary HTTP request here, framed by [`request`]: the calls that proxies offer for gRPC hide the
//! trailers, and with them the receiver's word on when to try again.
//!
//! # What this crate does not do
//!
//! It sends nothing, reads no clock and draws no random numbers: the caller passes them. It knows no metric, span or
//! log record; messages are bytes.
//!
//! # Limits
//!
//! - Messages of receivers are cut at 256 bytes, their control characters replaced.
//! - A receiver can ask for a pause of at most five minutes.
//! - Answers of more than one gRPC message count as unreadable, and so do those in a coding that `body-decompression`
//!   does not know.

mod backoff;
mod grpc_status;
mod gzip;
mod lease;
mod outcome;
mod partial_success;
mod protocol;
mod reply;
mod ring;

pub use backoff::Pace;
pub use lease::{Held, Lease, Wait};
pub use outcome::{Outcome, Verdict};
pub use protocol::{Compression, Protocol, Request, Signal, Target, request};
pub use reply::{Reply, judge};
pub use ring::{Extent, Ring};
