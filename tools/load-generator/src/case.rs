//! The kinds of requests a load is mixed from.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// The APIs a request may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI completions.
    Completions,
    /// OpenAI responses.
    Responses,
    /// OpenAI embeddings.
    Embeddings,
    /// Anthropic messages.
    Messages,
}

impl Api {
    /// The path it is served at.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Embeddings => "/v1/embeddings",
            Self::Messages => "/v1/messages",
        }
    }
}

/// Where a prompt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Words that no other request has.
    Fresh {
        /// How many.
        words: u32,
    },
    /// The same words every time, then two that no other request has.
    Shared {
        /// How many are the same.
        words: u32,
    },
}

/// When the client leaves before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Once it has so many output events.
    AfterEvents(u32),
    /// So long after it sent the request.
    After(Duration),
}

/// One kind of request.
#[derive(Clone, Debug)]
pub struct Case {
    /// What to call it in reports.
    pub name: &'static str,
    /// How many of it are in a deck of all cases.
    pub weight: u32,
    /// The API it speaks.
    pub api: Api,
    /// Whether it asks for a stream.
    pub stream: bool,
    /// Its prompt.
    pub prompt: Prompt,
    /// Further fields of its body.
    pub fields: Value,
    /// When the client leaves, if it does.
    pub leave: Option<Leave>,
}

impl Case {
    /// A request that is not streamed, with a fresh prompt of 20 words and no further fields.
    #[must_use]
    pub fn new(name: &'static str, weight: u32, api: Api) -> Self {
        Self {
            name,
            weight,
            api,
            stream: false,
            prompt: Prompt::Fresh { words: 20 },
            fields: json!({}),
            leave: None,
        }
    }

    /// The same, streamed.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.stream = true;
        self
    }

    /// The same with these fields in its body.
    #[must_use]
    pub fn with(mut self, fields: Value) -> Self {
        self.fields = fields;
        self
    }

    /// The same with this prompt.
    #[must_use]
    pub fn prompted(mut self, prompt: Prompt) -> Self {
        self.prompt = prompt;
        self
    }

    /// The same with a client that leaves.
    #[must_use]
    pub fn leaving(mut self, leave: Leave) -> Self {
        self.leave = Some(leave);
        self
    }

    /// The body of the request of this number.
    #[must_use]
    pub fn body(&self, model: &str, number: u64) -> Value {
        let prompt = words(self.prompt, number);
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(model));
        let (key, value) = match self.api {
            Api::Chat | Api::Messages => ("messages", json!([{"role": "user", "content": prompt}])),
            Api::Completions => ("prompt", json!(prompt)),
            Api::Responses | Api::Embeddings => ("input", json!(prompt)),
        };
        body.insert(key.to_owned(), value);
        if self.stream {
            body.insert("stream".to_owned(), json!(true));
        }
        if self.api == Api::Messages {
            body.insert("max_tokens".to_owned(), json!(4096));
        }
        if let Value::Object(fields) = &self.fields {
            body.extend(fields.clone());
        }
        Value::Object(body)
    }
}

fn words(prompt: Prompt, number: u64) -> String {
    match prompt {
        Prompt::Fresh { words } => (0..words)
            .map(|word| format!("w{number}-{word} "))
            .collect(),
        Prompt::Shared { words } => {
            let shared: String = (0..words).map(|word| format!("shared-{word} ")).collect();
            format!("{shared}w{number} end")
        }
    }
}

/// A mix of everything: every API streamed and not, reasoning, tool calls, cached prompts, errors before and inside
/// the stream, broken and truncated streams, clients that leave.
///
/// The `simulate` fields are understood by the simulated inference server; a real one ignores them. Clients leave
/// long before the end of their streams, so that nobody can take them for complete.
#[must_use]
pub fn everything() -> Vec<Case> {
    let usage = || json!({"stream_options": {"include_usage": true}});
    let simulated =
        |fields: Value| json!({"stream_options": {"include_usage": true}, "simulate": fields});
    let shared = Prompt::Shared { words: 400 };
    let error = |error: &str| json!({"simulate": {"error": error}});
    let long = || json!({"output_tokens": 150});
    vec![
        Case::new("chat stream", 10, Api::Chat)
            .streamed()
            .with(usage()),
        Case::new("chat stream, cached prompt", 8, Api::Chat)
            .streamed()
            .with(usage())
            .prompted(shared),
        Case::new("chat stream, reasoning", 3, Api::Chat)
            .streamed()
            .with(simulated(json!({"reasoning_tokens": 8}))),
        Case::new("chat stream, tool call", 2, Api::Chat)
            .streamed()
            .with(simulated(json!({"tool_call": true}))),
        Case::new("completions stream", 4, Api::Completions)
            .streamed()
            .with(usage()),
        Case::new("responses stream", 4, Api::Responses)
            .streamed()
            .prompted(shared),
        Case::new("messages stream", 4, Api::Messages)
            .streamed()
            .prompted(shared),
        Case::new("chat", 3, Api::Chat).prompted(shared),
        Case::new("completions", 2, Api::Completions),
        Case::new("responses", 2, Api::Responses),
        Case::new("messages", 2, Api::Messages),
        Case::new("embeddings", 3, Api::Embeddings),
        Case::new("invalid request", 1, Api::Chat)
            .streamed()
            .with(error("invalid_request")),
        Case::new("prompt too long", 1, Api::Completions).with(error("context_length")),
        Case::new("rate limited", 1, Api::Chat)
            .streamed()
            .with(error("rate_limited")),
        Case::new("server error", 1, Api::Messages)
            .streamed()
            .with(error("internal")),
        Case::new("overloaded", 1, Api::Responses).with(error("overloaded")),
        Case::new("error in the stream", 2, Api::Chat)
            .streamed()
            .with(simulated(json!({"error_after_tokens": 5}))),
        Case::new("truncated stream", 1, Api::Completions)
            .streamed()
            .with(simulated(json!({"end_after_tokens": 5}))),
        Case::new("broken stream", 1, Api::Chat)
            .streamed()
            .with(simulated(json!({"reset_after_tokens": 5}))),
        Case::new("client leaves", 3, Api::Chat)
            .streamed()
            .with(simulated(long()))
            .leaving(Leave::AfterEvents(6)),
        Case::new("client leaves", 1, Api::Completions)
            .streamed()
            .with(simulated(long()))
            .leaving(Leave::AfterEvents(12)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_prompts_begin_alike_and_fresh_ones_do_not() {
        let first_word = |prompt, number| {
            words(prompt, number)
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let (shared, fresh) = (Prompt::Shared { words: 3 }, Prompt::Fresh { words: 3 });
        assert_eq!(first_word(shared, 1), first_word(shared, 2));
        assert_ne!(words(shared, 1), words(shared, 2));
        assert_ne!(first_word(fresh, 1), first_word(fresh, 2));
    }

    #[test]
    fn the_body_speaks_the_api() {
        let chat = Case::new("c", 1, Api::Chat)
            .streamed()
            .with(json!({"n": 2}))
            .body("m", 1);
        assert_eq!(
            (&chat["model"], &chat["stream"], &chat["n"]),
            (&json!("m"), &json!(true), &json!(2))
        );
        assert!(chat["messages"][0]["content"].is_string());
        assert!(Case::new("c", 1, Api::Completions).body("m", 1)["prompt"].is_string());
        assert!(Case::new("c", 1, Api::Responses).body("m", 1)["input"].is_string());
        assert!(Case::new("c", 1, Api::Messages).body("m", 1)["max_tokens"].is_u64());
    }
}
