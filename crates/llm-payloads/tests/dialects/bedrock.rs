//! Bedrock: Converse, and models that are invoked in their own forms.

use llm_payloads::{Api, Text};

use crate::exchange::{check_answer, check_exception, check_named, check_request};

#[test]
fn the_path_names_the_model_also_as_an_escaped_arn() {
    let path = b"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream";
    assert_eq!(Api::from_path(path), Some(Api::BedrockConverseStream));
    assert_eq!(
        Api::BedrockConverseStream.model_in_path(path),
        Some(Text::from(
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0"
        ))
    );
    assert_eq!(
        Api::from_path(b"/model/m/invoke-with-response-stream"),
        Some(Api::BedrockInvokeStream)
    );
}

#[test]
fn every_family_of_models_has_its_own_limit() {
    check_request(
        Api::BedrockConverse,
        r#"{"messages":[],"inferenceConfig":{"maxTokens":7}}"#,
        "limit=7",
    );
    for body in [
        r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":7,"messages":[]}"#,
        r#"{"messages":[],"inferenceConfig":{"max_new_tokens":7}}"#,
        r#"{"prompt":"Hi","max_gen_len":7}"#,
        r#"{"inputText":"Hi","textGenerationConfig":{"maxTokenCount":7}}"#,
    ] {
        check_request(Api::BedrockInvokeStream, body, "limit=7");
    }
}

#[test]
fn converse_streams_named_messages_and_states_usage_after_the_stop() {
    check_named(
        Api::BedrockConverseStream,
        &[
            ("messageStart", r#"{"p":"abc","role":"assistant"}"#, ""),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm"}},"p":"ab"}"#,
                "reasoning",
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"x"}}}"#,
                "",
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":1,"delta":{"text":"Hello"},"p":"abcd"}"#,
                "visible",
            ),
            ("contentBlockStop", r#"{"contentBlockIndex":1}"#, ""),
            (
                "contentBlockStart",
                r#"{"contentBlockIndex":2,"start":{"toolUse":{"name":"f","toolUseId":"t"}}}"#,
                "visible",
            ),
            (
                "contentBlockDelta",
                r#"{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\""}}}"#,
                "visible",
            ),
            (
                "messageStop",
                r#"{"stopReason":"tool_use"}"#,
                "end finish=tool_calls",
            ),
            (
                "metadata",
                r#"{"metrics":{"latencyMs":900},"usage":{"inputTokens":10,"outputTokens":7,"totalTokens":57,"cacheReadInputTokens":30,"cacheWriteInputTokens":10}}"#,
                "in=50 out=7 cached=30 written=10",
            ),
        ],
    );
}

