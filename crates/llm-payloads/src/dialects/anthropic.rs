//! Anthropic's messages.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, ERROR, ERROR_CODE, MODEL, OBJECT, Place, STOP_REASON, TYPE, TokenKind, tokens,
    usage,
};
use crate::dialect::{About, Dialect, Rules, UsageRule};
use crate::request_places::{MAX_TOKENS, MODEL as REQUESTED_MODEL, RequestNode, STREAM, request};

static REQUEST: RequestNode = request(&[REQUESTED_MODEL, STREAM, MAX_TOKENS]);

const USAGE: AnswerNode = usage(&[
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
]);
pub(super) const TEXT: AnswerNode = Node::leaf("text", Place::Visible);
pub(super) const THINKING: AnswerNode = Node::leaf("thinking", Place::Reasoning);
pub(super) const PARTIAL_JSON: AnswerNode = Node::leaf("partial_json", Place::Visible);
/// A block of content; a stream begins it with what is known of it then, such as the name of a tool.
pub(super) const BLOCK: &[AnswerNode] = &[TEXT, THINKING, Node::leaf("name", Place::Visible)];
pub(super) const CONTENT_BLOCK: AnswerNode = Node::branch("content_block", BLOCK);
static ANSWER: AnswerNode = Node::root(&[
    TYPE,
    Node::branch("delta", &[TEXT, THINKING, PARTIAL_JSON, STOP_REASON]),
    CONTENT_BLOCK,
    USAGE,
    // An object when an answer begins, a text in a flat error.
    Node::tagged("message", Place::ErrorMessage, &[MODEL, USAGE, STOP_REASON]),
    MODEL,
    STOP_REASON,
    ERROR,
    OBJECT,
    ERROR_CODE,
]);

/// `/messages`.
pub(crate) static MESSAGES: Dialect = Dialect {
    name: "messages",
    operation: "chat",
    provider: "anthropic",
    routes: &["/messages"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        usage: UsageRule::InputParts,
        ..Rules::PLAIN
    },
    about: About {
        servers: "Anthropic, vLLM, SGLang, LMDeploy, Dynamo, llama.cpp, Ollama",
        recognised_by: "the path",
        first_token: "first `content_block_delta` with non-empty text, thinking or partial JSON, or the beginning of a block that names a tool",
        usage: "`message_start` and `message_delta`, the last one counting; read from and written to the cache is added to the input",
        end: "`message_stop`",
        errors: "an event `error`",
    },
};
