//! The trailers that gRPC-Web sends as the last message of a body.

use crate::StatusCode;

const STATUS: &[u8] = b"grpc-status";
/// How much of each line is held: the name, the longest number, and white space between them.
const HELD_BYTES: usize = 24;

/// Looks in the lines of such a message for the status.
///
/// ```
/// use grpc_frames::{StatusCode, WebTrailers};
///
/// let mut trailers = WebTrailers::new();
/// trailers.push(b"grpc-message: full\r\ngrpc-sta");
/// trailers.push(b"tus: 8\r\n");
/// assert_eq!(trailers.status(), Some(StatusCode::ResourceExhausted));
/// ```
#[derive(Clone, Debug, Default)]
pub struct WebTrailers {
    line: [u8; HELD_BYTES],
    /// How long the line is so far, also where it is longer than what is held.
    length: usize,
    status: Option<StatusCode>,
}

impl WebTrailers {
    /// Before the first line.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            line: [0; HELD_BYTES],
            length: 0,
            status: None,
        }
    }

    /// Takes the next bytes of the message.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if matches!(byte, b'\r' | b'\n') {
                self.end_line();
            } else {
                if let Some(slot) = self.line.get_mut(self.length) {
                    *slot = *byte;
                }
                self.length = self.length.saturating_add(1);
            }
        }
    }

    /// The status, at the end of the message; of several the last.
    pub fn status(&mut self) -> Option<StatusCode> {
        self.end_line();
        self.status
    }

    fn end_line(&mut self) {
        let line = self.line.get(..self.length).unwrap_or_default();
        self.length = 0;
        let mut parts = line.splitn(2, |byte| *byte == b':');
        if let (Some(name), Some(value)) = (parts.next(), parts.next())
            && name.trim_ascii().eq_ignore_ascii_case(STATUS)
        {
            self.status = StatusCode::from_header(value.trim_ascii()).or(self.status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_however_the_lines_are_cut() {
        let lines = b"x: 1\r\nGRPC-STATUS : 13 \r\ngrpc-message:a very long text that is not held\ngrpc-status-details-bin: 7";
        for size in 1..=lines.len() {
            let mut trailers = WebTrailers::new();
            lines.chunks(size).for_each(|piece| trailers.push(piece));
            assert_eq!(trailers.status(), Some(StatusCode::Internal), "by {size}");
        }
    }

    #[test]
    fn what_says_no_status_says_none() {
        for lines in [
            "",
            "grpc-message: 8",
            "grpc-status",
            "grpc-status:",
            "agrpc-status: 8",
        ] {
            let mut trailers = WebTrailers::new();
            trailers.push(lines.as_bytes());
            assert_eq!(trailers.status(), None, "{lines}");
        }
    }
}
