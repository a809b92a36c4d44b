//! Decimal text to whole numbers of a smaller unit, without a binary fraction in between.

/// Longest text that is taken for a number; the longest that a server was seen to write has 22 characters.
const NUMBER_BYTES: usize = 64;

/// Largest exponent that is read; what is beyond it is absurd in any unit.
const MAX_EXPONENT: i32 = 400;

/// The number `text` times ten to the `scale`, rounded half up to a whole one; `None` where it is no decimal number, is
/// negative, or is above `limit`.
pub(crate) fn scaled(text: &[u8], scale: i32, limit: u64) -> Option<u64> {
    let (whole, fraction, exponent) = parts(text)?;
    // The power of ten of the digit that is read next.
    let length = i32::try_from(whole.len()).ok()?;
    let mut power = length
        .checked_add(exponent)?
        .checked_add(scale)?
        .checked_sub(1)?;
    let mut value: u64 = 0;
    for digit in whole.iter().chain(fraction) {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if power >= 0 {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else {
            if power == -1 && digit >= 5 {
                value = value.checked_add(1)?;
            }
            break;
        }
        power = power.checked_sub(1)?;
    }
    while power >= 0 && value != 0 {
        value = value.checked_mul(10)?;
        power = power.checked_sub(1)?;
    }
    (value <= limit).then_some(value)
}

/// The whole number `text`, which may have a fraction of zeros, as servers write that keep counts as fractions.
pub(crate) fn count(text: &[u8], limit: u64) -> Option<u64> {
    let (_, fraction, exponent) = parts(text)?;
    (exponent == 0 && fraction.iter().all(|digit| *digit == b'0')).then_some(())?;
    scaled(text, 0, limit)
}

/// The finite number `text` that is not negative.
pub(crate) fn real(text: &[u8]) -> Option<f64> {
    parts(text)?;
    let number: f64 = str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The digits before the point, those after it, and the exponent.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8], i32)> {
    let text = text.trim_ascii();
    if text.len() > NUMBER_BYTES {
        return None;
    }
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (mantissa, exponent) = match split(text, |byte| byte == b'e' || byte == b'E') {
        Some((mantissa, exponent)) => (mantissa, signed(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = split(mantissa, |byte| byte == b'.').unwrap_or((mantissa, &[]));
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let some = !(whole.is_empty() && fraction.is_empty());
    (some && digits(whole) && digits(fraction)).then_some((whole, fraction, exponent))
}

/// What stands before and after the first byte that is a border.
pub(crate) fn split(text: &[u8], border: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| border(*byte))?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.get(1..)?))
}

fn signed(text: &[u8]) -> Option<i32> {
    let number: i32 = str::from_utf8(text).ok()?.parse().ok()?;
    (number.checked_abs()? <= MAX_EXPONENT).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimal_text_becomes_exact_nanoseconds() {
        for (text, expected) in [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.1", 100_000_000),
            ("0.001", 1_000_000),
            (".5", 500_000_000),
            ("5.", 5_000_000_000),
            (" +2.5\t", 2_500_000_000),
            ("0.123456789", 123_456_789),
            ("0.1234567894", 123_456_789),
            ("0.1234567895", 123_456_790),
            ("0.12345678949999999999999999999999999999", 123_456_789),
            ("1.005", 1_005_000_000),
            ("4.35", 4_350_000_000),
            ("1e-05", 10_000),
            ("1.5E+1", 15_000_000_000),
            ("4e-10", 0),
            ("5e-10", 1),
            ("0e400", 0),
            ("0.9999999999", 1_000_000_000),
            ("00012.5", 12_500_000_000),
        ] {
            assert_eq!(
                scaled(text.as_bytes(), 9, u64::MAX),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_number_or_an_absurd_one_is_refused() {
        for text in [
            "",
            ".",
            "-1",
            "-0.0",
            "NaN",
            "nan",
            "inf",
            "Infinity",
            "1e",
            "e1",
            "1e401",
            "1e400",
            "1.2.3",
            "1,5",
            "0x1",
            "1 2",
            "1_000",
            "\u{ff}",
            "18446744073709551616",
            "6m0s",
        ] {
            assert_eq!(scaled(text.as_bytes(), 9, u64::MAX), None, "{text}");
        }
        assert_eq!(scaled(&[b'1'; NUMBER_BYTES + 1], 0, u64::MAX), None);
        assert_eq!(scaled(b"101", 0, 100), None);
        assert_eq!(scaled(b"100", 0, 100), Some(100));
        assert_eq!(scaled(b"\xff1", 0, 100), None);
    }

    #[test]
    fn a_count_is_a_whole_number() {
        assert_eq!(count(b"17", 100), Some(17));
        assert_eq!(count(b"17.0", 100), Some(17));
        for text in [&b"17.5"[..], b"1e1", b"-1", b"101", b""] {
            assert_eq!(count(text, 100), None, "{text:?}");
        }
    }

    #[test]
    fn a_real_number_is_finite_and_not_negative() {
        assert_eq!(
            real(b"0.002931118710307823"),
            Some(0.002_931_118_710_307_823)
        );
        for text in [
            &b"nan"[..],
            b"inf",
            b"infinity",
            b"-0.1",
            b"1e309",
            b"1e400",
            b"",
        ] {
            assert_eq!(real(text), None, "{text:?}");
        }
    }

    proptest! {
        /// The oracle writes the number from its parts; the reader must find them again.
        #[test]
        fn nanoseconds_come_back(nanos in 0u64..=u64::MAX / 2, zeros in 0usize..4) {
            let text = format!("{}{}.{:09}", "0".repeat(zeros), nanos / 1_000_000_000, nanos % 1_000_000_000);
            prop_assert_eq!(scaled(text.as_bytes(), 9, u64::MAX), Some(nanos));
        }

        #[test]
        fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..80), scale in -20i32..20) {
            let _ = scaled(&text, scale, u64::MAX);
            let _ = count(&text, u64::MAX);
            let _ = real(&text);
        }

        #[test]
        fn neither_does_what_looks_like_a_number(text in "[+-]?[0-9.]{0,30}(e[+-]?[0-9]{0,4})?", scale in -20i32..20) {
            let exact = scaled(text.as_bytes(), scale, 1 << 50);
            if let (Some(exact), Some(real)) = (exact, real(text.as_bytes())) {
                let float = real * 10f64.powi(scale);
                prop_assert!((float - exact as f64).abs() <= 0.5 + float * 1e-9, "{} {} {}", text, exact, float);
            }
        }
    }
}
