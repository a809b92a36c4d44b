//! What a caller sees of a document: values, containers, the sink that takes them, and how far the document has come.

/// The most bytes of a decoded string that reach the sink.
pub const TEXT_PREFIX_BYTES: usize = 256;

/// The longest number text that reaches the sink; a longer one at a wanted place is [`Flaw::NumberTooLong`].
pub const NUMBER_BYTES: usize = 64;

/// A complete scalar at a wanted place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as the document spells it, at most [`NUMBER_BYTES`] long; the receiver decides what fits its type.
    Number(&'a [u8]),
    /// A string with its escapes resolved.
    Text(Text<'a>),
}

/// A decoded string, of which only the beginning is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// The first [`TEXT_PREFIX_BYTES`] decoded bytes at most.
    /// They may end inside a character and are valid UTF-8 only if the document was.
    pub prefix: &'a [u8],
    /// The decoded length of the whole string in bytes, saturating.
    pub len: u64,
}

impl Text<'_> {
    /// Whether the string has no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The two kinds of container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `{…}`.
    Object,
    /// `[…]`.
    Array,
}

/// Takes what stands at the wanted places, in the order of the document.
///
/// Every occurrence of a duplicate key arrives; the receiver decides which one counts.
pub trait Sink<T> {
    /// A scalar at a wanted place, once it is complete.
    fn value(&mut self, tag: T, value: Value<'_>);
    /// A container at a wanted place begins.
    fn open(&mut self, tag: T, kind: Container);
    /// A container at a wanted place ends; `items` counts its elements or members.
    fn close(&mut self, tag: T, kind: Container, items: u64);
}

/// Why a document is not JSON, or not JSON within the limits of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flaw {
    /// A byte that the grammar does not allow where it stands.
    UnexpectedByte,
    /// Something other than whitespace after the document.
    TrailingBytes,
    /// A word that begins like `true`, `false` or `null` and is none of them.
    BadLiteral,
    /// A number that breaks the grammar, such as `01`, `-` or `1.`.
    BadNumber,
    /// A number at a wanted place with more than [`NUMBER_BYTES`] bytes.
    NumberTooLong,
    /// An unescaped byte below 0x20 inside a string.
    ControlCharacter,
    /// A backslash followed by something that is no escape.
    BadEscape,
    /// More than [`MAX_DEPTH`](crate::MAX_DEPTH) containers inside one another.
    TooDeep,
}

impl Flaw {
    /// Every flaw, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::UnexpectedByte,
        Self::TrailingBytes,
        Self::BadLiteral,
        Self::BadNumber,
        Self::NumberTooLong,
        Self::ControlCharacter,
        Self::BadEscape,
        Self::TooDeep,
    ];

    /// The flaw's name in snake case, as a label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnexpectedByte => "unexpected_byte",
            Self::TrailingBytes => "trailing_bytes",
            Self::BadLiteral => "bad_literal",
            Self::BadNumber => "bad_number",
            Self::NumberTooLong => "number_too_long",
            Self::ControlCharacter => "control_character",
            Self::BadEscape => "bad_escape",
            Self::TooDeep => "too_deep",
        }
    }
}

/// How far the document has come after a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The document has not ended yet; a number at the top level ends only at whitespace or at the finish.
    More,
    /// The document is complete; only whitespace may follow.
    Complete,
    /// The document is broken; further input is ignored.
    Malformed(Flaw),
}

/// What the input was, once it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No input, or whitespace only.
    Empty,
    /// One whole document.
    Complete,
    /// The input ended inside the document.
    Truncated,
    /// The document is broken.
    Malformed(Flaw),
}
