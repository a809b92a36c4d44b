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
//! or raw as some servers send it), `br` and `zstd` (also several frames, also frames to skip). What the sender flushed
//! comes out of the push that brought it, so the moment at which a part of an answer can be read is not changed. However
//! the body is cut, the output and the verdict are the same, but for bodies in br that are corrupt: of those a cutting
//! may give less output before the flaw, and some overlong blocks are found only where a piece ends in them. What stands after the end is passed over. No input makes it panic.
//!
//! # What this crate does not do
//!
//! It does not undo several codings one after the other, nor `compress`: those are an [`UnknownCoding`]. It knows no
//! dictionaries. It verifies no checksums: it changes nothing, and the client will. It does not say whether a body is
//! whole: that is for whoever reads what is inside.
//!
//! # Limits
//!
//! A body is given up when its output exceeds [`Limits::output_bytes`], or a megabyte and [`Limits::ratio`] times its
//! input; up to there the output is handed on, in parts of at most 128 KiB. A decompressor takes 48 KiB for gzip and deflate. For
//! br it takes the sender's window, 4 MiB at most, and tables, 2 MiB at most. For zstd it takes what has been
//! decompressed so far, 4 MiB at most, and up to 400 KiB for blocks. A [`Budget`] bounds what all of them take together.

mod brotli;
mod budget;
mod coding;
mod decompressor;
mod inflate;
mod output;
mod zstd;

pub use budget::Budget;
pub use coding::{Coding, UnknownCoding};
pub use decompressor::{Decompressor, GivenUp, Limits};
