//! vLLM's generation from tokens to tokens.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn the_limit_stands_among_the_sampling_parameters() {
    check_request(
        Api::VllmGenerate,
        r#"{"model":"m","token_ids":[1,2,3],"sampling_params":{"max_tokens":5,"n":2},"stream":true,"stream_options":{"include_usage":true}}"#,
        "model=m stream=true limit=5 choices=2",
    );
    check_request(
        Api::VllmGenerate,
        r#"{"token_ids":[1],"sampling_params":{"max_tokens":1},"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false}}"#,
        "limit=1 prefill_leg",
    );
}

#[test]
fn token_ids_are_output() {
    check_answer(
        Api::VllmGenerate,
        &[
            (
                r#"{"request_id":"r","choices":[{"index":0,"token_ids":[5,6],"finish_reason":null}]}"#,
                "visible tokens=2",
            ),
            (
                r#"{"request_id":"r","choices":[{"index":1,"token_ids":[],"finish_reason":"stop"}]}"#,
                "choice=1 finish=stop",
            ),
            (
                r#"{"request_id":"r","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}}"#,
                "in=3 out=2 cached=1",
            ),
            ("[DONE]", "done_marker end"),
        ],
    );
    check_answer(
        Api::VllmGenerate,
        &[(
            r#"{"request_id":"r","choices":[{"index":0,"token_ids":[5,6,7],"finish_reason":"length"}]}"#,
            "visible tokens=3 finish=length",
        )],
    );
}

#[test]
fn errors_are_objects() {
    check_answer(
        Api::VllmGenerate,
        &[(
            r#"{"error":{"message":"This model's maximum context length is 2048 tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            "error=context_length",
        )],
    );
}
