//! An incremental parser of server-sent events: bytes in, fields and event ends out, in constant memory.
//!
//! A value is handed on in the pieces in which it arrives and is never held, so a line of any length costs nothing but
//! the pass over it.
//!
//! ```
//! use sse_parser::{Field, Sink, SseParser};
//!
//! #[derive(Default)]
//! struct Events {
//!     data: Vec<u8>,
//!     events: Vec<String>,
//! }
//!
//! impl Sink for Events {
//!     fn bytes(&mut self, field: Field, bytes: &[u8]) {
//!         if field == Field::Data {
//!             self.data.extend_from_slice(bytes);
//!         }
//!     }
//!     fn field_end(&mut self, field: Field) {
//!         if field == Field::Data {
//!             self.data.push(b'\n');
//!         }
//!     }
//!     fn dispatch(&mut self) {
//!         self.data.pop();
//!         self.events.push(String::from_utf8_lossy(&self.data).into_owned());
//!         self.data.clear();
//!     }
//! }
//!
//! let mut parser = SseParser::new();
//! let mut events = Events::default();
//! parser.push(b": keep-alive\n\ndata: {\"a\":1}\r", &mut events);
//! parser.push(b"\n\r\ndata: [DO", &mut events);
//! parser.push(b"NE]", &mut events);
//! parser.finish(&mut events);
//! assert_eq!(events.events, ["{\"a\":1}", "[DONE]"]);
//! ```
//!
//! # What it accepts
//!
//! Everything: a stream cannot be malformed.
//! Lines end with LF, CR or CRLF; a byte order mark at the very beginning is dropped, and so is one space after a colon.
//! It follows <https://html.spec.whatwg.org/multipage/server-sent-events.html> except in four points, where servers
//! are known to say something that the standard would drop:
//!
//! - An event ends with a dispatch if it has any field that is no comment; the standard asks for `data`.
//! - At the end of the stream an unfinished event is dispatched as well; the standard discards it.
//! - Comments and fields with unknown names reach the sink, as [`Field::Comment`] and [`Field::Unknown`]; one that is
//!   named `error` as [`Field::Error`].
//! - A line that begins with `{` begins a JSON document, which is an event of its own and goes on in lines that begin as
//!   lines of JSON do. They reach the sink as [`Field::Bare`].
//!
//! However the stream is cut, the calls to the sink are the same, save that a value may arrive in other pieces.
//! No input makes it panic.
//!
//! # What this crate does not do
//!
//! - It does not join the `data` lines of an event: between two of them the receiver inserts a line feed.
//! - It does not decode: values are bytes, an `id` with a NUL and a `retry` that is no number included.
//! - It does not keep the last event id, nor reconnect.
//! - It does not tell other unknown names apart.
//!
//! # Limits
//!
//! An [`SseParser`] is at most 16 bytes and never allocates; no line or event is too long for it.

mod parser;

pub use parser::{Field, Sink, SseParser};
