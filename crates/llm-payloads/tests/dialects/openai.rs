//! OpenAI's chat completions and completions, as its followers vary them.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_named, check_request};

#[test]
fn keys_that_stand_twice_and_bodies_that_are_no_object_are_counted() {
    for (body, expected) in [
        (
            r#"{"model":"a","stream":true,"model":"b","stream":false}"#,
            "model=b stream=false duplicates=2",
        ),
        (
            r#"{"model":"a","messages":[{"content":"x"},{"content":"y"}]}"#,
            "model=a",
        ),
        (r#"{"max_tokens":5,"max_completion_tokens":7}"#, "limit=7"),
        ("[{\"model\":\"a\"}]", "no_object=1"),
        ("\"model\"", "no_object=1"),
        ("", "empty no_object=1"),
        (r#"{"model":"a\u0007b"}"#, "model=a_b mended=1"),
        (r#"{"model":"a"#, "truncated"),
    ] {
        check_request(Api::ChatCompletions, body, expected);
    }
}

#[test]
fn usage_counts_twice_only_inside_one_object() {
    let usage = r#""usage":{"prompt_tokens":21,"completion_tokens":31,"total_tokens":52}"#;
    check_answer(
        Api::ChatCompletions,
        &[(
            &format!(r#"{{"choices":[],"x_groq":{{"id":"r",{usage}}},{usage}}}"#),
            "in=21 out=31",
        )],
    );
    check_answer(
        Api::ChatCompletions,
        &[(
            r#"{"usage":{"prompt_tokens":20,"completion_tokens":31,"prompt_tokens":21}}"#,
            "in=21 out=31 duplicates=1",
        )],
    );
    check_answer(
        Api::ChatCompletions,
        &[(
            r#"{"choices":[{"index":0},{"index":1},{"index":2}],"usage":null}"#,
            "choices=3",
        )],
    );
    check_answer(
        Api::ChatCompletions,
        &[(r#"{"model":"a","model":"b"}"#, "model=b duplicates=1")],
    );
    check_answer(
        Api::Completions,
        &[(
            r#"[{"model":"a","choices":[{"text":"x"}],"usage":{"prompt_tokens":3,"completion_tokens":4}},{"model":"a","choices":[{"text":"y"}],"usage":{"prompt_tokens":5,"completion_tokens":4}}]"#,
            "visible choices=2 in=8 out=8 model=a",
        )],
    );
}

#[test]
fn a_usage_of_zeros_beside_another_does_not_hide_it() {
    check_answer(
        Api::ChatCompletions,
        &[(
            r#"{"x_groq":{"id":"r","usage":{"queue_time":0.02,"prompt_tokens":21,"completion_tokens":31}},"usage":{"prompt_tokens":0,"completion_tokens":31,"total_tokens":31}}"#,
            "in=21 out=31",
        )],
    );
}

#[test]
fn vendors_state_the_cache_and_the_reasoning_in_their_own_places() {
    for (usage, expected) in [
        (
            r#"{"prompt_tokens":20,"completion_tokens":9,"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":4,"completion_tokens_details":{"reasoning_tokens":5}}"#,
            "in=20 out=9 cached=16 thought=5",
        ),
        (
            r#"{"prompt_tokens":20,"completion_tokens":9,"reasoning_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}"#,
            "in=20 out=9 cached=0 thought=5",
        ),
    ] {
        let payload = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        check_answer(Api::ChatCompletions, &[(&payload, expected)]);
    }
}

#[test]
fn what_vendors_add_is_no_output() {
    for payload in [
        r#"{"choices":[],"sglext":{"cached_tokens_details":{"device":3,"host":0}}}"#,
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"nvext":{"timing":{"ttft_ms":4.5},"worker_id":{"prefill_worker_id":1}}}"#,
        r#"{"choices":[{"index":0,"delta":{},"avg_decoded_tokens_per_iter":1.5}]}"#,
        r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}],"prompt_progress":{"total":9,"cache":3,"processed":6}}"#,
        r#"{"choices":[{"index":0,"delta":{},"obfuscation":"abc"}]}"#,
    ] {
        check_answer(Api::ChatCompletions, &[(payload, "")]);
    }
    check_named(
        Api::ChatCompletions,
        &[("formatted_prompt", "\"<s>Hi\"", "")],
    );
}

#[test]
fn tgis_completions_write_an_empty_reason_before_the_last() {
    check_answer(
        Api::Completions,
        &[
            (
                r#"{"id":"","object":"text_completion","model":"m","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":""}]}"#,
                "visible model=m",
            ),
            (
                r#"{"id":"","object":"text_completion","model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"eos_token"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#,
                "in=3 out=2 finish=stop",
            ),
        ],
    );
}

#[test]
fn errors_come_in_many_shapes() {
    for (payload, expected) in [
        (
            r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}"#,
            "error=other",
        ),
        (
            r#"{"object":"error","message":"m","type":"Internal Server Error","param":null,"code":500}"#,
            "error=other",
        ),
        (
            r#"{"error":{"object":"error","message":"m","type":"invalid_request_error","code":400}}"#,
            "error=other",
        ),
        (
            r#"{"error":{"message":"m","http_status_code":422}}"#,
            "error=other",
        ),
        (r#"{"error":"m","error_type":"overloaded"}"#, "error=other"),
        (r#"{"detail":"Not Found"}"#, ""),
        (r#"{"detail":[{"type":"missing","loc":["body"]}]}"#, ""),
        (r#"{"message":"m"}"#, ""),
    ] {
        check_answer(Api::ChatCompletions, &[(payload, expected)]);
    }
    check_named(Api::ChatCompletions, &[("error", "", "empty error=other")]);
}

#[test]
fn embeddings_state_their_input_alone() {
    check_request(
        Api::Embeddings,
        r#"{"model":"e","input":["a","b"]}"#,
        "model=e",
    );
    check_answer(
        Api::Embeddings,
        &[(
            r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"e","usage":{"prompt_tokens":4,"total_tokens":4}}"#,
            "in=4 model=e",
        )],
    );
}
