//! Anthropic messages: `message_start`, the content blocks, `message_delta`, `message_stop`.

use serde_json::{Value, json};

use super::chat::TOOL_NAME;
use super::{Frame, Moment};
use crate::generation::{Delta, Finish, Generation, Part};

pub(crate) fn stream(generation: &Generation) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut push = |moment, name: &str, fields: Value| {
        frames.push(Frame::named(moment, name, &with_type(name, fields)));
    };
    let first = if generation.deltas.is_empty() {
        Moment::End
    } else {
        Moment::Token(1)
    };
    push(
        first,
        "message_start",
        json!({"message": message(generation, &[], Value::Null, &start_usage(generation))}),
    );
    let mut index = 0;
    for delta in &generation.deltas {
        let moment = Moment::Token(delta.tokens_so_far);
        if delta.opens {
            let block =
                json!({"content_block": empty_block(generation, delta.part), "index": index});
            push(moment, "content_block_start", block);
        }
        push(
            moment,
            "content_block_delta",
            json!({"delta": words(delta), "index": index}),
        );
        if delta.closes {
            if delta.part == Part::Reasoning {
                let signature =
                    json!({"type": "signature_delta", "signature": generation.id_with("")});
                push(
                    moment,
                    "content_block_delta",
                    json!({"delta": signature, "index": index}),
                );
            }
            push(moment, "content_block_stop", json!({"index": index}));
            index += 1;
        }
    }
    let delta = json!({"stop_reason": stop_reason(generation), "stop_sequence": null});
    push(
        Moment::End,
        "message_delta",
        json!({"delta": delta, "usage": end_usage(generation)}),
    );
    push(Moment::End, "message_stop", json!({}));
    frames
}

pub(crate) fn whole(generation: &Generation) -> Value {
    let mut blocks = Vec::new();
    if let Some(thinking) = generation.text_of(Part::Reasoning) {
        blocks.push(
            json!({"type": "thinking", "thinking": thinking, "signature": generation.id_with("")}),
        );
    }
    if let Some(text) = generation.text_of(Part::Text) {
        blocks.push(json!({"type": "text", "text": text}));
    }
    if let Some(arguments) = generation.text_of(Part::ToolCall) {
        let input: Value = serde_json::from_str(&arguments).unwrap_or_default();
        blocks.push(tool_block(generation, &input));
    }
    message(
        generation,
        &blocks,
        stop_reason(generation),
        &whole_usage(generation),
    )
}

fn with_type(name: &str, fields: Value) -> Value {
    let mut payload = json!({"type": name});
    if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, fields) {
        payload.extend(fields);
    }
    payload
}

fn message(generation: &Generation, content: &[Value], stop_reason: Value, usage: &Value) -> Value {
    json!({
        "id": generation.id_with("chatcmpl-"),
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": generation.model,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn stop_reason(generation: &Generation) -> Value {
    let reason = match generation.finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
    };
    json!(generation.finish_reason.as_deref().unwrap_or(reason))
}

fn empty_block(generation: &Generation, part: Part) -> Value {
    match part {
        Part::Reasoning => json!({"type": "thinking", "thinking": ""}),
        Part::Text => json!({"type": "text", "text": ""}),
        Part::ToolCall => tool_block(generation, &json!({})),
    }
}

fn tool_block(generation: &Generation, input: &Value) -> Value {
    json!({"type": "tool_use", "id": generation.id_with("chatcmpl-tool-"), "name": TOOL_NAME, "input": input})
}

fn words(delta: &Delta) -> Value {
    match delta.part {
        Part::Reasoning => json!({"type": "thinking_delta", "thinking": delta.text}),
        Part::Text => json!({"type": "text_delta", "text": delta.text}),
        Part::ToolCall => json!({"type": "input_json_delta", "partial_json": delta.text}),
    }
}

/// vLLM starts with the whole prompt and no word of the cache; Anthropic with the parts.
fn start_usage(generation: &Generation) -> Value {
    let usage = generation.usage;
    match usage.cached {
        Some(cached) if generation.anthropic_usage => json!({
            "input_tokens": usage.input.saturating_sub(cached), "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached, "output_tokens": 1}),
        _ => json!({"input_tokens": usage.input, "output_tokens": 0}),
    }
}

/// vLLM ends with the parts; Anthropic with the output alone.
fn end_usage(generation: &Generation) -> Value {
    if generation.anthropic_usage {
        json!({"output_tokens": generation.usage.output})
    } else {
        whole_usage(generation)
    }
}

fn whole_usage(generation: &Generation) -> Value {
    let usage = generation.usage;
    match usage.cached {
        Some(cached) => json!({
            "input_tokens": usage.input.saturating_sub(cached), "output_tokens": usage.output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}),
        None => json!({"input_tokens": usage.input, "output_tokens": usage.output}),
    }
}
