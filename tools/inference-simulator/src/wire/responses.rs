//! Responses: `response.created`, the items with their deltas, and one of the terminal events.

use serde_json::{Value, json};

use super::chat::TOOL_NAME;
use super::{Frame, Moment};
use crate::generation::{Delta, Finish, Generation, Part};

/// Collects named events, each with the next sequence number.
struct Events(Vec<Frame>);

impl Events {
    fn push(&mut self, moment: Moment, name: &str, mut payload: Value) {
        if let Value::Object(fields) = &mut payload {
            fields.insert("sequence_number".to_owned(), json!(self.0.len()));
            fields.insert("type".to_owned(), json!(name));
        }
        self.0.push(Frame::named(moment, name, &payload));
    }
}

pub(crate) fn stream(generation: &Generation) -> Vec<Frame> {
    let mut events = Events(Vec::new());
    let begun = response(generation, "in_progress", &[], &Value::Null);
    events.push(
        Moment::AtOnce,
        "response.created",
        json!({"response": begun}),
    );
    events.push(
        Moment::AtOnce,
        "response.in_progress",
        json!({"response": begun}),
    );
    let mut output_index = 0;
    for delta in &generation.deltas {
        let moment = Moment::Token(delta.tokens_so_far);
        if delta.opens {
            open(&mut events, generation, delta.part, moment, output_index);
        }
        let (item_id, name) = names(generation, delta.part);
        let words = json!({"content_index": 0, "delta": delta.text, "item_id": item_id, "output_index": output_index});
        events.push(moment, &format!("{name}.delta"), words);
        if delta.closes {
            close(&mut events, generation, delta, output_index);
            output_index += 1;
        }
    }
    let status = status(generation);
    let ended = response(generation, status, &items(generation), &usage(generation));
    // vLLM names the event `response.completed` whatever the status; OpenAI tells the two apart, and so does this.
    events.push(
        Moment::End,
        &format!("response.{status}"),
        json!({"response": ended}),
    );
    events.0
}

pub(crate) fn whole(generation: &Generation) -> Value {
    response(
        generation,
        status(generation),
        &items(generation),
        &usage(generation),
    )
}

fn open(
    events: &mut Events,
    generation: &Generation,
    part: Part,
    moment: Moment,
    output_index: u32,
) {
    let begun = item(generation, part, "", "in_progress");
    events.push(
        moment,
        "response.output_item.added",
        json!({"item": begun, "output_index": output_index}),
    );
    if let Some(content) = content(part, "") {
        let (item_id, _) = names(generation, part);
        let added = json!({"content_index": 0, "item_id": item_id, "output_index": output_index, "part": content});
        events.push(moment, "response.content_part.added", added);
    }
}

fn close(events: &mut Events, generation: &Generation, delta: &Delta, output_index: u32) {
    let moment = Moment::Token(delta.tokens_so_far);
    let (part, text) = (
        delta.part,
        generation.text_of(delta.part).unwrap_or_default(),
    );
    let (item_id, name) = names(generation, part);
    let key = if part == Part::ToolCall {
        "arguments"
    } else {
        "text"
    };
    let done =
        json!({"content_index": 0, "item_id": item_id, "output_index": output_index, key: text});
    events.push(moment, &format!("{name}.done"), done);
    if let Some(content) = content(part, &text) {
        let done = json!({"content_index": 0, "item_id": item_id, "output_index": output_index, "part": content});
        events.push(moment, "response.content_part.done", done);
    }
    let ended = item(generation, part, &text, "completed");
    events.push(
        moment,
        "response.output_item.done",
        json!({"item": ended, "output_index": output_index}),
    );
}

/// The id of a part's item, and the beginning of its events' names.
fn names(generation: &Generation, part: Part) -> (String, &'static str) {
    match part {
        Part::Reasoning => (generation.id_with("rs_"), "response.reasoning_text"),
        Part::Text => (generation.id_with("msg_"), "response.output_text"),
        Part::ToolCall => (
            generation.id_with("fc_"),
            "response.function_call_arguments",
        ),
    }
}

/// The content part inside an item; a function call has none.
fn content(part: Part, text: &str) -> Option<Value> {
    match part {
        Part::Reasoning => Some(json!({"text": text, "type": "reasoning_text"})),
        Part::Text => {
            Some(json!({"annotations": [], "text": text, "type": "output_text", "logprobs": []}))
        }
        Part::ToolCall => None,
    }
}

fn item(generation: &Generation, part: Part, text: &str, status: &str) -> Value {
    let (id, _) = names(generation, part);
    let content: Vec<Value> = content(part, text)
        .filter(|_| !text.is_empty())
        .into_iter()
        .collect();
    match part {
        Part::Reasoning => {
            json!({"id": id, "summary": [], "type": "reasoning", "content": content, "status": status})
        }
        Part::Text => {
            json!({"id": id, "content": content, "role": "assistant", "status": status, "type": "message"})
        }
        Part::ToolCall => {
            json!({"id": id, "call_id": generation.id_with("call_"), "name": TOOL_NAME,
            "arguments": text, "status": status, "type": "function_call"})
        }
    }
}

fn items(generation: &Generation) -> Vec<Value> {
    [Part::Reasoning, Part::Text, Part::ToolCall]
        .into_iter()
        .filter_map(|part| {
            Some(item(
                generation,
                part,
                &generation.text_of(part)?,
                "completed",
            ))
        })
        .collect()
}

fn status(generation: &Generation) -> &'static str {
    match generation.finish {
        Finish::Length => "incomplete",
        Finish::Stop | Finish::ToolCalls => "completed",
    }
}

fn usage(generation: &Generation) -> Value {
    let usage = generation.usage;
    let input_details = usage
        .cached
        .map(|cached| json!({"cached_tokens": cached, "cache_write_tokens": 0}));
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": input_details,
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}

fn response(generation: &Generation, status: &str, output: &[Value], usage: &Value) -> Value {
    let incomplete = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
    json!({
        "id": generation.id_with("resp_"),
        "created_at": generation.created_unix_seconds,
        "incomplete_details": incomplete,
        "instructions": null,
        "model": generation.model,
        "object": "response",
        "output": output,
        "background": false,
        "max_output_tokens": generation.max_output_tokens,
        "status": status,
        "usage": usage,
    })
}
