//! A fixed buffer that holds the beginning of a string and counts the rest.

use crate::document::{TEXT_PREFIX_BYTES, Text};

/// The beginning of a string that arrives in pieces, and its whole length.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    bytes: [u8; TEXT_PREFIX_BYTES],
    len: u64,
}

impl Prefix {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; TEXT_PREFIX_BYTES],
            len: 0,
        }
    }

    /// Forgets the string; the bytes stay, since nothing past the length is ever read.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// The length of everything appended, whether it was held or not.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, piece: &[u8]) {
        let held = usize::try_from(self.len).unwrap_or(usize::MAX);
        if let Some(room) = self.bytes.get_mut(held..) {
            // Zipping ends at the shorter side, so what finds no room is dropped.
            room.iter_mut()
                .zip(piece)
                .for_each(|(slot, byte)| *slot = *byte);
        }
        self.len = self.len.saturating_add(piece.len() as u64);
    }

    /// The bytes that are held.
    pub(crate) fn held(&self) -> &[u8] {
        let held = usize::try_from(self.len).unwrap_or(usize::MAX);
        self.bytes.get(..held).unwrap_or(&self.bytes)
    }

    /// The string, if all of it is held.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (self.len <= TEXT_PREFIX_BYTES as u64).then(|| self.held())
    }

    pub(crate) fn text(&self) -> Text<'_> {
        Text {
            prefix: self.held(),
            len: self.len,
        }
    }
}

/// The view of a string that lies whole in the input, the same that a [`Prefix`] would give.
pub(crate) fn text_of(whole: &[u8]) -> Text<'_> {
    Text {
        prefix: whole.get(..TEXT_PREFIX_BYTES).unwrap_or(whole),
        len: whole.len() as u64,
    }
}