#[test]
fn converse_answers_whole() {
    check_answer(
        Api::BedrockConverse,
        &[(
            r#"{"metrics":{"latencyMs":1},"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"Hm","signature":"s"}}},{"text":"Hi"}],"role":"assistant"}},"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":2,"totalTokens":12}}"#,
            "visible reasoning end in=10 out=2 finish=stop",
        )],
    );
    for (reason, expected) in [
        ("guardrail_intervened", "end finish=content_filter"),
        ("content_filtered", "end finish=content_filter"),
        ("model_context_window_exceeded", "end finish=length"),
    ] {
        check_answer(
            Api::BedrockConverse,
            &[(&format!(r#"{{"stopReason":"{reason}"}}"#), expected)],
        );
    }
}

#[test]
fn an_exception_is_told_by_its_name() {
    for api in [Api::BedrockConverseStream, Api::BedrockInvokeStream] {
        for (name, expected) in [
            ("throttlingException", "error=rate_limited"),
            ("serviceUnavailableException", "error=overloaded"),
            ("modelStreamErrorException", "error=other"),
        ] {
            let seen = if api == Api::BedrockInvokeStream {
                // What is no chunk has nothing that could be unwrapped.
                format!("empty {expected}")
            } else {
                expected.to_owned()
            };
            check_exception(api, name, r#"{"message":"Too many requests"}"#, &seen);
        }
    }
    check_exception(
        Api::BedrockConverseStream,
        "validationException",
        r#"{"message":"Input is too long for requested model."}"#,
        "error=context_length",
    );
    check_answer(
        Api::BedrockConverse,
        &[(r#"{"message":"The model is not ready."}"#, "")],
    );
}

/// A chunk as it goes over the wire: the model's JSON in base64, with padding beside it.
fn chunk(native: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in native.as_bytes().chunks(3) {
        let bits = group
            .iter()
            .chain([0_u8, 0].iter())
            .take(3)
            .fold(0_usize, |bits, byte| (bits << 8) | usize::from(*byte));
        for digit in 0..4 {
            encoded.push(if digit > group.len() {
                '='
            } else {
                char::from(DIGITS[(bits >> (18 - 6 * digit)) & 63])
            });
        }
    }
    format!(r#"{{"bytes":"{encoded}","p":"abcdefgh"}}"#)
}

fn check_invoked(native: &[(&str, &str)]) {
    let chunks: Vec<_> = native.iter().map(|(native, _)| chunk(native)).collect();
    let payloads: Vec<_> = chunks
        .iter()
        .zip(native)
        .map(|(chunk, (_, expected))| (chunk.as_str(), *expected))
        .collect();
    check_answer(Api::BedrockInvokeStream, &payloads);
}

#[test]
fn anthropics_models_stream_in_their_own_form() {
    check_invoked(&[
        (
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":9,"cache_read_input_tokens":80,"output_tokens":1}}}"#,
            "in=89 cached=80 model=claude",
        ),
        (
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            "",
        ),
        (
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
            "visible",
        ),
        (
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}"#,
            "out=12 finish=stop",
        ),
        (
            r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9,"outputTokenCount":12,"invocationLatency":650,"firstByteLatency":200,"cacheReadInputTokenCount":80,"cacheWriteInputTokenCount":0}}"#,
            "end in=89 out=12 cached=80 written=0",
        ),
    ]);
}

#[test]
fn novas_models_stream_in_the_form_of_converse() {
    check_invoked(&[
        (r#"{"messageStart":{"role":"assistant"}}"#, ""),
        (
            r#"{"contentBlockDelta":{"delta":{"text":"Hello"},"contentBlockIndex":0}}"#,
            "visible",
        ),
        (
            r#"{"contentBlockStart":{"start":{"toolUse":{"toolUseId":"t","name":"f"}},"contentBlockIndex":1}}"#,
            "visible",
        ),
        (
            r#"{"messageStop":{"stopReason":"max_tokens"}}"#,
            "end finish=length",
        ),
        (
            r#"{"metadata":{"usage":{"inputTokens":5,"outputTokens":9},"metrics":{},"trace":{}},"amazon-bedrock-invocationMetrics":{"inputTokenCount":5,"outputTokenCount":9}}"#,
            "in=5 out=9",
        ),
    ]);
}

#[test]
fn the_other_families_stream_texts() {
    check_invoked(&[
        (
            r#"{"generation":"Hi","prompt_token_count":10,"generation_token_count":1,"stop_reason":null}"#,
            "visible in=10 out=1",
        ),
        (
            r#"{"generation":"","prompt_token_count":null,"generation_token_count":4,"stop_reason":"length","amazon-bedrock-invocationMetrics":{"inputTokenCount":10,"outputTokenCount":4}}"#,
            "in=10 out=4 finish=length",
        ),
    ]);
    check_invoked(&[(
        r#"{"outputText":"Hello","index":0,"totalOutputTextTokenCount":13,"completionReason":"FINISH","inputTextTokenCount":3}"#,
        "visible end in=3 out=13 finish=stop",
    )]);
    check_invoked(&[
        (
            r#"{"outputs":[{"text":"Hi","stop_reason":null}]}"#,
            "visible",
        ),
        (
            r#"{"outputs":[{"text":"","stop_reason":"stop"}],"amazon-bedrock-invocationMetrics":{"inputTokenCount":4,"outputTokenCount":6}}"#,
            "in=4 out=6 finish=stop",
        ),
    ]);
    check_invoked(&[
        (
            r#"{"is_finished":false,"event_type":"text-generation","text":"Hi"}"#,
            "visible",
        ),
        (
            r#"{"is_finished":true,"event_type":"stream-end","finish_reason":"COMPLETE"}"#,
            "end finish=stop",
        ),
    ]);
    check_invoked(&[(
        r#"{"choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":""},"finish_reason":null}]}"#,
        "visible",
    )]);
}

#[test]
fn the_families_answer_whole() {
    for (payload, expected) in [
        (
            r#"{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":0,"output_tokens":3}}"#,
            "visible in=10 out=3 cached=0 written=1 finish=tool_calls model=claude",
        ),
        (
            r#"{"output":{"message":{"content":[{"text":"Hi"}],"role":"assistant"}},"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":2,"totalTokens":7}}"#,
            "visible end in=5 out=2 finish=stop",
        ),
        (
            r#"{"inputTextTokenCount":3,"results":[{"tokenCount":8,"outputText":"Hi","completionReason":"CONTENT_FILTERED"}]}"#,
            "visible end in=3 out=8 finish=content_filter",
        ),
        (
            r#"{"generation":"Hi","prompt_token_count":10,"generation_token_count":2,"stop_reason":"stop"}"#,
            "visible in=10 out=2 finish=stop",
        ),
        (
            r#"{"generations":[{"id":"g","text":"Hi","finish_reason":"MAX_TOKENS"}],"id":"r","prompt":"Hi"}"#,
            "visible finish=length",
        ),
        (
            r#"{"model":"deepseek","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}"#,
            "visible in=4 out=2 finish=stop model=deepseek",
        ),
        (
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"stop_reason":"length"}]}"#,
            "visible finish=length",
        ),
    ] {
        check_answer(Api::BedrockInvoke, &[(payload, expected)]);
    }
}
