//! Any answer, of any server, in any framing and coding, gives one record, the same in any cutting.
#![no_main]

use libfuzzer_sys::fuzz_target;
use request_observer::{
    AnomalyKind, Ending, RequestHead, RequestObserver, RequestRecord, ResponseHead,
    ResponseTrailers, Settings, Stamp,
};

#[path = "cutting.rs"]
mod cutting;

const CONTENT_TYPES: [&str; 8] = [
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/vnd.amazon.eventstream",
    "application/grpc",
    "application/grpc-web+proto",
    "text/plain",
    "",
];
const CODINGS: [&str; 8] = ["", "", "", "", "gzip", "deflate", "br", "zstd"];
const STATUSES: [u16; 4] = [200, 200, 429, 500];
/// A request in which every API finds what it looks for.
const REQUEST: &[u8] = br#"{"model":"m","stream":true,"n":3,"stream_options":{"include_usage":true},"prompt":"p","max_tokens":4,"inputs":"i","text":"t","text_input":"x","messages":[]}"#;
const WHOLE_REQUEST: &[u8] =
    br#"{"model":"m","stream":false,"inputs":"i","text":"t","prompt":"p","max_tokens":4}"#;

/// What the input chooses besides the answer's bytes.
struct Choice<'a> {
    path: &'a [u8],
    content_type: &'static str,
    coding: &'static str,
    status: u16,
    request: Option<&'static [u8]>,
    grpc_status: [u8; 2],
    has_trailers: bool,
}

impl<'a> Choice<'a> {
    fn new(path: &'a [u8], [content_type, coding, more]: [u8; 3]) -> Self {
        Self {
            path,
            content_type: CONTENT_TYPES[usize::from(content_type) % CONTENT_TYPES.len()],
            coding: CODINGS[usize::from(coding) % CODINGS.len()],
            status: STATUSES[usize::from(more & 3)],
            request: [Some(REQUEST), Some(WHOLE_REQUEST), None, Some(b"")]
                [usize::from(more >> 2 & 3)],
            grpc_status: [b'0' + (more >> 4 & 1), b'0' + (more >> 5 & 3)],
            has_trailers: more & 0x80 != 0,
        }
    }
}

/// The record of the exchange; none where the request is not watched.
fn observe<'a>(
    choice: &Choice<'_>,
    body: &'a [u8],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Option<RequestRecord> {
    let settings = Settings {
        gap_bounds_nanos: vec![1, 10],
        ..Settings::default()
    };
    let head = RequestHead {
        method: b"POST",
        path: choice.path,
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).ok()?;
    let request = choice.request.unwrap_or(body);
    observer.request_body(request, true, Stamp(0));
    let head = ResponseHead {
        status: choice.status,
        content_type: choice.content_type.as_bytes(),
        content_encoding: choice.coding.as_bytes(),
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(0), &settings);
    for piece in pieces {
        observer.response_body(piece, false, Stamp(0), &settings);
    }
    if choice.has_trailers {
        let trailers = ResponseTrailers {
            grpc_status: &choice.grpc_status,
            ..ResponseTrailers::default()
        };
        observer.response_trailers(&trailers, Stamp(0));
    } else {
        observer.response_body(b"", true, Stamp(0), &settings);
    }
    let ending = Ending {
        code_details: b"via_upstream",
        known: true,
        ..Ending::default()
    };
    let record = observer.close(&ending, Stamp(0));
    assert!(observer.close(&ending, Stamp(0)).is_none());
    Some(record.expect("a watched request has one record"))
}

// The first line is the path. Three bytes choose among what is listed above, four more are two positions to cut at, the
// rest is the answer.
fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let Some((bytes, rest)) = input[end + 1..].split_first_chunk() else {
        return;
    };
    let choice = Choice::new(&input[..end], *bytes);
    let Some((body, pieces)) = cutting::cut(rest) else {
        return;
    };
    let Some(whole) = observe(&choice, body, [body]) else {
        return;
    };
    for pieced in [
        observe(&choice, body, pieces),
        observe(&choice, body, body.chunks(1)),
    ] {
        let mut pieced = pieced.expect("it was watched before");
        // The library for br finds some flaws only where the input ends for a moment.
        let is_flawed = |record: &RequestRecord| {
            choice.coding == "br" && record.anomalies.of(AnomalyKind::CompressionCorrupt) > 0
        };
        if !is_flawed(&whole) && !is_flawed(&pieced) {
            pieced.first_token_chunk = whole.first_token_chunk;
            // A chunk counts whole, also where reading was given up in its midst.
            let given_up = [AnomalyKind::CompressionCorrupt, AnomalyKind::CompressionLimit];
            if given_up.iter().any(|kind| whole.anomalies.of(*kind) > 0) {
                pieced.inspected_bytes = whole.inspected_bytes;
            }
            assert_eq!(pieced, whole);
        }
    }
});
