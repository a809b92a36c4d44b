//! Why a model stopped, in one vocabulary for all APIs.

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model was done, or reached a stop string.
    Stop,
    /// A limit on tokens or on the context was reached.
    Length,
    /// The model asks for tools to be called.
    ToolCalls,
    /// A filter cut the answer, or the model refused.
    ContentFilter,
    /// Somebody had the server give the request up.
    Abort,
    /// The server failed.
    Error,
    /// A reason that is not in this vocabulary.
    Other,
}

impl FinishReason {
    /// Every reason, for tables and tests.
    pub const ALL: [Self; 7] = [
        Self::Stop,
        Self::Length,
        Self::ToolCalls,
        Self::ContentFilter,
        Self::Abort,
        Self::Error,
        Self::Other,
    ];

    /// The reason in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Abort => "abort",
            Self::Error => "error",
            Self::Other => "other",
        }
    }

    /// The reason that a server's word stands for; `None` where it says that there is none yet.
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"" | b"none" | b"null" | b"FINISH_REASON_UNSPECIFIED" => return None,
            b"stop" | b"eos" | b"eos_token" | b"end_turn" | b"stop_sequence" | b"word"
            | b"completed" | b"STOP" | b"FINISH" | b"COMPLETE" | b"complete" | b"STOP_SEQUENCE"
            | b"STOP_CRITERIA_MET" => Self::Stop,
            b"length"
            | b"max_tokens"
            | b"limit"
            | b"model_context_window_exceeded"
            | b"max_output_tokens"
            | b"MAX_TOKENS"
            | b"LENGTH"
            | b"model_length" => Self::Length,
            b"tool_calls" | b"function_call" | b"tool_use" => Self::ToolCalls,
            b"content_filter"
            | b"content_filtered"
            | b"refusal"
            | b"guardrail_intervened"
            | b"SAFETY"
            | b"RECITATION"
            | b"BLOCKLIST"
            | b"PROHIBITED_CONTENT"
            | b"SPII"
            | b"IMAGE_SAFETY"
            | b"IMAGE_PROHIBITED_CONTENT"
            | b"IMAGE_RECITATION"
            | b"MODEL_ARMOR"
            | b"ERROR_TOXIC"
            | b"CONTENT_FILTERED" => Self::ContentFilter,
            b"abort" | b"cancelled" | b"cache_threshold" => Self::Abort,
            b"error" | b"failed" | b"ERROR" => Self::Error,
            _ => Self::Other,
        })
    }

    /// Which of two reasons of one answer tells more: trouble before anything else, otherwise the later one.
    #[must_use]
    pub fn or_later(self, later: Self) -> Self {
        if self.trouble() > later.trouble() {
            self
        } else {
            later
        }
    }

    const fn trouble(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Abort => 2,
            Self::ContentFilter => 1,
            Self::Stop | Self::Length | Self::ToolCalls | Self::Other => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_words_are_brought_into_one_vocabulary() {
        for (word, expected) in [
            ("stop", Some(FinishReason::Stop)),
            ("end_turn", Some(FinishReason::Stop)),
            ("max_tokens", Some(FinishReason::Length)),
            ("tool_use", Some(FinishReason::ToolCalls)),
            ("refusal", Some(FinishReason::ContentFilter)),
            ("abort", Some(FinishReason::Abort)),
            ("error", Some(FinishReason::Error)),
            ("pause_turn", Some(FinishReason::Other)),
            ("", None),
            ("none", None),
        ] {
            assert_eq!(FinishReason::from_word(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn trouble_in_one_choice_is_not_hidden_by_another() {
        assert_eq!(
            FinishReason::Error.or_later(FinishReason::Stop),
            FinishReason::Error
        );
        assert_eq!(
            FinishReason::Stop.or_later(FinishReason::ContentFilter),
            FinishReason::ContentFilter
        );
        assert_eq!(
            FinishReason::Stop.or_later(FinishReason::Length),
            FinishReason::Length
        );
    }
}
