//! Whether a `tracestate` can be kept: W3C Trace Context has a wrong one dropped whole.

/// The most bytes that are kept; the standard wants at least these to be.
const MOST_BYTES: usize = 512;
/// The most members that the standard allows.
const MOST_MEMBERS: usize = 32;
/// The most bytes of a key, and of a value.
const MOST_PART_BYTES: usize = 256;

/// The header without the white space around it, if it is a list of keys and values within the bounds.
pub(crate) fn well_formed(header: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(header.trim_ascii()).ok()?;
    let mut members = 0_usize;
    for member in text.split(',') {
        let member = member.trim_matches([' ', '\t']);
        if member.is_empty() {
            continue;
        }
        members = members.saturating_add(1);
        let (key, value) = member.split_once('=')?;
        if !is_key(key.as_bytes()) || !is_value(value.as_bytes()) {
            return None;
        }
    }
    (members > 0 && members <= MOST_MEMBERS && text.len() <= MOST_BYTES).then_some(text)
}

fn is_key(key: &[u8]) -> bool {
    let begins_well = matches!(key, [b'a'..=b'z' | b'0'..=b'9', ..]);
    let is_allowed =
        |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    begins_well && key.len() <= MOST_PART_BYTES && key.iter().all(is_allowed)
}

fn is_value(value: &[u8]) -> bool {
    let is_allowed = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'=';
    !value.is_empty() && value.len() <= MOST_PART_BYTES && value.iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, kept: bool) {
        let expected = kept.then_some(header.trim());
        assert_eq!(well_formed(header.as_bytes()), expected, "{header:?}");
    }

    #[test]
    fn lists_of_keys_and_values_are_kept_as_they_are() {
        check("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true);
        check("ot=th:8;rv:0123456789abcd", true);
        check(" tenant@vendor=1 ,\t0x*/_-=~ , ,", true);
    }

    #[test]
    fn what_is_no_such_list_is_dropped_whole() {
        for wrong in [
            "",
            " ",
            ",",
            "a",
            "a=",
            "=a",
            "A=1",
            "a=1,b",
            "a=b=c",
            "a b=1",
            "a=\u{e9}",
            "a=1\u{7f}",
            "_a=1",
        ] {
            check(wrong, false);
        }
        assert_eq!(well_formed(b"a=\xff"), None);
        assert_eq!(well_formed(b"a=1\0"), None);
    }

    #[test]
    fn the_bounds_are_the_standards() {
        let members = |count: usize| vec!["a=1"; count].join(",");
        check(&members(32), true);
        check(&members(33), false);
        check(&format!("a={}", "x".repeat(256)), true);
        check(&format!("a={}", "x".repeat(257)), false);
        check(&format!("{}=1", "a".repeat(256)), true);
        check(&format!("{}=1", "a".repeat(257)), false);
        let half = format!("a={}", "x".repeat(253));
        check(&format!("{half},b={}", "x".repeat(254)), true);
        check(&format!("{half},b={}", "x".repeat(255)), false);
    }
}
