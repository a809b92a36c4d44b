//! How keys and given values are written in messages.

use crate::json::Json;

/// Longest quotation of a given value, in characters.
const QUOTED_CHARACTERS: usize = 60;

/// Whether a key can stand in a dotted path as it is.
pub(crate) fn is_plain_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The value as compact JSON, cut where it gets long.
#[inline(never)]
pub(crate) fn quoted(json: &Json) -> String {
    let mut out = String::new();
    write(json, &mut out);
    shortened(&out)
}

/// The text up to the length that a message may quote; control characters are shown as `?`.
#[inline(never)]
pub(crate) fn shortened(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(QUOTED_CHARACTERS)
        .map(|character| {
            if character.is_control() {
                '?'
            } else {
                character
            }
        })
        .collect();
    if text.chars().nth(QUOTED_CHARACTERS).is_some() {
        out.push('…');
    }
    out
}

/// `a`, `b`, `c`, each in backticks.
pub(crate) fn listed(names: &mut dyn Iterator<Item = &str>) -> String {
    let mut out = String::new();
    for name in names {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push('`');
        out.push_str(name);
        out.push('`');
    }
    out
}

/// The number in decimals, to 15 digits at most.
///
/// The library's own way of writing floats is exact for every float, and would be a tenth of the module.
pub(crate) fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    if size == 0.0 || (1e-6..1e15).contains(&size) {
        return format!("{sign}{}", decimals(size));
    }
    let mut mantissa = size;
    let mut exponent: i32 = 0;
    while mantissa >= 10.0 && exponent < 400 {
        mantissa /= 10.0;
        exponent = exponent.saturating_add(1);
    }
    while mantissa < 1.0 && exponent > -400 {
        mantissa *= 10.0;
        exponent = exponent.saturating_sub(1);
    }
    format!("{sign}{}e{exponent}", decimals(mantissa))
}

/// A number from 0 to 1e15 without sign and exponent.
fn decimals(size: f64) -> String {
    let mut whole = size.trunc() as u64;
    let digits = whole.checked_ilog10().unwrap_or_default().saturating_add(1);
    let places = 15_u32.saturating_sub(digits).min(12);
    let one = 10_u64.saturating_pow(places);
    let mut fraction = (size.fract() * one as f64 + 0.5) as u64;
    if fraction >= one {
        whole = whole.saturating_add(1);
        fraction = 0;
    }
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:0width$}", width = places as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

fn write(json: &Json, out: &mut String) {
    // What lies behind the cut need not be written.
    if out.len() > QUOTED_CHARACTERS.saturating_mul(4) {
        return;
    }
    match json {
        Json::Null => out.push_str("null"),
        Json::Switch(true) => out.push_str("true"),
        Json::Switch(false) => out.push_str("false"),
        Json::Number(value) => out.push_str(&number(*value)),
        Json::Text(text) => {
            out.push('"');
            out.push_str(&shortened(text));
            out.push('"');
        }
        Json::List(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(element, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push('"');
                out.push_str(key);
                out.push_str("\": ");
                write(value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_a_person_would() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (0.1, "0.1"),
            (0.3, "0.3"),
            (2.5, "2.5"),
            (1000.5, "1000.5"),
            (0.000_001, "0.000001"),
            (0.100_000_000_1, "0.1000000001"),
            (0.999_999_999_999_9, "1"),
            (81.92, "81.92"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e9, "1000000000"),
            (1e15, "1e15"),
            (1e300, "1e300"),
            (-2.5e20, "-2.5e20"),
            (1e-7, "1e-7"),
            (5e-324, "4.940656458412e-324"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
