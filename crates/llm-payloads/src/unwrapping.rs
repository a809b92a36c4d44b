//! Takes a payload out of the object that it is wrapped in: Bedrock puts each chunk into the member `bytes`, in base64.

/// The member that holds the payload.
const MEMBER: &[u8] = b"bytes";
/// How many bytes are handed on at once.
const HELD: usize = 48;

/// Where in the object the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Outside of strings, before a member's name.
    Name,
    /// In a name, with so many bytes of it matching; `None` once it is another.
    InName(Option<usize>),
    /// After a name, before its value.
    Value,
    /// In the text of a value, and whether a backslash came before.
    InValue { escaped: bool },
}

/// Finds the member and decodes it, in whatever pieces the object comes.
///
/// Bedrock's object holds texts alone, so nothing deeper is followed.
#[derive(Clone, Debug)]
pub(crate) struct Base64Member {
    place: Place,
    /// Whether the last name was the member's.
    is_wanted: bool,
    /// Bits that do not make up a byte yet.
    bits: u32,
    bit_count: u8,
    held: [u8; HELD],
    held_len: usize,
}

impl Base64Member {
    pub(crate) const fn new() -> Self {
        Self {
            place: Place::Name,
            is_wanted: false,
            bits: 0,
            bit_count: 0,
            held: [0; HELD],
            held_len: 0,
        }
    }

    /// Takes the next bytes of the object and gives the decoded bytes that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(&[u8])) {
        for byte in bytes {
            self.take(*byte, give);
        }
        self.flush(give);
    }

    fn take(&mut self, byte: u8, give: &mut impl FnMut(&[u8])) {
        self.place = match (self.place, byte) {
            (Place::Name, b'"') => Place::InName(Some(0)),
            (Place::Name, _) => Place::Name,
            (Place::InName(matched), b'"') => {
                self.is_wanted = matched == Some(MEMBER.len());
                Place::Value
            }
            (Place::InName(matched), byte) => Place::InName(
                matched
                    .filter(|matched| MEMBER.get(*matched) == Some(&byte))
                    .map(|matched| matched.saturating_add(1)),
            ),
            (Place::Value, b'"') => Place::InValue { escaped: false },
            // A value that is no text ends at the comma.
            (Place::Value, b',') => Place::Name,
            (Place::Value, _) => Place::Value,
            (Place::InValue { escaped: false }, b'"') => Place::Name,
            (Place::InValue { escaped: false }, b'\\') => Place::InValue { escaped: true },
            (Place::InValue { .. }, byte) => {
                if self.is_wanted {
                    self.decode(byte, give);
                }
                Place::InValue { escaped: false }
            }
        };
    }

    /// Takes one digit. What is none, such as padding, means nothing.
    fn decode(&mut self, byte: u8, give: &mut impl FnMut(&[u8])) {
        let Some(value) = digit(byte) else {
            return;
        };
        self.bits = (self.bits << 6) | u32::from(value);
        self.bit_count = self.bit_count.saturating_add(6);
        if self.bit_count >= 8 {
            self.bit_count = self.bit_count.saturating_sub(8);
            let whole = (self.bits >> self.bit_count) & 0xff;
            if self.held_len == HELD {
                self.flush(give);
            }
            if let Some(place) = self.held.get_mut(self.held_len) {
                *place = u8::try_from(whole).unwrap_or_default();
                self.held_len = self.held_len.saturating_add(1);
            }
        }
    }

    fn flush(&mut self, give: &mut impl FnMut(&[u8])) {
        if self.held_len > 0 {
            give(self.held.get(..self.held_len).unwrap_or_default());
            self.held_len = 0;
        }
    }
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => byte.checked_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').checked_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').checked_add(52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, expected: &str) {
        for size in 1..=object.len() {
            let mut member = Base64Member::new();
            let mut decoded = Vec::new();
            for piece in object.as_bytes().chunks(size) {
                member.push(piece, &mut |bytes| decoded.extend_from_slice(bytes));
            }
            assert_eq!(
                String::from_utf8_lossy(&decoded),
                expected,
                "{object} by {size}"
            );
        }
    }

    #[test]
    fn the_member_is_decoded_wherever_it_stands() {
        check(
            r#"{"bytes":"eyJ0eXBlIjoicGluZyJ9","p":"abcd"}"#,
            r#"{"type":"ping"}"#,
        );
        check(r#"{"p":"bytes", "bytes" : "eyJhIjoxfQ=="}"#, r#"{"a":1}"#);
        check(r#"{"n":1,"bytes":"Pz8\/Pj4+"}"#, "???>>>");
    }

    #[test]
    fn other_members_say_nothing() {
        check(
            r#"{"byte":"eyJhIjoxfQ==","bytesx":"eyJhIjoxfQ==","message":"\"bytes\":\"eyJhIjoxfQ==\""}"#,
            "",
        );
        check("{}", "");
    }

    #[test]
    fn a_long_text_is_given_in_parts() {
        let text = "x".repeat(1000);
        let encoded = "eHh4".repeat(333) + "eA==";
        check(&format!(r#"{{"bytes":"{encoded}"}}"#), &text);
    }
}
