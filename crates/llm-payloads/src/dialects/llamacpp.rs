//! llama.cpp's own completions.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, ERROR, MODEL, Place, TIMINGS, TokenKind, one_or_list, tokens,
};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{
    MODEL as REQUESTED_MODEL, PROMPT, RequestNode, RequestPlace, STREAM, request,
};

static REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    PROMPT,
    STREAM,
    Node::leaf("n_predict", RequestPlace::MaxOutputTokens),
]);

static ANSWER: AnswerNode = one_or_list!([
    Node::leaf("index", Place::AnswerIndex),
    Node::leaf("content", Place::Visible),
    Node::leaf("tokens", Place::TokenIds),
    Node::leaf("stop", Place::Done),
    tokens("tokens_predicted", TokenKind::Output),
    tokens("tokens_evaluated", TokenKind::Input),
    Node::leaf("stop_type", Place::Finish),
    TIMINGS,
    MODEL,
    ERROR,
], alone: []);

/// `/completion` and `/infill`.
pub(crate) static COMPLETION: Dialect = Dialect {
    name: "llamacpp_completion",
    operation: "text_completion",
    provider: "llama_cpp",
    routes: &["/completion", "/infill"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::PLAIN,
    about: About {
        servers: "llama.cpp",
        recognised_by: "the path",
        first_token: "first event with non-empty `content`; `prompt_progress` is no token",
        usage: "`tokens_evaluated` and `tokens_predicted`, the cache in `timings.cache_n`",
        end: "`stop: true`",
        errors: "`error` as object, also inside a stream or as its field `error:`",
    },
};
