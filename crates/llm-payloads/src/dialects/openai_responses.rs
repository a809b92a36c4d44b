//! OpenAI's responses.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, ERROR, ERROR_CODE, ERROR_MESSAGE, INPUT_DETAILS, MODEL, OBJECT, OUTPUT_DETAILS,
    Place, TYPE, TokenKind, tokens, usage,
};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{MODEL as REQUESTED_MODEL, RequestNode, RequestPlace, STREAM, request};

static REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    STREAM,
    Node::leaf("max_output_tokens", RequestPlace::MaxOutputTokens),
    Node::leaf("background", RequestPlace::Background),
]);

const USAGE: AnswerNode = usage(&[
    tokens("input_tokens", TokenKind::Input),
    tokens("output_tokens", TokenKind::Output),
    Node::branch("input_tokens_details", INPUT_DETAILS),
    Node::branch("output_tokens_details", OUTPUT_DETAILS),
]);
const STATUS: AnswerNode = Node::leaf("status", Place::Status);
const INCOMPLETE: AnswerNode = Node::branch(
    "incomplete_details",
    &[Node::leaf("reason", Place::IncompleteReason)],
);
const OUTPUT: AnswerNode = Node::branch(
    "output",
    &[Node::branch(
        "[]",
        &[Node::leaf("type", Place::OutputItemType)],
    )],
);
static ANSWER: AnswerNode = Node::root(&[
    TYPE,
    Node::leaf("delta", Place::Delta),
    Node::branch("item", &[Node::leaf("name", Place::ItemName)]),
    Node::branch(
        "response",
        &[MODEL, STATUS, USAGE, INCOMPLETE, ERROR, OUTPUT],
    ),
    // A whole answer has at the top what a stream has inside `response`.
    MODEL,
    STATUS,
    USAGE,
    INCOMPLETE,
    OUTPUT,
    OBJECT,
    ERROR,
    ERROR_MESSAGE,
    ERROR_CODE,
]);

/// `/responses`.
pub(crate) static RESPONSES: Dialect = Dialect {
    name: "responses",
    operation: "chat",
    provider: "openai",
    routes: &["/responses"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::PLAIN,
    about: About {
        servers: "OpenAI, vLLM, SGLang, TensorRT-LLM, LMDeploy, Dynamo, llama.cpp, Ollama",
        recognised_by: "the path",
        first_token: "first event `response.*.delta` with a non-empty `delta`, or the beginning of a call that names its tool",
        usage: "`usage` of the response, whole or in the terminal event",
        end: "`response.completed`, `response.incomplete`, `response.failed`",
        errors: "an event `error`, or `response.failed`",
    },
};
