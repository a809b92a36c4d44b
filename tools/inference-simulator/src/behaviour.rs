//! How one answer is to come about: the defaults of the server, which any request may override.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How an answer is made and sent.
///
/// The server holds one as its defaults (each field is a flag of the binary). A request overrides any of its
/// fields by a `simulate` object in its body, or by the same object as text in an `x-simulate` header; the header
/// wins where both speak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Milliseconds from the whole request to the first token
    #[arg(long, default_value_t = Behaviour::default().time_to_first_token_ms)]
    pub time_to_first_token_ms: f64,
    /// Milliseconds added to the time to the first token for each prompt token that the cache does not hold
    #[arg(long, default_value_t = Behaviour::default().prefill_ms_per_token)]
    pub prefill_ms_per_token: f64,
    /// Milliseconds from one token to the next
    #[arg(long, default_value_t = Behaviour::default().inter_token_ms)]
    pub inter_token_ms: f64,
    /// Share (0 to 1) by which each of the times varies up and down, evenly
    #[arg(long, default_value_t = Behaviour::default().jitter)]
    pub jitter: f64,
    /// Seed of the jitter and of the words; a request that gives its own gets the same answer every time
    #[arg(long, default_value_t = Behaviour::default().seed)]
    pub seed: u64,
    /// Tokens of an answer, reasoning and tool call included; the request's own limit still holds
    #[arg(long, default_value_t = Behaviour::default().output_tokens)]
    pub output_tokens: u32,
    /// Tokens of the prompt [default: its words]
    #[arg(long)]
    pub prompt_tokens: Option<u32>,
    /// Tokens sent together in one event
    #[arg(long, default_value_t = Behaviour::default().tokens_per_event)]
    pub tokens_per_event: u32,
    /// How many of the output tokens are reasoning; they come first
    #[arg(long, default_value_t = Behaviour::default().reasoning_tokens)]
    pub reasoning_tokens: u32,
    /// Answer by a tool call instead of text
    #[arg(long, default_value_t = Behaviour::default().tool_call)]
    pub tool_call: bool,
    /// Which streams state their usage
    #[arg(long, value_enum, default_value_t = Behaviour::default().usage)]
    pub usage: UsageMode,
    /// Leave the counts of cached tokens out of the usage
    #[arg(long, default_value_t = Behaviour::default().hide_cached_tokens)]
    pub hide_cached_tokens: bool,
    /// Cached prompt tokens to state [default: what the simulated prefix cache holds]
    #[arg(long)]
    pub cached_tokens: Option<u32>,
    /// State the usage of messages as Anthropic does (input and cache in `message_start`), not as vLLM does
    #[arg(long, default_value_t = Behaviour::default().anthropic_usage)]
    pub anthropic_usage: bool,
    /// Send the head of a streamed answer with its first token, as SGLang does, not at once
    #[arg(long, default_value_t = Behaviour::default().head_with_first_token)]
    pub head_with_first_token: bool,
    /// Milliseconds between the comment lines sent before the first token [default: none are sent]
    #[arg(long)]
    pub keep_alive_ms: Option<f64>,
    /// The finish reason to state, in the words of the API [default: what came about]
    #[arg(long)]
    pub finish_reason: Option<String>,
    /// Answer by this error, as JSON with its status
    #[arg(long, value_enum)]
    pub error: Option<Failure>,
    /// After so many tokens a stream sends an error event and its usual last line, with status 200
    #[arg(long)]
    pub error_after_tokens: Option<u32>,
    /// After so many tokens a stream ends as if complete, without finish reason, usage and terminal event
    #[arg(long)]
    pub end_after_tokens: Option<u32>,
    /// After so many tokens the connection of a stream breaks
    #[arg(long)]
    pub reset_after_tokens: Option<u32>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            time_to_first_token_ms: 40.0,
            prefill_ms_per_token: 0.0,
            inter_token_ms: 10.0,
            jitter: 0.0,
            seed: 1,
            output_tokens: 24,
            prompt_tokens: None,
            tokens_per_event: 1,
            reasoning_tokens: 0,
            tool_call: false,
            usage: UsageMode::AsAsked,
            hide_cached_tokens: false,
            cached_tokens: None,
            anthropic_usage: false,
            head_with_first_token: false,
            keep_alive_ms: None,
            finish_reason: None,
            error: None,
            error_after_tokens: None,
            end_after_tokens: None,
            reset_after_tokens: None,
        }
    }
}

