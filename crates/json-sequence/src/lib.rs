//! Cuts a stream of JSON values into the values, in constant memory.
//!
//! ```
//! use json_sequence::{JsonSequence, Shape, Sink};
//!
//! #[derive(Default)]
//! struct Values(Vec<String>, Vec<u8>);
//!
//! impl Sink for Values {
//!     fn bytes(&mut self, bytes: &[u8]) {
//!         self.1.extend_from_slice(bytes);
//!     }
//!     fn value_end(&mut self) {
//!         self.0.push(String::from_utf8(std::mem::take(&mut self.1)).unwrap());
//!     }
//! }
//!
//! let mut array = JsonSequence::new(Shape::Array);
//! let mut values = Values::default();
//! array.push(b"[{\"a\": [1, 2", &mut values);
//! array.push(b"]},\n {\"b\": \"]\"}", &mut values);
//! assert_eq!(values.0, ["{\"a\": [1, 2]}", "{\"b\": \"]\"}"]);
//! array.push(b"]", &mut values);
//! array.finish(&mut values);
//! assert_eq!(values.0.len(), 2);
//! ```
//!
//! # What it accepts
//!
//! Everything. It looks for the borders of values only: brackets, strings, white space and commas; what is between them
//! is the business of whoever reads the values. In each [`Shape`]:
//!
//! - `Lines`: a value is a line that is not blank. A line feed or a carriage return ends it.
//! - `Concatenated`: values one after the other. One that is a container ends with its bracket, a string with its quote,
//!   anything else before white space, a comma, a bracket or a quote. Commas and closing brackets between values mean
//!   nothing.
//! - `Array`: the elements of one array, as if they were concatenated. A document that is no array is one value.
//!
//! However the stream is cut, the calls to the sink are the same, save that a value may arrive in other pieces.
//! No input makes it panic.
//!
//! # What this crate does not do
//!
//! It does not check the grammar, and takes `}` for `]`: a value that is broken so is for its reader to refuse.
//!
//! # Limits
//!
//! A [`JsonSequence`] is at most 16 bytes and never allocates; no value is too long for it.

mod sequence;

pub use sequence::{JsonSequence, Shape, Sink};
