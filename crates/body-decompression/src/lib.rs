//! Decompresses a body as it arrives, within bounds.
//!
//! ```
//! use body_decompression::{Budget, Coding, Decompressor, Limits};
//!
//! let coding = Coding::from_header(b"gzip").unwrap().unwrap();
//! let mut decompressor = Decompressor::new(coding, Limits::default(), &Budget::new(1 << 20)).unwrap();
//! let body = include_bytes!("../tests/bodies/hello.gz");
//! let mut text = Vec::new();
//! for piece in body.chunks(5) {
//!     decompressor.push(piece, &mut |part| text.extend_from_slice(part)).unwrap();
//! }
//! assert_eq!(text, b"data: hello\n\n");
//! ```
//!
//! # What it accepts
//!
//! `gzip` (also `x-gzip`, also several members one after the other), `deflate` (in a zlib stream as the standard has it,
//! or raw as some servers send it) and `br`. What the sender flushed comes out of the push that brought it, so the
//! moment at which a part of an answer can be read is not changed. However the body is cut, the output is the same. No
//! input makes it panic.
//!
//! # What this crate does not do
//!
//! It does not undo several codings one after the other, nor `zstd` and `compress`: those are an [`UnknownCoding`]. It
//! does not say whether a body is whole: that is for whoever reads what is inside.
//!
//! # Limits
//!
//! An answer of more than [`Limits::output_bytes`] is given up, as is one in br that becomes more than a megabyte out of
//! 256 bytes. Checksums are not verified. A decompressor takes some 50 KB for gzip and deflate, for br as much as the sender's window, at most 4 MiB;
//! a [`Budget`] bounds what all of them take together. Output is handed on in parts of at most a megabyte.

mod budget;
mod coding;
mod collector;
mod decompressor;
mod inflate;

pub use budget::Budget;
pub use coding::{Coding, UnknownCoding};
pub use decompressor::{Decompressor, GivenUp, Limits};
