//! One request, its answer and its ending, and the record that comes of them.
#![allow(dead_code, reason = "each test uses a part")]

use request_observer::{
    Ending, Outcome, Phase, RequestHead, RequestObserver, RequestRecord, ResponseHead, Settings,
    Stamp,
};

pub(crate) const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
pub(crate) const TOKEN: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
pub(crate) const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
pub(crate) const ERROR: &str = "data: {\"error\":{\"message\":\"m\",\"code\":500}}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";
pub(crate) const WHOLE: &str = "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"content\":\"a\"}}],\
                     \"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}";

/// A request, its answer as far as it came, and how the proxy says it ended.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) path: &'static str,
    pub(crate) request: &'static str,
    /// Status, content type and content encoding; none where no response began.
    pub(crate) head: Option<(u16, &'static str, &'static str)>,
    pub(crate) body: String,
    /// Whether the response's own end was seen.
    pub(crate) ends: bool,
    pub(crate) flags: u64,
    pub(crate) details: &'static str,
    pub(crate) attempts: Option<u64>,
    pub(crate) code: Option<u64>,
    pub(crate) known: bool,
}

pub(crate) fn streamed(body: &[&str]) -> Case {
    Case {
        path: "/v1/chat/completions",
        request: r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#,
        head: Some((200, "text/event-stream", "")),
        body: body.concat(),
        ends: true,
        flags: 0,
        details: "via_upstream",
        attempts: Some(1),
        code: Some(200),
        known: true,
    }
}

pub(crate) fn whole(status: u16, body: &str) -> Case {
    Case {
        head: Some((status, "application/json; charset=utf-8", "")),
        body: body.to_owned(),
        code: Some(u64::from(status)),
        ..streamed(&[])
    }
}

/// The proxy's own answer.
pub(crate) fn local(status: u16, flags: u64, details: &'static str, attempts: u64) -> Case {
    Case {
        head: Some((status, "text/plain", "")),
        body: "no healthy upstream".to_owned(),
        flags,
        details,
        attempts: Some(attempts),
        code: Some(u64::from(status)),
        ..streamed(&[])
    }
}

pub(crate) fn no_response(flags: u64) -> Case {
    Case {
        head: None,
        ends: false,
        flags,
        details: "",
        code: Some(0),
        ..streamed(&[])
    }
}

pub(crate) fn broken_off(case: Case, flags: u64, details: &'static str) -> Case {
    Case {
        ends: false,
        flags,
        details,
        ..case
    }
}

pub(crate) fn record(case: &Case) -> RequestRecord {
    let settings = Settings {
        gap_bounds_nanos: vec![10, 100],
        ..Settings::default()
    };
    let head = RequestHead {
        method: b"POST",
        path: case.path.as_bytes(),
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.request_body(case.request.as_bytes(), true, Stamp(1));
    if let Some((status, content_type, content_encoding)) = case.head {
        let head = ResponseHead {
            status,
            content_type: content_type.as_bytes(),
            content_encoding: content_encoding.as_bytes(),
            ..ResponseHead::default()
        };
        observer.response_headers(&head, false, Stamp(10), &settings);
        observer.response_body(case.body.as_bytes(), false, Stamp(20), &settings);
        if case.ends {
            observer.response_body(b"", true, Stamp(30), &settings);
        }
    }
    let ending = Ending {
        flags: case.flags,
        code: case.code,
        code_details: case.details.as_bytes(),
        attempts: case.attempts,
        known: case.known,
    };
    let record = observer.close(&ending, Stamp(40)).unwrap();
    assert_eq!(observer.phase(), Phase::Ended);
    assert_eq!(observer.close(&ending, Stamp(50)), None);
    record
}

pub(crate) fn check(case: &Case, outcome: Outcome, error_type: Option<&str>) {
    let record = record(case);
    assert_eq!(
        record.outcome, outcome,
        "{:?} {:?} {:b} {}",
        case.head, case.body, case.flags, case.details
    );
    assert_eq!(
        record.error_type.as_ref().map(|text| text.as_str()),
        error_type
    );
    let end = if case.ends && case.head.is_some() {
        30
    } else {
        40
    };
    assert_eq!(record.durations.request, Some(end));
}
