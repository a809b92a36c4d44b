//! Rerank, score, pooling and classify.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn each_route_is_told_by_its_own_keys() {
    for (api, body, expected) in [
        (
            Api::Rerank,
            r#"{"model":"m","query":"q","documents":["a","b","c"],"top_n":2}"#,
            "model=m speaks=rerank",
        ),
        (
            Api::Rerank,
            r#"{"query":"q","texts":["a","b"]}"#,
            "speaks=rerank",
        ),
        (
            Api::Score,
            r#"{"model":"m","text_1":"a","text_2":["b","c"]}"#,
            "model=m speaks=score",
        ),
        (
            Api::Score,
            r#"{"documents":["a"],"queries":"q","model":"m"}"#,
            "model=m speaks=score",
        ),
        (
            Api::Score,
            r#"{"query":"q","items":["a"],"label_token_ids":[1]}"#,
            "speaks=score",
        ),
        (
            Api::Pooling,
            r#"{"model":"m","input":["a","b"]}"#,
            "model=m speaks=pooling",
        ),
        (
            Api::Pooling,
            r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#,
            "model=m speaks=pooling",
        ),
        (Api::Rerank, r#"{"query":"q"}"#, ""),
        (Api::Score, r#"{"rating":5}"#, ""),
    ] {
        check_request(api, body, expected);
    }
}

#[test]
fn the_input_is_stated_and_nothing_is_generated() {
    check_answer(
        Api::Rerank,
        &[(
            r#"{"id":"r","model":"m","usage":{"prompt_tokens":56,"total_tokens":56},"results":[{"index":1,"document":{"text":"b"},"relevance_score":0.9}]}"#,
            "in=56 model=m",
        )],
    );
    check_answer(
        Api::Rerank,
        &[(
            r#"{"model":"jina","usage":{"total_tokens":56},"results":[]}"#,
            "in=56 model=jina",
        )],
    );
    check_answer(Api::Rerank, &[(r#"[{"index":0,"score":0.9}]"#, "")]);
    check_answer(
        Api::Score,
        &[(
            r#"{"id":"s","object":"list","model":"m","data":[{"index":0,"object":"score","score":1.0}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0,"prompt_tokens_details":null}}"#,
            "in=17 model=m",
        )],
    );
}

#[test]
fn errors_are_openais() {
    check_answer(
        Api::Pooling,
        &[(
            r#"{"error":{"message":"m","type":"BadRequestError","code":400}}"#,
            "error=other",
        )],
    );
    check_answer(
        Api::Score,
        &[(
            r#"{"object":"error","message":"maximum context length","type":"BadRequestError","code":400}"#,
            "error=context_length",
        )],
    );
}
