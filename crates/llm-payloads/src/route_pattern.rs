//! The patterns by which paths lead to dialects.

use crate::Text;

/// The path without query, fragment and one trailing slash.
#[must_use]
pub fn without_query(path: &[u8]) -> &[u8] {
    let path = path
        .split(|byte| matches!(byte, b'?' | b'#'))
        .next()
        .unwrap_or_default();
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Whether a path, given without its query, ends as the pattern says.
pub(crate) fn fits(pattern: &str, path: &[u8]) -> bool {
    let pattern = pattern.as_bytes();
    // Most requests of a proxy are none of ours, and every pattern ends in a letter of its own: one comparison settles
    // most of them.
    if pattern.last() != path.last() && !path.is_empty() {
        return false;
    }
    if let Some(whole) = pattern.strip_prefix(b"^") {
        return whole == path || (whole == b"/" && path.is_empty());
    }
    if !pattern.contains(&b'{') {
        return path.ends_with(pattern);
    }
    let mut segments = path.rsplit(|byte| *byte == b'/');
    // Every pattern begins with a slash, so its first part is empty, and something must stand there in the path too.
    let parts = pattern.strip_prefix(b"/").unwrap_or(pattern);
    parts.rsplit(|byte| *byte == b'/').all(|part| {
        segments
            .next()
            .is_some_and(|segment| segment_fits(part, segment))
    }) && segments.next().is_some()
}

/// The part of a path that stands for `{model}`, as it is in the path.
pub(crate) fn model<'a>(pattern: &str, path: &'a [u8]) -> Option<&'a [u8]> {
    let mut segments = path.rsplit(|byte| *byte == b'/');
    let mut parts = pattern.as_bytes().rsplit(|byte| *byte == b'/');
    loop {
        let (part, segment) = (parts.next()?, segments.next()?);
        if let Some(suffix) = part.strip_prefix(MODEL) {
            return segment.strip_suffix(suffix);
        }
    }
}

const MODEL: &[u8] = b"{model}";

/// One segment of a pattern against one of a path.
fn segment_fits(part: &[u8], segment: &[u8]) -> bool {
    if let Some(suffix) = part.strip_prefix(MODEL) {
        return segment
            .strip_suffix(suffix)
            .is_some_and(|name| !name.is_empty());
    }
    if part == b"{}" {
        !segment.is_empty()
    } else {
        part == segment
    }
}

/// A name from a path, its percent signs resolved. What is no escape stands for itself.
pub(crate) fn decoded(name: &[u8]) -> Text {
    const HELD: usize = 2 * crate::TEXT_BYTES;
    let mut bytes = [0; HELD];
    let mut len = 0_usize;
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let escape = (*first == b'%').then(|| hex_pair(after)).flatten();
        let (byte, used) = escape.map_or((*first, 0), |byte| (byte, 2));
        if let Some(place) = bytes.get_mut(len) {
            *place = byte;
        }
        len = len.saturating_add(1);
        rest = after.get(used..).unwrap_or_default();
    }
    Text::from_prefix(
        bytes.get(..len.min(HELD)).unwrap_or_default(),
        u64::try_from(len).unwrap_or(u64::MAX),
    )
}

fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let [high, low, ..] = bytes else {
        return None;
    };
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    digit(high)?.checked_mul(16)?.checked_add(digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(fits(pattern, path.as_bytes()), expected, "{pattern} {path}");
    }

    #[test]
    fn a_pattern_is_an_end_of_a_path_at_a_segments_border() {
        check("/generate", "/x/generate", true);
        check("/generate", "/xgenerate", false);
        check("^/", "", true);
        check("^/", "/x", false);
        check("^/vertex", "/vertex", true);
        check("^/vertex", "/x/vertex", false);
        check(
            "/models/{model}:generateContent",
            "/v1beta/models/gemini-2:generateContent",
            true,
        );
        check(
            "/models/{model}:generateContent",
            "/v1beta/models/:generateContent",
            false,
        );
        check(
            "/models/{model}:generateContent",
            "/v1beta/models/gemini-2:countTokens",
            false,
        );
        check(
            "/models/{model}/versions/{}/infer",
            "/v2/models/m/versions/3/infer",
            true,
        );
        check(
            "/models/{model}/versions/{}/infer",
            "/v2/models/m/infer",
            false,
        );
        check("/models/{model}/infer", "models/m/infer", false);
    }

    #[test]
    fn the_models_name_is_taken_out_of_the_path() {
        let name = |pattern, path: &'static str| model(pattern, path.as_bytes()).map(decoded);
        assert_eq!(
            name(
                "/models/{model}:generateContent",
                "/v1/models/gemini-2.5-pro:generateContent"
            ),
            Some(Text::from("gemini-2.5-pro"))
        );
        assert_eq!(
            name(
                "/model/{model}/converse",
                "/model/arn%3Aaws%3abedrock%2Fx/converse"
            ),
            Some(Text::from("arn:aws:bedrock/x"))
        );
        assert_eq!(
            name(
                "/models/{model}/versions/{}/infer",
                "/v2/models/m%/versions/3/infer"
            ),
            Some(Text::from("m%"))
        );
        assert_eq!(name("/generate", "/generate"), None);
    }

    #[test]
    fn a_long_name_is_cut_like_any_other() {
        let long = "m".repeat(1000);
        assert!(decoded(long.as_bytes()).is_cut());
        assert_eq!(decoded(long.as_bytes()).as_str().len(), crate::TEXT_BYTES);
    }
}
