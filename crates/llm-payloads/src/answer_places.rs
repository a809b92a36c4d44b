//! The places in an answer that are looked at, as one tree an API family.
//!
//! Siblings stand in the order in which they are likely to be met, since keys are compared one after the other.

use json_scan::Node;

use crate::Api;

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
    /// Why generation ended.
    Finish,
    /// The generated tokens' ids.
    TokenIds,
    /// The generated tokens' probabilities.
    Logprobs,
    /// The model's name.
    Model,
    /// Numbers of tokens.
    Tokens(TokenKind),
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

const fn tokens(key: &'static str, kind: TokenKind) -> Node<Place> {
    Node::leaf(key, Place::Tokens(kind))
}

const MODEL: Node<Place> = Node::leaf("model", Place::Model);
const OBJECT: Node<Place> = Node::leaf("object", Place::Object);
const TYPE: Node<Place> = Node::leaf("type", Place::Type);
const STOP_REASON: Node<Place> = Node::leaf("stop_reason", Place::Finish);

const ERROR_CODE: Node<Place> = Node::leaf("code", Place::ErrorCode);
const ERROR_TYPE: Node<Place> = Node::leaf("type", Place::ErrorCode);
const ERROR_MESSAGE: Node<Place> = Node::leaf("message", Place::ErrorMessage);
const ERROR: Node<Place> = Node::tagged(
    "error",
    Place::Error,
    &[ERROR_MESSAGE, ERROR_TYPE, ERROR_CODE],
);

/// What the engines write of the prompt cache: OpenAI and SGLang `cache_write_tokens`, vLLM `created_cache_tokens`.
const INPUT_DETAILS: &[Node<Place>] = &[
    tokens("cached_tokens", TokenKind::CachedInput),
    tokens("created_cache_tokens", TokenKind::CacheWriteInput),
    tokens("cache_write_tokens", TokenKind::CacheWriteInput),
];
const OUTPUT_DETAILS: &[Node<Place>] = &[tokens("reasoning_tokens", TokenKind::Reasoning)];

const OPENAI_USAGE: Node<Place> = Node::branch(
    "usage",
    &[
        tokens("prompt_tokens", TokenKind::Input),
        tokens("completion_tokens", TokenKind::Output),
        Node::branch("prompt_tokens_details", INPUT_DETAILS),
        Node::branch("completion_tokens_details", OUTPUT_DETAILS),
        // SGLang states it here, DeepSeek's API states the cache so.
        tokens("reasoning_tokens", TokenKind::Reasoning),
        tokens("prompt_cache_hit_tokens", TokenKind::CachedInput),
    ],
);
const TIMINGS: Node<Place> = Node::branch(
    "timings",
    &[
        tokens("cache_n", TokenKind::TimingsCached),
        tokens("prompt_n", TokenKind::TimingsPrompt),
        tokens("predicted_n", TokenKind::TimingsOutput),
    ],
);

const CALL: &[Node<Place>] = &[
    Node::leaf("arguments", Place::Visible),
    Node::leaf("name", Place::Visible),
    Node::leaf("input", Place::Visible),
];
/// A delta of a stream, or the message of a whole answer.
const GENERATED: &[Node<Place>] = &[
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
const CHOICES: Node<Place> = Node::branch(
    "choices",
    &[Node::tagged(
        "[]",
        Place::Choice,
        &[
            Node::leaf("index", Place::ChoiceIndex),
            Node::branch("delta", GENERATED),
            Node::leaf("text", Place::Visible),
            Node::leaf("finish_reason", Place::Finish),
            Node::leaf("token_ids", Place::TokenIds),
            Node::branch("logprobs", &[Node::leaf("content", Place::Logprobs)]),
            Node::branch("message", GENERATED),
        ],
    )],
);

/// One answer. The error's fields also stand at the top: SGLang and older engines write their errors flat.
const OPENAI: &[Node<Place>] = &[
    OBJECT,
    MODEL,
    CHOICES,
    OPENAI_USAGE,
    TIMINGS,
    ERROR,
    ERROR_MESSAGE,
    ERROR_TYPE,
    ERROR_CODE,
];
static OPENAI_ROOT: Node<Place> = Node::root(&[
    OBJECT,
    MODEL,
    CHOICES,
    OPENAI_USAGE,
    TIMINGS,
    ERROR,
    ERROR_MESSAGE,
    ERROR_TYPE,
    ERROR_CODE,
    Node::tagged("[]", Place::Element, OPENAI),
]);

const RESPONSES_USAGE: Node<Place> = Node::branch(
    "usage",
    &[
        tokens("input_tokens", TokenKind::Input),
        tokens("output_tokens", TokenKind::Output),
        Node::branch("input_tokens_details", INPUT_DETAILS),
        Node::branch("output_tokens_details", OUTPUT_DETAILS),
    ],
);
const STATUS: Node<Place> = Node::leaf("status", Place::Status);
const INCOMPLETE: Node<Place> = Node::branch(
    "incomplete_details",
    &[Node::leaf("reason", Place::IncompleteReason)],
);
const OUTPUT: Node<Place> = Node::branch(
    "output",
    &[Node::branch(
        "[]",
        &[Node::leaf("type", Place::OutputItemType)],
    )],
);
static RESPONSES_ROOT: Node<Place> = Node::root(&[
    TYPE,
    Node::leaf("delta", Place::Delta),
    Node::branch("item", &[Node::leaf("name", Place::ItemName)]),
    Node::branch(
        "response",
        &[MODEL, STATUS, RESPONSES_USAGE, INCOMPLETE, ERROR, OUTPUT],
    ),
    // A whole answer has at the top what a stream has inside `response`.
    MODEL,
    STATUS,
    RESPONSES_USAGE,
    INCOMPLETE,
    OUTPUT,
    OBJECT,
    ERROR,
    ERROR_MESSAGE,
    ERROR_CODE,
]);

const MESSAGES_USAGE: Node<Place> = Node::branch(
    "usage",
    &[
        tokens("input_tokens", TokenKind::Input),
        tokens("output_tokens", TokenKind::Output),
        tokens("cache_read_input_tokens", TokenKind::CachedInput),
        tokens("cache_creation_input_tokens", TokenKind::CacheWriteInput),
        Node::branch(
            "output_tokens_details",
            &[
                tokens("reasoning_tokens", TokenKind::Reasoning),
                tokens("thinking_tokens", TokenKind::Reasoning),
            ],
        ),
    ],
);
static MESSAGES_ROOT: Node<Place> = Node::root(&[
    TYPE,
    Node::branch(
        "delta",
        &[
            Node::leaf("text", Place::Visible),
            Node::leaf("thinking", Place::Reasoning),
            Node::leaf("partial_json", Place::Visible),
            STOP_REASON,
        ],
    ),
    Node::branch(
        "content_block",
        &[
            Node::leaf("text", Place::Visible),
            Node::leaf("thinking", Place::Reasoning),
            Node::leaf("name", Place::Visible),
        ],
    ),
    MESSAGES_USAGE,
    // An object when an answer begins, a text in a flat error.
    Node::tagged(
        "message",
        Place::ErrorMessage,
        &[MODEL, MESSAGES_USAGE, STOP_REASON],
    ),
    MODEL,
    STOP_REASON,
    ERROR,
    OBJECT,
    ERROR_CODE,
]);

/// The tree of an API.
pub(crate) const fn root(api: Api) -> &'static Node<Place> {
    match api {
        Api::ChatCompletions | Api::Completions | Api::Embeddings => &OPENAI_ROOT,
        Api::Responses => &RESPONSES_ROOT,
        Api::Messages => &MESSAGES_ROOT,
    }
}
