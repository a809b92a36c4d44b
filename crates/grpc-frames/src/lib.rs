//! Cuts a gRPC body into its messages, in constant memory.
//!
//! ```
//! use grpc_frames::{FrameHead, GrpcFrames, Sink};
//!
//! #[derive(Default)]
//! struct Messages(Vec<(FrameHead, Vec<u8>)>);
//!
//! impl Sink for Messages {
//!     fn begin(&mut self, head: FrameHead) {
//!         self.0.push((head, Vec::new()));
//!     }
//!     fn bytes(&mut self, bytes: &[u8]) {
//!         self.0.last_mut().unwrap().1.extend_from_slice(bytes);
//!     }
//!     fn end(&mut self) {}
//! }
//!
//! let mut frames = GrpcFrames::new();
//! let mut messages = Messages::default();
//! frames.push(&[0, 0, 0], &mut messages);
//! frames.push(&[0, 2, b'h', b'i', 0, 0, 0, 0, 0], &mut messages);
//! assert!(frames.at_border());
//! assert_eq!(messages.0.len(), 2);
//! assert_eq!(messages.0[0].1, b"hi");
//! assert!(!messages.0[0].0.compressed);
//! ```
//!
//! # What it accepts
//!
//! Everything: each message is a byte of flags, four bytes of length, and as many bytes as that says. Of the flags, the
//! lowest bit means that the message is compressed by itself, the highest that it holds trailers, as gRPC-Web sends
//! them; the others mean nothing. However the body is cut, the calls to the sink are the same, save that a message may
//! arrive in other pieces. No input makes it panic.
//!
//! # What this crate does not do
//!
//! It does not decompress, decode, or limit the length of messages: it holds none of them.
//!
//! # Limits
//!
//! A [`GrpcFrames`] is at most 16 bytes, a [`WebTrailers`] at most 48; neither allocates.

mod frames;
mod status;
mod web_trailers;

pub use frames::{FrameHead, GrpcFrames, Sink};
pub use status::StatusCode;
pub use web_trailers::WebTrailers;