/// Which streams state their usage; answers that are not streamed always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum UsageMode {
    /// Those that ask for it: `stream_options.include_usage`, and in every event with `continuous_usage_stats`.
    AsAsked,
    /// All, in every event, as vLLM does with `--enable-force-include-usage`.
    Always,
    /// None.
    Never,
}

/// An error that a server answers before any token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Failure {
    /// 400, a parameter out of range.
    InvalidRequest,
    /// 400, the prompt is longer than the model's context.
    ContextLength,
    /// 401, no valid key.
    Unauthorized,
    /// 404, no such model.
    NotFound,
    /// 429, too many requests.
    RateLimited,
    /// 500, the engine failed.
    Internal,
    /// 503, the server is overloaded.
    Overloaded,
}

/// The longest answer, so that a request cannot take all memory.
pub const MAX_OUTPUT_TOKENS: u32 = 100_000;
/// The longest prompt that may be made up.
const MAX_PROMPT_TOKENS: u32 = 10_000_000;
/// The longest single time, one hour.
const MAX_MILLISECONDS: f64 = 3_600_000.0;

impl Behaviour {
    /// These defaults with the fields of `overrides` in their place.
    ///
    /// # Errors
    /// Says what is wrong when `overrides` is no object, names an unknown field, or holds a value out of range.
    pub fn with(&self, overrides: &Value) -> Result<Self, String> {
        let Value::Object(overrides) = overrides else {
            return Err("`simulate` must be an object".to_owned());
        };
        let mut fields = match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        for (key, value) in overrides {
            fields.insert(key.clone(), value.clone());
        }
        let merged: Self = serde_json::from_value(Value::Object(fields))
            .map_err(|error| format!("`simulate`: {error}"))?;
        merged.check()?;
        Ok(merged)
    }

    /// Whether every value is in range.
    ///
    /// # Errors
    /// Names the first field that is not.
    pub fn check(&self) -> Result<(), String> {
        let times = [
            ("time_to_first_token_ms", Some(self.time_to_first_token_ms)),
            ("prefill_ms_per_token", Some(self.prefill_ms_per_token)),
            ("inter_token_ms", Some(self.inter_token_ms)),
            ("keep_alive_ms", self.keep_alive_ms),
        ];
        for (name, time) in times {
            if time.is_some_and(|time| !(0.0..=MAX_MILLISECONDS).contains(&time)) {
                return Err(format!("`{name}` must be from 0 to {MAX_MILLISECONDS}"));
            }
        }
        if self.keep_alive_ms.is_some_and(|time| time < 1.0) {
            return Err("`keep_alive_ms` must be at least 1".to_owned());
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err("`jitter` must be from 0 to 1".to_owned());
        }
        if self.output_tokens > MAX_OUTPUT_TOKENS {
            return Err(format!(
                "`output_tokens` must be at most {MAX_OUTPUT_TOKENS}"
            ));
        }
        if self
            .prompt_tokens
            .is_some_and(|tokens| tokens > MAX_PROMPT_TOKENS)
        {
            return Err(format!(
                "`prompt_tokens` must be at most {MAX_PROMPT_TOKENS}"
            ));
        }
        if self.tokens_per_event == 0 {
            return Err("`tokens_per_event` must be at least 1".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(overrides: Value) -> String {
        Behaviour::default()
            .with(&overrides)
            .expect_err("must be refused")
    }

    #[test]
    fn a_request_overrides_only_what_it_names() {
        let merged =
            Behaviour::default().with(&json!({"output_tokens": 3, "error": "rate_limited"}));
        let expected = Behaviour {
            output_tokens: 3,
            error: Some(Failure::RateLimited),
            ..Behaviour::default()
        };
        assert_eq!(merged, Ok(expected));
    }

    #[test]
    fn a_mistake_is_named() {
        assert!(refused(json!({"output_token": 3})).contains("output_token"));
        assert!(refused(json!({"jitter": 1.5})).contains("jitter"));
        assert!(refused(json!({"inter_token_ms": -1})).contains("inter_token_ms"));
        assert!(refused(json!({"tokens_per_event": 0})).contains("tokens_per_event"));
        assert!(refused(json!({"keep_alive_ms": 0})).contains("keep_alive_ms"));
        assert!(refused(json!({"output_tokens": 100_001})).contains("100000"));
        assert!(refused(json!(7)).contains("object"));
    }
}
