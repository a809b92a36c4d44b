//! The dialects that are spoken over gRPC: JetStream, vLLM's engine, the open inference protocol.

use json_scan::Node;
use protobuf_scan::Field;

use crate::answer_places::{AnswerNode, Place, TokenKind};
use crate::dialect::{About, Dialect, EndRule, Messages, Rules, UsageRule};
use crate::request_places::{RequestNode, RequestPlace, request};

/// Nothing is JSON here.
static NO_REQUEST: RequestNode = request(&[]);
static NO_ANSWER: AnswerNode = Node::root(&[]);

const STREAMED: Rules = Rules {
    streams_by_default: true,
    end: EndRule::GrpcStatus,
    ..Rules::PLAIN
};
const END: &str = "`grpc-status` 0";
const ERRORS: &str = "another `grpc-status`, in trailers or in headers alone";

static JETSTREAM_REQUEST: [Field<RequestPlace>; 2] = [
    Field::number(4, RequestPlace::MaxOutputTokens),
    Field::number(8, RequestPlace::Choices),
];
static JETSTREAM_SAMPLE: [Field<Place>; 2] = [
    Field::text(1, Place::Visible),
    Field::numbers(2, Place::OutputIds),
];
static JETSTREAM_CONTENT: [Field<Place>; 1] = [Field::message(1, &JETSTREAM_SAMPLE)];
static JETSTREAM_ANSWER: [Field<Place>; 1] = [Field::message(3, &JETSTREAM_CONTENT)];

/// JetStream's `Decode`.
pub(crate) static JETSTREAM_DECODE: Dialect = Dialect {
    name: "jetstream_decode",
    operation: "text_completion",
    provider: "jetstream",
    routes: &["/jetstream_proto.Orchestrator/Decode"],
    request: &NO_REQUEST,
    answer: &NO_ANSWER,
    messages: Some(Messages {
        request: &JETSTREAM_REQUEST,
        answer: &JETSTREAM_ANSWER,
    }),
    rules: Rules {
        usage: UsageRule::Counted,
        ..STREAMED
    },
    about: About {
        servers: "JetStream",
        recognised_by: "the path",
        first_token: "first message with text or tokens in `stream_content.samples`",
        usage: "the `token_ids` of the messages, counted; no input",
        end: END,
        errors: ERRORS,
    },
};

static VLLM_CHUNK: [Field<Place>; 4] = [
    Field::numbers(1, Place::OutputIds),
    Field::number(2, Place::Tokens(TokenKind::Input)),
    Field::number(3, Place::Tokens(TokenKind::Output)),
    Field::number(4, Place::Tokens(TokenKind::CachedInput)),
];
static VLLM_COMPLETE: [Field<Place>; 4] = [
    Field::text(2, Place::Finish),
    Field::number(3, Place::Tokens(TokenKind::Input)),
    Field::number(4, Place::Tokens(TokenKind::Output)),
    Field::number(5, Place::Tokens(TokenKind::CachedInput)),
];
static VLLM_ANSWER: [Field<Place>; 2] = [
    Field::tagged(1, Place::Choice, &VLLM_CHUNK),
    Field::message(2, &VLLM_COMPLETE),
];

/// The `Generate` of vLLM's engine.
pub(crate) static VLLM_GENERATE: Dialect = Dialect {
    name: "vllm_grpc",
    operation: "text_completion",
    provider: "vllm",
    routes: &["/vllm.grpc.engine.VllmEngine/Generate"],
    request: &NO_REQUEST,
    answer: &NO_ANSWER,
    messages: Some(Messages {
        request: &[],
        answer: &VLLM_ANSWER,
    }),
    rules: STREAMED,
    about: About {
        servers: "vLLM",
        recognised_by: "the path",
        first_token: "first `chunk` with `token_ids`",
        usage: "`prompt_tokens`, `completion_tokens` and `cached_tokens` of the last message",
        end: END,
        errors: ERRORS,
    },
};

static INFER_REQUEST: [Field<RequestPlace>; 1] = [Field::text(1, RequestPlace::Model)];
static INFER_ANSWER: [Field<Place>; 1] = [Field::text(1, Place::Model)];
static INFER_CHUNK: [Field<Place>; 3] = [
    Field::text(1, Place::Model),
    Field::tagged(5, Place::Tensor, &[]),
    Field::text(6, Place::Visible),
];
static STREAM_INFER_ANSWER: [Field<Place>; 2] = [
    Field::text(1, Place::Error),
    Field::message(2, &INFER_CHUNK),
];
const INFER_ABOUT: About = About {
    servers: "Triton, KServe",
    recognised_by: "the path; the model's name stands in the request",
    first_token: "first message of a stream with outputs",
    usage: "none",
    end: END,
    errors: "another `grpc-status`; `error_message` of a message of a stream",
};

/// The open inference protocol's `ModelInfer`.
pub(crate) static MODEL_INFER: Dialect = Dialect {
    name: "kserve_grpc",
    operation: "infer",
    provider: "kserve",
    routes: &["/inference.GRPCInferenceService/ModelInfer"],
    request: &NO_REQUEST,
    answer: &NO_ANSWER,
    messages: Some(Messages {
        request: &INFER_REQUEST,
        answer: &INFER_ANSWER,
    }),
    rules: Rules {
        end: EndRule::GrpcStatus,
        ..Rules::UNGENERATED
    },
    about: INFER_ABOUT,
};

/// Triton's `ModelStreamInfer`.
pub(crate) static MODEL_STREAM_INFER: Dialect = Dialect {
    name: "kserve_grpc_stream",
    operation: "infer",
    provider: "kserve",
    routes: &["/inference.GRPCInferenceService/ModelStreamInfer"],
    request: &NO_REQUEST,
    answer: &NO_ANSWER,
    messages: Some(Messages {
        request: &INFER_REQUEST,
        answer: &STREAM_INFER_ANSWER,
    }),
    rules: Rules {
        generates: false,
        ..STREAMED
    },
    about: INFER_ABOUT,
};
