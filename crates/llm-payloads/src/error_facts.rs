//! What an error body says about its cause, without keeping any of its text.

/// The cause of an error, as far as its codes and its message tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// None of the others.
    #[default]
    Other,
    /// The client or a quota is over its rate.
    RateLimited,
    /// The server has no room for the request.
    Overloaded,
    /// A content filter refused.
    ContentFilter,
    /// The prompt, or the prompt and the asked-for answer, do not fit the model's context.
    ContextLength,
}

impl ErrorKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 5] = [
        Self::Other,
        Self::RateLimited,
        Self::Overloaded,
        Self::ContentFilter,
        Self::ContextLength,
    ];

    /// The kind in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ContentFilter => "content_filter",
            Self::ContextLength => "context_length",
        }
    }
}

/// An error that an answer carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorFacts {
    /// Its cause.
    pub kind: ErrorKind,
}

/// Parts of codes and types, lower case; the first that occurs decides.
const CODE_PARTS: [(&[u8], ErrorKind); 11] = [
    (b"context_length", ErrorKind::ContextLength),
    (b"context_size", ErrorKind::ContextLength),
    (b"context_window", ErrorKind::ContextLength),
    (b"content_filter", ErrorKind::ContentFilter),
    (b"content_policy", ErrorKind::ContentFilter),
    (b"responsibleai", ErrorKind::ContentFilter),
    (b"rate_limit", ErrorKind::RateLimited),
    (b"resource_exhausted", ErrorKind::RateLimited),
    (b"throttling", ErrorKind::RateLimited),
    (b"overloaded", ErrorKind::Overloaded),
    (b"unavailable", ErrorKind::Overloaded),
];

/// Parts of messages, lower case. Only the context is told from messages: several servers have no code for it.
const MESSAGE_PARTS: [&[u8]; 9] = [
    b"context length",
    b"context size",
    b"context window",
    b"maximum context",
    b"prompt is too long",
    // Bedrock, Gemini, and TGI with its two limits.
    b"input is too long",
    b"maximum number of tokens",
    b"`inputs` must have less than",
    b"`inputs` tokens + `max_new_tokens`",
];

impl ErrorFacts {
    /// Takes an error's `type` or `code`.
    pub(crate) fn read_code(&mut self, code: &[u8]) {
        if let Some((_, kind)) = CODE_PARTS
            .into_iter()
            .find(|(part, _)| contains(code, part))
        {
            self.raise(kind);
        }
    }

    /// Takes the beginning of an error's `message`.
    pub(crate) fn read_message(&mut self, message: &[u8]) {
        if MESSAGE_PARTS
            .into_iter()
            .any(|part| contains(message, part))
        {
            self.raise(ErrorKind::ContextLength);
        }
    }

    /// The first cause that is told stands.
    fn raise(&mut self, kind: ErrorKind) {
        if self.kind == ErrorKind::Other {
            self.kind = kind;
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, message: &str, expected: ErrorKind) {
        let mut facts = ErrorFacts::default();
        facts.read_code(code.as_bytes());
        facts.read_message(message.as_bytes());
        assert_eq!(facts.kind, expected, "{code}: {message}");
    }

    #[test]
    fn the_context_is_told_from_codes_and_from_messages() {
        check("context_length_exceeded", "", ErrorKind::ContextLength);
        check(
            "exceed_context_size_error",
            "request (3615 tokens) exceeds",
            ErrorKind::ContextLength,
        );
        check(
            "BadRequestError",
            "This model's maximum context length is 2048 tokens.",
            ErrorKind::ContextLength,
        );
        check(
            "BadRequestError",
            "is longer than the model's context length (2048 tokens).",
            ErrorKind::ContextLength,
        );
        check(
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            ErrorKind::ContextLength,
        );
        check(
            "",
            "Requested tokens (3615) exceed context window of 2048",
            ErrorKind::ContextLength,
        );
    }

    #[test]
    fn other_causes_are_told_from_codes_alone() {
        check("rate_limit_error", "", ErrorKind::RateLimited);
        check("overloaded_error", "Overloaded", ErrorKind::Overloaded);
        check("content_filter", "", ErrorKind::ContentFilter);
        check("ResponsibleAIPolicyViolation", "", ErrorKind::ContentFilter);
        check(
            "BadRequestError",
            "temperature must be non-negative, rate_limit",
            ErrorKind::Other,
        );
    }
}
