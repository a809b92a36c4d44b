//! Rerank, score, classify and pooling, as vLLM and others speak them: inference that generates nothing.

use crate::Api;
use crate::answer_places::AnswerNode;
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{MODEL as REQUESTED_MODEL, RequestNode, marker, request};

use super::openai::ANSWER;

static REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    marker("documents", Api::Rerank),
    marker("text_1", Api::Score),
    marker("queries", Api::Score),
    marker("data_1", Api::Score),
    marker("input", Api::Pooling),
]);
const OPENAI_ANSWER: &AnswerNode = &ANSWER;

const RULES: Rules = Rules {
    needs_marker: true,
    ..Rules::UNGENERATED
};
const ABOUT: About = About {
    servers: "vLLM, SGLang, TEI, Jina's and Cohere's APIs",
    recognised_by: "the path and a key of the request: `documents`; `text_1`, `queries` or `data_1`; `input`",
    first_token: "none: it generates nothing",
    usage: "`usage.prompt_tokens`",
    end: "the answer's end",
    errors: "as OpenAI's",
};

/// `/rerank`.
pub(crate) static RERANK: Dialect = Dialect {
    name: "rerank",
    operation: "rerank",
    provider: "openai",
    routes: &["/rerank"],
    request: &REQUEST,
    answer: OPENAI_ANSWER,
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
    request: &REQUEST,
    answer: OPENAI_ANSWER,
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
    request: &REQUEST,
    answer: OPENAI_ANSWER,
    messages: None,
    rules: RULES,
    about: ABOUT,
};
