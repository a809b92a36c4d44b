//! Google's Gemini, as the Gemini API and Vertex AI speak it.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, ERROR_CODE, ERROR_MESSAGE, Place, TokenKind, one_or_list, tokens,
};
use crate::dialect::{About, Dialect, EndRule, Rules, UsageRule};
use crate::request_places::{RequestNode, RequestPlace, request};

/// The API takes either spelling of a key.
static REQUEST: RequestNode = request(&[
    Node::branch("generationConfig", CONFIG),
    Node::branch("generation_config", CONFIG),
]);
const CONFIG: &[RequestNode] = &[
    Node::leaf("maxOutputTokens", RequestPlace::MaxOutputTokens),
    Node::leaf("max_output_tokens", RequestPlace::MaxOutputTokens),
    Node::leaf("candidateCount", RequestPlace::Choices),
    Node::leaf("candidate_count", RequestPlace::Choices),
];

const PART: AnswerNode = Node::tagged(
    "[]",
    Place::Part,
    &[
        Node::leaf("text", Place::PartText),
        Node::leaf("thought", Place::PartIsThought),
        Node::branch("functionCall", &[Node::leaf("name", Place::CalledTool)]),
        Node::branch("executableCode", &[Node::leaf("code", Place::Visible)]),
        Node::branch("inlineData", &[Node::leaf("mimeType", Place::Visible)]),
    ],
);
const CANDIDATES: AnswerNode = Node::branch(
    "candidates",
    &[Node::tagged(
        "[]",
        Place::Choice,
        &[
            Node::branch("content", &[Node::branch("parts", &[PART])]),
            Node::leaf("finishReason", Place::Finish),
            Node::leaf("index", Place::ChoiceIndex),
        ],
    )],
);
const USAGE: AnswerNode = Node::branch(
    "usageMetadata",
    &[
        tokens("promptTokenCount", TokenKind::Input),
        tokens("candidatesTokenCount", TokenKind::Output),
        tokens("cachedContentTokenCount", TokenKind::CachedInput),
        tokens("thoughtsTokenCount", TokenKind::Reasoning),
    ],
);
const MODEL_VERSION: AnswerNode = Node::leaf("modelVersion", Place::Model);
const PROMPT_FEEDBACK: AnswerNode = Node::branch(
    "promptFeedback",
    &[Node::leaf("blockReason", Place::Blocked)],
);
const ERROR: AnswerNode = Node::tagged(
    "error",
    Place::Error,
    &[
        ERROR_MESSAGE,
        Node::leaf("status", Place::ErrorCode),
        ERROR_CODE,
    ],
);
/// An error may stand in an array of one element.
static ANSWER: AnswerNode = one_or_list!(
    [CANDIDATES, USAGE, MODEL_VERSION, PROMPT_FEEDBACK, ERROR],
    alone: []
);

const RULES: Rules = Rules {
    usage: UsageRule::OutputPlusReasoning,
    end: EndRule::Finish,
    ..Rules::PLAIN
};
const FIRST_TOKEN: &str =
    "first `candidates[].content.parts[]` with non-empty text, a thought or a function call";
const USAGE_TEXT: &str = "`usageMetadata`, cumulative, the last one counting; `thoughtsTokenCount` is added to the output";
const ERRORS: &str = "`error` with a numeric `code`, also in an array of one element or inside a stream; `promptFeedback.blockReason` is a content filter";

/// `:generateContent`.
pub(crate) static GENERATE: Dialect = Dialect {
    name: "gemini_generate",
    operation: "generate_content",
    provider: "gcp.gemini",
    routes: &["/models/{model}:generateContent"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: RULES,
    about: About {
        servers: "Gemini API, Vertex AI",
        recognised_by: "the path, which also names the model",
        first_token: FIRST_TOKEN,
        usage: USAGE_TEXT,
        end: "the answer's end",
        errors: ERRORS,
    },
};

/// `:streamGenerateContent`.
pub(crate) static STREAM: Dialect = Dialect {
    name: "gemini_stream",
    operation: "generate_content",
    provider: "gcp.gemini",
    routes: &["/models/{model}:streamGenerateContent"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        answer_is_sequence: true,
        ..RULES
    },
    about: About {
        servers: "Gemini API, Vertex AI",
        recognised_by: "the path, which also names the model; server-sent events with `alt=sse`, otherwise an array whose elements come one by one",
        first_token: FIRST_TOKEN,
        usage: USAGE_TEXT,
        end: "the event with `finishReason`",
        errors: ERRORS,
    },
};
