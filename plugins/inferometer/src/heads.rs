//! What is read of a request's and an answer's headers, each map taken from the host in one piece.

use hostcalls::HeaderPairs;
use request_observer::{RequestHead, ResponseHead, ResponseTrailers, Telemetry};
use response_telemetry::{HeaderRule, TelemetryReader};

/// What a request's headers add to its method and path. Of a header that is there twice, the first
/// counts.
pub(crate) fn request<'a>(known: RequestHead<'a>, headers: &'a HeaderPairs) -> RequestHead<'a> {
    let mut head = known;
    for (name, value) in headers {
        match name {
            b"content-type" => keep_first(&mut head.content_type, value),
            b"content-encoding" => keep_first(&mut head.content_encoding, value),
            b"upgrade" => head.upgrade |= !value.is_empty(),
            _ => {}
        }
    }
    head
}

/// What an answer's headers say of it, and of the inference behind it.
pub(crate) fn response<'a>(
    headers: &'a HeaderPairs,
    rules: &[HeaderRule],
) -> (ResponseHead<'a>, Telemetry) {
    let mut head = ResponseHead::default();
    let mut reader = TelemetryReader::new(rules);
    for (name, value) in headers {
        match name {
            b":status" => head.status = status(value),
            b"content-type" => keep_first(&mut head.content_type, value),
            b"content-encoding" => keep_first(&mut head.content_encoding, value),
            b"grpc-status" => keep_first(&mut head.grpc_status, value),
            _ => reader.read(name, value),
        }
    }
    (head, reader.finish())
}

/// The same of an answer's trailers.
pub(crate) fn trailers<'a>(
    headers: &'a HeaderPairs,
    rules: &[HeaderRule],
) -> (ResponseTrailers<'a>, Telemetry) {
    let mut trailers = ResponseTrailers::default();
    let mut reader = TelemetryReader::new(rules);
    for (name, value) in headers {
        match name {
            b"grpc-status" => keep_first(&mut trailers.grpc_status, value),
            _ => reader.read(name, value),
        }
    }
    (trailers, reader.finish())
}

fn keep_first<'a>(place: &mut &'a [u8], value: &'a [u8]) {
    if place.is_empty() {
        *place = value;
    }
}

fn status(value: &[u8]) -> u16 {
    core::str::from_utf8(value)
        .ok()
        .and_then(|status| status.parse().ok())
        .unwrap_or(0)
}
