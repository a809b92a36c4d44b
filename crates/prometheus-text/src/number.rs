//! Scaled integers as decimal numbers, exactly and without floating point.

use std::fmt::{self, Write};

/// Most digits behind the point; only reached where the scale does not divide a power of ten.
const MOST_FRACTION_DIGITS: usize = 24;

/// Most digits of a number: those of `u64`, and the fraction's.
const MOST_DIGITS: usize = 20 + MOST_FRACTION_DIGITS;

/// Writes an integer; most of those in an exposition are counts of buckets, and most of these one digit.
pub(crate) fn write_whole(out: &mut impl Write, value: u64) -> fmt::Result {
    match u8::try_from(value) {
        Ok(digit @ 0..10) => out.write_char(char::from(b'0'.saturating_add(digit))),
        _ => out.write_str(Decimal::new(value, 1).whole()),
    }
}

/// Writes `value / scale`, as `0.123456789` for 123,456,789 at a scale of a billion.
pub(crate) fn write_scaled(out: &mut impl Write, value: u64, scale: u64) -> fmt::Result {
    let decimal = Decimal::new(value, scale);
    out.write_str(decimal.whole())?;
    match decimal.fraction() {
        "" => Ok(()),
        fraction => {
            out.write_char('.')?;
            out.write_str(fraction)
        }
    }
}

/// Writes `value / scale` of a number that may be negative.
pub(crate) fn write_signed(out: &mut impl Write, value: i64, scale: u64) -> fmt::Result {
    if value < 0 {
        out.write_char('-')?;
    }
    write_scaled(out, value.unsigned_abs(), scale)
}

/// Writes a bucket's bound as it stands in the label `le`.
///
/// A label is text, so all exporters must write a bound alike or its series would not be the same: the shortest
/// digits, an exponent of two digits below 0.0001 and from a million on, and in OpenMetrics a `.0` on what would
/// look like an integer.
pub(crate) fn write_bound(
    out: &mut impl Write,
    value: u64,
    scale: u64,
    point_zero: bool,
) -> fmt::Result {
    let decimal = Decimal::new(value, scale);
    let (whole, fraction) = (decimal.whole(), decimal.fraction());
    if whole.len() > 6 {
        let digits = decimal.all().trim_end_matches('0');
        return write_exponent(out, digits, '+', whole.len().saturating_sub(1));
    }
    let leading_zeros = fraction
        .len()
        .saturating_sub(fraction.trim_start_matches('0').len());
    if whole == "0" && leading_zeros >= 4 {
        let digits = fraction.trim_start_matches('0');
        return write_exponent(out, digits, '-', leading_zeros.saturating_add(1));
    }
    out.write_str(whole)?;
    match fraction {
        "" if point_zero => out.write_str(".0"),
        "" => Ok(()),
        fraction => write!(out, ".{fraction}"),
    }
}

fn write_exponent(out: &mut impl Write, digits: &str, sign: char, exponent: usize) -> fmt::Result {
    let (first, others) = digits.split_at_checked(1).unwrap_or((digits, ""));
    out.write_str(first)?;
    if !others.is_empty() {
        write!(out, ".{others}")?;
    }
    write!(out, "e{sign}{exponent:02}")
}

/// The digits of a number on both sides of the point, with no zero too many.
struct Decimal {
    digits: [u8; MOST_DIGITS],
    start: usize,
    point: usize,
    end: usize,
}

impl Decimal {
    fn new(value: u64, scale: u64) -> Decimal {
        const POINT: usize = 20;
        let mut decimal = Decimal {
            digits: [b'0'; MOST_DIGITS],
            start: POINT,
            point: POINT,
            end: POINT,
        };
        let scale = scale.max(1);
        let mut whole = value.checked_div(scale).unwrap_or(0);
        let mut rest = u128::from(value.checked_rem(scale).unwrap_or(0));
        let scale = u128::from(scale);
        loop {
            decimal.start = decimal.start.saturating_sub(1);
            decimal.set(decimal.start, (whole % 10) as u8);
            whole /= 10;
            if whole == 0 {
                break;
            }
        }
        while rest > 0 && decimal.end < MOST_DIGITS {
            // A digit is written for each tenfold of the rest, so the rest stays below the scale and ten of it fit.
            rest = rest.saturating_mul(10);
            decimal.set(decimal.end, rest.checked_div(scale).unwrap_or(0) as u8);
            rest = rest.checked_rem(scale).unwrap_or(0);
            decimal.end = decimal.end.saturating_add(1);
        }
        decimal
    }

