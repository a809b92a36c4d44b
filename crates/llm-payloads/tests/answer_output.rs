//! What counts as output, whole and cut at every byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod payload;

use llm_payloads::{AnswerScan, Api, Output, PayloadState, RequestScan};
use payload::check;

const NOTHING: Output = Output {
    visible: false,
    reasoning: false,
};
const VISIBLE: Output = Output {
    visible: true,
    reasoning: false,
};
const REASONING: Output = Output {
    visible: false,
    reasoning: true,
};
const BOTH: Output = Output {
    visible: true,
    reasoning: true,
};

fn check_output(api: Api, payload: &str, expected: Output) {
    let event = check(api, payload);
    assert_eq!(event.state, PayloadState::Complete, "{payload}");
    assert_eq!(event.output, expected, "{payload}");
}

#[test]
fn a_chat_delta_is_output_only_if_something_was_generated() {
    for (delta, expected) in [
        (r#"{"role":"assistant","content":""}"#, NOTHING),
        (r#"{"role":"assistant","content":null}"#, NOTHING),
        (r#"{"role":"assistant"}"#, NOTHING),
        (r#"{"reasoning_content":null,"content":""}"#, NOTHING),
        (
            r#"{"tool_calls":null,"function_call":null,"refusal":null}"#,
            NOTHING,
        ),
        (
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"","arguments":""}}]}"#,
            NOTHING,
        ),
        ("{}", NOTHING),
        (r#"{"content":"a"}"#, VISIBLE),
        (r#"{"content":" "}"#, VISIBLE),
        (r#"{"content":"\u0000"}"#, VISIBLE),
        (r#"{"content":[{"type":"text","text":"a"}]}"#, VISIBLE),
        (r#"{"refusal":"no"}"#, VISIBLE),
        (
            r#"{"content":null,"tool_calls":[{"index":0,"function":{"name":"f"}}]}"#,
            VISIBLE,
        ),
        (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#,
            VISIBLE,
        ),
        (
            r#"{"tool_calls":[{"index":0,"custom":{"input":"x"}}]}"#,
            VISIBLE,
        ),
        (r#"{"function_call":{"arguments":"1"}}"#, VISIBLE),
        (r#"{"reasoning":"hm"}"#, REASONING),
        (
            r#"{"reasoning":"hm","reasoning_content":"hm","content":null}"#,
            REASONING,
        ),
        (r#"{"reasoning_content":"hm","content":"so"}"#, BOTH),
    ] {
        let payload =
            format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
        check_output(Api::ChatCompletions, &payload, expected);
    }
}

#[test]
fn completions_give_output_as_text() {
    check_output(
        Api::Completions,
        r#"{"choices":[{"text":"a","index":0}]}"#,
        VISIBLE,
    );
    check_output(
        Api::Completions,
        r#"{"choices":[{"text":"","index":0}],"usage":{}}"#,
        NOTHING,
    );
    check_output(Api::Completions, "null", NOTHING);
}

#[test]
fn a_response_gives_output_in_its_deltas_and_in_the_name_of_a_new_call() {
    for (payload, expected) in [
        (
            r#"{"delta":"a","type":"response.output_text.delta"}"#,
            VISIBLE,
        ),
        (
            r#"{"type":"response.output_text.delta","delta":""}"#,
            NOTHING,
        ),
        (r#"{"type":"response.refusal.delta","delta":"a"}"#, VISIBLE),
        (
            r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#,
            VISIBLE,
        ),
        (
            r#"{"type":"response.reasoning_text.delta","delta":"a"}"#,
            REASONING,
        ),
        (
            r#"{"type":"response.reasoning_summary_text.delta","delta":"a"}"#,
            REASONING,
        ),
        (
            r#"{"type":"response.output_text.done","text":"a"}"#,
            NOTHING,
        ),
        (
            r#"{"type":"response.content_part.added","part":{"text":"","type":"output_text"}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"f"}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}"#,
            VISIBLE,
        ),
        (r#"{"type":"other.delta","delta":"a"}"#, NOTHING),
    ] {
        check_output(Api::Responses, payload, expected);
    }
}

#[test]
fn messages_give_output_in_block_deltas_and_in_the_name_of_a_tool() {
    for (payload, expected) in [
        (
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"},"index":0}"#,
            VISIBLE,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":""}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}"#,
            REASONING,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}"#,
            VISIBLE,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"a"}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{"cited_text":"a"}}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#,
            NOTHING,
        ),
        (
            r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"f","input":{}}}"#,
            VISIBLE,
        ),
        (r#"{"type":"ping"}"#, NOTHING),
        (
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
            NOTHING,
        ),
    ] {
        check_output(Api::Messages, payload, expected);
    }
}

#[test]
fn exact_token_counts_come_from_ids_before_probabilities() {
    let choice = |fields: &str| {
        check(
            Api::ChatCompletions,
            &format!(r#"{{"choices":[{{"index":1,"delta":{{"content":"a"}},{fields}}}]}}"#),
        )
    };
    assert_eq!(choice(r#""token_ids":[347,12]"#).tokens, Some(2));
    assert_eq!(choice(r#""token_ids":null"#).tokens, None);
    let logprobs = r#""logprobs":{"content":[{"token":"a","top_logprobs":[{},{}]},{},{}]}"#;
    assert_eq!(choice(logprobs).tokens, Some(3));
    assert_eq!(
        choice(&format!(r#"{logprobs},"token_ids":[7]"#)).tokens,
        Some(1)
    );
    assert_eq!(
        (
            choice(r#""token_ids":null"#).choice,
            choice(r#""token_ids":null"#).choices
        ),
        (1, 1)
    );
}

#[test]
fn an_echo_is_no_output_as_often_as_it_is_expected() {
    let mut request = RequestScan::new(Api::ChatCompletions);
    request.push(br#"{"messages":[{"content":"Say \"hi\""}],"echo":true}"#);
    let mut scan = AnswerScan::new(Api::ChatCompletions);
    scan.expect_echo(request.finish().echoed_text, 1);
    let mut content = |text: &str| {
        scan.push(format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#).as_bytes());
        let event = scan.finish();
        (event.echoed, event.output.visible)
    };
    assert_eq!(content("Say"), (false, true));
    assert_eq!(content(r#"Say \u0022hi\""#), (true, false));
    assert_eq!(content(r#"Say \"hi\""#), (false, true));
}
