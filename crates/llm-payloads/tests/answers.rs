//! What is read of single payloads, whole and cut at every byte.

use llm_payloads::{
    AnswerEvent, AnswerScan, Api, ErrorKind, FinishReason, Output, PayloadState, Usage,
};

fn scan(api: Api, pieces: &[&[u8]]) -> AnswerEvent {
    let mut scan = AnswerScan::new(api);
    for piece in pieces {
        scan.push(piece);
    }
    scan.finish()
}

/// Scans a payload whole and cut in two at every byte, and gives what all of that agreed on.
fn check(api: Api, payload: &str) -> AnswerEvent {
    let payload = payload.as_bytes();
    let whole = scan(api, &[payload]);
    for cut in 0..payload.len() {
        let (left, right) = payload.split_at(cut);
        assert_eq!(scan(api, &[left, right]), whole, "cut at {cut}");
    }
    whole
}

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
fn finish_reasons_of_all_apis_are_brought_into_one_vocabulary() {
    for (api, payload, expected) in [
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"length"}]}"#,
            Some(FinishReason::Length),
        ),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":null}]}"#,
            None,
        ),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"content_filter"},{"finish_reason":"stop"}]}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Messages,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            Some(FinishReason::ToolCalls),
        ),
        (
            Api::Messages,
            r#"{"type":"message","stop_reason":"refusal"}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Responses,
            r#"{"status":"completed"}"#,
            Some(FinishReason::Stop),
        ),
        (
            Api::Responses,
            r#"{"response":{"status":"in_progress"}}"#,
            None,
        ),
        (Api::Responses, r#"{"status":"queued"}"#, None),
        (
            Api::Responses,
            r#"{"status":"cancelled"}"#,
            Some(FinishReason::Abort),
        ),
        (
            Api::Responses,
            r#"{"status":"completed","output":[{"type":"function_call"}]}"#,
            Some(FinishReason::ToolCalls),
        ),
        (
            Api::Responses,
            r#"{"status":"completed","output":[{"type":"web_search_call"}]}"#,
            Some(FinishReason::Stop),
        ),
        (
            Api::Responses,
            r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}"#,
            Some(FinishReason::ContentFilter),
        ),
        (
            Api::Responses,
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
            Some(FinishReason::Length),
        ),
    ] {
        assert_eq!(check(api, payload).finish, expected, "{payload}");
    }
}

fn check_error(api: Api, payload: &str, expected: Option<ErrorKind>) {
    assert_eq!(
        check(api, payload).error.map(|error| error.kind),
        expected,
        "{payload}"
    );
}

