//! The places in a request that are looked at, and the parts that several dialects share.

use json_scan::Node;

use crate::Api;

/// What stands at a wanted place of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestPlace {
    /// The whole document.
    Root,
    Model,
    Stream,
    IncludeUsage,
    Choices,
    MaxOutputTokens,
    Echo,
    Background,
    Prompt,
    PromptElement,
    Message,
    MessageText,
    /// A key that tells which of the dialects on a path is spoken; its value may be a prompt or several.
    Speaks(Api),
    /// Whether another server will generate what this one is to prepare.
    RemoteDecode,
    /// The client's name for the request.
    RequestId,
}

pub(crate) type RequestNode = Node<RequestPlace>;

/// The top of a request.
pub(crate) const fn request(children: &'static [RequestNode]) -> RequestNode {
    Node::tagged_root(RequestPlace::Root, children)
}

/// A key that tells the dialect.
pub(crate) const fn marker(key: &'static str, api: Api) -> RequestNode {
    Node::tagged(key, RequestPlace::Speaks(api), ELEMENTS)
}

const ELEMENTS: &[RequestNode] = &[Node::leaf("[]", RequestPlace::PromptElement)];

pub(crate) const MODEL: RequestNode = Node::leaf("model", RequestPlace::Model);
pub(crate) const STREAM: RequestNode = Node::leaf("stream", RequestPlace::Stream);
pub(crate) const MAX_TOKENS: RequestNode = Node::leaf("max_tokens", RequestPlace::MaxOutputTokens);
pub(crate) const STREAM_OPTIONS: RequestNode = Node::branch(
    "stream_options",
    &[Node::leaf("include_usage", RequestPlace::IncludeUsage)],
);
pub(crate) const CHOICES: RequestNode = Node::leaf("n", RequestPlace::Choices);
pub(crate) const ECHO: RequestNode = Node::leaf("echo", RequestPlace::Echo);
pub(crate) const PROMPT: RequestNode = Node::tagged("prompt", RequestPlace::Prompt, ELEMENTS);
/// vLLM's, and llm-d's, for a prompt that one server computes and another continues.
pub(crate) const KV_TRANSFER: RequestNode = Node::branch(
    "kv_transfer_params",
    &[Node::leaf("do_remote_decode", RequestPlace::RemoteDecode)],
);
/// SGLang's.
pub(crate) const REQUEST_ID: RequestNode = Node::leaf("rid", RequestPlace::RequestId);
pub(crate) const SAMPLING_CHILDREN: &[RequestNode] = &[
    Node::leaf("n", RequestPlace::Choices),
    Node::leaf("max_new_tokens", RequestPlace::MaxOutputTokens),
    Node::leaf("max_tokens", RequestPlace::MaxOutputTokens),
];
