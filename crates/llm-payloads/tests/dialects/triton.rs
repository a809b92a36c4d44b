//! Triton's generate extension.

use llm_payloads::{Api, Text};

use crate::exchange::{check_answer, check_request};

#[test]
fn the_path_names_the_model_and_its_version() {
    for (path, api) in [
        ("/v2/models/ensemble/generate", Api::TritonGenerate),
        (
            "/v2/models/ensemble/versions/2/generate",
            Api::TritonGenerate,
        ),
        (
            "/v2/models/ensemble/generate_stream",
            Api::TritonGenerateStream,
        ),
        (
            "/v2/models/ensemble/versions/2/generate_stream",
            Api::TritonGenerateStream,
        ),
    ] {
        assert_eq!(Api::from_path(path.as_bytes()), Some(api), "{path}");
        assert_eq!(
            api.model_in_path(path.as_bytes()),
            Some(Text::from("ensemble")),
            "{path}"
        );
    }
}

#[test]
fn a_limit_stands_at_the_top_or_among_the_parameters() {
    check_request(
        Api::TritonGenerate,
        r#"{"text_input":"Hi","max_tokens":20,"bad_words":"","stop_words":""}"#,
        "limit=20",
    );
    check_request(
        Api::TritonGenerateStream,
        r#"{"text_input":"Hi","parameters":{"stream":true,"max_tokens":20}}"#,
        "limit=20",
    );
}

#[test]
fn an_event_with_text_is_output_and_nothing_in_it_is_an_end() {
    check_answer(
        Api::TritonGenerateStream,
        &[
            (
                r#"{"model_name":"ensemble","model_version":"1","sequence_end":false,"sequence_id":0,"sequence_start":false,"text_output":"Hel"}"#,
                "visible model=ensemble",
            ),
            (
                r#"{"model_name":"ensemble","model_version":"1","text_output":""}"#,
                "",
            ),
            (
                r#"{"model_name":"ensemble","model_version":"1","text_output":"lo","token":{"id":5,"text":"lo","logprob":-1,"special":false},"details":{"finish_reason":"eos_token"}}"#,
                "visible tokens=1 finish=stop",
            ),
        ],
    );
}

#[test]
fn a_whole_answer_holds_one_text_or_several() {
    check_answer(
        Api::TritonGenerate,
        &[(
            r#"{"model_name":"m","model_version":"1","text_output":"Hello"}"#,
            "visible model=m",
        )],
    );
    check_answer(
        Api::TritonGenerate,
        &[(
            r#"{"model_name":"m","text_output":["a","b"]}"#,
            "visible model=m",
        )],
    );
}

#[test]
fn errors_are_texts_also_inside_a_stream() {
    check_answer(
        Api::TritonGenerateStream,
        &[(
            r#"{"error":"in ensemble 'ensemble', Prompt length (3000) exceeds maximum input length (2048)."}"#,
            "error=other",
        )],
    );
    check_answer(
        Api::TritonGenerate,
        &[(
            r#"{"error":"Request for unknown model: 'x' is not found"}"#,
            "error=other",
        )],
    );
}
