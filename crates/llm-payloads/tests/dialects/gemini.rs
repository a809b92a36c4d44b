//! Gemini, streamed and whole.

use llm_payloads::{Api, Text};

use crate::exchange::{check_answer, check_request};

#[test]
fn the_path_names_the_model_and_the_body_the_limits() {
    let path = b"/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    assert_eq!(Api::from_path(path), Some(Api::GeminiStream));
    assert_eq!(
        Api::GeminiStream.model_in_path(path),
        Some(Text::from("gemini-2.5-pro"))
    );
    check_request(
        Api::GeminiStream,
        r#"{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}"#,
        "limit=9 choices=2",
    );
    check_request(
        Api::GeminiGenerate,
        r#"{"contents":[],"generation_config":{"max_output_tokens":9}}"#,
        "limit=9",
    );
}

#[test]
fn usage_is_cumulative_and_thoughts_are_added_to_the_output() {
    check_answer(
        Api::GeminiStream,
        &[
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"Plan","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":8,"thoughtsTokenCount":5,"totalTokenCount":13},"modelVersion":"gemini-2.5-pro","responseId":"r"}"#,
                "reasoning in=8 out=5 thought=5 model=gemini-2.5-pro",
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":8,"cachedContentTokenCount":4,"candidatesTokenCount":1,"thoughtsTokenCount":5,"totalTokenCount":14},"modelVersion":"gemini-2.5-pro"}"#,
                "visible in=8 out=6 cached=4 thought=5",
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"thoughtsTokenCount":5,"totalTokenCount":16}}"#,
                "in=8 out=8 thought=5 finish=stop",
            ),
        ],
    );
}

#[test]
fn a_part_is_a_thought_wherever_the_flag_stands() {
    let parts = |parts: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}}}}]}}"#);
    for (parts_text, expected) in [
        (r#"{"thought":true,"text":"a"}"#, "reasoning"),
        (r#"{"text":"a","thought":true}"#, "reasoning"),
        (r#"{"thought":false,"text":"a"}"#, "visible"),
        (
            r#"{"text":"a","thought":true},{"text":"b"}"#,
            "visible reasoning",
        ),
        (r#"{"thought":true},{"text":"b"}"#, "visible"),
        (r#"{"text":"","thoughtSignature":"x"}"#, ""),
        (
            r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#,
            "visible",
        ),
        (
            r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}"#,
            "",
        ),
        (
            r#"{"inlineData":{"mimeType":"image/png","data":"x"}}"#,
            "visible",
        ),
    ] {
        check_answer(Api::GeminiStream, &[(&parts(parts_text), expected)]);
    }
}

#[test]
fn a_function_call_is_the_reason_to_stop_in_the_same_event_or_later() {
    check_answer(
        Api::GeminiGenerate,
        &[(
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":1}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"totalTokenCount":11}}"#,
            "visible in=8 out=3 finish=tool_calls",
        )],
    );
    check_answer(
        Api::GeminiStream,
        &[
            (
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#,
                "visible",
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}"#,
                "finish=tool_calls",
            ),
        ],
    );
}

#[test]
fn what_is_blocked_is_a_content_filter() {
    check_answer(
        Api::GeminiGenerate,
        &[(
            r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}"#,
            "end in=8 finish=content_filter",
        )],
    );
    for (reason, expected) in [
        ("SAFETY", "finish=content_filter"),
        ("IMAGE_RECITATION", "finish=content_filter"),
        ("MODEL_ARMOR", "finish=content_filter"),
        ("MAX_TOKENS", "finish=length"),
        ("MALFORMED_FUNCTION_CALL", "finish=other"),
        ("FINISH_REASON_UNSPECIFIED", ""),
    ] {
        let payload = format!(r#"{{"candidates":[{{"finishReason":"{reason}","index":0}}]}}"#);
        check_answer(Api::GeminiStream, &[(&payload, expected)]);
    }
}

#[test]
fn errors_stand_alone_or_in_an_array_of_one() {
    let exhausted = r#"{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[]}}"#;
    check_answer(Api::GeminiStream, &[(exhausted, "error=rate_limited")]);
    check_answer(
        Api::GeminiStream,
        &[(&format!("[{exhausted}\n]"), "error=rate_limited")],
    );
    check_answer(
        Api::GeminiGenerate,
        &[(
            r#"{"error":{"code":400,"message":"The input token count (1300000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}"#,
            "error=context_length",
        )],
    );
    check_answer(
        Api::GeminiGenerate,
        &[(
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
            "error=overloaded",
        )],
    );
}
