//! What an answer says and what its usage is, before any API's words for it and before any moment.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::behaviour::{Behaviour, UsageMode};
use crate::request::{Api, GenerationRequest};

/// The words answers are made of.
const WORDS: [&str; 24] = [
    "the", "server", "proxy", "counts", "first", "token", "and", "cache", "keeps", "a", "block",
    "prefix", "stream", "gateway", "model", "answers", "queue", "is", "slow", "quick", "request",
    "waits", "decodes", "batch",
];

/// What a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Reasoning,
    Text,
    ToolCall,
}

/// Tokens that are sent together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delta {
    pub(crate) part: Part,
    pub(crate) text: String,
    /// How many tokens of a choice were sent once this is; its last token's number, from 1.
    pub(crate) tokens_so_far: u32,
    /// Whether it opens its part.
    pub(crate) opens: bool,
    /// Whether nothing of its part comes after it.
    pub(crate) closes: bool,
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

/// The final counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Prompt tokens, the cached ones among them.
    pub(crate) input: u32,
    /// `None` when the server does not state it.
    pub(crate) cached: Option<u32>,
    /// Output tokens of all choices, reasoning among them.
    pub(crate) output: u32,
    pub(crate) reasoning: u32,
}

/// Where a stream states its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsagePlace {
    Nowhere,
    AtTheEnd,
    EverywhereAndAtTheEnd,
}

/// One answer, complete.
#[derive(Clone, Debug)]
pub(crate) struct Generation {
    /// The number in its ids.
    pub(crate) id: u64,
    pub(crate) created_unix_seconds: u64,
    pub(crate) model: String,
    pub(crate) choices: u32,
    pub(crate) deltas: Vec<Delta>,
    pub(crate) finish: Finish,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) usage_place: UsagePlace,
    pub(crate) anthropic_usage: bool,
    pub(crate) max_output_tokens: Option<u32>,
}

impl Generation {
    /// The answer to `request`, whose prompt has `input` tokens of which `cached` were in the cache.
    pub(crate) fn new(
        request: &GenerationRequest,
        behaviour: &Behaviour,
        (input, cached): (u32, u32),
        (id, created_unix_seconds): (u64, u64),
    ) -> Self {
        let limit = request.max_output_tokens.unwrap_or(u32::MAX);
        let tokens = match request.api {
            Api::Embeddings => 0,
            _ => behaviour.output_tokens.min(limit),
        };
        let reasoning = behaviour.reasoning_tokens.min(tokens);
        let finish = if behaviour.output_tokens >= limit {
            Finish::Length
        } else if behaviour.tool_call {
            Finish::ToolCalls
        } else {
            Finish::Stop
        };
        let usage_place = match behaviour.usage {
            UsageMode::Never => UsagePlace::Nowhere,
            UsageMode::Always => UsagePlace::EverywhereAndAtTheEnd,
            UsageMode::AsAsked if !request.include_usage => UsagePlace::Nowhere,
            UsageMode::AsAsked if request.continuous_usage => UsagePlace::EverywhereAndAtTheEnd,
            UsageMode::AsAsked => UsagePlace::AtTheEnd,
        };
        Self {
            id,
            created_unix_seconds,
            model: request.model.clone(),
            choices: request.choices,
            deltas: deltas(behaviour, tokens, reasoning),
            finish,
            finish_reason: behaviour.finish_reason.clone(),
            usage: Usage {
                input,
                cached: (!behaviour.hide_cached_tokens).then_some(cached),
                output: tokens.saturating_mul(request.choices),
                reasoning: reasoning.saturating_mul(request.choices),
            },
            usage_place,
            anthropic_usage: behaviour.anthropic_usage,
            max_output_tokens: request.max_output_tokens,
        }
    }

    /// The whole text of a part, `None` when the answer has nothing of it.
    pub(crate) fn text_of(&self, part: Part) -> Option<String> {
        let mut found = self
            .deltas
            .iter()
            .filter(|delta| delta.part == part)
            .peekable();
        found.peek()?;
        Some(found.map(|delta| delta.text.as_str()).collect())
    }