#[test]
fn errors_are_told_in_every_shape_that_servers_write() {
    let chat = Api::ChatCompletions;
    check_error(
        chat,
        r#"{"error":{"message":"m","type":"InternalServerError","code":500}}"#,
        Some(ErrorKind::Other),
    );
    check_error(
        chat,
        r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
        Some(ErrorKind::ContextLength),
    );
    check_error(chat, r#"{"error":"Unauthorized"}"#, Some(ErrorKind::Other));
    check_error(chat, r#"{"error":{}}"#, Some(ErrorKind::Other));
    check_error(
        chat,
        r#"{"object":"error","message":"is longer than the model's context length","type":"BadRequestError"}"#,
        Some(ErrorKind::ContextLength),
    );
    check_error(
        Api::Messages,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Some(ErrorKind::Overloaded),
    );
    check_error(
        Api::Responses,
        r#"{"type":"error","code":"rate_limit_exceeded","message":"m"}"#,
        Some(ErrorKind::RateLimited),
    );
    check_error(
        Api::Responses,
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"}}}"#,
        Some(ErrorKind::Other),
    );
}

#[test]
fn what_only_looks_like_an_error_is_none() {
    check_error(
        Api::Responses,
        r#"{"object":"response","error":null,"status":"completed"}"#,
        None,
    );
    check_error(Api::ChatCompletions, r#"{"error":null,"choices":[]}"#, None);
    check_error(Api::ChatCompletions, r#"{"error":false}"#, None);
    check_error(Api::ChatCompletions, r#"{"error":""}"#, None);
    check_error(
        Api::ChatCompletions,
        r#"{"choices":[{"delta":{"error":{"message":"m"}}}]}"#,
        None,
    );
    check_error(
        Api::ChatCompletions,
        r#"{"message":"context length"}"#,
        None,
    );
}

#[test]
fn terminal_events_are_those_of_the_own_api() {
    for (api, payload, expected) in [
        (Api::Responses, r#"{"type":"response.completed"}"#, true),
        (Api::Responses, r#"{"type":"response.incomplete"}"#, true),
        (Api::Responses, r#"{"type":"response.failed"}"#, true),
        (Api::Responses, r#"{"type":"response.created"}"#, false),
        (Api::Messages, r#"{"type":"message_stop"}"#, true),
        (Api::Messages, r#"{"type":"message_delta"}"#, false),
        (Api::ChatCompletions, r#"{"type":"message_stop"}"#, false),
        (
            Api::ChatCompletions,
            r#"{"choices":[{"finish_reason":"stop"}]}"#,
            false,
        ),
    ] {
        assert_eq!(check(api, payload).terminal, expected, "{payload}");
    }
}

#[test]
fn the_done_marker_is_recognised_with_whitespace_around_it() {
    for (payload, state) in [
        ("[DONE]", PayloadState::DoneMarker),
        (" [DONE] ", PayloadState::DoneMarker),
        ("[DONE]\n", PayloadState::DoneMarker),
        ("[DONE", PayloadState::Malformed),
        ("[DONE]x", PayloadState::Malformed),
        ("[D ONE]", PayloadState::Malformed),
        ("DONE", PayloadState::Malformed),
        ("[]", PayloadState::Complete),
        ("\"[DONE]\"", PayloadState::Complete),
        ("", PayloadState::Empty),
        ("  ", PayloadState::Empty),
    ] {
        let event = check(Api::ChatCompletions, payload);
        assert_eq!(
            (event.state, event.terminal),
            (state, state == PayloadState::DoneMarker),
            "{payload}"
        );
    }
}

#[test]
fn nothing_is_believed_of_a_payload_that_is_not_json() {
    let event = check(
        Api::ChatCompletions,
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3}},"#,
    );
    assert_eq!(
        event,
        AnswerEvent {
            state: PayloadState::Malformed,
            ..AnswerEvent::default()
        }
    );
    let deep = check(Api::ChatCompletions, &"[".repeat(300));
    assert_eq!(deep.state, PayloadState::TooDeep);
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
    assert_eq!(event.output, NOTHING);
}

#[test]
fn the_models_name_is_given_once() {
    let mut scan = AnswerScan::new(Api::ChatCompletions);
    scan.push(br#"{"model":""}"#);
    assert_eq!(scan.finish().model, None);
    scan.push(br#"{"model":"m"}"#);
    assert_eq!(scan.finish().model.unwrap().as_str(), "m");
    scan.push(br#"{"model":"m"}"#);
    assert_eq!(scan.finish().model, None);
}

#[test]
fn an_events_name_counts_where_the_payload_has_no_type() {
    let named = |api, name: &str, payload: &str| {
        let mut scan = AnswerScan::new(api);
        scan.name_event(name.as_bytes());
        scan.push(payload.as_bytes());
        let event = scan.finish();
        scan.push(b"{}");
        assert_eq!(
            scan.finish(),
            AnswerEvent {
                state: PayloadState::Complete,
                ..AnswerEvent::default()
            }
        );
        event
    };
    assert!(
        named(
            Api::Responses,
            "response.output_text.delta",
            r#"{"delta":"a"}"#
        )
        .output
        .visible
    );
    assert!(named(Api::Messages, "message_stop", "{}").terminal);
    assert!(named(Api::Messages, "message_stop", "").terminal);
    assert!(
        named(Api::ChatCompletions, "error", "no JSON")
            .error
            .is_some()
    );
    assert!(named(Api::ChatCompletions, "error", "").error.is_some());
    assert!(
        !named(
            Api::Responses,
            "response.completed",
            r#"{"type":"response.created"}"#
        )
        .terminal
    );
}

#[test]
fn an_echo_is_no_output_as_often_as_it_is_expected() {
    let mut request = llm_payloads::RequestScan::new(Api::ChatCompletions);
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
