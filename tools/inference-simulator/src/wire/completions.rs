//! Completions: the texts, the last one with its finish, the usage, `[DONE]`.

use serde_json::{Value, json};

use super::chat::finish_reason;
use super::{Frame, Moment, add_running_usage, openai_usage};
use crate::generation::{Generation, UsagePlace};

pub(crate) fn stream(generation: &Generation) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |moment, tokens_so_far, text: &str, reason: &Value| {
        for index in 0..generation.choices {
            let mut chunk = document(generation, json!([choice(index, text, reason)]));
            add_running_usage(&mut chunk, generation, tokens_so_far);
            frames.push(Frame::data(moment, &chunk));
        }
    };
    let last = generation.deltas.len().saturating_sub(1);
    for (number, delta) in generation.deltas.iter().enumerate() {
        let reason = if number == last {
            finish_reason(generation)
        } else {
            Value::Null
        };
        push(
            Moment::Token(delta.tokens_so_far),
            delta.tokens_so_far,
            &delta.text,
            &reason,
        );
    }
    if generation.deltas.is_empty() {
        push(Moment::End, 0, "", &finish_reason(generation));
    }
    if generation.usage_place != UsagePlace::Nowhere {
        let mut chunk = document(generation, json!([]));
        if let Value::Object(fields) = &mut chunk {
            fields.insert(
                "usage".to_owned(),
                openai_usage(generation, generation.usage.output, true),
            );
        }
        frames.push(Frame::data(Moment::End, &chunk));
    }
    frames.push(Frame::done());
    frames
}

pub(crate) fn whole(generation: &Generation) -> Value {
    // This API knows no parts, so reasoning and tool calls are plain text.
    let text: String = generation
        .deltas
        .iter()
        .map(|delta| delta.text.as_str())
        .collect();
    let reason = finish_reason(generation);
    let choices: Vec<Value> = (0..generation.choices)
        .map(|index| choice(index, &text, &reason))
        .collect();
    let mut answer = document(generation, Value::Array(choices));
    if let Value::Object(fields) = &mut answer {
        fields.insert(
            "usage".to_owned(),
            openai_usage(generation, generation.usage.output, true),
        );
    }
    answer
}

fn document(generation: &Generation, choices: Value) -> Value {
    json!({
        "id": generation.id_with("cmpl-"),
        "object": "text_completion",
        "created": generation.created_unix_seconds,
        "model": generation.model,
        "choices": choices,
    })
}

fn choice(index: u32, text: &str, reason: &Value) -> Value {
    json!({"index": index, "text": text, "logprobs": null, "finish_reason": reason, "stop_reason": null})
}
