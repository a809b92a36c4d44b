//! Ollama's chat and generate.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn a_request_names_the_model_and_may_have_no_limit() {
    check_request(
        Api::OllamaChat,
        r#"{"model":"llama3","messages":[{"role":"user","content":"Hi"}],"options":{"num_predict":64}}"#,
        "model=llama3 limit=64",
    );
    check_request(
        Api::OllamaGenerate,
        r#"{"model":"llama3","prompt":"Hi","stream":false,"options":{"num_predict":-1}}"#,
        "model=llama3 stream=false",
    );
}

#[test]
fn a_chat_streams_lines_and_the_last_one_has_the_counts() {
    check_answer(
        Api::OllamaChat,
        &[
            (
                r#"{"model":"llama3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":false}"#,
                "model=llama3",
            ),
            (
                r#"{"model":"llama3","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
                "reasoning",
            ),
            (
                r#"{"model":"llama3","message":{"role":"assistant","content":"Hel"},"done":false}"#,
                "visible",
            ),
            (
                r#"{"model":"llama3","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":9000000,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":7,"eval_count":3,"eval_duration":8}"#,
                "end in=26 out=3 finish=stop",
            ),
        ],
    );
}

#[test]
fn a_prompt_that_was_reused_whole_has_no_count() {
    check_answer(
        Api::OllamaChat,
        &[(
            r#"{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"length","eval_count":2}"#,
            "visible end out=2 finish=length model=m",
        )],
    );
}

#[test]
fn a_called_tool_is_output_and_the_reason_to_stop_also_lines_later() {
    let call = r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Rome"}}}]},"done":false}"#;
    check_answer(
        Api::OllamaChat,
        &[
            (call, "visible"),
            (
                r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":4}"#,
                "end out=4 finish=tool_calls",
            ),
        ],
    );
    check_answer(
        Api::OllamaChat,
        &[(
            r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{}}}]},"done":true,"done_reason":"stop"}"#,
            "visible end finish=tool_calls",
        )],
    );
}

#[test]
fn generate_gives_text_and_thoughts() {
    check_answer(
        Api::OllamaGenerate,
        &[
            (
                r#"{"model":"m","response":"","thinking":"Hm","done":false}"#,
                "reasoning model=m",
            ),
            (r#"{"model":"m","response":"Hi","done":false}"#, "visible"),
            (
                r#"{"model":"m","response":"","done":true,"done_reason":"stop","context":[1,2,3],"prompt_eval_count":11,"eval_count":2}"#,
                "end in=11 out=2 finish=stop",
            ),
        ],
    );
}

#[test]
fn loading_a_model_is_no_generation_and_no_error() {
    check_answer(
        Api::OllamaGenerate,
        &[(
            r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"","done":true,"done_reason":"load"}"#,
            "end finish=other model=m",
        )],
    );
}

#[test]
fn errors_are_texts_also_as_a_line_of_a_stream() {
    check_answer(
        Api::OllamaChat,
        &[
            (r#"{"message":{"content":"Hel"},"done":false}"#, "visible"),
            (
                r#"{"error":"an error was encountered while running the model"}"#,
                "error=other",
            ),
        ],
    );
    check_answer(
        Api::OllamaGenerate,
        &[(
            r#"{"error":"the input length exceeds the context length"}"#,
            "error=context_length",
        )],
    );
}
