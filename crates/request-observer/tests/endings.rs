//! What can be said of answers that are not read, not whole, or ended in an unusual way.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod cases;

use cases::{
    Case, DONE, ERROR, ROLE, TOKEN, USAGE, WHOLE, broken_off, check, no_response, record, streamed,
    whole,
};
use request_observer::{
    AnomalyKind, Ending, Outcome, Phase, RequestHead, RequestObserver, ResponseHead,
    ResponseTrailers, Settings, Stamp, Usage, UsageReason, UsageStatus,
};

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
        (
            (200, "text/event-stream", "compress"),
            UsageReason::Compressed,
        ),
        (
            (200, "application/json", "br, gzip"),
            UsageReason::Compressed,
        ),
        (
            (200, "text/event-stream", "gzip"),
            UsageReason::DecompressionGivenUp,
        ),
        ((200, "text/html", ""), UsageReason::UnknownType),
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
        &settings,
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
    observer.response_headers(&head, false, Stamp(1), &settings);
    observer.response_body(
        b"data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]",
        false,
        Stamp(2),
        &settings,
    );
    observer.response_trailers(&ResponseTrailers::default(), Stamp(3));
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
    observer.response_headers(&head, false, Stamp(1), &settings);
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
