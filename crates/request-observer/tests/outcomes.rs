//! How requests end: each outcome, and what stands over what.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

use request_observer::{
    AnomalyKind, Ending, FinishReason, Outcome, Phase, RequestHead, RequestObserver, RequestRecord,
    ResponseHead, Settings, Stamp, Usage, UsageReason, UsageStatus,
};

const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const TOKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
const ERROR: &str = "data: {\"error\":{\"message\":\"m\",\"code\":500}}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const WHOLE: &str = "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"content\":\"a\"}}],\
                     \"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}";

/// A request, its answer as far as it came, and how the proxy says it ended.
#[derive(Clone)]
struct Case {
    path: &'static str,
    request: &'static str,
    /// Status, content type and content encoding; none where no response began.
    head: Option<(u16, &'static str, &'static str)>,
    body: String,
    /// Whether the response's own end was seen.
    ends: bool,
    flags: u64,
    details: &'static str,
    attempts: Option<u64>,
    code: Option<u64>,
    known: bool,
}

fn streamed(body: &[&str]) -> Case {
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

fn whole(status: u16, body: &str) -> Case {
    Case {
        head: Some((status, "application/json; charset=utf-8", "")),
        body: body.to_owned(),
        code: Some(u64::from(status)),
        ..streamed(&[])
    }
}

/// The proxy's own answer.
fn local(status: u16, flags: u64, details: &'static str, attempts: u64) -> Case {
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

fn no_response(flags: u64) -> Case {
    Case {
        head: None,
        ends: false,
        flags,
        details: "",
        code: Some(0),
        ..streamed(&[])
    }
}

fn broken_off(case: Case, flags: u64, details: &'static str) -> Case {
    Case {
        ends: false,
        flags,
        details,
        ..case
    }
}

fn record(case: &Case) -> RequestRecord {
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
        };
        observer.response_headers(&head, false, Stamp(10));
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

fn check(case: &Case, outcome: Outcome, error_type: Option<&str>) {
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

#[test]
fn an_answer_that_came_whole_is_a_success() {
    check(
        &streamed(&[ROLE, TOKEN, USAGE, DONE]),
        Outcome::Success,
        None,
    );
    check(&streamed(&[DONE]), Outcome::Success, None);
    check(&whole(200, WHOLE), Outcome::Success, None);
    check(&whole(201, WHOLE), Outcome::Success, None);
    let responses = Case {
        path: "/v1/responses",
        ..streamed(&[
            "data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\"}}\n\n",
        ])
    };
    check(&responses, Outcome::Success, None);
    let messages = Case {
        path: "/v1/messages",
        ..streamed(&["event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"])
    };
    check(&messages, Outcome::Success, None);
}

#[test]
fn what_happens_after_the_terminal_event_changes_nothing() {
    let left = "downstream_remote_disconnect";
    check(
        &broken_off(streamed(&[TOKEN, DONE]), 1 << 14, left),
        Outcome::Success,
        None,
    );
    check(
        &broken_off(streamed(&[TOKEN, DONE]), 1 << 28, left),
        Outcome::Success,
        None,
    );
    check(
        &broken_off(
            streamed(&[TOKEN, DONE]),
            1 << 4,
            "upstream_reset_after_response_started",
        ),
        Outcome::Success,
        None,
    );
    check(
        &broken_off(whole(200, WHOLE), 1 << 14, left),
        Outcome::Success,
        None,
    );
}

#[test]
fn an_error_in_the_answer_beats_all() {
    let failed = Outcome::InStreamError;
    check(
        &streamed(&[TOKEN, ERROR, DONE]),
        failed,
        Some("in_stream_error"),
    );
    check(&streamed(&[TOKEN, ERROR]), failed, Some("in_stream_error"));
    check(&streamed(&[DONE, ERROR]), failed, Some("in_stream_error"));
    let left = broken_off(streamed(&[ERROR]), 1 << 14, "downstream_remote_disconnect");
    check(&left, failed, Some("in_stream_error"));
    check(
        &streamed(&["event: error\ndata: overloaded\n\n", DONE]),
        failed,
        Some("in_stream_error"),
    );
    check(
        &whole(200, r#"{"error":"m"}"#),
        failed,
        Some("in_stream_error"),
    );
    check(
        &whole(200, r#"{"object":"error","message":"m"}"#),
        failed,
        Some("in_stream_error"),
    );
    let responses = Case {
        path: "/v1/responses",
        ..streamed(&["data: {\"type\":\"response.failed\"}\n\n"])
    };
    check(&responses, failed, Some("in_stream_error"));
}

#[test]
fn a_finish_reason_tells_a_success_from_a_failure() {
    let finish = |reason: &str| {
        let event = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n"
        );
        streamed(&[TOKEN, &event, DONE])
    };
    check(&finish("length"), Outcome::Success, None);
    check(
        &finish("content_filter"),
        Outcome::ContentFilter,
        Some("content_filter"),
    );
    check(
        &finish("abort"),
        Outcome::InStreamError,
        Some("in_stream_error"),
    );
    check(
        &finish("error"),
        Outcome::InStreamError,
        Some("in_stream_error"),
    );
    assert_eq!(
        record(&finish("abort")).finish_reason,
        Some(FinishReason::Abort)
    );
    let no_marker = Case {
        body: finish("abort").body.replace(DONE, ""),
        ..finish("abort")
    };
    check(&no_marker, Outcome::InStreamError, Some("in_stream_error"));
}

#[test]
fn without_a_terminal_event_what_broke_it_off_counts() {
    let left = "downstream_remote_disconnect";
    let cut = |flags, details| broken_off(streamed(&[ROLE, TOKEN]), flags, details);
    check(
        &cut(1 << 14, left),
        Outcome::ClientCancel,
        Some("client_cancel"),
    );
    check(
        &cut(1 << 28, left),
        Outcome::ClientCancel,
        Some("client_cancel"),
    );
    check(
        &cut((1 << 14) | (1 << 4), left),
        Outcome::ClientCancel,
        Some("client_cancel"),
    );
    let reset = "upstream_reset_after_response_started{remote_reset}";
    check(
        &cut(1 << 4, reset),
        Outcome::UpstreamReset,
        Some("upstream_reset"),
    );
    check(
        &cut(1 << 6, reset),
        Outcome::UpstreamReset,
        Some("upstream_reset"),
    );
    check(
        &cut(1 << 2, "response_timeout"),
        Outcome::Timeout,
        Some("timeout"),
    );
    check(
        &cut(1 << 16, "stream_idle_timeout"),
        Outcome::Timeout,
        Some("timeout"),
    );
    check(
        &cut(1 << 19, "upstream_max_stream_duration_reached"),
        Outcome::Timeout,
        Some("timeout"),
    );
    check(
        &cut(1 << 22, "max_duration_timeout"),
        Outcome::Timeout,
        Some("timeout"),
    );
    check(
        &broken_off(whole(200, "{\"choices\""), 1 << 14, left),
        Outcome::ClientCancel,
        Some("client_cancel"),
    );
}

#[test]
fn an_answer_that_ended_by_itself_without_its_terminal_event_is_truncated() {
    let truncated = Some("truncated_stream");
    check(
        &streamed(&[ROLE, TOKEN]),
        Outcome::TruncatedStream,
        truncated,
    );
    check(&streamed(&[]), Outcome::TruncatedStream, truncated);
    check(
        &streamed(&[TOKEN, "data: {\"choices\":[{\"del"]),
        Outcome::TruncatedStream,
        truncated,
    );
    check(
        &whole(200, &WHOLE[..30]),
        Outcome::TruncatedStream,
        truncated,
    );
    check(&whole(200, ""), Outcome::TruncatedStream, truncated);
    let left_later = Case {
        flags: 1 << 14,
        ..streamed(&[TOKEN])
    };
    check(&left_later, Outcome::TruncatedStream, truncated);
}

#[test]
fn an_answer_that_is_not_what_it_promised_is_malformed() {
    let malformed = Some("malformed_stream");
    check(
        &streamed(&["data: hello\n\n", "data: {no}\n\n", TOKEN]),
        Outcome::MalformedStream,
        malformed,
    );
    check(
        &streamed(&["data: hello\n\n", TOKEN]),
        Outcome::TruncatedStream,
        Some("truncated_stream"),
    );
    check(
        &streamed(&["data: hello\n\n", DONE]),
        Outcome::Success,
        None,
    );
    check(&whole(200, "<html>"), Outcome::MalformedStream, malformed);
    check(
        &whole(200, "{\"a\":1} x"),
        Outcome::MalformedStream,
        malformed,
    );
    let record = record(&streamed(&["data: hello\n\n", DONE]));
    assert_eq!(record.anomalies.of(AnomalyKind::PayloadNotJson), 1);
    assert_eq!(
        (record.usage_status, record.usage_reason),
        (UsageStatus::Missing, UsageReason::Unparsable)
    );
}

#[test]
fn an_upstreams_refusal_is_told_by_its_status_and_its_error() {
    for (status, body, outcome) in [
        (400, r#"{"error":{"message":"m"}}"#, Outcome::InvalidRequest),
        (
            400,
            r#"{"error":{"message":"maximum context length is 8"}}"#,
            Outcome::ContextLength,
        ),
        (
            413,
            r#"{"error":{"code":"context_length_exceeded"}}"#,
            Outcome::ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":"content_filter"}}"#,
            Outcome::ContentFilter,
        ),
        (401, "", Outcome::InvalidRequest),
        (404, r#"{"detail":"Not Found"}"#, Outcome::InvalidRequest),
        (408, "", Outcome::Timeout),
        (
            429,
            r#"{"error":{"message":"context length"}}"#,
            Outcome::RateLimited,
        ),
        (
            500,
            r#"{"error":{"message":"context length"}}"#,
            Outcome::HttpError,
        ),
        (
            500,
            r#"{"error":{"type":"overloaded_error"}}"#,
            Outcome::Overloaded,
        ),
        (501, "{}", Outcome::HttpError),
        (503, "", Outcome::Overloaded),
        (504, "", Outcome::Timeout),
        (529, "", Outcome::Overloaded),
        (301, "", Outcome::HttpError),
        (600, "", Outcome::HttpError),
        (0, "", Outcome::HttpError),
    ] {
        check(&whole(status, body), outcome, Some(&status.to_string()));
        assert!(!record(&whole(status, body)).accepted);
    }
    let left = broken_off(
        whole(400, r#"{"error""#),
        1 << 14,
        "downstream_remote_disconnect",
    );
    check(&left, Outcome::InvalidRequest, Some("400"));
    let retried = Case {
        flags: 1 << 15,
        attempts: Some(3),
        ..whole(503, "")
    };
    check(&retried, Outcome::Overloaded, Some("503"));
    assert_eq!(record(&retried).attempts, 3);
}

#[test]
fn the_proxys_own_answer_is_told_by_its_flags() {
    for (case, outcome) in [
        (
            local(503, 1 << 1, "no_healthy_upstream", 0),
            Outcome::Connect,
        ),
        (
            local(
                503,
                1 << 5,
                "upstream_reset_before_response_started{connection_failure}",
                1,
            ),
            Outcome::Connect,
        ),
        (
            local(503, 1 << 26, "dns_resolution_failure", 0),
            Outcome::Connect,
        ),
        (
            local(
                503,
                1 << 6,
                "upstream_reset_before_response_started{connection_termination}",
                1,
            ),
            Outcome::UpstreamReset,
        ),
        (
            local(
                503,
                1 << 4,
                "upstream_reset_before_response_started{remote_reset}",
                1,
            ),
            Outcome::UpstreamReset,
        ),
        (
            local(
                503,
                1 << 7,
                "upstream_reset_before_response_started{overflow}",
                1,
            ),
            Outcome::Overloaded,
        ),
        (local(503, 1 << 25, "overload", 0), Outcome::Overloaded),
        (
            local(429, 1 << 11, "request_rate_limited", 0),
            Outcome::RateLimited,
        ),
        (local(429, 0, "local_rate_limited", 0), Outcome::RateLimited),
        (local(504, 1 << 2, "response_timeout", 1), Outcome::Timeout),
        (
            local(504, (1 << 2) | (1 << 14), "response_timeout", 1),
            Outcome::Timeout,
        ),
        (
            local(408, 1 << 16, "stream_idle_timeout", 1),
            Outcome::Timeout,
        ),
        (
            local(404, 1 << 8, "route_not_found", 0),
            Outcome::LocalReply,
        ),
        (
            local(403, 1 << 12, "ext_authz_denied", 0),
            Outcome::LocalReply,
        ),
        (
            local(503, 1 << 10, "fault_filter_abort", 0),
            Outcome::LocalReply,
        ),
        (local(200, 0, "direct_response", 0), Outcome::LocalReply),
        (
            local(500, 0, "response_payload_too_large", 1),
            Outcome::LocalReply,
        ),
    ] {
        check(&case, outcome, Some(outcome.as_str()));
        let record = record(&case);
        assert!(!record.accepted);
        assert_eq!(
            (record.usage_status, record.usage_reason),
            (UsageStatus::Missing, UsageReason::Error)
        );
    }
}

#[test]
fn a_request_without_any_response_is_told_by_the_flags() {
    for (flags, outcome) in [
        (1 << 14, Outcome::ClientCancel),
        (1 << 28, Outcome::ClientCancel),
        (1 << 2, Outcome::Timeout),
        (1 << 5, Outcome::Connect),
        (1 << 6, Outcome::UpstreamReset),
        (0, Outcome::ClientCancel),
    ] {
        check(&no_response(flags), outcome, Some(outcome.as_str()));
    }
    let record = record(&no_response(1 << 14));
    assert_eq!(
        (record.status, record.stream, record.accepted),
        (None, true, false)
    );
    assert_eq!(
        (record.usage_status, record.usage_reason),
        (UsageStatus::Missing, UsageReason::NoResponse)
    );
    let unseen = Case {
        code: Some(403),
        ..no_response(0)
    };
    check(&unseen, Outcome::LocalReply, Some("local_reply"));
}

#[test]
fn an_unknown_ending_is_told_from_what_was_seen() {
    let unknown = |case: Case| Case {
        known: false,
        flags: u64::MAX,
        details: "direct_response",
        ..case
    };
    check(&unknown(streamed(&[TOKEN, DONE])), Outcome::Success, None);
    check(&unknown(whole(200, WHOLE)), Outcome::Success, None);
    check(&unknown(whole(429, "")), Outcome::RateLimited, Some("429"));
    let cut = Case {
        ends: false,
        ..streamed(&[TOKEN])
    };
    check(
        &unknown(cut),
        Outcome::TruncatedStream,
        Some("truncated_stream"),
    );
    check(
        &unknown(no_response(0)),
        Outcome::ClientCancel,
        Some("client_cancel"),
    );
    assert_eq!(record(&unknown(streamed(&[DONE]))).attempts, 1);
}

#[test]
fn an_answer_that_is_not_read_is_measured_by_its_bytes_alone() {
    for (head, reason) in [
        ((200, "text/event-stream", "gzip"), UsageReason::Compressed),
        ((200, "application/json", "br"), UsageReason::Compressed),
        ((200, "application/x-ndjson", ""), UsageReason::UnknownType),
        ((200, "", ""), UsageReason::UnknownType),
    ] {
        let case = Case {
            head: Some(head),
            ..streamed(&[TOKEN, ERROR])
        };
        check(&case, Outcome::Success, None);
        let record = record(&case);
        assert_eq!(
            (record.usage_status, record.usage_reason),
            (UsageStatus::Missing, reason)
        );
        assert_eq!(record.durations.time_to_first_byte, Some(20));
        assert_eq!(record.durations.time_to_first_token, None);
        assert_eq!(record.stream, head.1 == "text/event-stream");
        assert_eq!((record.events, record.estimated_output), (0, None));
        check(
            &broken_off(case, 1 << 14, "downstream_remote_disconnect"),
            Outcome::ClientCancel,
            Some("client_cancel"),
        );
    }
}

#[test]
fn answers_without_a_body_do_not_trouble_anything() {
    for (status, outcome) in [
        (204, Outcome::Success),
        (205, Outcome::Success),
        (304, Outcome::HttpError),
    ] {
        let record = record(&Case {
            head: Some((status, "", "")),
            ..streamed(&[])
        });
        assert_eq!(
            (record.outcome, record.durations.time_to_first_byte),
            (outcome, None)
        );
    }
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/messages",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.response_headers(
        &ResponseHead {
            status: 204,
            ..ResponseHead::default()
        },
        true,
        Stamp(5),
    );
    assert_eq!(observer.phase(), Phase::Ended);
    let record = observer.close(&Ending::default(), Stamp(9)).unwrap();
    assert_eq!(
        (record.outcome, record.durations.request),
        (Outcome::Success, Some(5))
    );
}

#[test]
fn trailers_end_a_response() {
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/completions",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    let head = ResponseHead {
        status: 200,
        content_type: b"text/event-stream",
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(1));
    observer.response_body(
        b"data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]",
        false,
        Stamp(2),
        &settings,
    );
    observer.response_trailers(Stamp(3));
    observer.response_body(b"late", false, Stamp(4), &settings);
    observer.end(Stamp(5));
    let record = observer.close(&Ending::default(), Stamp(6)).unwrap();
    assert_eq!(
        (record.outcome, record.durations.request),
        (Outcome::Success, Some(3))
    );
    assert_eq!(record.anomalies.of(AnomalyKind::BodyAfterEnd), 1);
}

#[test]
fn the_first_end_signal_stamps_the_end() {
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/completions",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.end(Stamp(7));
    observer.end(Stamp(8));
    let record = observer.close(&Ending::default(), Stamp(9)).unwrap();
    assert_eq!(record.durations.request, Some(7));
}

#[test]
fn usage_is_reported_partial_estimated_or_missing_with_a_reason() {
    let asked = streamed(&[TOKEN, TOKEN, DONE]);
    let not_asked = Case {
        request: r#"{"stream":true}"#,
        ..asked.clone()
    };
    let input_only = streamed(&[
        TOKEN,
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\n\n",
        DONE,
    ]);
    for (case, status, reason, estimated) in [
        (
            streamed(&[TOKEN, USAGE, DONE]),
            UsageStatus::Reported,
            UsageReason::None,
            None,
        ),
        (asked, UsageStatus::Estimated, UsageReason::NotSent, Some(2)),
        (
            not_asked,
            UsageStatus::Estimated,
            UsageReason::NoUsageRequested,
            Some(2),
        ),
        (
            input_only,
            UsageStatus::Partial,
            UsageReason::NotSent,
            Some(1),
        ),
        (
            streamed(&[ROLE, DONE]),
            UsageStatus::Missing,
            UsageReason::NotSent,
            None,
        ),
        (
            streamed(&[TOKEN]),
            UsageStatus::Estimated,
            UsageReason::StreamAborted,
            Some(1),
        ),
        (
            streamed(&[TOKEN, ERROR]),
            UsageStatus::Estimated,
            UsageReason::Error,
            Some(1),
        ),
        (
            whole(400, "{}"),
            UsageStatus::Missing,
            UsageReason::Error,
            None,
        ),
        (
            whole(200, "{}"),
            UsageStatus::Missing,
            UsageReason::NotSent,
            None,
        ),
        (
            whole(200, "<html>"),
            UsageStatus::Missing,
            UsageReason::Unparsable,
            None,
        ),
    ] {
        let record = record(&case);
        assert_eq!(
            (
                record.usage_status,
                record.usage_reason,
                record.estimated_output
            ),
            (status, reason, estimated),
            "{}",
            case.body
        );
    }
    let embeddings = Case {
        path: "/v1/embeddings",
        ..whole(200, r#"{"usage":{"prompt_tokens":4,"total_tokens":4}}"#)
    };
    assert_eq!(record(&embeddings).usage_status, UsageStatus::Reported);
    assert_eq!(record(&embeddings).usage.output, None);
}

#[test]
fn a_messages_stream_that_breaks_off_does_not_report_its_placeholder_as_output() {
    let start = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":724,\"output_tokens\":1}}}\n\n";
    let delta = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let case = broken_off(
        Case {
            path: "/v1/messages",
            ..streamed(&[start, delta, delta])
        },
        1 << 14,
        "downstream_remote_disconnect",
    );
    let record = record(&case);
    assert_eq!(
        record.usage,
        Usage {
            input: Some(724),
            ..Usage::default()
        }
    );
    assert_eq!(
        (record.usage_status, record.estimated_output),
        (UsageStatus::Partial, Some(2))
    );
    assert_eq!(record.usage_reason, UsageReason::StreamAborted);
}

#[test]
fn bytes_that_went_by_unseen_end_the_reading_and_not_the_timing() {
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/chat/completions",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    let head = ResponseHead {
        status: 200,
        content_type: b"text/event-stream",
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(1));
    assert!(observer.wants_response_body());
    observer.response_body(TOKEN.as_bytes(), false, Stamp(5), &settings);
    assert_eq!(observer.phase(), Phase::Decode);
    observer.response_body_size_only(0, false, Stamp(6));
    assert!(
        observer.wants_response_body(),
        "an empty chunk hides nothing"
    );
    observer.response_body_size_only(300, false, Stamp(7));
    assert!(!observer.wants_response_body());
    observer.response_body(USAGE.as_bytes(), true, Stamp(8), &settings);
    let ending = Ending {
        code_details: b"via_upstream",
        known: true,
        ..Ending::default()
    };
    let record = observer.close(&ending, Stamp(9)).unwrap();
    assert_eq!(
        (record.outcome, record.durations.request),
        (Outcome::Success, Some(8))
    );
    assert_eq!(
        (record.usage_status, record.usage_reason),
        (UsageStatus::Estimated, UsageReason::BytesNotSeen)
    );
    assert_eq!(record.anomalies.of(AnomalyKind::BytesNotSeen), 1);
    assert_eq!(
        (record.first_token_chunk, record.first_token_offset),
        (Some(0), Some(TOKEN.len() as u64))
    );
}

#[test]
fn every_outcome_and_every_reason_has_its_own_name() {
    fn check_names<const N: usize>(names: [&str; N]) {
        let distinct: std::collections::BTreeSet<_> = names.into_iter().collect();
        assert_eq!(distinct.len(), N);
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        }));
    }
    check_names(Outcome::ALL.map(Outcome::as_str));
    check_names(UsageStatus::ALL.map(UsageStatus::as_str));
    check_names(UsageReason::ALL.map(UsageReason::as_str));
    check_names(AnomalyKind::ALL.map(AnomalyKind::as_str));
    check_names(FinishReason::ALL.map(FinishReason::as_str));
    check_names(Phase::ALL.map(Phase::as_str));
    check_names(request_observer::SkipReason::ALL.map(request_observer::SkipReason::as_str));
}
