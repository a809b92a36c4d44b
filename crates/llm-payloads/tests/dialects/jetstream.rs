//! JetStream's HTTP server.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn a_request_is_written_in_either_spelling() {
    check_request(
        Api::JetstreamHttp,
        r#"{"textContent":{"text":"Hi"},"maxTokens":8,"numSamples":2}"#,
        "limit=8 choices=2",
    );
    check_request(
        Api::JetstreamHttp,
        r#"{"text_content":{"text":"Hi"},"max_tokens":8,"num_samples":2}"#,
        "limit=8 choices=2",
    );
}

#[test]
fn tokens_are_output_and_the_initial_content_is_none() {
    check_answer(
        Api::JetstreamHttp,
        &[
            ("{\n  \"initialContent\": {}\n}", ""),
            (
                "{\n  \"streamContent\": {\n    \"samples\": [\n      {\n        \"text\": \"Hel\",\n        \"tokenIds\": [\n          5,\n          6\n        ]\n      }\n    ]\n  }\n}",
                "visible tokens=2",
            ),
            (
                r#"{"stream_content":{"samples":[{"text":"lo","token_ids":[7]},{"text":"x","token_ids":[8]}]}}"#,
                "visible tokens=2",
            ),
            (
                r#"{"streamContent":{"samples":[{"tokenIds":["9"]}]}}"#,
                "visible tokens=1",
            ),
            (r#"{"streamContent":{"samples":[{"text":""}]}}"#, ""),
        ],
    );
}

#[test]
fn errors_are_objects_or_fastapis_detail() {
    check_answer(
        Api::JetstreamHttp,
        &[(r#"{"error":{"message":"m"}}"#, "error=other")],
    );
    check_answer(Api::JetstreamHttp, &[(r#"{"detail":"Not Found"}"#, "")]);
}
