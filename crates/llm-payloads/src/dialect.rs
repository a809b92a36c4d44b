//! What makes a server's language: where its requests go, what stands where in its payloads, and what that means.

use json_scan::Node;
use protobuf_scan::Field;

use crate::answer_places::Place;
use crate::request_places::RequestPlace;

/// One server's language on some of its endpoints.
#[derive(Debug)]
pub struct Dialect {
    /// Its name in snake case: a word of the configuration, and what its tests are called by.
    pub name: &'static str,
    /// The operation as the semantic conventions name it.
    pub operation: &'static str,
    /// The provider as the semantic conventions name it, or a word of our own for an engine that they do not know.
    pub provider: &'static str,
    /// The ends of the paths that lead to it, each beginning at a segment. `{model}` stands for the model's name,
    /// `{}` for any segment; a route that begins with `^` is a whole path.
    pub routes: &'static [&'static str],
    /// What is looked at in its requests.
    pub(crate) request: &'static Node<RequestPlace>,
    /// What is looked at in its answers.
    pub(crate) answer: &'static Node<Place>,
    /// The same for messages, where it is spoken over gRPC.
    pub(crate) messages: Option<Messages>,
    /// What that means.
    pub rules: Rules,
    /// The same for people.
    pub about: About,
}

/// What is looked at in messages of protocol buffers.
#[derive(Debug)]
pub(crate) struct Messages {
    pub(crate) request: &'static [Field<RequestPlace>],
    pub(crate) answer: &'static [Field<Place>],
}

/// What the values of a dialect mean.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether its answers are generated, so that they have output tokens.
    pub generates: bool,
    /// How its token numbers add up.
    pub usage: UsageRule,
    /// Whether its streams state usage only if the request asks for it.
    pub usage_is_asked_for: bool,
    /// Whether its answers are streams unless the request says otherwise.
    pub streams_by_default: bool,
    /// Whether an answer that is labelled as JSON is an array whose elements come one by one.
    pub answer_is_sequence: bool,
    /// What ends its streams.
    pub end: EndRule,
    /// Whether the path alone does not tell that a model is asked: a key of the request's body must.
    pub needs_marker: bool,
    /// What the payloads of its streams are wrapped in.
    pub wrapping: Wrapping,
}

impl Rules {
    /// Those of a dialect in which nothing is special.
    pub(crate) const PLAIN: Self = Self {
        generates: true,
        usage: UsageRule::Inclusive,
        usage_is_asked_for: false,
        streams_by_default: false,
        answer_is_sequence: false,
        end: EndRule::Marker,
        needs_marker: false,
        wrapping: Wrapping::None,
    };

    /// Those of a dialect in which nothing is special but that it generates nothing.
    pub(crate) const UNGENERATED: Self = Self {
        generates: false,
        ..Self::PLAIN
    };
}

/// How the token numbers of a dialect add up to those of [`Usage`](crate::Usage).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageRule {
    /// The input holds the cached part, the output the reasoning.
    Inclusive,
    /// The input leaves out what was read from the cache and written to it.
    InputParts,
    /// The output leaves out the reasoning.
    OutputPlusReasoning,
    /// The output is not stated, but each event holds its tokens, which are counted.
    Counted,
}

/// What ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndRule {
    /// An event that says nothing else, such as `[DONE]`, or a flag in the last one.
    Marker,
    /// The event that tells why generation ended.
    Finish,
    /// Nothing but the end of the body.
    Close,
    /// The status of gRPC.
    GrpcStatus,
}

/// What a payload is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// Nothing.
    None,
    /// The member `bytes` of an object, in base64.
    Base64Bytes,
}

/// A dialect in words: a row of `docs/FORMATS.md`.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Who speaks it.
    pub servers: &'static str,
    /// What it is told by, besides the path.
    pub recognised_by: &'static str,
    /// The event that holds the first token.
    pub first_token: &'static str,
    /// Where the token numbers stand.
    pub usage: &'static str,
    /// What ends an answer.
    pub end: &'static str,
    /// What errors look like.
    pub errors: &'static str,
}
