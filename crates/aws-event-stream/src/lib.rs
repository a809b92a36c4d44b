//! Cuts an AWS event stream (`application/vnd.amazon.eventstream`) into its messages, in constant memory.
//!
//! ```
//! use aws_event_stream::{EventStreamParser, Flaw, Integrity, Sink};
//!
//! #[derive(Default)]
//! struct Messages(Vec<String>);
//!
//! impl Sink for Messages {
//!     fn header(&mut self, name: &[u8], value: &[u8]) {
//!         self.0.push(format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
//!     }
//!     fn payload(&mut self, bytes: &[u8]) {
//!         self.0.push(String::from_utf8_lossy(bytes).into_owned());
//!     }
//!     fn message_end(&mut self, integrity: Integrity) {
//!         self.0.push(format!("{integrity:?}"));
//!     }
//!     fn broken(&mut self, flaw: Flaw) {
//!         self.0.push(format!("{flaw:?}"));
//!     }
//! }
//!
//! let mut parser = EventStreamParser::new();
//! let mut messages = Messages::default();
//! let message = include_bytes!("../tests/messages/text_delta.bin");
//! for piece in message.chunks(3) {
//!     parser.push(piece, &mut messages);
//! }
//! parser.finish(&mut messages);
//! assert_eq!(messages.0[0], ":message-type=event");
//! assert_eq!(messages.0.last().unwrap(), "Intact");
//! ```
//!
//! # What it accepts
//!
//! Messages as <https://smithy.io/2.0/aws/amazon-eventstream.html> defines them: a prelude of two lengths with its
//! checksum, headers, a payload, a checksum of it all. A message with a wrong checksum is told as
//! [`Integrity::Corrupt`] after it was handed on; a prelude with a wrong checksum, or with lengths that cannot be, loses
//! the borders of all that follows, so nothing more is read. However the stream is cut, the calls to the sink are the
//! same, save that a payload may arrive in other pieces. No input makes it panic.
//!
//! # What this crate does not do
//!
//! It hands on headers that are texts, and passes over those of other types. Headers whose own lengths do not fit the
//! message's are a [`Flaw`].
//!
//! # Limits
//!
//! A payload of at most 24 MiB and headers of at most 128 KiB, as the format has it. Of a header's value 128 bytes are
//! handed on. An [`EventStreamParser`] is some 450 bytes and never allocates.

mod headers;
mod parser;

pub use parser::{EventStreamParser, Flaw, Integrity, Sink};
