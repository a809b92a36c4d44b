//! How requests end: each outcome, and what stands over what.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod cases;

use cases::{
    Case, DONE, ERROR, ROLE, TOKEN, USAGE, WHOLE, broken_off, check, local, no_response, record,
    streamed, whole,
};
use request_observer::{AnomalyKind, FinishReason, Outcome, Phase, UsageReason, UsageStatus};

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
            (UsageStatus::Missing, UsageReason::NoResponse)
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
