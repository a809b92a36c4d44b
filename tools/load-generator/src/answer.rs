//! What the payloads of an answer say, read with a full JSON parser into the few facts the truth is made of.

use serde_json::Value;

use crate::case::Api;

/// Token counts as an answer states them, with cached ones among the input and reasoning among the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens.
    pub input: Option<u64>,
    /// Of these, found in the cache.
    pub cached_input: Option<u64>,
    /// Generated tokens.
    pub output: Option<u64>,
    /// Of these, reasoning.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// A later statement replaces what it speaks of.
    fn update(&mut self, later: Self) {
        if later.input.is_some() {
            // What is cached belongs to the input it was stated with.
            self.input = later.input;
            self.cached_input = later.cached_input;
        }
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// The facts of an answer so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) usage: Usage,
    pub(crate) output_events: u64,
    pub(crate) error_seen: bool,
    pub(crate) terminal_seen: bool,
}

impl Answer {
    /// Takes in the payload of one event; true when it carries generated output.
    pub(crate) fn event(&mut self, api: Api, payload: &str) -> bool {
        if payload == "[DONE]" {
            self.terminal_seen = true;
            return false;
        }
        let Ok(payload) = serde_json::from_str::<Value>(payload) else {
            return false;
        };
        let kind = text_at(&payload, "/type");
        self.error_seen |= payload
            .pointer("/error")
            .is_some_and(|error| !error.is_null())
            || kind == "error"
            || kind == "response.failed";
        self.terminal_seen |= matches!(
            kind,
            "message_stop" | "response.completed" | "response.incomplete"
        );
        for place in ["/usage", "/response/usage", "/message/usage"] {
            if let Some(usage) = payload.pointer(place).filter(|usage| usage.is_object()) {
                self.usage.update(read_usage(api, usage));
            }
        }
        let is_output = match api {
            Api::Chat => choices(&payload).any(has_chat_output),
            Api::Completions => {
                choices(&payload).any(|choice| !text_at(choice, "/text").is_empty())
            }
            Api::Responses => kind.ends_with(".delta") && !text_at(&payload, "/delta").is_empty(),
            Api::Messages => {
                let words = ["/delta/text", "/delta/thinking", "/delta/partial_json"];
                kind == "content_block_delta"
                    && words
                        .iter()
                        .any(|place| !text_at(&payload, place).is_empty())
            }
            Api::Embeddings => false,
        };
        self.output_events += u64::from(is_output);
        is_output
    }

    /// Takes in an answer that is one document.
    pub(crate) fn document(&mut self, api: Api, body: &[u8]) {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        if let Some(usage) = body.get("usage").filter(|usage| usage.is_object()) {
            self.usage.update(read_usage(api, usage));
        }
    }
}

fn choices(payload: &Value) -> impl Iterator<Item = &Value> {
    payload
        .get("choices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text_at<'a>(value: &'a Value, place: &str) -> &'a str {
    value
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn has_chat_output(choice: &Value) -> bool {
    let words = [
        "/delta/content",
        "/delta/reasoning",
        "/delta/reasoning_content",
        "/delta/refusal",
    ];
    let calls = choice
        .pointer("/delta/tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    words.iter().any(|place| !text_at(choice, place).is_empty())
        || calls
            .flat_map(|call| {
                ["/function/name", "/function/arguments"].map(|place| text_at(call, place))
            })
            .any(|text| !text.is_empty())
}

fn read_usage(api: Api, usage: &Value) -> Usage {
    let number = |place: &str| usage.pointer(place).and_then(Value::as_u64);
    match api {
        Api::Chat | Api::Completions | Api::Embeddings => Usage {
            input: number("/prompt_tokens"),
            cached_input: number("/prompt_tokens_details/cached_tokens"),
            output: number("/completion_tokens"),
            reasoning: number("/completion_tokens_details/reasoning_tokens"),
        },
        Api::Responses => Usage {
            input: number("/input_tokens"),
            cached_input: number("/input_tokens_details/cached_tokens"),
            output: number("/output_tokens"),
            reasoning: number("/output_tokens_details/reasoning_tokens"),
        },
        Api::Messages => {
            let read = number("/cache_read_input_tokens");
            let written = number("/cache_creation_input_tokens").unwrap_or(0);
            Usage {
                input: number("/input_tokens").map(|rest| rest + read.unwrap_or(0) + written),
                cached_input: read,
                output: number("/output_tokens"),
                reasoning: None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached_input: Option<u64>, output: u64) -> Usage {
        Usage {
            input: Some(input),
            cached_input,
            output: Some(output),
            reasoning: None,
        }
    }

    /// Events of one stream, each with whether it is output, and the usage at the end.
    fn check(api: Api, events: &[(&str, bool)], expected: Usage) {
        let mut answer = Answer::default();
        for (payload, is_output) in events {
            assert_eq!(answer.event(api, payload), *is_output, "{payload}");
        }
        assert_eq!(answer.usage, expected);
        assert!(answer.terminal_seen && !answer.error_seen);
    }

    #[test]
    fn chat_roles_and_empty_deltas_are_no_output() {
        let events = [
            (
                r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
                false,
            ),
            (
                r#"{"choices":[{"delta":{"reasoning":"a"}}],"usage":null}"#,
                true,
            ),
            (r#"{"choices":[{"delta":{"content":"a"}}]}"#, true),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}"#,
                true,
            ),
            (
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#,
                false,
            ),
            (
                r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#,
                false,
            ),
            ("[DONE]", false),
        ];
        check(Api::Chat, &events, usage(7, None, 3));
    }

    #[test]
    fn messages_input_is_the_sum_of_the_parts_stated_together() {
        let vllm = [
            (
                r#"{"type":"message_start","message":{"usage":{"input_tokens":724,"output_tokens":0}}}"#,
                false,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#,
                true,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"a"}}"#,
                false,
            ),
            (
                r#"{"type":"message_delta","usage":{"input_tokens":20,"output_tokens":4,"cache_read_input_tokens":704}}"#,
                false,
            ),
            (r#"{"type":"message_stop"}"#, false),
        ];
        check(Api::Messages, &vllm, usage(724, Some(704), 4));
        let anthropic = [
            (
                r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"cache_read_input_tokens":614,"output_tokens":1}}}"#,
                false,
            ),
            (
                r#"{"type":"message_delta","usage":{"output_tokens":4}}"#,
                false,
            ),
            (r#"{"type":"message_stop"}"#, false),
        ];
        check(Api::Messages, &anthropic, usage(615, Some(614), 4));
    }

    #[test]
    fn responses_usage_is_inside_the_last_event() {
        let events = [
            (
                r#"{"type":"response.created","response":{"usage":null}}"#,
                false,
            ),
            (r#"{"type":"response.output_text.delta","delta":"a"}"#, true),
            (r#"{"type":"response.output_text.done","text":"a"}"#, false),
            (
                r#"{"type":"response.incomplete","response":{"usage":{"input_tokens":9,"output_tokens":1}}}"#,
                false,
            ),
        ];
        check(Api::Responses, &events, usage(9, None, 1));
    }

    #[test]
    fn an_error_is_seen_in_every_dress() {
        for payload in [
            r#"{"error":{"message":"x"}}"#,
            r#"{"type":"error","error":{"type":"api_error"}}"#,
            r#"{"type":"error","code":"x"}"#,
            r#"{"type":"response.failed","response":{}}"#,
        ] {
            let mut answer = Answer::default();
            answer.event(Api::Chat, payload);
            assert!(answer.error_seen, "{payload}");
        }
    }
}
