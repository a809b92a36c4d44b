//! An incremental JSON walker: bytes in, values at wanted places out, in constant memory.
//!
//! The caller writes the wanted places down as a constant tree of [`Node`]s and pushes bytes as they arrive.
//! The [`Scanner`] checks the grammar of the whole document, tells a [`Sink`] what stands at the wanted places, and
//! passes over everything else.
//! A field that follows a megabyte of other fields costs a pass over that megabyte and no memory.
//!
//! ```
//! use json_scan::{Container, Node, Outcome, Progress, Scanner, Sink, Value};
//!
//! #[derive(Clone, Copy)]
//! enum Place {
//!     Model,
//!     Message,
//! }
//!
//! static PLACES: Node<Place> = Node::root(&[
//!     Node::leaf("model", Place::Model),
//!     Node::branch("messages", &[Node::tagged("[]", Place::Message, &[])]),
//! ]);
//!
//! #[derive(Default)]
//! struct Request {
//!     model: String,
//!     messages: u32,
//! }
//!
//! impl Sink<Place> for Request {
//!     fn value(&mut self, tag: Place, value: Value<'_>) {
//!         if let (Place::Model, Value::Text(text)) = (tag, value) {
//!             self.model = String::from_utf8_lossy(text.prefix).into_owned();
//!         }
//!     }
//!     fn open(&mut self, _: Place, _: Container) {}
//!     fn close(&mut self, tag: Place, _: Container, _items: u64) {
//!         if let Place::Message = tag {
//!             self.messages += 1;
//!         }
//!     }
//! }
//!
//! let mut scanner = Scanner::new(&PLACES);
//! let mut request = Request::default();
//! assert_eq!(scanner.push(br#"{"messages":[{"role":"user"},{}],"mo"#, &mut request), Progress::More);
//! assert_eq!(scanner.push(br#"del":"small\u002d1"}"#, &mut request), Progress::Complete);
//! assert_eq!(scanner.finish(&mut request), Outcome::Complete);
//! assert_eq!((request.model.as_str(), request.messages), ("small-1", 2));
//!
//! scanner.reset();
//! assert_eq!(scanner.finish(&mut request), Outcome::Empty);
//! ```
//!
//! A parser that builds a tree was not taken, since it must hold the document; a parser that pulls was not either, since
//! it must be able to ask for more input in the middle of a string, which a proxy's callbacks do not allow.
//!
//! # What it accepts
//!
//! One document and whitespace around it, exactly where `serde_json` accepts it as a `Value`, with these exceptions:
//!
//! - Invalid UTF-8 inside strings and keys passes; the receiver of a text decides what to make of it.
//! - Half of an escaped surrogate pair without its other half passes as U+FFFD: JavaScript writes it for text that was
//!   cut between the halves.
//! - A number is judged by its grammar alone, so `1e999` is accepted, which `serde_json` calls out of range.
//! - [`MAX_DEPTH`] containers may stand inside one another, which is one more than `serde_json` allows.
//! - A number of more than [`NUMBER_BYTES`] bytes at a wanted place is refused; elsewhere it passes.
//!
//! However the input is cut, the calls to the sink and the outcome are the same.
//! No input makes it panic.
//!
//! # What this crate does not do
//!
//! - It does not convert numbers, check UTF-8, or decide between duplicate keys: each occurrence reaches the sink.
//! - It does not hand on long strings: the sink gets a prefix and the length.
//! - It does not take back calls: what came before a flaw has reached the sink when the flaw is found.
//! - It does not read several documents one after the other; [`Scanner::reset`] begins the next.
//!
//! # Limits
//!
//! - [`TEXT_PREFIX_BYTES`] of a string reach the sink; a longer key is never a wanted one.
//! - [`MAX_WANTED_DEPTH`] containers deep wanted places are found.
//! - A [`Scanner`] is some 600 bytes and never allocates.

mod document;
mod node;
mod number;
mod prefix;
mod scanner;
mod string;

pub use document::{
    Container, Flaw, NUMBER_BYTES, Outcome, Progress, Sink, TEXT_PREFIX_BYTES, Text, Value,
};
pub use node::Node;
pub use scanner::{MAX_DEPTH, MAX_WANTED_DEPTH, Scanner};
