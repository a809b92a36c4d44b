//! What kind of event a payload is, by its `type` or by the name of the server-sent event that carries it.

use crate::Api;

/// The kinds of event that mean something beyond the values they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    /// A piece of output (Responses).
    OutputDelta {
        /// Whether it is of the reasoning.
        reasoning: bool,
    },
    /// A new item of the output, which may name a tool (Responses).
    ItemAdded,
    /// The beginning of an answer, whose number of output tokens is a placeholder (Messages).
    MessageStart,
    /// The terminal event.
    Terminal,
    /// The terminal event of an answer that failed (Responses).
    Failed,
    /// An error.
    Error,
    /// Any other.
    Other,
}

impl EventType {
    pub(crate) fn from_name(api: Api, name: &[u8]) -> Self {
        match (api, name) {
            (_, b"error") => Self::Error,
            (Api::Messages | Api::BedrockInvokeStream, b"message_start") => Self::MessageStart,
            (Api::Messages | Api::BedrockInvokeStream, b"message_stop") => Self::Terminal,
            (Api::BedrockConverseStream, b"messageStop") => Self::Terminal,
            (Api::Responses, b"response.output_item.added") => Self::ItemAdded,
            (Api::Responses, b"response.completed" | b"response.incomplete") => Self::Terminal,
            (Api::Responses, b"response.failed" | b"response.cancelled") => Self::Failed,
            (Api::Responses, name)
                if name.starts_with(b"response.") && name.ends_with(b".delta") =>
            {
                Self::OutputDelta {
                    reasoning: name.starts_with(b"response.reasoning"),
                }
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_something_in_their_own_api_alone() {
        for (api, name, expected) in [
            (Api::Messages, "message_start", EventType::MessageStart),
            (Api::Messages, "message_stop", EventType::Terminal),
            (Api::Responses, "message_stop", EventType::Other),
            (Api::Responses, "response.completed", EventType::Terminal),
            (Api::Responses, "response.incomplete", EventType::Terminal),
            (Api::Responses, "response.failed", EventType::Failed),
            (Api::Responses, "response.created", EventType::Other),
            (
                Api::Responses,
                "response.output_item.added",
                EventType::ItemAdded,
            ),
            (
                Api::Responses,
                "response.output_item.done",
                EventType::Other,
            ),
            (
                Api::Responses,
                "response.output_text.delta",
                EventType::OutputDelta { reasoning: false },
            ),
            (
                Api::Responses,
                "response.mcp_call_arguments.delta",
                EventType::OutputDelta { reasoning: false },
            ),
            (
                Api::Responses,
                "response.reasoning_text.delta",
                EventType::OutputDelta { reasoning: true },
            ),
            (
                Api::Responses,
                "response.reasoning_summary_text.delta",
                EventType::OutputDelta { reasoning: true },
            ),
            (
                Api::ChatCompletions,
                "response.output_text.delta",
                EventType::Other,
            ),
            (Api::ChatCompletions, "error", EventType::Error),
        ] {
            assert_eq!(
                EventType::from_name(api, name.as_bytes()),
                expected,
                "{api:?} {name}"
            );
        }
    }
}
