//! OpenAI's responses.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_named, check_request};

#[test]
fn a_response_may_be_asked_for_in_the_background() {
    check_request(
        Api::Responses,
        r#"{"model":"m","input":"Hi","max_output_tokens":9,"stream":true,"background":true}"#,
        "model=m stream=true limit=9 background",
    );
}

#[test]
fn a_stream_ends_with_the_response_and_its_usage() {
    check_named(
        Api::Responses,
        &[
            (
                "response.created",
                r#"{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress","usage":null,"error":null,"output":[]}}"#,
                "model=m",
            ),
            (
                "response.output_item.added",
                r#"{"type":"response.output_item.added","item":{"type":"message","status":"in_progress","content":[]}}"#,
                "",
            ),
            (
                "response.reasoning_text.delta",
                r#"{"type":"response.reasoning_text.delta","delta":"Hm"}"#,
                "reasoning",
            ),
            (
                "response.output_text.delta",
                r#"{"type":"response.output_text.delta","delta":"Hi","logprobs":[]}"#,
                "visible",
            ),
            (
                "response.completed",
                r#"{"type":"response.completed","response":{"status":"completed","model":"m","output":[{"type":"reasoning"},{"type":"message","status":"completed"}],"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":12}}}"#,
                "end in=7 out=5 cached=2 written=1 thought=3 finish=stop",
            ),
        ],
    );
}

#[test]
fn what_failed_or_was_cut_says_why() {
    check_answer(
        Api::Responses,
        &[(
            r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":7,"output_tokens":5}}}"#,
            "end in=7 out=5 finish=length",
        )],
    );
    check_answer(
        Api::Responses,
        &[(
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}}"#,
            "end finish=error error=rate_limited",
        )],
    );
    check_answer(
        Api::Responses,
        &[(
            r#"{"type":"error","code":"server_error","message":"m","param":null,"sequence_number":3}"#,
            "error=other",
        )],
    );
}
