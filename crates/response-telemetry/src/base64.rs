//! Base64 as binary headers are written: padded or not, in either alphabet.

/// The bytes that `text` stands for, or `None` where it is not base64.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let unpadded = text
        .strip_suffix(b"==")
        .or_else(|| text.strip_suffix(b"="))
        .unwrap_or(text);
    let mut bytes = Vec::with_capacity(unpadded.len());
    for group in unpadded.chunks(4) {
        let mut bits: u32 = 0;
        for byte in group {
            bits = (bits << 6) | sextet(*byte)?;
        }
        let [_, first, second, third] = match group.len() {
            4 => bits,
            3 => bits << 6,
            2 => bits << 12,
            // One character holds six bits, which are no byte.
            _ => return None,
        }
        .to_be_bytes();
        bytes.push(first);
        if group.len() > 2 {
            bytes.push(second);
        }
        if group.len() > 3 {
            bytes.push(third);
        }
    }
    Some(bytes)
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte.wrapping_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_s_examples_decode() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zg", "f"),
            ("Zm8=", "fo"),
            ("Zm8", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(
                decode(text.as_bytes()).as_deref(),
                Some(bytes.as_bytes()),
                "{text}"
            );
        }
        assert_eq!(decode(b"-_+/"), Some(vec![0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for text in [&b"Z"[..], b"Zm9vY", b"Zg=a", b"Z g=", b"\xff\xff", b"Zg==="] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
