//! Ids as the lower-case hexadecimal digits that headers hold.

/// Bytes as lower-case hexadecimal digits, as ids are shown.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .map(|digit| char::from_digit(u32::from(digit), 16).unwrap_or('0'))
        .collect()
}

/// `N` bytes out of twice as many lower-case digits; nothing else is taken.
pub(crate) fn from_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != N.saturating_mul(2) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else {
            return None;
        };
        *byte = lower_digit(*high)?.wrapping_mul(16) | lower_digit(*low)?;
    }
    Some(bytes)
}

fn lower_digit(byte: u8) -> Option<u8> {
    if byte.is_ascii_uppercase() {
        return None;
    }
    digit(byte)
}

/// The value of one digit in either case.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_lower_case_both_ways() {
        assert_eq!(hex(&[0x00, 0x9a, 0xff]), "009aff");
        assert_eq!(from_hex(b"009aff"), Some([0x00, 0x9a, 0xff]));
        for wrong in ["009aFF", "009af", "009aff0", "009ag0", "", "009a f"] {
            assert_eq!(from_hex::<3>(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
