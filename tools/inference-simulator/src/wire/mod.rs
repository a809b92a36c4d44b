//! The words of each API for the same answer: its stream as frames, its whole as JSON, its errors.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod embeddings;
pub(crate) mod messages;
pub(crate) mod problems;
pub(crate) mod responses;

use serde_json::Value;

use crate::generation::{Generation, UsagePlace};
use crate::request::Api;

/// One server-sent event of a stream and the moment it is due.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) moment: Moment,
    pub(crate) text: String,
}

/// When a frame is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// With the head, before anything is computed.
    AtOnce,
    /// With the token of this number, from 1.
    Token(u32),
    /// After the last token.
    End,
}

impl Frame {
    /// An event of a `data` line alone.
    pub(crate) fn data(moment: Moment, payload: &Value) -> Self {
        Self {
            moment,
            text: format!("data: {payload}\n\n"),
        }
    }

    /// An event with its name; the payload states it again as `type`.
    pub(crate) fn named(moment: Moment, name: &str, payload: &Value) -> Self {
        Self {
            moment,
            text: format!("event: {name}\ndata: {payload}\n\n"),
        }
    }

    /// The last event of OpenAI's older streams.
    pub(crate) fn done() -> Self {
        Self {
            moment: Moment::End,
            text: "data: [DONE]\n\n".to_owned(),
        }
    }
}

/// The frames of a streamed answer.
pub(crate) fn stream(api: Api, generation: &Generation) -> Vec<Frame> {
    match api {
        Api::ChatCompletions => chat::stream(generation),
        Api::Completions => completions::stream(generation),
        Api::Responses => responses::stream(generation),
        Api::Messages => messages::stream(generation),
        Api::Embeddings => Vec::new(),
    }
}

/// The answer as one JSON document.
pub(crate) fn whole(api: Api, generation: &Generation, inputs: u32) -> Value {
    match api {
        Api::ChatCompletions => chat::whole(generation),
        Api::Completions => completions::whole(generation),
        Api::Responses => responses::whole(generation),
        Api::Messages => messages::whole(generation),
        Api::Embeddings => embeddings::whole(generation, inputs),
    }
}

/// The usage of chat and completions, with `output` tokens so far.
///
/// As vLLM does, only the final one tells of the cache.
pub(crate) fn openai_usage(generation: &Generation, output: u32, is_final: bool) -> Value {
    let usage = generation.usage;
    let mut stated = serde_json::json!({
        "prompt_tokens": usage.input,
        "total_tokens": usage.input.saturating_add(output),
        "completion_tokens": output,
    });
    if let Value::Object(fields) = &mut stated
        && is_final
    {
        if let Some(cached) = usage.cached {
            fields.insert(
                "prompt_tokens_details".to_owned(),
                serde_json::json!({"cached_tokens": cached}),
            );
        }
        if usage.reasoning > 0 {
            let details = serde_json::json!({"reasoning_tokens": usage.reasoning});
            fields.insert("completion_tokens_details".to_owned(), details);
        }
    }
    stated
}

/// Adds the usage so far to a chunk, where the stream states it everywhere.
pub(crate) fn add_running_usage(chunk: &mut Value, generation: &Generation, tokens_so_far: u32) {
    if generation.usage_place == UsagePlace::EverywhereAndAtTheEnd
        && let Value::Object(fields) = chunk
    {
        let output = tokens_so_far.saturating_mul(generation.choices);
        fields.insert("usage".to_owned(), openai_usage(generation, output, false));
    }
}
