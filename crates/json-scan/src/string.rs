//! Strings: the fast search for what ends plain text, and the decoder of escapes.

use crate::document::Flaw;
use crate::prefix::Prefix;

const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Splits before the first quote, backslash or control character.
///
/// Eight bytes are looked at in one word.
/// A vector search for two bytes would leave the control characters to a second pass, and is no faster where the
/// machine has no vectors, as in a proxy's wasm sandbox.
#[inline]
pub(crate) fn split_plain(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut plain = 0_usize;
    for word in words {
        let stops = stops_in(u64::from_le_bytes(*word));
        if stops != 0 {
            plain = plain.wrapping_add((stops.trailing_zeros() / 8) as usize);
            return split(bytes, plain);
        }
        plain = plain.wrapping_add(8);
    }
    let in_tail = tail
        .iter()
        .position(|byte| is_stop(*byte))
        .unwrap_or(tail.len());
    split(bytes, plain.wrapping_add(in_tail))
}

/// Sets the high bit of each byte that is a stop; bytes above the lowest stop may be marked by mistake, because a
/// subtraction borrows upwards, so only the lowest mark means anything.
const fn stops_in(word: u64) -> u64 {
    let control = word.wrapping_sub(EVERY_BYTE.wrapping_mul(0x20)) & !word;
    let quote = zero_bytes(word ^ EVERY_BYTE.wrapping_mul(b'"' as u64));
    let backslash = zero_bytes(word ^ EVERY_BYTE.wrapping_mul(b'\\' as u64));
    (control | quote | backslash) & HIGH_BITS
}

const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(EVERY_BYTE) & !word
}

const fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Splits at a position that is inside the bytes by construction, without a branch that could panic.
pub(crate) fn split(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(at).unwrap_or((bytes, &[]))
}

/// Where a string stands within an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// In plain text.
    None,
    /// After a backslash.
    Backslash,
    /// Inside the four digits of `\u`.
    Digits { seen: u8, unit: u16 },
    /// After the first half of a surrogate pair, where a backslash must come.
    SecondBackslash,
    /// After that backslash, where a `u` must come.
    SecondLetter,
}

/// What a piece of input did to a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringStep {
    /// The piece ended before the string did.
    Unfinished,
    /// The closing quote was consumed.
    Ended,
    /// The piece breaks the grammar.
    Flawed(Flaw),
}

/// Decodes a string that has escapes or arrives in pieces.
#[derive(Debug, Clone)]
pub(crate) struct StringDecoder {
    pub(crate) decoded: Prefix,
    /// Whether anybody wants the text; if not, it is only checked.
    keep: bool,
    escape: Escape,
    /// The first half of a surrogate pair whose second half has not been seen, or zero.
    first_half: u16,
}

impl StringDecoder {
    pub(crate) const fn new() -> Self {
        Self {
            decoded: Prefix::new(),
            keep: false,
            escape: Escape::None,
            first_half: 0,
        }
    }

    /// Begins a string with plain text that has been looked at already.
    pub(crate) fn begin(&mut self, keep: bool, plain: &[u8]) {
        self.keep = keep;
        self.escape = Escape::None;
        self.first_half = 0;
        self.decoded.clear();
        self.keep(plain);
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.keep {
            self.decoded.append(piece);
        }
    }

    /// Goes on with the string and gives back what follows it.
    pub(crate) fn resume<'input>(&mut self, bytes: &'input [u8]) -> (&'input [u8], StringStep) {
        let mut rest = bytes;
        loop {
            if self.escape == Escape::None {
                let (plain, stop) = split_plain(rest);
                self.keep(plain);
                rest = stop;
            }
            let whole = rest;
            let Some((&byte, after)) = rest.split_first() else {
                return (rest, StringStep::Unfinished);
            };
            rest = after;
            match self.escape {
                Escape::None if byte == b'"' => return (rest, StringStep::Ended),
                Escape::None if byte == b'\\' => self.escape = Escape::Backslash,
                Escape::None => return (rest, StringStep::Flawed(Flaw::ControlCharacter)),
                Escape::SecondBackslash if byte != b'\\' => {
                    self.replace_lone_half();
                    self.escape = Escape::None;
                    // The byte stands for itself.
                    rest = whole;
                }
                _ => {
                    if let Err(flaw) = self.escaped(byte) {
                        return (rest, StringStep::Flawed(flaw));
                    }
                }
            }
        }
    }

    /// Takes one byte inside an escape.
    fn escaped(&mut self, byte: u8) -> Result<(), Flaw> {
        match self.escape {
            Escape::Digits { seen, unit } => return self.digit(seen, unit, byte),
            Escape::SecondBackslash => self.escape = Escape::SecondLetter,
            _ if byte == b'u' => self.expect_digits(),
            Escape::None | Escape::Backslash | Escape::SecondLetter => {
                self.replace_lone_half();
                let meant = match byte {
                    b'"' | b'\\' | b'/' => byte,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    _ => return Err(Flaw::BadEscape),
                };
                self.escape = Escape::None;
                self.keep(&[meant]);
            }
        }
        Ok(())
    }

    fn expect_digits(&mut self) {
        self.escape = Escape::Digits { seen: 0, unit: 0 };
    }

    fn digit(&mut self, seen: u8, unit: u16, byte: u8) -> Result<(), Flaw> {
        let digit = char::from(byte).to_digit(16).ok_or(Flaw::BadEscape)?;
        let unit = (unit << 4) | (digit as u16);
        if seen < 3 {
            self.escape = Escape::Digits {
                seen: seen.wrapping_add(1),
                unit,
            };
            return Ok(());
        }
        self.unit(unit);
        Ok(())
    }

    /// Takes a complete UTF-16 unit.
    fn unit(&mut self, unit: u16) {
        let first = self.first_half;
        if first != 0
            && let Some(Ok(character)) = char::decode_utf16([first, unit]).next()
        {
            self.first_half = 0;
            self.character(character);
            return;
        }
        self.replace_lone_half();
        if (0xd800..0xdc00).contains(&unit) {
            self.first_half = unit;
            self.escape = Escape::SecondBackslash;
        } else {
            let character = char::from_u32(u32::from(unit));
            self.character(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }

    /// Half of a surrogate pair without the other half is no character, but writers that cut text
    /// between the halves do send it, and readers in other languages take it. A replacement stands for it.
    fn replace_lone_half(&mut self) {
        if self.first_half != 0 {
            self.first_half = 0;
            self.character(char::REPLACEMENT_CHARACTER);
        }
    }

    fn character(&mut self, character: char) {
        self.escape = Escape::None;
        self.keep(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
