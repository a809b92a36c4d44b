//! An incremental walker of protocol buffers messages: bytes in, values of wanted fields out, in constant memory.
//!
//! ```
//! use protobuf_scan::{Field, Outcome, Scanner, Sink, Text};
//!
//! static SAMPLE: [Field<&str>; 1] = [Field::text(1, "text")];
//! static ANSWER: [Field<&str>; 2] = [Field::message(3, &SAMPLE), Field::number(4, "tokens")];
//!
//! #[derive(Default)]
//! struct Said(Vec<String>);
//!
//! impl Sink<&'static str> for Said {
//!     fn number(&mut self, tag: &'static str, value: u64) {
//!         self.0.push(format!("{tag}={value}"));
//!     }
//!     fn text(&mut self, tag: &'static str, text: Text<'_>) {
//!         self.0.push(format!("{tag}={}", String::from_utf8_lossy(text.prefix)));
//!     }
//!     fn open(&mut self, _: &'static str) {}
//!     fn close(&mut self, _: &'static str) {}
//!     fn elements(&mut self, tag: &'static str, count: u64) {
//!         self.0.push(format!("{count} {tag}"));
//!     }
//! }
//!
//! let mut scanner = Scanner::new(&ANSWER);
//! let mut said = Said::default();
//! scanner.push(b"\x1a\x04\x0a\x02h", &mut said);
//! scanner.push(b"i\x20\x07", &mut said);
//! assert_eq!(scanner.finish(&mut said), Outcome::Complete);
//! assert_eq!(said.0, ["text=hi", "tokens=7"]);
//! ```
//!
//! # What it accepts
//!
//! Any message of the binary format. A wanted field whose wire type is not that of its kind is passed over, as the
//! format's own rules have it; so is every field that is not wanted, by its length. Groups are refused: no message of
//! today has them. However the message is cut, the calls to the sink and the outcome are the same. No input makes it
//! panic.
//!
//! # What this crate does not do
//!
//! It does not convert: a number is its 64 bits. It does not merge a field that stands twice: each occurrence reaches the
//! sink. It does not take back calls: what came before a flaw has reached the sink when the flaw is found.
//!
//! # Limits
//!
//! [`TEXT_PREFIX_BYTES`] of a text reach the sink. Wanted fields may lie [`MAX_DEPTH`] messages deep. A [`Scanner`] is some
//! 500 bytes and never allocates.

mod field;
mod scanner;

pub use field::{Field, Kind};
pub use scanner::{MAX_DEPTH, Outcome, Scanner, Sink, TEXT_PREFIX_BYTES, Text};
