//! Ollama's own API.

use json_scan::Node;

use crate::answer_places::{AnswerNode, ERROR, MODEL, Place, TokenKind, tokens};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{MODEL as REQUESTED_MODEL, RequestNode, RequestPlace, STREAM, request};

static REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    STREAM,
    Node::branch(
        "options",
        &[Node::leaf("num_predict", RequestPlace::MaxOutputTokens)],
    ),
]);

const DONE: AnswerNode = Node::leaf("done", Place::Done);
const DONE_REASON: AnswerNode = Node::leaf("done_reason", Place::Finish);
const INPUT: AnswerNode = tokens("prompt_eval_count", TokenKind::Input);
const OUTPUT: AnswerNode = tokens("eval_count", TokenKind::Output);

static CHAT_ANSWER: AnswerNode = Node::root(&[
    MODEL,
    Node::branch(
        "message",
        &[
            Node::leaf("content", Place::Visible),
            Node::leaf("thinking", Place::Reasoning),
            Node::branch(
                "tool_calls",
                &[Node::branch(
                    "[]",
                    &[Node::branch(
                        "function",
                        &[Node::leaf("name", Place::CalledTool)],
                    )],
                )],
            ),
        ],
    ),
    DONE,
    DONE_REASON,
    INPUT,
    OUTPUT,
    ERROR,
]);
static GENERATE_ANSWER: AnswerNode = Node::root(&[
    MODEL,
    Node::leaf("response", Place::Visible),
    Node::leaf("thinking", Place::Reasoning),
    DONE,
    DONE_REASON,
    INPUT,
    OUTPUT,
    ERROR,
]);

const RULES: Rules = Rules {
    streams_by_default: true,
    ..Rules::PLAIN
};
const USAGE: &str = "`prompt_eval_count` and `eval_count` of the last line";
const END: &str = "the line with `done: true`";
const ERRORS: &str = "`error` as text, also as a line of a stream";

/// `/api/chat`.
pub(crate) static CHAT: Dialect = Dialect {
    name: "ollama_chat",
    operation: "chat",
    provider: "ollama",
    routes: &["/api/chat"],
    request: &REQUEST,
    answer: &CHAT_ANSWER,
    messages: None,
    rules: RULES,
    about: About {
        servers: "Ollama",
        recognised_by: "the path; lines of JSON unless `stream` is false",
        first_token: "first line with non-empty `message.content`, `message.thinking` or a tool call",
        usage: USAGE,
        end: END,
        errors: ERRORS,
    },
};

/// `/api/generate`.
pub(crate) static GENERATE: Dialect = Dialect {
    name: "ollama_generate",
    operation: "text_completion",
    provider: "ollama",
    routes: &["/api/generate"],
    request: &REQUEST,
    answer: &GENERATE_ANSWER,
    messages: None,
    rules: RULES,
    about: About {
        servers: "Ollama",
        recognised_by: "the path; lines of JSON unless `stream` is false",
        first_token: "first line with non-empty `response` or `thinking`",
        usage: USAGE,
        end: END,
        errors: ERRORS,
    },
};
