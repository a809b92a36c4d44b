//! The engines' own `/generate`, which SGLang, TGI and others share: the request's keys tell whose it is, and one tree
//! reads the answers of all.

use json_scan::Node;

use crate::Api;
use crate::answer_places::{
    AnswerNode, DETAIL, ERROR, ERROR_CODE, ERROR_MESSAGE, MODEL, OBJECT, Place, TokenKind,
    one_or_list, tokens,
};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{
    CHOICES, MAX_TOKENS, MODEL as REQUESTED_MODEL, REQUEST_ID, RequestNode, SAMPLING_CHILDREN,
    STREAM, marker, request,
};

const TGI_PARAMETERS: RequestNode = Node::branch("parameters", SAMPLING_CHILDREN);
const SGLANG_PARAMETERS: RequestNode = Node::branch("sampling_params", SAMPLING_CHILDREN);
const TGI_INPUTS: RequestNode = marker("inputs", Api::TgiGenerate);
static REQUEST: RequestNode = request(&[
    TGI_INPUTS,
    // As Vertex AI wraps it.
    Node::branch(
        "instances",
        &[Node::branch("[]", &[TGI_INPUTS, TGI_PARAMETERS])],
    ),
    marker("text", Api::SglangGenerate),
    marker("input_ids", Api::SglangGenerate),
    marker("prompt", Api::PromptGenerate),
    TGI_PARAMETERS,
    SGLANG_PARAMETERS,
    STREAM,
    REQUESTED_MODEL,
    MAX_TOKENS,
    CHOICES,
    REQUEST_ID,
]);

/// TGI's.
const DETAILS: AnswerNode = Node::branch(
    "details",
    &[
        Node::leaf("finish_reason", Place::Finish),
        tokens("generated_tokens", TokenKind::Output),
        tokens("input_length", TokenKind::Input),
        Node::leaf("prefill", Place::PromptTokens),
    ],
);
/// SGLang's, once in each answer.
const META: AnswerNode = Node::tagged(
    "meta_info",
    Place::Choice,
    &[
        tokens("prompt_tokens", TokenKind::Input),
        tokens("completion_tokens", TokenKind::Output),
        tokens("cached_tokens", TokenKind::CachedInput),
        Node::tagged(
            "finish_reason",
            Place::Finish,
            &[Node::leaf("type", Place::Finish)],
        ),
    ],
);
/// Without a tokenizer SGLang gives these alone.
const IDS: AnswerNode = Node::leaf("output_ids", Place::CumulativeIds);
const TEXT: AnswerNode = Node::tagged(
    "text",
    Place::Cumulative,
    &[Node::leaf("[]", Place::Visible)],
);
static ANSWER: AnswerNode = one_or_list!(
    [
        Node::leaf("token", Place::Token),
        TEXT,
        META,
        IDS,
        Node::leaf("generated_text", Place::Final),
        DETAILS,
        Node::leaf("response", Place::Visible),
        ERROR,
    ],
    alone: [
        Node::branch("predictions", &[Node::leaf("[]", Place::Visible)]),
        Node::leaf("error_type", Place::ErrorCode),
        ERROR_MESSAGE,
        ERROR_CODE,
        DETAIL,
        OBJECT,
        MODEL,
    ]
);

const MARKED: Rules = Rules {
    needs_marker: true,
    ..Rules::PLAIN
};
const TGI_ABOUT: About = About {
    servers: "TGI",
    recognised_by: "the key `inputs` of the request, also inside `instances`; on `/generate_stream` the path alone",
    first_token: "first event with `token`",
    usage: "`details.generated_tokens`, `details.input_length` or the length of `details.prefill`, where the request asks for details; headers `x-prompt-tokens` and `x-generated-tokens` of a whole answer",
    end: "the event whose `generated_text` is not null",
    errors: "`error` as text with `error_type`, also inside a stream",
};

/// `/generate`, until the request tells whose it is.
pub(crate) static GENERATE: Dialect = Dialect {
    name: "generate",
    operation: "text_completion",
    provider: "unknown",
    routes: &["/generate"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: MARKED,
    about: About {
        servers: "whoever it turns out to be: `tgi_generate`, `sglang_generate`, `prompt_generate`",
        recognised_by: "the path; without one of their keys in the request it is not watched",
        first_token: "as theirs",
        usage: "as theirs",
        end: "as theirs",
        errors: "as theirs",
    },
};

/// TGI, where the request tells.
pub(crate) static TGI: Dialect = Dialect {
    name: "tgi_generate",
    operation: "text_completion",
    provider: "tgi",
    routes: &["^/", "/invocations", "^/vertex"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: MARKED,
    about: TGI_ABOUT,
};

/// TGI, where the path tells.
pub(crate) static TGI_STREAM: Dialect = Dialect {
    name: "tgi_generate_stream",
    operation: "text_completion",
    provider: "tgi",
    routes: &["/generate_stream"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        ..Rules::PLAIN
    },
    about: TGI_ABOUT,
};

/// SGLang.
pub(crate) static SGLANG: Dialect = Dialect {
    name: "sglang_generate",
    operation: "text_completion",
    provider: "sglang",
    routes: &[],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::PLAIN,
    about: About {
        servers: "SGLang, LMDeploy",
        recognised_by: "the key `text` or `input_ids` of a request to `/generate`",
        first_token: "first event whose `text`, which is cumulative, is longer than before, or with more `output_ids` where there is no text",
        usage: "`meta_info`; the elements of a batch are summed",
        end: "`[DONE]`",
        errors: "`error` as object or text, also inside a stream",
    },
};

/// Whoever takes a `prompt`.
pub(crate) static PROMPT: Dialect = Dialect {
    name: "prompt_generate",
    operation: "text_completion",
    provider: "unknown",
    routes: &[],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::PLAIN,
    about: About {
        servers: "JetStream's HTTP front, vLLM's plain server",
        recognised_by: "the key `prompt` of a request to `/generate`",
        first_token: "first event with non-empty `text` or `response`",
        usage: "none",
        end: "`[DONE]`, or the answer's end",
        errors: "`error` as object or text",
    },
};
