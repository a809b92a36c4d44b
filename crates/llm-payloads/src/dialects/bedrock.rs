//! Amazon Bedrock: Converse, and InvokeModel with each model's own JSON.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, ERROR, ERROR_MESSAGE, GENERATED, MODEL, Place, STOP_REASON, TYPE, TokenKind,
    tokens, usage,
};
use crate::dialect::{About, Dialect, EndRule, Rules, UsageRule, Wrapping};
use crate::request_places::{MAX_TOKENS, RequestNode, RequestPlace, request};

use super::anthropic::{BLOCK, CONTENT_BLOCK, PARTIAL_JSON, TEXT, THINKING};

const CONFIG: RequestNode = Node::branch(
    "inferenceConfig",
    &[
        Node::leaf("maxTokens", RequestPlace::MaxOutputTokens),
        Node::leaf("max_new_tokens", RequestPlace::MaxOutputTokens),
    ],
);
static CONVERSE_REQUEST: RequestNode = request(&[CONFIG]);
/// The limits of Anthropic, Mistral and Cohere, of Nova, of Llama, and of Titan.
static INVOKE_REQUEST: RequestNode = request(&[
    MAX_TOKENS,
    CONFIG,
    Node::leaf("max_gen_len", RequestPlace::MaxOutputTokens),
    Node::branch(
        "textGenerationConfig",
        &[Node::leaf("maxTokenCount", RequestPlace::MaxOutputTokens)],
    ),
]);

const USAGE: AnswerNode = usage(&[
    tokens("inputTokens", TokenKind::Input),
    tokens("outputTokens", TokenKind::Output),
    tokens("cacheReadInputTokens", TokenKind::CachedInput),
    tokens("cacheWriteInputTokens", TokenKind::CacheWriteInput),
    // Anthropic's own names, of a model that is invoked.
    tokens("input_tokens", TokenKind::Input),
    tokens("output_tokens", TokenKind::Output),
    tokens("cache_read_input_tokens", TokenKind::CachedInput),
    tokens("cache_creation_input_tokens", TokenKind::CacheWriteInput),
    // OpenAI's, of Mistral, DeepSeek and OpenAI's own open models.
    tokens("prompt_tokens", TokenKind::Input),
    tokens("completion_tokens", TokenKind::Output),
]);
const REASONING: AnswerNode = Node::branch(
    "reasoningContent",
    &[
        Node::leaf("text", Place::Reasoning),
        Node::branch("reasoningText", &[Node::leaf("text", Place::Reasoning)]),
    ],
);
const DELTA: AnswerNode = Node::branch(
    "delta",
    &[
        TEXT,
        Node::branch("toolUse", &[Node::leaf("input", Place::Visible)]),
        REASONING,
        // Anthropic's.
        THINKING,
        PARTIAL_JSON,
        STOP_REASON,
    ],
);
const START: AnswerNode = Node::branch(
    "start",
    &[Node::branch(
        "toolUse",
        &[Node::leaf("name", Place::Visible)],
    )],
);
const STOP: AnswerNode = Node::leaf("stopReason", Place::FinalReason);
const OUTPUT_MESSAGE: AnswerNode = Node::branch(
    "output",
    &[Node::branch(
        "message",
        &[Node::branch(
            "content",
            &[Node::branch(
                "[]",
                &[
                    Node::leaf("text", Place::Visible),
                    Node::branch("toolUse", &[Node::leaf("name", Place::Visible)]),
                    REASONING,
                ],
            )],
        )],
    )],
);
static CONVERSE_ANSWER: AnswerNode =
    Node::root(&[DELTA, START, STOP, USAGE, OUTPUT_MESSAGE, ERROR_MESSAGE]);

