//! A short text from the wire that is safe to use as a label: bounded, valid UTF-8, without control characters.

use std::fmt;

/// The most bytes that a [`Text`] holds.
pub const TEXT_BYTES: usize = 128;

/// Stands for control characters and for bytes that are no UTF-8.
const REPLACEMENT: char = '_';

/// A text of at most [`TEXT_BYTES`] bytes, cut on a character border, held without an allocation.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; TEXT_BYTES],
    held: u8,
    cut: bool,
    mended: bool,
}

impl Text {
    /// The text whose beginning is `prefix` and whose whole length is `len`.
    ///
    /// Control characters and invalid UTF-8 become `_`. A character that the end of the prefix cuts is left out.
    #[must_use]
    pub fn from_prefix(prefix: &[u8], len: u64) -> Self {
        let whole = u64::try_from(prefix.len()).is_ok_and(|held| held >= len);
        let mut text = Self {
            bytes: [0; TEXT_BYTES],
            held: 0,
            cut: !whole,
            mended: false,
        };
        let mut chunks = prefix.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            let fits = chunk.valid().chars().all(|character| text.push(character));
            let cut_character = !whole && chunks.peek().is_none();
            let is_broken = !chunk.invalid().is_empty() && !cut_character;
            text.mended |= is_broken;
            if !fits || (is_broken && !text.push(REPLACEMENT)) {
                text.cut = true;
                break;
            }
        }
        text
    }

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.held))
            .and_then(|held| std::str::from_utf8(held).ok())
            .unwrap_or_default()
    }

    /// Whether the text was longer than what is held.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether control characters or invalid UTF-8 were replaced.
    #[must_use]
    pub const fn is_mended(&self) -> bool {
        self.mended
    }

    /// Whether nothing is held.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Appends a character if it fits.
    fn push(&mut self, character: char) -> bool {
        let character = if character.is_control() {
            self.mended = true;
            REPLACEMENT
        } else {
            character
        };
        let mut encoded = [0; 4];
        let encoded = character.encode_utf8(&mut encoded).as_bytes();
        let start = usize::from(self.held);
        let end = start.saturating_add(encoded.len());
        match (self.bytes.get_mut(start..end), u8::try_from(end)) {
            (Some(place), Ok(held)) => {
                place.copy_from_slice(encoded);
                self.held = held;
                true
            }
            _ => false,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from_prefix(
            text.as_bytes(),
            u64::try_from(text.len()).unwrap_or(u64::MAX),
        )
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.cut == other.cut
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &[u8], len: u64, expected: &str, cut: bool) {
        let text = Text::from_prefix(prefix, len);
        assert_eq!(
            (text.as_str(), text.is_cut()),
            (expected, cut),
            "{prefix:?} of {len}"
        );
    }

    #[test]
    fn short_text_is_held_as_it_is() {
        check(b"", 0, "", false);
        check(b"qwen/qwen3-8b", 13, "qwen/qwen3-8b", false);
        check("modèle 模型".as_bytes(), 14, "modèle 模型", false);
    }

    #[test]
    fn control_characters_and_invalid_bytes_become_underscores() {
        check(b"a\0b\x1b\x7f", 5, "a_b__", false);
        check("a\u{85}b".as_bytes(), 4, "a_b", false);
        check(b"a\xff\xfeb", 4, "a__b", false);
        check(b"a\xe4\xb8", 3, "a_", false);
    }

    #[test]
    fn long_text_is_cut_on_a_character_border() {
        check("é".repeat(100).as_bytes(), 200, &"é".repeat(64), true);
        let odd = format!("x{}", "é".repeat(100));
        check(odd.as_bytes(), 201, &format!("x{}", "é".repeat(63)), true);
        check(&[b'm'; 256], 1_000_000, &"m".repeat(128), true);
    }

    #[test]
    fn a_character_that_the_prefix_cuts_is_left_out() {
        check(b"a\xe4\xb8", 40, "a", true);
    }
}
