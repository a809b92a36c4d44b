//! The text that a server told to echo sends before it generates any.

/// How many bytes of the text are compared.
pub const ECHO_PREFIX_BYTES: usize = 64;

/// The beginning and the length of a chat's last message, as the echo would repeat it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EchoedText {
    prefix: [u8; ECHO_PREFIX_BYTES],
    len: u64,
    parts: u32,
}

impl EchoedText {
    /// No text.
    pub(crate) const EMPTY: Self = Self {
        prefix: [0; ECHO_PREFIX_BYTES],
        len: 0,
        parts: 0,
    };

    /// Appends a part of the message; servers join the parts by a line feed.
    pub(crate) fn append(&mut self, prefix: &[u8], len: u64) {
        if self.parts > 0 {
            self.append_bytes(b"\n", 1);
        }
        self.append_bytes(prefix, len);
        self.parts = self.parts.saturating_add(1);
    }

    /// Whether a content is this text: of the same length and beginning alike. Empty text is no echo.
    pub(crate) fn matches(&self, prefix: &[u8], len: u64) -> bool {
        let compared = usize::try_from(self.len)
            .unwrap_or(usize::MAX)
            .min(ECHO_PREFIX_BYTES);
        self.len > 0 && self.len == len && self.prefix.get(..compared) == prefix.get(..compared)
    }

    /// Whether there is nothing to echo.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn append_bytes(&mut self, bytes: &[u8], len: u64) {
        let held = usize::try_from(self.len)
            .unwrap_or(usize::MAX)
            .min(ECHO_PREFIX_BYTES);
        if let Some(room) = self.prefix.get_mut(held..) {
            for (place, byte) in room.iter_mut().zip(bytes) {
                *place = *byte;
            }
        }
        self.len = self.len.saturating_add(len);
    }
}

impl Default for EchoedText {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl std::fmt::Debug for EchoedText {
    /// Shows the length alone: the text is somebody's prompt.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "EchoedText({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_told_by_its_length_and_its_beginning() {
        let text = "The alpha server counts. ".repeat(20);
        let len = text.len() as u64;
        let mut echoed = EchoedText::EMPTY;
        echoed.append(&text.as_bytes()[..256], len);
        assert!(echoed.matches(&text.as_bytes()[..256], len));
        assert!(!echoed.matches(&text.as_bytes()[..256], len + 1));
        assert!(!echoed.matches(b"The beta", len));
    }

    #[test]
    fn short_texts_are_compared_whole() {
        let mut echoed = EchoedText::EMPTY;
        assert!(!echoed.matches(b"", 0), "nothing is no echo");
        echoed.append(b"ab", 2);
        assert!(echoed.matches(b"ab", 2));
        assert!(!echoed.matches(b"ax", 2));
    }

    #[test]
    fn the_parts_of_a_message_are_joined_by_a_line_feed() {
        let mut echoed = EchoedText::EMPTY;
        echoed.append(b"ab", 2);
        echoed.append(b"cd", 2);
        assert!(echoed.matches(b"ab\ncd", 5));
    }

    #[test]
    fn debug_output_holds_none_of_the_text() {
        let mut echoed = EchoedText::EMPTY;
        echoed.append(b"secret", 6);
        assert_eq!(format!("{echoed:?}"), "EchoedText(6 bytes)");
    }
}
