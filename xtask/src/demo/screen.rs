//! Draws the same place of a terminal again and again without a flicker.

use std::fmt::Write as _;
use std::io::{self, Write as _};

/// A place that is drawn over by each new picture.
#[derive(Debug, Default)]
pub(super) struct Screen {
    drawn_lines: usize,
}

impl Screen {
    /// Puts a picture where the last one was.
    pub(super) fn draw(&mut self, picture: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(self.strokes(picture).as_bytes())?;
        out.flush()
    }

    /// Everything in one string, so that the terminal gets it at once: up to the first line, each line with the rest
    /// of its old self erased, then whatever was below.
    fn strokes(&mut self, picture: &str) -> String {
        let mut strokes = String::new();
        if self.drawn_lines > 0 {
            // Writing to a string cannot fail.
            let _never = write!(strokes, "\x1b[{}A\r", self.drawn_lines);
        }
        for line in picture.lines() {
            strokes.push_str(line);
            strokes.push_str("\x1b[K\n");
        }
        strokes.push_str("\x1b[J");
        self.drawn_lines = picture.lines().count();
        strokes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_picture_covers_the_first() {
        let mut screen = Screen::default();
        assert_eq!(screen.strokes("a\nb"), "a\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(screen.strokes("c"), "\x1b[2A\rc\x1b[K\n\x1b[J");
        assert_eq!(screen.strokes("d"), "\x1b[1A\rd\x1b[K\n\x1b[J");
    }
}
