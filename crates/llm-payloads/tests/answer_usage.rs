//! The token numbers that payloads state, whole and cut at every byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod payload;

use llm_payloads::{Api, Output, PayloadState, Usage};
use payload::check;

fn check_usage(api: Api, payload: &str, expected: Usage) {
    assert_eq!(check(api, payload).usage.stated, expected, "{payload}");
}

#[test]
fn usage_has_one_meaning_for_all_apis() {
    let usage = |input, output, cached_input| Usage {
        input,
        output,
        cached_input,
        ..Usage::default()
    };
    check_usage(
        Api::ChatCompletions,
        r#"{"choices":[],"usage":{"prompt_tokens":64,"total_tokens":88,"completion_tokens":24,"prompt_tokens_details":{"cached_tokens":32,"created_cache_tokens":16},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        Usage {
            cache_write_input: Some(16),
            reasoning: Some(5),
            ..usage(Some(64), Some(24), Some(32))
        },
    );
    check_usage(
        Api::ChatCompletions,
        r#"{"usage":{"prompt_tokens":64,"completion_tokens":0,"prompt_tokens_details":null,"reasoning_tokens":7}}"#,
        Usage {
            reasoning: Some(7),
            ..usage(Some(64), Some(0), None)
        },
    );
    check_usage(Api::ChatCompletions, r#"{"usage":null}"#, Usage::default());
    check_usage(
        Api::Embeddings,
        r#"{"usage":{"prompt_tokens":4,"total_tokens":4}}"#,
        usage(Some(4), None, None),
    );
    let response = r#""usage":{"input_tokens":615,"input_tokens_details":{"cached_tokens":614},"output_tokens":2}"#;
    check_usage(
        Api::Responses,
        &format!("{{{response}}}"),
        usage(Some(615), Some(2), Some(614)),
    );
    check_usage(
        Api::Responses,
        &format!(r#"{{"response":{{{response}}}}}"#),
        usage(Some(615), Some(2), Some(614)),
    );
}

#[test]
fn the_parts_of_a_messages_input_are_added() {
    check_usage(
        Api::Messages,
        r#"{"type":"message_delta","usage":{"input_tokens":12,"output_tokens":80,"cache_creation_input_tokens":224,"cache_read_input_tokens":64}}"#,
        Usage {
            input: Some(300),
            output: Some(80),
            cached_input: Some(64),
            cache_write_input: Some(224),
            reasoning: None,
        },
    );
    check_usage(
        Api::Messages,
        r#"{"type":"message_start","message":{"usage":{"input_tokens":724,"output_tokens":1}}}"#,
        Usage {
            input: Some(724),
            ..Usage::default()
        },
    );
    check_usage(
        Api::Messages,
        r#"{"type":"message_delta","usage":{"output_tokens":8,"cache_read_input_tokens":64}}"#,
        Usage {
            output: Some(8),
            ..Usage::default()
        },
    );
    check_usage(
        Api::Messages,
        r#"{"type":"message","usage":{"input_tokens":1,"cache_read_input_tokens":34,"output_tokens":12}}"#,
        Usage {
            input: Some(35),
            output: Some(12),
            cached_input: Some(34),
            ..Usage::default()
        },
    );
}

#[test]
fn timings_are_kept_apart() {
    let event = check(
        Api::ChatCompletions,
        r#"{"choices":[{"index":0,"delta":{}}],"timings":{"cache_n":63,"prompt_n":1,"prompt_ms":5.81,"predicted_n":8}}"#,
    );
    assert!(event.usage.stated.is_empty());
    let expected = Usage {
        input: Some(64),
        output: Some(8),
        cached_input: Some(63),
        ..Usage::default()
    };
    assert_eq!(event.usage.timings, expected);
    let old = check(
        Api::ChatCompletions,
        r#"{"timings":{"prompt_n":1,"predicted_n":8}}"#,
    );
    assert_eq!(
        old.usage.timings,
        Usage {
            output: Some(8),
            ..Usage::default()
        }
    );
}

#[test]
fn the_answers_of_a_batch_in_one_array_are_summed() {
    let event = check(
        Api::Completions,
        r#"[{"choices":[{"text":"a"}],"usage":{"prompt_tokens":3,"completion_tokens":4}},{"choices":[{"text":"b"}],"usage":{"prompt_tokens":5,"completion_tokens":4}}]"#,
    );
    assert_eq!(
        event.usage.stated,
        Usage {
            input: Some(8),
            output: Some(8),
            ..Usage::default()
        }
    );
    assert_eq!(event.choices, 2);
    let event = check(
        Api::Embeddings,
        r#"[{"usage":{"prompt_tokens":3}},{"usage":{"prompt_tokens":5}}]"#,
    );
    assert_eq!(event.usage.stated.input, Some(8));
}

#[test]
fn numbers_of_tokens_that_cannot_be_are_ignored_and_counted() {
    for number in ["-4", "1.5", "1e300", "9007199254740993", "true", "\"7\""] {
        let event = check(
            Api::ChatCompletions,
            &format!(r#"{{"usage":{{"prompt_tokens":{number},"completion_tokens":3}}}}"#),
        );
        assert_eq!(
            event.usage.stated,
            Usage {
                output: Some(3),
                ..Usage::default()
            },
            "{number}"
        );
        assert_eq!(event.bad_numbers, 1, "{number}");
    }
}

#[test]
fn of_a_payload_that_breaks_off_its_usage_is_believed() {
    let event = check(
        Api::ChatCompletions,
        r#"{"usage":{"prompt_tokens":3,"completion_tokens":12},"choices":[{"delta":{"content":"a"#,
    );
    assert_eq!(event.state, PayloadState::Truncated);
    assert_eq!(
        event.usage.stated,
        Usage {
            input: Some(3),
            output: Some(12),
            ..Usage::default()
        }
    );
    assert_eq!(event.output, Output::default());
}
