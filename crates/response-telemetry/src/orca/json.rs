//! The JSON form of a report, read so that one broken value costs that value alone.
//!
//! A strict reader was not taken: Python's writes `NaN`, at which such a reader gives up the whole document.

use super::{Gathering, MAPS, Quantity};
use crate::decimal;

/// Reads all entries of `text` at the top and in the maps.
pub(super) fn parse(text: &[u8], report: &mut Gathering<'_>) {
    let mut rest = text.trim_ascii();
    let mut walk = Walk::default();
    if rest.first() != Some(&b'{') {
        return report.bad();
    }
    while let Some((token, after)) = next(rest) {
        rest = after;
        walk.take(token, report);
    }
    // Either the text ended too soon or a string did.
    if walk.depth != 0 || !rest.trim_ascii().is_empty() {
        report.bad();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Colon,
    Comma,
    Text(&'a [u8]),
    /// A number, a word of JSON, or whatever else is no string.
    Bare(&'a [u8]),
}

/// The first token of `text` and what follows it; `None` at the end and in a string without one.
fn next(text: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let text = text.trim_ascii_start();
    let (first, rest) = text.split_first()?;
    let token = match first {
        b'{' | b'[' => Token::Open,
        b'}' | b']' => Token::Close,
        b':' => Token::Colon,
        b',' => Token::Comma,
        b'"' => return string(rest),
        _ => {
            let end = |byte: &u8| b"{}[]:,\"".contains(byte) || byte.is_ascii_whitespace();
            let length = text.iter().position(end).unwrap_or(text.len());
            let (bare, rest) = text.split_at_checked(length)?;
            return Some((Token::Bare(bare), rest));
        }
    };
    Some((token, rest))
}

/// A string up to its closing quote, with escapes as they stand: no wanted key and no number has one.
fn string(text: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let mut escaped = false;
    let length = text.iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    })?;
    let (inside, rest) = text.split_at_checked(length)?;
    Some((Token::Text(inside), rest.get(1..)?))
}

/// Where in the document the next token stands.
#[derive(Debug, Default)]
struct Walk<'a> {
    depth: u32,
    in_map: bool,
    last_text: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
}

impl<'a> Walk<'a> {
    fn take(&mut self, token: Token<'a>, report: &mut Gathering<'_>) {
        match token {
            Token::Open => {
                let opens_map = self.depth == 1 && self.key.is_some_and(|key| MAPS.contains(&key));
                if self.quantity().is_some() {
                    report.bad();
                }
                self.in_map = opens_map || (self.in_map && self.depth > 1);
                self.depth = self.depth.saturating_add(1);
                (self.key, self.last_text) = (None, None);
            }
            Token::Close => {
                if self.depth == 0 {
                    report.bad();
                }
                self.depth = self.depth.saturating_sub(1);
                (self.key, self.last_text) = (None, None);
            }
            Token::Colon => self.key = self.last_text.take(),
            Token::Comma => (self.key, self.last_text) = (None, None),
            Token::Text(text) => {
                if self.key.is_some() {
                    self.value(text, report);
                } else {
                    self.last_text = Some(text);
                }
            }
            Token::Bare(text) => self.value(text, report),
        }
    }

    /// What the key that waits for its value stands for.
    fn quantity(&self) -> Option<Quantity> {
        let key = self.key?;
        match self.depth {
            1 => Quantity::of_field(key),
            2 if self.in_map => Quantity::of_metric(key),
            _ => None,
        }
    }

    fn value(&mut self, text: &[u8], report: &mut Gathering<'_>) {
        match self.quantity() {
            // Protocol buffers write `null` for a field that is not there.
            Some(_) if text == b"null" => {}
            Some(quantity) => report.take(quantity, decimal::real(text)),
            // A value that has no key at all: the document is broken, if not beyond reading.
            None if self.key.is_none() && self.depth <= 1 => report.bad(),
            None => {}
        }
        self.key = None;
    }
}
