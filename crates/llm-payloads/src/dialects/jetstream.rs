//! JetStream's HTTP server.

use json_scan::Node;

use crate::answer_places::{AnswerNode, DETAIL, ERROR, Place};
use crate::dialect::{About, Dialect, EndRule, Rules, UsageRule};
use crate::request_places::{RequestNode, RequestPlace, request};

static REQUEST: RequestNode = request(&[
    Node::leaf("max_tokens", RequestPlace::MaxOutputTokens),
    Node::leaf("maxTokens", RequestPlace::MaxOutputTokens),
    Node::leaf("numSamples", RequestPlace::Choices),
    Node::leaf("num_samples", RequestPlace::Choices),
]);

const SAMPLE: &[AnswerNode] = &[
    Node::leaf("text", Place::Visible),
    Node::leaf("tokenIds", Place::OutputIds),
    Node::leaf("token_ids", Place::OutputIds),
];
const CONTENT: &[AnswerNode] = &[Node::branch("samples", &[Node::branch("[]", SAMPLE)])];
static ANSWER: AnswerNode = Node::root(&[
    Node::branch("streamContent", CONTENT),
    Node::branch("stream_content", CONTENT),
    ERROR,
    DETAIL,
]);

/// `/v1/generate`.
pub(crate) static HTTP: Dialect = Dialect {
    name: "jetstream_http",
    operation: "text_completion",
    provider: "jetstream",
    routes: &["/v1/generate"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules {
        streams_by_default: true,
        end: EndRule::Close,
        usage: UsageRule::Counted,
        ..Rules::PLAIN
    },
    about: About {
        servers: "JetStream",
        recognised_by: "the path; JSON documents one after the other, labelled as an event stream",
        first_token: "first `streamContent.samples[]` with text or tokens; `initialContent` is no token",
        usage: "the `tokenIds` of the events, counted; no input",
        end: "the stream's end",
        errors: "`error`, or `detail`",
    },
};
