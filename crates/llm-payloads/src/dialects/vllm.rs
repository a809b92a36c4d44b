//! vLLM's generation from tokens to tokens.

use json_scan::Node;

use crate::answer_places::{AnswerNode, ERROR, MODEL, OPENAI_USAGE, Place};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{
    KV_TRANSFER, MODEL as REQUESTED_MODEL, RequestNode, SAMPLING_CHILDREN, STREAM, STREAM_OPTIONS,
    request,
};

static REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    STREAM,
    STREAM_OPTIONS,
    Node::branch("sampling_params", SAMPLING_CHILDREN),
    KV_TRANSFER,
]);
static ANSWER: AnswerNode = Node::root(&[
    MODEL,
    Node::branch(
        "choices",
        &[Node::tagged(
            "[]",
            Place::Choice,
            &[
                Node::leaf("index", Place::ChoiceIndex),
                Node::leaf("token_ids", Place::OutputIds),
                Node::leaf("finish_reason", Place::Finish),
            ],
        )],
    ),
    OPENAI_USAGE,
    ERROR,
]);

/// `/inference/v1/generate`.
pub(crate) static GENERATE: Dialect = Dialect {
    name: "vllm_generate",
    operation: "text_completion",
    provider: "vllm",
    routes: &["/inference/v1/generate"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        usage_is_asked_for: true,
        ..Rules::PLAIN
    },
    about: About {
        servers: "vLLM",
        recognised_by: "the path",
        first_token: "first choice with `token_ids`",
        usage: "`usage` where it is stated",
        end: "`[DONE]`, or the answer's end",
        errors: "`error` as object",
    },
};
