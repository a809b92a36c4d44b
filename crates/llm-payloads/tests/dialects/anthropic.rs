//! Anthropic's messages.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_named, check_request};

#[test]
fn a_request_has_a_limit() {
    check_request(
        Api::Messages,
        r#"{"model":"claude","max_tokens":1024,"stream":true,"messages":[]}"#,
        "model=claude stream=true limit=1024",
    );
}

#[test]
fn a_stream_states_its_input_first_and_its_output_last() {
    check_named(
        Api::Messages,
        &[
            (
                "message_start",
                r#"{"type":"message_start","message":{"id":"m","type":"message","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":224,"cache_read_input_tokens":64,"cache_creation":{"ephemeral_5m_input_tokens":224},"output_tokens":1}}}"#,
                "in=300 cached=64 written=224 model=claude",
            ),
            ("ping", r#"{"type":"ping"}"#, ""),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
                "reasoning",
            ),
            (
                "content_block_start",
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                "visible",
            ),
            (
                "message_delta",
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":80}}"#,
                "out=80 finish=tool_calls",
            ),
            ("message_stop", r#"{"type":"message_stop"}"#, "end"),
        ],
    );
}

#[test]
fn errors_have_a_type_of_their_own() {
    for (payload, expected) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            "error=overloaded",
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"m"}}"#,
            "error=rate_limited",
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "error=context_length",
        ),
    ] {
        check_answer(Api::Messages, &[(payload, expected)]);
    }
}

#[test]
fn reasons_to_stop_are_anthropics_words() {
    for (word, expected) in [
        ("end_turn", "finish=stop"),
        ("stop_sequence", "finish=stop"),
        ("max_tokens", "finish=length"),
        ("model_context_window_exceeded", "finish=length"),
        ("refusal", "finish=content_filter"),
        ("pause_turn", "finish=other"),
    ] {
        let payload = format!(r#"{{"type":"message","stop_reason":"{word}"}}"#);
        check_answer(Api::Messages, &[(&payload, expected)]);
    }
}
