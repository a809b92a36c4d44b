//! OpenAI's chat completions, completions and embeddings, as it and the engines that follow it speak them.

use json_scan::Node;

use crate::answer_places::{
    AnswerNode, DETAIL, ERROR, ERROR_CODE, ERROR_MESSAGE, ERROR_TYPE, GENERATED, MODEL, OBJECT,
    OPENAI_USAGE, Place, TIMINGS, TokenKind, one_or_list, tokens,
};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{
    CHOICES, ECHO, KV_TRANSFER, MAX_TOKENS, MODEL as REQUESTED_MODEL, PROMPT, REQUEST_ID,
    RequestNode, RequestPlace, STREAM, STREAM_OPTIONS, request,
};

const MESSAGE_CONTENT: RequestNode = Node::tagged(
    "content",
    RequestPlace::MessageText,
    &[Node::branch(
        "[]",
        &[Node::leaf("text", RequestPlace::MessageText)],
    )],
);
const MESSAGES: RequestNode = Node::branch(
    "messages",
    &[Node::tagged(
        "[]",
        RequestPlace::Message,
        &[MESSAGE_CONTENT],
    )],
);
const MAX_COMPLETION_TOKENS: RequestNode =
    Node::leaf("max_completion_tokens", RequestPlace::MaxOutputTokens);
/// llama.cpp's own name, on the path that it shares.
const LLAMACPP_LIMIT: RequestNode = Node::leaf("n_predict", RequestPlace::MaxOutputTokens);

static CHAT_REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    MESSAGES,
    STREAM,
    STREAM_OPTIONS,
    MAX_TOKENS,
    MAX_COMPLETION_TOKENS,
    CHOICES,
    ECHO,
    KV_TRANSFER,
    REQUEST_ID,
]);
static COMPLETIONS_REQUEST: RequestNode = request(&[
    REQUESTED_MODEL,
    PROMPT,
    STREAM,
    STREAM_OPTIONS,
    MAX_TOKENS,
    LLAMACPP_LIMIT,
    CHOICES,
    ECHO,
    KV_TRANSFER,
    REQUEST_ID,
]);
static EMBEDDINGS_REQUEST: RequestNode = request(&[REQUESTED_MODEL]);

const ANSWER_CHOICES: AnswerNode = Node::branch(
    "choices",
    &[Node::tagged(
        "[]",
        Place::Choice,
        &[
            Node::leaf("index", Place::ChoiceIndex),
            Node::branch("delta", GENERATED),
            Node::leaf("text", Place::Visible),
            Node::leaf("finish_reason", Place::Finish),
            Node::leaf("token_ids", Place::TokenIds),
            Node::branch("logprobs", &[Node::leaf("content", Place::Logprobs)]),
            Node::branch("message", GENERATED),
        ],
    )],
);
/// Groq states the usage of a stream here.
const GROQ: AnswerNode = Node::branch("x_groq", &[OPENAI_USAGE]);
/// llama.cpp's own completions share the path `/completions`.
const LLAMACPP_INDEX: AnswerNode = Node::leaf("index", Place::AnswerIndex);
const LLAMACPP_CONTENT: AnswerNode = Node::leaf("content", Place::Visible);
const LLAMACPP_STOP: AnswerNode = Node::leaf("stop", Place::Done);
const LLAMACPP_STOP_TYPE: AnswerNode = Node::leaf("stop_type", Place::Finish);
const LLAMACPP_EVALUATED: AnswerNode = tokens("tokens_evaluated", TokenKind::Input);
const LLAMACPP_PREDICTED: AnswerNode = tokens("tokens_predicted", TokenKind::Output);

/// The top of an answer, and what one of completions has besides. The error's fields also stand at the top: SGLang and
/// older engines write their errors flat.
macro_rules! answer {
    ($($besides:expr),* $(,)?) => {
        one_or_list!(
            [
                OBJECT,
                MODEL,
                ANSWER_CHOICES,
                OPENAI_USAGE,
                TIMINGS,
                ERROR,
                ERROR_MESSAGE,
                ERROR_TYPE,
                ERROR_CODE,
                $($besides),*
            ],
            alone: [GROQ, DETAIL]
        )
    };
}
pub(super) static ANSWER: AnswerNode = answer!();
static COMPLETIONS_ANSWER: AnswerNode = answer!(
    LLAMACPP_INDEX,
    LLAMACPP_CONTENT,
    LLAMACPP_STOP,
    LLAMACPP_STOP_TYPE,
    LLAMACPP_EVALUATED,
    LLAMACPP_PREDICTED,
);

const RULES: Rules = Rules {
    usage_is_asked_for: true,
    ..Rules::PLAIN
};
const SERVERS: &str = "OpenAI, Azure OpenAI, vLLM, SGLang, TGI, TensorRT-LLM, LMDeploy, Dynamo, Ray Serve LLM, Triton's OpenAI frontend, llama.cpp, llama-cpp-python, Ollama, DeepSeek, Groq, OpenRouter";
const USAGE: &str = "`usage`, with the cache in `prompt_tokens_details.cached_tokens` (DeepSeek `prompt_cache_hit_tokens`), reasoning in `completion_tokens_details.reasoning_tokens` (SGLang `usage.reasoning_tokens`); Groq's streams in `x_groq.usage`; llama.cpp's `timings` where it is silent";
const END: &str = "`[DONE]`; a whole answer by its end";
const ERRORS: &str = "`error` as object or text, or flat with `object: \"error\"`, also inside a stream that then says `[DONE]`; a field `error:` of the stream (older llama.cpp); an event named `error` (Dynamo)";

/// `/chat/completions`.
pub(crate) static CHAT_COMPLETIONS: Dialect = Dialect {
    name: "chat_completions",
    operation: "chat",
    provider: "openai",
    routes: &["/chat/completions"],
    request: &CHAT_REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: RULES,
    about: About {
        servers: SERVERS,
        recognised_by: "the path",
        first_token: "first `delta` with non-empty `content`, `reasoning_content`, `reasoning`, `refusal`, or a tool call's name or arguments",
        usage: USAGE,
        end: END,
        errors: ERRORS,
    },
};

/// `/completions`.
pub(crate) static COMPLETIONS: Dialect = Dialect {
    name: "completions",
    operation: "text_completion",
    provider: "openai",
    routes: &["/completions"],
    request: &COMPLETIONS_REQUEST,
    answer: &COMPLETIONS_ANSWER,
    messages: None,
    rules: RULES,
    about: About {
        servers: SERVERS,
        recognised_by: "the path; llama.cpp's native keys are read here too",
        first_token: "first choice with non-empty `text`, or non-empty `content` (llama.cpp)",
        usage: USAGE,
        end: END,
        errors: ERRORS,
    },
};

/// `/embeddings`.
pub(crate) static EMBEDDINGS: Dialect = Dialect {
    name: "embeddings",
    operation: "embeddings",
    provider: "openai",
    routes: &["/embeddings"],
    request: &EMBEDDINGS_REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::UNGENERATED,
    about: About {
        servers: SERVERS,
        recognised_by: "the path",
        first_token: "none: it generates nothing",
        usage: "`usage.prompt_tokens`",
        end: "the answer's end",
        errors: ERRORS,
    },
};
