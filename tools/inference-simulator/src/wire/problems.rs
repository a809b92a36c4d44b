//! Errors in the words of each API: as a whole answer, and as an event inside a stream.

use serde_json::{Value, json};

use super::{Frame, Moment};
use crate::behaviour::Failure;
use crate::request::Api;

/// What the engine says when it dies in the middle of a stream.
const ENGINE_MESSAGE: &str =
    "EngineCore encountered an issue. See stack trace (above) for the root cause.";

impl Failure {
    /// The HTTP status it comes with.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::ContextLength => 400,
            Self::Unauthorized => 401,
            Self::NotFound => 404,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::Overloaded => 503,
        }
    }

    fn message(self, model: &str) -> String {
        match self {
            Self::InvalidRequest => "temperature must be non-negative, got -3.0. (parameter=temperature)".to_owned(),
            Self::ContextLength => "This model's maximum context length is 2048 tokens. However, your prompt \
                 contains at least 2049 input tokens. Please reduce the length of the input prompt. \
                 (parameter=input_tokens, value=2049)"
                .to_owned(),
            Self::Unauthorized => "Unauthorized".to_owned(),
            Self::NotFound => format!("The model `{model}` does not exist."),
            Self::RateLimited => "Rate limit reached, try again later.".to_owned(),
            Self::Internal => "Internal server error".to_owned(),
            Self::Overloaded => "The server is overloaded, try again later.".to_owned(),
        }
    }

    /// Its type as vLLM names it, and the parameter it is about.
    fn openai_type(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::InvalidRequest => ("BadRequestError", Some("temperature")),
            Self::ContextLength => ("BadRequestError", Some("input_tokens")),
            Self::Unauthorized => ("AuthenticationError", None),
            Self::NotFound => ("NotFoundError", Some("model")),
            Self::RateLimited => ("RateLimitError", None),
            Self::Internal => ("InternalServerError", None),
            Self::Overloaded => ("ServiceUnavailableError", None),
        }
    }

    fn anthropic_type(self) -> &'static str {
        match self {
            Self::InvalidRequest | Self::ContextLength => "invalid_request_error",
            Self::Unauthorized => "authentication_error",
            Self::NotFound => "not_found_error",
            Self::RateLimited => "rate_limit_error",
            Self::Internal => "api_error",
            Self::Overloaded => "overloaded_error",
        }
    }
}

/// The body of an error answer; `message` instead of the failure's own where given.
pub(crate) fn body(api: Api, failure: Failure, model: &str, message: Option<&str>) -> Value {
    let message = message.map_or_else(|| failure.message(model), str::to_owned);
    match api {
        Api::Messages => {
            json!({"type": "error", "error": {"type": failure.anthropic_type(), "message": message}})
        }
        _ => {
            let (kind, parameter) = failure.openai_type();
            json!({"error": {"message": message, "type": kind, "param": parameter, "code": failure.status()}})
        }
    }
}

/// The events of a failure inside a stream that already sent `sent` events.
pub(crate) fn frames_in_stream(api: Api, sent: usize) -> Vec<Frame> {
    match api {
        Api::Messages => {
            let payload =
                json!({"type": "error", "error": {"type": "api_error", "message": ENGINE_MESSAGE}});
            vec![Frame::named(Moment::End, "error", &payload)]
        }
        Api::Responses => {
            let payload = json!({"type": "error", "code": "server_error", "message": ENGINE_MESSAGE,
                "param": null, "sequence_number": sent});
            vec![Frame::named(Moment::End, "error", &payload)]
        }
        Api::ChatCompletions | Api::Completions | Api::Embeddings => {
            let payload = json!({"error": {"message": ENGINE_MESSAGE, "type": "InternalServerError",
                "param": null, "code": 500}});
            vec![Frame::data(Moment::End, &payload), Frame::done()]
        }
    }
}
