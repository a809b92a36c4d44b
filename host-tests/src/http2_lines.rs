//! Turns HTTP/2 header maps into header lines and back.

use anyhow::Result;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::scripted_upstream::Lines;

/// The lines of a map; a character stands for one byte of a value.
#[must_use]
pub fn lines(map: &HeaderMap) -> Lines {
    map.iter()
        .map(|(name, value)| {
            let value = value.as_bytes().iter().copied().map(char::from).collect();
            (name.as_str().to_owned(), value)
        })
        .collect()
}

/// The map of these lines.
///
/// # Errors
///
/// When a name or value is none that HTTP/2 can carry.
pub fn header_map(lines: &Lines) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        let bytes: Vec<u8> = value
            .chars()
            .map(|character| u8::try_from(character).unwrap_or(b'?'))
            .collect();
        map.append(
            HeaderName::try_from(name.as_str())?,
            HeaderValue::from_bytes(&bytes)?,
        );
    }
    Ok(map)
}
