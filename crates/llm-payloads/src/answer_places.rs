//! The places in an answer that are looked at, and the parts that several dialects share.
//!
//! Siblings stand in the order in which they are likely to be met, since keys are compared one after the other.

use json_scan::Node;

/// A place of an answer and the places below it.
pub(crate) type AnswerNode = Node<Place>;

/// What stands at a wanted place of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// An element of an array at the top level: an answer of its own.
    Element,
    /// Visible output that may be an echo of the prompt.
    Content,
    /// Visible output.
    Visible,
    /// Reasoning.
    Reasoning,
    /// Output whose kind the event's type tells.
    Delta,
    /// The name of an item, which is output if the item is new.
    ItemName,
    /// The event's type.
    Type,
    /// One of the choices.
    Choice,
    /// Which of the choices it is.
    ChoiceIndex,
    /// Which of the answers of a batch the whole payload is about.
    AnswerIndex,
    /// Why generation ended.
    Finish,
    /// The generated tokens' ids, which stand beside their text.
    TokenIds,
    /// The generated tokens' ids, which are output themselves.
    OutputIds,
    /// The generated tokens' probabilities.
    Logprobs,
    /// The model's name.
    Model,
    /// Numbers of tokens.
    Tokens(TokenKind),
    /// The object in which they stand, each once.
    Usage,
    /// What kind of object the payload is.
    Object,
    /// An error, or null.
    Error,
    /// An error's code or type.
    ErrorCode,
    /// An error's message.
    ErrorMessage,
    /// A response's status.
    Status,
    /// Why a response is incomplete.
    IncompleteReason,
    /// The type of an item of a response's output.
    OutputItemType,
    /// Visible output that may repeat what earlier events held.
    Cumulative,
    /// Ids of tokens that may repeat what earlier events held, and are output where there is no text.
    CumulativeIds,
    /// A tensor of an output.
    Tensor,
    /// One generated token, and so output, whatever its text.
    Token,
    /// The tokens of a prompt, one an element.
    PromptTokens,
    /// One part of an output, of which a flag may tell that it is reasoning.
    Part,
    /// The text of a part.
    PartText,
    /// Whether a part is reasoning.
    PartIsThought,
    /// The name of a tool that is called.
    CalledTool,
    /// Whether this is the end, as a flag.
    Done,
    /// A text that only the last event holds.
    Final,
    /// Why generation ended, in the last event.
    FinalReason,
    /// Why a prompt was refused.
    Blocked,
}

/// Which number of tokens is stated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenKind {
    Input,
    Output,
    CachedInput,
    CacheWriteInput,
    Reasoning,
    TimingsCached,
    TimingsPrompt,
    TimingsOutput,
}

pub(crate) const fn tokens(key: &'static str, kind: TokenKind) -> AnswerNode {
    Node::leaf(key, Place::Tokens(kind))
}

pub(crate) const MODEL: AnswerNode = Node::leaf("model", Place::Model);
pub(crate) const OBJECT: AnswerNode = Node::leaf("object", Place::Object);
pub(crate) const TYPE: AnswerNode = Node::leaf("type", Place::Type);
pub(crate) const STOP_REASON: AnswerNode = Node::leaf("stop_reason", Place::Finish);

pub(crate) const ERROR_CODE: AnswerNode = Node::leaf("code", Place::ErrorCode);
pub(crate) const ERROR_TYPE: AnswerNode = Node::leaf("type", Place::ErrorCode);
pub(crate) const ERROR_MESSAGE: AnswerNode = Node::leaf("message", Place::ErrorMessage);
pub(crate) const ERROR: AnswerNode = Node::tagged(
    "error",
    Place::Error,
    &[ERROR_MESSAGE, ERROR_TYPE, ERROR_CODE],
);

/// What the engines write of the prompt cache: OpenAI and SGLang `cache_write_tokens`, vLLM `created_cache_tokens`.
pub(crate) const INPUT_DETAILS: &[AnswerNode] = &[
    tokens("cached_tokens", TokenKind::CachedInput),
    tokens("created_cache_tokens", TokenKind::CacheWriteInput),
    tokens("cache_write_tokens", TokenKind::CacheWriteInput),
];
pub(crate) const OUTPUT_DETAILS: &[AnswerNode] =
    &[tokens("reasoning_tokens", TokenKind::Reasoning)];

/// FastAPI's own errors, whose message may also be a list of flaws.
pub(crate) const DETAIL: AnswerNode = Node::leaf("detail", Place::ErrorMessage);

/// The object `usage`.
pub(crate) const fn usage(numbers: &'static [AnswerNode]) -> AnswerNode {
    Node::tagged("usage", Place::Usage, numbers)
}
pub(crate) const OPENAI_USAGE: AnswerNode = usage(&[
    tokens("prompt_tokens", TokenKind::Input),
    tokens("completion_tokens", TokenKind::Output),
    Node::branch("prompt_tokens_details", INPUT_DETAILS),
    Node::branch("completion_tokens_details", OUTPUT_DETAILS),
    // SGLang states it here, DeepSeek's API states the cache so.
    tokens("reasoning_tokens", TokenKind::Reasoning),
    tokens("prompt_cache_hit_tokens", TokenKind::CachedInput),
]);
pub(crate) const TIMINGS: AnswerNode = Node::branch(
    "timings",
    &[
        tokens("cache_n", TokenKind::TimingsCached),
        tokens("prompt_n", TokenKind::TimingsPrompt),
        tokens("predicted_n", TokenKind::TimingsOutput),
    ],
);

const CALL: &[AnswerNode] = &[
    Node::leaf("arguments", Place::Visible),
    Node::leaf("name", Place::Visible),
    Node::leaf("input", Place::Visible),
];
/// A delta of a stream, or the message of a whole answer.
pub(crate) const GENERATED: &[AnswerNode] = &[
    Node::tagged(
        "content",
        Place::Content,
        &[Node::branch("[]", &[Node::leaf("text", Place::Content)])],
    ),
    Node::leaf("reasoning_content", Place::Reasoning),
    Node::leaf("reasoning", Place::Reasoning),
    Node::branch(
        "tool_calls",
        &[Node::branch(
            "[]",
            &[Node::branch("function", CALL), Node::branch("custom", CALL)],
        )],
    ),
    Node::leaf("refusal", Place::Visible),
    Node::branch("function_call", CALL),
];

/// The top of an answer that may also come as a list of such answers: what stands in each, and what only in one alone.
macro_rules! one_or_list {
    ([$($each:expr),* $(,)?], alone: [$($alone:expr),* $(,)?]) => {
        json_scan::Node::root(&[
            $($each,)*
            $($alone,)*
            json_scan::Node::tagged("[]", $crate::answer_places::Place::Element, &[$($each),*]),
        ])
    };
}
pub(crate) use one_or_list;