    /// Its id with the prefix an API gives it.
    pub(crate) fn id_with(&self, prefix: &str) -> String {
        format!("{prefix}{:016x}", self.id)
    }
}

fn deltas(behaviour: &Behaviour, tokens: u32, reasoning: u32) -> Vec<Delta> {
    let mut words = SmallRng::seed_from_u64(behaviour.seed);
    let rest = if behaviour.tool_call {
        Part::ToolCall
    } else {
        Part::Text
    };
    let mut deltas = Vec::new();
    for (part, from, to) in [(Part::Reasoning, 0, reasoning), (rest, reasoning, tokens)] {
        let mut sent = from;
        while sent < to {
            let count = behaviour.tokens_per_event.min(to - sent);
            let text = (sent..sent + count).map(|token| {
                let word = WORDS
                    .get(words.random_range(0..WORDS.len()))
                    .copied()
                    .unwrap_or("word");
                match part {
                    Part::ToolCall => tool_argument(word, token - from, to - from),
                    Part::Text | Part::Reasoning if token == from => word.to_owned(),
                    Part::Text | Part::Reasoning => format!(" {word}"),
                }
            });
            deltas.push(Delta {
                part,
                text: text.collect(),
                tokens_so_far: sent + count,
                opens: sent == from,
                closes: sent + count == to,
            });
            sent += count;
        }
    }
    deltas
}

/// One token of a tool call's arguments, which together are `{"text":"…"}`.
fn tool_argument(word: &str, token: u32, tokens: u32) -> String {
    match (token == 0, token + 1 == tokens) {
        (true, true) => "{}".to_owned(),
        (true, false) => "{\"text\":\"".to_owned(),
        (false, true) => "\"}".to_owned(),
        (false, false) => format!("{word} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn generation(body: Value, behaviour: &Behaviour) -> Generation {
        let request =
            GenerationRequest::parse(Api::ChatCompletions, body.to_string().as_bytes()).unwrap();
        Generation::new(&request, behaviour, (10, 0), (1, 2))
    }

    #[test]
    fn every_token_is_in_exactly_one_delta() {
        let body = json!({"model": "m", "messages": []});
        for tokens_per_event in [1, 2, 5, 100] {
            let behaviour = Behaviour {
                output_tokens: 13,
                reasoning_tokens: 4,
                tokens_per_event,
                ..Behaviour::default()
            };
            let deltas = generation(body.clone(), &behaviour).deltas;
            let words: usize = deltas
                .iter()
                .map(|delta| delta.text.split_whitespace().count())
                .sum();
            assert_eq!(words, 13);
            assert_eq!(deltas.last().map(|delta| delta.tokens_so_far), Some(13));
            assert_eq!(deltas.iter().filter(|delta| delta.opens).count(), 2);
            assert_eq!(deltas.iter().filter(|delta| delta.closes).count(), 2);
        }
    }

    #[test]
    fn the_requests_limit_holds_and_shows_in_the_finish() {
        let limited = json!({"model": "m", "messages": [], "max_tokens": 3, "n": 2});
        let answer = generation(limited, &Behaviour::default());
        assert_eq!((answer.finish, answer.usage.output), (Finish::Length, 6));
        let free = generation(json!({"model": "m", "messages": []}), &Behaviour::default());
        assert_eq!((free.finish, free.usage.output), (Finish::Stop, 24));
    }

    #[test]
    fn the_arguments_of_a_tool_call_are_json_at_any_length() {
        for output_tokens in 1..6 {
            let behaviour = Behaviour {
                output_tokens,
                tool_call: true,
                ..Behaviour::default()
            };
            let answer = generation(json!({"model": "m", "messages": []}), &behaviour);
            let arguments = answer.text_of(Part::ToolCall).unwrap();
            assert!(
                serde_json::from_str::<Value>(&arguments).is_ok(),
                "{arguments}"
            );
            assert_eq!(answer.finish, Finish::ToolCalls);
        }
    }
}
