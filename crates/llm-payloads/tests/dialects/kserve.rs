//! The open inference protocol's infer.

use llm_payloads::{Api, Text};

use crate::exchange::{check_answer, check_request};

#[test]
fn the_path_names_the_model() {
    for path in [
        "/v2/models/llama/infer",
        "/v2/models/llama/versions/1/infer",
    ] {
        assert_eq!(Api::from_path(path.as_bytes()), Some(Api::KserveInfer));
        assert_eq!(
            Api::KserveInfer.model_in_path(path.as_bytes()),
            Some(Text::from("llama")),
            "{path}"
        );
    }
    check_request(
        Api::KserveInfer,
        r#"{"id":"1","inputs":[{"name":"input0","shape":[1],"datatype":"BYTES","data":["Hi"]}]}"#,
        "",
    );
}

#[test]
fn an_answer_names_its_model_and_states_no_usage() {
    check_answer(
        Api::KserveInfer,
        &[(
            r#"{"id":"1","model_name":"llama","model_version":"1","outputs":[{"name":"output0","datatype":"BYTES","shape":[1],"data":["Hello"]}]}"#,
            "model=llama",
        )],
    );
    check_answer(
        Api::KserveInfer,
        &[(r#"{"error":"unexpected shape"}"#, "error=other")],
    );
}
