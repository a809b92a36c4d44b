//! Label values as they are kept: cut to a length, free of control characters.

/// What a control character becomes.
const REPLACEMENT: char = '_';

/// The value to keep; `scratch` is only written where the value has to change, so a clean value costs one pass.
pub(crate) fn clean<'a>(value: &'a str, most_bytes: usize, scratch: &'a mut String) -> &'a str {
    let cut = cut(value, most_bytes);
    if !cut.bytes().any(may_begin_a_control_character) {
        return cut;
    }
    scratch.clear();
    scratch.extend(
        cut.chars()
            .map(|c| if c.is_control() { REPLACEMENT } else { c }),
    );
    scratch
}

/// The longest beginning of at most that many bytes that ends on a character border.
fn cut(value: &str, most_bytes: usize) -> &str {
    let most = most_bytes.min(value.len());
    (0..=most)
        .rev()
        .find_map(|end| value.get(..end))
        .unwrap_or_default()
}

/// True for the ASCII control characters and for the first byte of U+0080 to U+00BF, where the others lie.
fn may_begin_a_control_character(byte: u8) -> bool {
    byte.is_ascii_control() || byte == 0xC2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, most_bytes: usize, kept: &str) {
        let mut scratch = String::new();
        assert_eq!(
            clean(value, most_bytes, &mut scratch),
            kept,
            "{value:?} in {most_bytes}"
        );
    }

    #[test]
    fn values_are_cut_on_a_character_border() {
        check("model", 128, "model");
        check("model", 3, "mod");
        check("aü", 2, "a");
        check("aü", 3, "aü");
        check("🚀", 3, "");
        check("", 128, "");
        check("model", 0, "");
    }

    #[test]
    fn control_characters_are_replaced() {
        check("a\nb\0c\u{7f}d\u{85}e", 128, "a_b_c_d_e");
        check("£5", 128, "£5");
        check("a\u{85}b", 128, "a_b");
        check("tab\tcut", 4, "tab_");
    }
}
