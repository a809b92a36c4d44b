//! Rerank, score, classify and pooling, as vLLM and others speak them: inference that generates nothing.

use json_scan::Node;

use crate::Api;
use crate::answer_places::{
    AnswerNode, DETAIL, ERROR, ERROR_CODE, ERROR_MESSAGE, ERROR_TYPE, MODEL, OBJECT, TokenKind,
    tokens,
};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{MODEL as REQUESTED_MODEL, RequestNode, RequestPlace, request};

/// A key that tells; its elements are no prompts to answer.
const fn told_by(key: &'static str, api: Api) -> RequestNode {
    Node::leaf(key, RequestPlace::Speaks(api))
}

static RERANK_REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    told_by("documents", Api::Rerank),
    told_by("texts", Api::Rerank),
]);
static SCORE_REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    told_by("text_1", Api::Score),
    told_by("queries", Api::Score),
    told_by("query", Api::Score),
    told_by("data_1", Api::Score),
]);
static POOLING_REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    told_by("input", Api::Pooling),
    told_by("messages", Api::Pooling),
]);

/// Some state the sum alone; where nothing is generated, it is the input.
const USAGE: AnswerNode = Node::branch(
    "usage",
    &[
        tokens("prompt_tokens", TokenKind::Input),
        tokens("total_tokens", TokenKind::Input),
    ],
);
static ANSWER: AnswerNode = Node::root(&[
    OBJECT,
    MODEL,
    USAGE,
    ERROR,
    ERROR_MESSAGE,
    ERROR_TYPE,
    ERROR_CODE,
    DETAIL,
]);

const RULES: Rules = Rules {
    needs_marker: true,
    ..Rules::UNGENERATED
};
const ABOUT: About = About {
    servers: "vLLM, SGLang, TEI, Jina's and Cohere's APIs",
    recognised_by: "the path and a key of the request: `documents` or `texts`; `text_1`, `queries`, `query` or `data_1`; `input` or `messages`",
    first_token: "none: it generates nothing",
    usage: "`usage.prompt_tokens`, or `usage.total_tokens` where that is all",
    end: "the answer's end",
    errors: "as OpenAI's",
};

/// `/rerank`.
pub(crate) static RERANK: Dialect = Dialect {
    name: "rerank",
    operation: "rerank",
    provider: "openai",
    routes: &["/rerank"],
    request: &RERANK_REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: RULES,
    about: ABOUT,
};

/// `/score`.
pub(crate) static SCORE: Dialect = Dialect {
    name: "score",
    operation: "score",
    provider: "openai",
    routes: &["/score"],
    request: &SCORE_REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: RULES,
    about: ABOUT,
};

/// `/pooling` and `/classify`.
pub(crate) static POOLING: Dialect = Dialect {
    name: "pooling",
    operation: "pooling",
    provider: "openai",
    routes: &["/pooling", "/classify"],
    request: &POOLING_REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: RULES,
    about: ABOUT,
};
