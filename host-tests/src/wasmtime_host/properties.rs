//! Attributes: their encodings, and which of them a callback may read.

use super::calls::Pairs;
use super::context::{Phase, RootContext, StreamContext, first_value};
use super::status;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyValue {
    /// A number, a duration in nanoseconds, or a time in nanoseconds since 1970: 8 bytes, least first.
    Integer(i64),
    /// One byte.
    Boolean(bool),
    /// Text or bytes as they are.
    Bytes(Vec<u8>),
}

impl PropertyValue {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            PropertyValue::Integer(number) => number.to_le_bytes().to_vec(),
            PropertyValue::Boolean(truth) => vec![u8::from(*truth)],
            PropertyValue::Bytes(bytes) => bytes.clone(),
        }
    }
}

impl From<i64> for PropertyValue {
    fn from(number: i64) -> PropertyValue {
        PropertyValue::Integer(number)
    }
}

impl From<bool> for PropertyValue {
    fn from(truth: bool) -> PropertyValue {
        PropertyValue::Boolean(truth)
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> PropertyValue {
        PropertyValue::Bytes(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for PropertyValue {
    fn from(bytes: &[u8]) -> PropertyValue {
        PropertyValue::Bytes(bytes.to_vec())
    }
}

/// A path as the ABI writes it, from its parts.
pub(super) fn path_of(parts: &[&str]) -> Vec<u8> {
    parts.join("\0").into_bytes()
}

/// What an attribute of the plugin itself is; there in every callback.
pub(super) fn plugin_property(root: &RootContext, vm_id: &str, path: &[u8]) -> Option<Vec<u8>> {
    let text = match path {
        b"plugin_name" => &root.options.name,
        b"plugin_root_id" => &root.options.root_id,
        b"plugin_vm_id" => vm_id,
        _ => {
            let mut properties = root.options.properties.iter();
            let same = |dotted: &String| path_of(&dotted.split('.').collect::<Vec<_>>()) == path;
            let (_, value) = properties.find(|(dotted, _)| same(dotted))?;
            return Some(value.encode());
        }
    };
    Some(text.as_bytes().to_vec())
}

/// An attribute of a stream, or the status that the read answers with.
pub(super) fn stream_property(
    stream: &StreamContext,
    path: &[u8],
    phase: Phase,
) -> Result<Vec<u8>, u32> {
    if let Some(part) = path.strip_prefix(b"request\0")
        && is_from_headers(part)
    {
        // Header attributes come and go with the header map.
        let headers = stream.header_attributes(phase).ok_or(status::NOT_FOUND)?;
        if let Some(value) = stream.properties.get(path) {
            return Ok(value.encode());
        }
        return request_attribute(headers, part).ok_or(status::NOT_FOUND);
    }
    if let Some(value) = stream.properties.get(path) {
        return Ok(value.encode());
    }
    let written = stream.filter_state.get(path).cloned();
    written.ok_or(status::NOT_FOUND)
}

fn is_from_headers(part: &[u8]) -> bool {
    const NAMES: [&[u8]; 9] = [
        b"path",
        b"url_path",
        b"query",
        b"host",
        b"scheme",
        b"method",
        b"useragent",
        b"referer",
        b"id",
    ];
    NAMES.contains(&part) || part.starts_with(b"headers\0")
}

fn request_attribute(headers: &Pairs, part: &[u8]) -> Option<Vec<u8>> {
    if let Some(name) = part.strip_prefix(b"headers\0") {
        return joined_values(headers, name);
    }
    let header = match part {
        b"path" | b"url_path" | b"query" => b":path".as_slice(),
        b"host" => b":authority",
        b"scheme" => b":scheme",
        b"method" => b":method",
        b"useragent" => b"user-agent",
        b"referer" => b"referer",
        _ => b"x-request-id",
    };
    let value = first_value(headers, header)?;
    let mut halves = value.splitn(2, |byte| *byte == b'?');
    let before_query = halves.next().unwrap_or_default();
    match part {
        b"url_path" => Some(before_query.to_vec()),
        b"query" => Some(halves.next().unwrap_or_default().to_vec()),
        _ => Some(value.to_vec()),
    }
}

/// All values of a header, joined by commas.
fn joined_values(headers: &Pairs, name: &[u8]) -> Option<Vec<u8>> {
    let same = headers
        .iter()
        .filter(|(own, _)| own.eq_ignore_ascii_case(name));
    let values: Vec<&[u8]> = same.map(|(_, value)| value.as_slice()).collect();
    (!values.is_empty()).then(|| values.join(b",".as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamContext {
        let header = |name: &str, value: &str| (name.into(), value.into());
        StreamContext {
            request_headers: Some(vec![
                header(":path", "/v1/chat?x=1"),
                header("X-Tag", "a"),
                header("x-tag", "b"),
            ]),
            ..StreamContext::default()
        }
    }

    #[test]
    fn header_attributes_are_read_from_the_headers_and_only_while_those_are_readable() {
        fn check(parts: &[&str], phase: Phase, expected: Result<&str, u32>) {
            let found = stream_property(&stream(), &path_of(parts), phase);
            assert_eq!(
                found,
                expected.map(|text| text.as_bytes().to_vec()),
                "{parts:?}"
            );
        }
        let absent = Err(status::NOT_FOUND);
        check(
            &["request", "path"],
            Phase::RequestHeaders,
            Ok("/v1/chat?x=1"),
        );
        check(&["request", "url_path"], Phase::Log, Ok("/v1/chat"));
        check(&["request", "query"], Phase::Log, Ok("x=1"));
        check(&["request", "headers", "x-tag"], Phase::Log, Ok("a,b"));
        check(&["request", "host"], Phase::Log, absent);
        check(&["request", "path"], Phase::ResponseHeaders, absent);
        check(&["request", "path"], Phase::Done, absent);
        check(&["upstream", "address"], Phase::Log, absent);
    }

    #[test]
    fn values_are_encoded_as_the_host_encodes_them() {
        assert_eq!(PropertyValue::from(258).encode(), [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(PropertyValue::from(true).encode(), [1]);
        assert_eq!(PropertyValue::from("text").encode(), b"text");
    }
}