    fn set(&mut self, place: usize, digit: u8) {
        if let Some(cell) = self.digits.get_mut(place) {
            *cell = b'0'.saturating_add(digit);
        }
    }

    fn part(&self, range: std::ops::Range<usize>) -> &str {
        let digits = self.digits.get(range).unwrap_or_default();
        str::from_utf8(digits).unwrap_or_default()
    }

    fn whole(&self) -> &str {
        self.part(self.start..self.point)
    }

    fn fraction(&self) -> &str {
        // A fraction that was cut may end in zeros; one that ended by itself never does.
        self.part(self.point..self.end).trim_end_matches('0')
    }

    fn all(&self) -> &str {
        self.part(self.start..self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOS: u64 = 1_000_000_000;

    fn check(value: u64, scale: u64, expected: &str) {
        let mut text = String::new();
        write_scaled(&mut text, value, scale).unwrap();
        assert_eq!(text, expected, "{value} / {scale}");
    }

    #[test]
    fn scaled_integers_are_written_exactly() {
        check(123_456_789, NANOS, "0.123456789");
        check(0, NANOS, "0");
        check(NANOS, NANOS, "1");
        check(1_500_000_000, NANOS, "1.5");
        check(1, NANOS, "0.000000001");
        check(u64::MAX, NANOS, "18446744073.709551615");
        check(u64::MAX, 1, "18446744073709551615");
        check(9_007_199_254_740_993, 1, "9007199254740993");
        check(100, 1, "100");
        check(1, 1024, "0.0009765625");
        check(1, 3, "0.333333333333333333333333");
        check(5, 0, "5");
        check(1, u64::MAX, "0.00000000000000000005421");
        check(u64::MAX - 1, u64::MAX, "0.999999999999999999945789");
    }

    #[test]
    fn integers_are_written_exactly() {
        for value in [0, 9, 10, 255, 256, 1_000, u64::MAX] {
            let mut text = String::new();
            write_whole(&mut text, value).unwrap();
            assert_eq!(text, value.to_string());
        }
    }

    #[test]
    fn negative_levels_have_a_sign() {
        for (value, expected) in [
            (-5, "-0.005"),
            (0, "0"),
            (i64::MIN, "-9223372036854775.808"),
        ] {
            let mut text = String::new();
            write_signed(&mut text, value, 1000).unwrap();
            assert_eq!(text, expected);
        }
    }

    fn check_bound(value: u64, scale: u64, plain: &str, open_metrics: &str) {
        let (mut first, mut second) = (String::new(), String::new());
        write_bound(&mut first, value, scale, false).unwrap();
        write_bound(&mut second, value, scale, true).unwrap();
        assert_eq!(
            (first.as_str(), second.as_str()),
            (plain, open_metrics),
            "{value} / {scale}"
        );
    }

    #[test]
    fn bounds_are_written_as_other_exporters_write_them() {
        check_bound(0, NANOS, "0", "0.0");
        check_bound(NANOS, NANOS, "1", "1.0");
        check_bound(10 * NANOS, NANOS, "10", "10.0");
        check_bound(81_920_000_000, NANOS, "81.92", "81.92");
        check_bound(1_000_000, NANOS, "0.001", "0.001");
        check_bound(100_000, NANOS, "0.0001", "0.0001");
        check_bound(10_000, NANOS, "1e-05", "1e-05");
        check_bound(12_500, NANOS, "1.25e-05", "1.25e-05");
        check_bound(1, NANOS, "1e-09", "1e-09");
        check_bound(100_000, 1, "100000", "100000.0");
        check_bound(999_999, 1, "999999", "999999.0");
        check_bound(1_000_000, 1, "1e+06", "1e+06");
        check_bound(1_048_576, 1, "1.048576e+06", "1.048576e+06");
        check_bound(67_108_864, 1, "6.7108864e+07", "6.7108864e+07");
        check_bound(12_345_675, 10, "1.2345675e+06", "1.2345675e+06");
        check_bound(10_000_000_000, 1, "1e+10", "1e+10");
    }
}
