//! Finish reasons, errors, terminal events and broken payloads, whole and cut at every byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod payload;

use llm_payloads::{AnswerEvent, AnswerScan, Api, ErrorKind, FinishReason, PayloadState};
use payload::check;

#[test]
fn finish_reasons_of_all_apis_are_brought_into_one_vocabulary() {
    for (api, payload, expected) in [
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"length"}]}"#,
            Some(FinishReason::Length),
        ),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":null}]}"#,
            None,
        ),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"content_filter"},{"finish_reason":"stop"}]}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Messages,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            Some(FinishReason::ToolCalls),
        ),
        (
            Api::Messages,
            r#"{"type":"message","stop_reason":"refusal"}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Responses,
            r#"{"status":"completed"}"#,
            Some(FinishReason::Stop),
        ),
        (
            Api::Responses,
            r#"{"response":{"status":"in_progress"}}"#,
            None,
        ),
        (Api::Responses, r#"{"status":"queued"}"#, None),
        (
            Api::Responses,
            r#"{"status":"cancelled"}"#,
            Some(FinishReason::Abort),
        ),
        (
            Api::Responses,
            r#"{"status":"completed","output":[{"type":"function_call"}]}"#,
            Some(FinishReason::ToolCalls),
        ),
        (
            Api::Responses,
            r#"{"status":"completed","output":[{"type":"web_search_call"}]}"#,
            Some(FinishReason::Stop),
        ),
        (
            Api::Responses,
            r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Responses,
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
            Some(FinishReason::Length),
        ),
    ] {
        assert_eq!(check(api, payload).finish, expected, "{payload}");
    }
}

fn check_error(api: Api, payload: &str, expected: Option<ErrorKind>) {
    assert_eq!(
        check(api, payload).error.map(|error| error.kind),
        expected,
        "{payload}"
    );
}

#[test]
fn errors_are_told_in_every_shape_that_servers_write() {
    let chat = Api::ChatCompletions;
    check_error(
        chat,
        r#"{"error":{"message":"m","type":"InternalServerError","code":500}}"#,
        Some(ErrorKind::Other),
    );
    check_error(
        chat,
        r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
        Some(ErrorKind::ContextLength),
    );
    check_error(chat, r#"{"error":"Unauthorized"}"#, Some(ErrorKind::Other));
    check_error(chat, r#"{"error":{}}"#, Some(ErrorKind::Other));
    check_error(
        chat,
        r#"{"object":"error","message":"is longer than the model's context length","type":"BadRequestError"}"#,
        Some(ErrorKind::ContextLength),
    );
    check_error(
        Api::Messages,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Some(ErrorKind::Overloaded),
    );
    check_error(
        Api::Responses,
        r#"{"type":"error","code":"rate_limit_exceeded","message":"m"}"#,
        Some(ErrorKind::RateLimited),
    );
    check_error(
        Api::Responses,
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"}}}"#,
        Some(ErrorKind::Other),
    );
}

#[test]
fn what_only_looks_like_an_error_is_none() {
    check_error(
        Api::Responses,
        r#"{"object":"response","error":null,"status":"completed"}"#,
        None,
    );
    check_error(Api::ChatCompletions, r#"{"error":null,"choices":[]}"#, None);
    check_error(Api::ChatCompletions, r#"{"error":false}"#, None);
    check_error(Api::ChatCompletions, r#"{"error":""}"#, None);
    check_error(
        Api::ChatCompletions,
        r#"{"choices":[{"delta":{"error":{"message":"m"}}}]}"#,
        None,
    );
    check_error(
        Api::ChatCompletions,
        r#"{"message":"context length"}"#,
        None,
    );
}

#[test]
fn terminal_events_are_those_of_the_own_api() {
    for (api, payload, expected) in [
        (Api::Responses, r#"{"type":"response.completed"}"#, true),
        (Api::Responses, r#"{"type":"response.incomplete"}"#, true),
        (Api::Responses, r#"{"type":"response.failed"}"#, true),
        (Api::Responses, r#"{"type":"response.created"}"#, false),
        (Api::Messages, r#"{"type":"message_stop"}"#, true),
        (Api::Messages, r#"{"type":"message_delta"}"#, false),
        (Api::ChatCompletions, r#"{"type":"message_stop"}"#, false),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"stop"}]}"#,
            false,
        ),
    ] {
        assert_eq!(check(api, payload).terminal, expected, "{payload}");
    }
}

#[test]
fn the_done_marker_is_recognised_with_whitespace_around_it() {
    for (payload, state) in [
        ("[DONE]", PayloadState::DoneMarker),
        (" [DONE] ", PayloadState::DoneMarker),
        ("[DONE]\n", PayloadState::DoneMarker),
        ("[DONE", PayloadState::Malformed),
        ("[DONE]x", PayloadState::Malformed),
        ("[D ONE]", PayloadState::Malformed),
        ("DONE", PayloadState::Malformed),
        ("[]", PayloadState::Complete),
        ("\"[DONE]\"", PayloadState::Complete),
        ("", PayloadState::Empty),
        ("  ", PayloadState::Empty),
    ] {
        let event = check(Api::ChatCompletions, payload);
        assert_eq!(
            (event.state, event.terminal),
            (state, state == PayloadState::DoneMarker),
            "{payload}"
        );
    }
}

#[test]
fn nothing_is_believed_of_a_payload_that_is_not_json() {
    let event = check(
        Api::ChatCompletions,
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3}},"#,
    );
    assert_eq!(
        event,
        AnswerEvent {
            state: PayloadState::Malformed,
            ..AnswerEvent::default()
        }
    );
    let deep = check(Api::ChatCompletions, &"[".repeat(300));
    assert_eq!(deep.state, PayloadState::TooDeep);
}

#[test]
fn the_models_name_is_given_once() {
    let mut scan = AnswerScan::new(Api::ChatCompletions);
    scan.push(br#"{"model":""}"#);
    assert_eq!(scan.finish().model, None);
    scan.push(br#"{"model":"m"}"#);
    assert_eq!(scan.finish().model.unwrap().as_str(), "m");
    scan.push(br#"{"model":"m"}"#);
    assert_eq!(scan.finish().model, None);
}

#[test]
fn an_events_name_counts_where_the_payload_has_no_type() {
    let named = |api, name: &str, payload: &str| {
        let mut scan = AnswerScan::new(api);
        scan.name_event(name.as_bytes());
        scan.push(payload.as_bytes());
        let event = scan.finish();
        scan.push(b"{}");
        assert_eq!(
            scan.finish(),
            AnswerEvent {
                state: PayloadState::Complete,
                ..AnswerEvent::default()
            }
        );
        event
    };
    assert!(
        named(
            Api::Responses,
            "response.output_text.delta",
            r#"{"delta":"a"}"#
        )
        .output
        .visible
    );
    assert!(named(Api::Messages, "message_stop", "{}").terminal);
    assert!(named(Api::Messages, "message_stop", "").terminal);
    assert!(
        named(Api::ChatCompletions, "error", "no JSON")
            .error
            .is_some()
    );
    assert!(named(Api::ChatCompletions, "error", "").error.is_some());
    assert!(
        !named(
            Api::Responses,
            "response.completed",
            r#"{"type":"response.created"}"#
        )
        .terminal
    );
}
