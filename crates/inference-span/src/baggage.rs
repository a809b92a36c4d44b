//! What is taken over from W3C Baggage: the values of configured keys and nothing else.

use llm_payloads::Text;

use crate::hex::digit;

/// The most bytes of the header that are looked at, which is the most that the standard has everybody pass on.
pub const MAX_BAGGAGE_BYTES: usize = 8192;
/// The most keys that are looked for.
pub const MAX_BAGGAGE_KEYS: usize = 32;

/// The values that a `baggage` header holds for these keys, percent-decoded, in the header's order.
///
/// Of several values for one key the first counts. Properties after a value are left out, as are empty values. A value
/// is held as a [`Text`]: cut at 128 bytes, with `_` for control characters and for what is no UTF-8. A percent sign
/// that begins no escape stands for itself. A member that the bound on the header cuts is left out.
pub fn baggage<'a, K: AsRef<str>>(
    header: &'a [u8],
    keys: &'a [K],
) -> impl Iterator<Item = (&'a str, Text)> {
    let mut found = [false; MAX_BAGGAGE_KEYS];
    within_bounds(header)
        .split(|byte| *byte == b',')
        .filter_map(move |member| {
            let (key, value) = parts(member)?;
            let (wanted, found) = keys
                .iter()
                .zip(&mut found)
                .find(|(wanted, _)| wanted.as_ref().as_bytes() == key)?;
            if *found || value.is_empty() {
                return None;
            }
            *found = true;
            Some((wanted.as_ref(), decoded(value)))
        })
}

fn within_bounds(header: &[u8]) -> &[u8] {
    let Some(looked_at) = header.get(..MAX_BAGGAGE_BYTES) else {
        return header;
    };
    if matches!(header.get(MAX_BAGGAGE_BYTES), None | Some(b',')) {
        return looked_at;
    }
    let last_comma = looked_at.iter().rposition(|byte| *byte == b',');
    looked_at.get(..last_comma.unwrap_or(0)).unwrap_or_default()
}

/// A member's key and value without white space and properties.
fn parts(member: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = member.iter().position(|byte| *byte == b'=')?;
    let (key, value) = member.split_at_checked(equals)?;
    let value = value
        .strip_prefix(b"=")?
        .split(|byte| *byte == b';')
        .next()?;
    Some((key.trim_ascii(), value.trim_ascii()))
}

fn decoded(value: &[u8]) -> Text {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        let escape = match rest {
            [b'%', high, low, after @ ..] => digit(*high)
                .zip(digit(*low))
                .map(|(high, low)| (high.wrapping_mul(16) | low, after)),
            _ => None,
        };
        let (byte, after) = escape.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    Text::from_prefix(&bytes, u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &[u8], expected: &[(&str, &str)]) {
        let keys = ["tenant", "user.id", "%41"];
        let found: Vec<_> = baggage(header, &keys).collect();
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(header));
    }

    #[test]
    fn only_configured_keys_are_taken() {
        check(
            b"secret=1,tenant=blue;ttl=3 ,\t user.id = a%20b ,Tenant=2,tenant2=3",
            &[("tenant", "blue"), ("user.id", "a b")],
        );
        check(b"", &[]);
        assert_eq!(baggage(b"tenant=blue", &[] as &[&str]).count(), 0);
    }

    #[test]
    fn keys_are_compared_as_they_are() {
        check(b"%41=1,A=2", &[("%41", "1")]);
    }

    #[test]
    fn the_first_value_of_a_key_that_is_not_empty_counts() {
        check(b"tenant=,tenant=one,tenant=two", &[("tenant", "one")]);
    }

    #[test]
    fn escapes_are_undone_and_what_is_none_stands_for_itself() {
        check(b"tenant=%C3%a9%2C%3b", &[("tenant", "\u{e9},;")]);
        check(b"tenant=100%", &[("tenant", "100%")]);
        check(b"tenant=%4", &[("tenant", "%4")]);
        check(b"tenant=%zz%%41", &[("tenant", "%zz%A")]);
        check(b"tenant=a=b", &[("tenant", "a=b")]);
    }

    #[test]
    fn what_would_harm_a_reader_is_replaced() {
        check(b"tenant=a%00%0Ab%FFc\xfe", &[("tenant", "a__b_c_")]);
    }

    #[test]
    fn members_without_a_value_are_passed_over() {
        check(b"tenant,,=x,;,=,tenant=1", &[("tenant", "1")]);
    }

    #[test]
    fn a_value_is_cut_and_a_header_is_read_no_further_than_its_bound() {
        let long = format!("tenant={}", "x".repeat(500));
        check(long.as_bytes(), &[("tenant", &"x".repeat(128))]);
        let filler = "f".repeat(MAX_BAGGAGE_BYTES - 9);
        check(format!("{filler},tenant=1").as_bytes(), &[("tenant", "1")]);
        check(
            format!("{filler},tenant=1,user.id=2").as_bytes(),
            &[("tenant", "1")],
        );
        check(format!("{filler},tenant=12").as_bytes(), &[]);
        check(format!("{filler}f,tenant=1").as_bytes(), &[]);
        check(&vec![b'x'; 2 * MAX_BAGGAGE_BYTES], &[]);
    }
}
