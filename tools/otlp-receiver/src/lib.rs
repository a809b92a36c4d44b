//! An OTLP receiver in this process, which keeps what comes and fails as it is told: gRPC by `tonic`, HTTP by `axum`.
//!
//! ```no_run
//! use otlp_receiver::{Behaviour, OtlpReceiver, Signal};
//!
//! # fn receive() -> anyhow::Result<()> {
//! let receiver = OtlpReceiver::start()?;
//! receiver.next(Signal::Metrics, Behaviour::Status { code: 14, retry_after: None });
//! // … a sender calls receiver.grpc() …
//! for received in receiver.metrics() {
//!     println!("{} resources at {:?}", received.request.resource_metrics.len(), received.at);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate does not do
//!
//! It verifies no credentials, and undoes no compression but gzip. Of what it was told to refuse it keeps nothing.

mod behaviour;
mod books;
mod grpc;
mod http;
mod receiver;
mod signal;

pub use behaviour::Behaviour;
pub use books::Received;
pub use receiver::OtlpReceiver;
pub use signal::Signal;
