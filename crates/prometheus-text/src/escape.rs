//! The escapes of label values and help texts.

use std::fmt::{self, Write};

/// Writes the value of a label, for between its quotes.
///
/// A control character has no escape and some readers stop at one, so it becomes `_`; the line end has its escape.
pub(crate) fn write_label_value(out: &mut impl Write, value: &str) -> fmt::Result {
    write_escaped(out, value, true)
}

/// Writes a help text; only OpenMetrics escapes quotes there.
pub(crate) fn write_help(out: &mut impl Write, help: &str, quotes: bool) -> fmt::Result {
    write_escaped(out, help, quotes)
}

fn write_escaped(out: &mut impl Write, text: &str, quotes: bool) -> fmt::Result {
    let mut rest = text;
    while let Some(place) = rest.find(|c: char| c == '\\' || c == '"' || c.is_control()) {
        let (plain, special) = rest.split_at_checked(place).unwrap_or((rest, ""));
        out.write_str(plain)?;
        let mut characters = special.chars();
        match characters.next() {
            Some('\\') => out.write_str(r"\\")?,
            Some('"') if quotes => out.write_str("\\\"")?,
            Some('"') => out.write_str("\"")?,
            Some('\n') => out.write_str(r"\n")?,
            Some(_) => out.write_char('_')?,
            None => {}
        }
        rest = characters.as_str();
    }
    out.write_str(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_value_or_a_line_is_escaped() {
        for (text, label, help) in [
            ("plain", "plain", "plain"),
            ("", "", ""),
            ("a\"b", "a\\\"b", "a\"b"),
            ("a\\b", "a\\\\b", "a\\\\b"),
            ("\n\\n", "\\n\\\\n", "\\n\\\\n"),
            ("a\r\0\u{85}b", "a___b", "a___b"),
            ("ü\"", "ü\\\"", "ü\""),
        ] {
            let (mut as_label, mut as_help) = (String::new(), String::new());
            write_label_value(&mut as_label, text).unwrap();
            write_help(&mut as_help, text, false).unwrap();
            assert_eq!(
                (as_label.as_str(), as_help.as_str()),
                (label, help),
                "{text:?}"
            );
        }
    }
}
