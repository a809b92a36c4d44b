//! Triton's generate extension.

use json_scan::Node;

use crate::answer_places::{AnswerNode, ERROR, Place, TokenKind, tokens};
use crate::dialect::{About, Dialect, EndRule, Rules};
use crate::request_places::{RequestNode, RequestPlace, SAMPLING_CHILDREN, request};

static REQUEST: RequestNode = request(&[
    Node::branch("parameters", SAMPLING_CHILDREN),
    Node::leaf("max_tokens", RequestPlace::MaxOutputTokens),
]);
static ANSWER: AnswerNode = Node::root(&[
    Node::tagged(
        "text_output",
        Place::Visible,
        &[Node::leaf("[]", Place::Visible)],
    ),
    // The open inference protocol has the token beside its text.
    Node::leaf("token", Place::Token),
    Node::leaf("model_name", Place::Model),
    Node::branch(
        "details",
        &[
            Node::leaf("finish_reason", Place::Finish),
            tokens("generated_tokens", TokenKind::Output),
        ],
    ),
    ERROR,
]);

const ERRORS: &str = "`error` as text, also inside a stream";

/// `/generate`.
pub(crate) static GENERATE: Dialect = Dialect {
    name: "triton_generate",
    operation: "text_completion",
    provider: "triton",
    routes: &[
        "/models/{model}/generate",
        "/models/{model}/versions/{}/generate",
    ],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::PLAIN,
    about: About {
        servers: "Triton",
        recognised_by: "the path, which also names the model",
        first_token: "none: it is not streamed",
        usage: "none",
        end: "the answer's end",
        errors: ERRORS,
    },
};

/// `/generate_stream`.
pub(crate) static GENERATE_STREAM: Dialect = Dialect {
    name: "triton_generate_stream",
    operation: "text_completion",
    provider: "triton",
    routes: &[
        "/models/{model}/generate_stream",
        "/models/{model}/versions/{}/generate_stream",
    ],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        end: EndRule::Close,
        ..Rules::PLAIN
    },
    about: About {
        servers: "Triton",
        recognised_by: "the path, which also names the model",
        first_token: "first event with non-empty `text_output`",
        usage: "none",
        end: "the stream's end",
        errors: ERRORS,
    },
};
