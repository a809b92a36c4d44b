//! llama.cpp's own completions.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn a_limit_below_zero_is_none() {
    check_request(
        Api::LlamacppCompletion,
        r#"{"prompt":"Hi","n_predict":-1,"stream":true,"cache_prompt":true}"#,
        "stream=true",
    );
    check_request(
        Api::LlamacppCompletion,
        r#"{"prompt":["a","b"],"n_predict":4}"#,
        "limit=4 prompts=2",
    );
    check_request(
        Api::Completions,
        r#"{"prompt":"Hi","n_predict":4}"#,
        "limit=4",
    );
}

#[test]
fn progress_is_no_token_and_the_last_event_has_the_counts() {
    let events = [
        (
            r#"{"index":0,"content":"","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":0,"tokens_evaluated":9,"prompt_progress":{"total":9,"cache":3,"processed":6,"time_ms":2}}"#,
            "in=9 out=0",
        ),
        (
            r#"{"index":0,"content":"Hel","tokens":[5],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":9}"#,
            "visible tokens=1 in=9 out=1",
        ),
        (
            r#"{"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"tiny","tokens_predicted":2,"tokens_evaluated":9,"generation_settings":{"stop":["x"],"n_predict":2},"prompt":"Hi","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":10,"timings":{"cache_n":3,"prompt_n":6,"prompt_ms":5.5,"predicted_n":2,"predicted_ms":9.1}}"#,
            "end in=9 out=2 timings_in=9 timings_out=2 timings_cached=3 finish=length model=tiny",
        ),
    ];
    check_answer(Api::LlamacppCompletion, &events);
    // The same keys on the path that OpenAI's completions share.
    check_answer(Api::Completions, &[events[2]]);
    check_answer(
        Api::Completions,
        &[(
            r#"{"index":0,"content":"Hel","tokens":[5],"stop":false,"tokens_predicted":1,"tokens_evaluated":9}"#,
            "visible in=9 out=1",
        )],
    );
}

#[test]
fn reasons_to_stop_have_their_own_words() {
    for (word, expected) in [
        ("eos", "visible end finish=stop"),
        ("word", "visible end finish=stop"),
        ("limit", "visible end finish=length"),
        ("none", "visible end"),
    ] {
        let payload = format!(r#"{{"content":"Hi","stop":true,"stop_type":"{word}"}}"#);
        check_answer(Api::LlamacppCompletion, &[(&payload, expected)]);
    }
}

#[test]
fn the_answers_of_a_batch_are_told_apart_in_a_stream_and_summed_in_an_array() {
    check_answer(
        Api::LlamacppCompletion,
        &[
            (
                r#"{"index":1,"content":"b","tokens":[6],"stop":false,"tokens_predicted":1,"tokens_evaluated":4}"#,
                "visible tokens=1 choice=1 in=4 out=1",
            ),
            (
                r#"{"index":0,"content":"a","tokens":[5],"stop":false,"tokens_predicted":1,"tokens_evaluated":3}"#,
                "visible tokens=1 in=3 out=1",
            ),
        ],
    );
    check_answer(
        Api::LlamacppCompletion,
        &[(
            r#"[{"index":0,"content":"a","tokens":[],"model":"m","tokens_predicted":4,"tokens_evaluated":3,"stop":true,"stop_type":"limit"},{"index":1,"content":"b","tokens":[],"model":"m","tokens_predicted":5,"tokens_evaluated":4,"stop":true,"stop_type":"eos"}]"#,
            "visible end choices=2 in=7 out=9 finish=stop model=m",
        )],
    );
}

#[test]
fn errors_are_objects_also_inside_a_stream() {
    check_answer(
        Api::LlamacppCompletion,
        &[
            (r#"{"content":"a","stop":false}"#, "visible"),
            (
                r#"{"error":{"code":500,"message":"Compute error.","type":"server_error"}}"#,
                "error=other",
            ),
        ],
    );
    check_answer(
        Api::LlamacppCompletion,
        &[(
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":3615,"n_ctx":2048}}"#,
            "error=context_length",
        )],
    );
}
