//! Chat completions: a role chunk, the deltas, the finish, the usage, `[DONE]`.

use serde_json::{Map, Value, json};

use super::{Frame, Moment, add_running_usage, openai_usage};
use crate::generation::{Delta, Finish, Generation, Part, UsagePlace};

pub(crate) const TOOL_NAME: &str = "write_text";

pub(crate) fn stream(generation: &Generation) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |moment, tokens_so_far, choice: Value| {
        let mut chunk = chunk(generation, json!([choice]));
        add_running_usage(&mut chunk, generation, tokens_so_far);
        frames.push(Frame::data(moment, &chunk));
    };
    // vLLM sends the role when the first token is there, as a chunk of its own.
    let first = if generation.deltas.is_empty() {
        Moment::End
    } else {
        Moment::Token(1)
    };
    for index in 0..generation.choices {
        push(
            first,
            0,
            choice(
                index,
                json!({"role": "assistant", "content": ""}),
                Value::Null,
            ),
        );
    }
    for delta in &generation.deltas {
        for index in 0..generation.choices {
            let moment = Moment::Token(delta.tokens_so_far);
            push(
                moment,
                delta.tokens_so_far,
                choice(index, words(generation, delta), Value::Null),
            );
        }
    }
    let all = generation
        .deltas
        .last()
        .map_or(0, |delta| delta.tokens_so_far);
    for index in 0..generation.choices {
        push(
            Moment::End,
            all,
            choice(index, json!({"content": ""}), finish_reason(generation)),
        );
    }
    if generation.usage_place != UsagePlace::Nowhere {
        let mut last = chunk(generation, json!([]));
        if let Value::Object(fields) = &mut last {
            fields.insert(
                "usage".to_owned(),
                openai_usage(generation, generation.usage.output, true),
            );
        }
        frames.push(Frame::data(Moment::End, &last));
    }
    frames.push(Frame::done());
    frames
}

pub(crate) fn whole(generation: &Generation) -> Value {
    let tool_calls: Vec<Value> = generation
        .text_of(Part::ToolCall)
        .map(|arguments| {
            json!({"id": generation.id_with("chatcmpl-tool-"), "type": "function",
                "function": {"name": TOOL_NAME, "arguments": arguments}})
        })
        .into_iter()
        .collect();
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(generation.text_of(Part::Text)));
    message.insert("refusal".to_owned(), Value::Null);
    message.insert(
        "reasoning".to_owned(),
        json!(generation.text_of(Part::Reasoning)),
    );
    if !tool_calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(tool_calls));
    }
    let message = Value::Object(message);
    let choices: Vec<Value> = (0..generation.choices)
        .map(|index| {
            json!({"index": index, "message": message, "logprobs": null,
                "finish_reason": finish_reason(generation), "stop_reason": null})
        })
        .collect();
    json!({
        "id": generation.id_with("chatcmpl-"),
        "object": "chat.completion",
        "created": generation.created_unix_seconds,
        "model": generation.model,
        "choices": choices,
        "service_tier": null,
        "usage": openai_usage(generation, generation.usage.output, true),
    })
}

/// The reason in the words of chat and completions.
pub(crate) fn finish_reason(generation: &Generation) -> Value {
    let reason = match generation.finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
    };
    json!(generation.finish_reason.as_deref().unwrap_or(reason))
}

fn chunk(generation: &Generation, choices: Value) -> Value {
    json!({
        "id": generation.id_with("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": generation.created_unix_seconds,
        "model": generation.model,
        "choices": choices,
    })
}

fn choice(index: u32, delta: Value, finish_reason: Value) -> Value {
    json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": finish_reason})
}

fn words(generation: &Generation, delta: &Delta) -> Value {
    match delta.part {
        Part::Text => json!({"content": delta.text}),
        Part::Reasoning => json!({"reasoning": delta.text}),
        Part::ToolCall if delta.opens => json!({"tool_calls": [{
            "id": generation.id_with("chatcmpl-tool-"), "type": "function", "index": 0,
            "function": {"name": TOOL_NAME, "arguments": delta.text}}]}),
        Part::ToolCall => {
            json!({"tool_calls": [{"index": 0, "function": {"arguments": delta.text}}]})
        }
    }
}