const METRICS: AnswerNode = Node::branch(
    "amazon-bedrock-invocationMetrics",
    &[
        tokens("inputTokenCount", TokenKind::Input),
        tokens("outputTokenCount", TokenKind::Output),
        tokens("cacheReadInputTokenCount", TokenKind::CachedInput),
        tokens("cacheWriteInputTokenCount", TokenKind::CacheWriteInput),
    ],
);
const CHOICES: AnswerNode = Node::branch(
    "choices",
    &[Node::branch(
        "[]",
        &[
            Node::branch("delta", GENERATED),
            Node::branch("message", GENERATED),
            Node::leaf("text", Place::Visible),
            Node::leaf("finish_reason", Place::Finish),
            STOP_REASON,
        ],
    )],
);
/// The forms of the model families, side by side: no key means two things.
static INVOKE_ANSWER: AnswerNode = Node::root(&[
    // Anthropic.
    TYPE,
    DELTA,
    CONTENT_BLOCK,
    USAGE,
    Node::tagged("message", Place::ErrorMessage, &[MODEL, USAGE, STOP_REASON]),
    MODEL,
    STOP_REASON,
    Node::branch("content", &[Node::branch("[]", BLOCK)]),
    // Amazon Nova.
    Node::branch("contentBlockDelta", &[DELTA]),
    Node::branch("contentBlockStart", &[START]),
    Node::branch("messageStop", &[STOP]),
    Node::branch("metadata", &[USAGE]),
    STOP,
    OUTPUT_MESSAGE,
    // Amazon Titan.
    Node::leaf("outputText", Place::Visible),
    Node::leaf("completionReason", Place::FinalReason),
    tokens("inputTextTokenCount", TokenKind::Input),
    tokens("totalOutputTextTokenCount", TokenKind::Output),
    Node::branch(
        "results",
        &[Node::branch(
            "[]",
            &[
                tokens("tokenCount", TokenKind::Output),
                Node::leaf("outputText", Place::Visible),
                Node::leaf("completionReason", Place::FinalReason),
            ],
        )],
    ),
    // Meta Llama.
    Node::leaf("generation", Place::Visible),
    tokens("prompt_token_count", TokenKind::Input),
    tokens("generation_token_count", TokenKind::Output),
    // Mistral.
    Node::branch(
        "outputs",
        &[Node::branch(
            "[]",
            &[Node::leaf("text", Place::Visible), STOP_REASON],
        )],
    ),
    // Cohere.
    Node::leaf("text", Place::Visible),
    Node::leaf("finish_reason", Place::FinalReason),
    Node::branch(
        "generations",
        &[Node::branch(
            "[]",
            &[
                Node::leaf("text", Place::Visible),
                Node::leaf("finish_reason", Place::Finish),
            ],
        )],
    ),
    CHOICES,
    METRICS,
    ERROR,
]);

const ERRORS: &str = "a message whose `:message-type` is `exception` or `error`; before the stream `{message}` with the status";
const CONVERSE_USAGE: &str = "`usage`, in a stream of the event `metadata` after `messageStop`; read from and written to the cache is added to the input";
const CONVERSE_TOKEN: &str = "first `contentBlockDelta` with non-empty text, tool input or reasoning, or the beginning of a block that names a tool";
const INVOKE_USAGE: &str = "the model's own, and `amazon-bedrock-invocationMetrics` of the last chunk; headers `x-amzn-bedrock-*` of a whole answer";
const INVOKE_TOKEN: &str = "first chunk with output in the form of Anthropic, Nova, Titan, Llama, Mistral, Cohere or OpenAI";
const PARTS: Rules = Rules {
    usage: UsageRule::InputParts,
    ..Rules::PLAIN
};

/// `/converse`.
pub(crate) static CONVERSE: Dialect = Dialect {
    name: "bedrock_converse",
    operation: "chat",
    provider: "aws.bedrock",
    routes: &["/model/{model}/converse"],
    request: &CONVERSE_REQUEST,
    answer: &CONVERSE_ANSWER,
    messages: None,
    rules: PARTS,
    about: About {
        servers: "Amazon Bedrock",
        recognised_by: "the path, which also names the model",
        first_token: "none: it is not streamed",
        usage: CONVERSE_USAGE,
        end: "the answer's end",
        errors: ERRORS,
    },
};

/// `/converse-stream`.
pub(crate) static CONVERSE_STREAM: Dialect = Dialect {
    name: "bedrock_converse_stream",
    operation: "chat",
    provider: "aws.bedrock",
    routes: &["/model/{model}/converse-stream"],
    request: &CONVERSE_REQUEST,
    answer: &CONVERSE_ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        ..PARTS
    },
    about: About {
        servers: "Amazon Bedrock",
        recognised_by: "the path, which also names the model; an AWS event stream",
        first_token: CONVERSE_TOKEN,
        usage: CONVERSE_USAGE,
        end: "`messageStop`",
        errors: ERRORS,
    },
};

/// `/invoke`.
pub(crate) static INVOKE: Dialect = Dialect {
    name: "bedrock_invoke",
    operation: "text_completion",
    provider: "aws.bedrock",
    routes: &["/model/{model}/invoke"],
    request: &INVOKE_REQUEST,
    answer: &INVOKE_ANSWER,
    messages: None,
    rules: PARTS,
    about: About {
        servers: "Amazon Bedrock",
        recognised_by: "the path, which also names the model",
        first_token: "none: it is not streamed",
        usage: INVOKE_USAGE,
        end: "the answer's end",
        errors: ERRORS,
    },
};

/// `/invoke-with-response-stream`.
pub(crate) static INVOKE_STREAM: Dialect = Dialect {
    name: "bedrock_invoke_stream",
    operation: "text_completion",
    provider: "aws.bedrock",
    routes: &["/model/{model}/invoke-with-response-stream"],
    request: &INVOKE_REQUEST,
    answer: &INVOKE_ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        // The chunk that ends generation differs from family to family, and the last one follows it.
        end: EndRule::Close,
        wrapping: Wrapping::Base64Bytes,
        ..PARTS
    },
    about: About {
        servers: "Amazon Bedrock",
        recognised_by: "the path, which also names the model; an AWS event stream whose chunks hold the model's own JSON in base64",
        first_token: INVOKE_TOKEN,
        usage: INVOKE_USAGE,
        end: "the stream's end",
        errors: ERRORS,
    },
};
