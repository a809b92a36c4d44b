//! Outbound calls: what a module sent, to be answered by the test.

use std::collections::BTreeSet;

/// Header pairs as bytes.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// An HTTP call that a module has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCall {
    /// The virtual machine that sent it.
    pub vm: u32,
    /// The root context that its answer goes to.
    pub root: u32,
    /// The number that its answer names.
    pub token: u32,
    /// The cluster.
    pub cluster: String,
    /// The request's headers.
    pub headers: Pairs,
    /// The request's body.
    pub body: Vec<u8>,
    /// The time limit; 0 is none.
    pub timeout_ms: u32,
}

/// The answer to an HTTP call. The default one, without any headers, is how a failed call looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpCallAnswer {
    /// The headers, `:status` among them.
    pub headers: Pairs,
    /// The body.
    pub body: Vec<u8>,
    /// The trailers.
    pub trailers: Pairs,
}

impl HttpCallAnswer {
    /// An answer with these headers.
    #[must_use]
    pub fn of(headers: &[(&str, &str)], body: &[u8]) -> HttpCallAnswer {
        HttpCallAnswer {
            headers: pairs(headers),
            body: body.to_vec(),
            trailers: Pairs::new(),
        }
    }

    /// The same answer with these trailers.
    #[must_use]
    pub fn and_trailers(self, trailers: &[(&str, &str)]) -> HttpCallAnswer {
        HttpCallAnswer {
            trailers: pairs(trailers),
            ..self
        }
    }
}

fn pairs(texts: &[(&str, &str)]) -> Pairs {
    texts
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

/// A gRPC call that a module has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcCall {
    /// The virtual machine that sent it.
    pub vm: u32,
    /// The root context that its answer goes to.
    pub root: u32,
    /// The number that its answer names.
    pub token: u32,
    /// The target, as the module gave it.
    pub target: Vec<u8>,
    /// The service.
    pub service: String,
    /// The method.
    pub method: String,
    /// The message.
    pub message: Vec<u8>,
    /// The time limit; 0 is none.
    pub timeout_ms: u32,
}

/// What was sent and not yet taken by the test.
#[derive(Debug)]
pub(super) struct OutboundCalls {
    pub(super) clusters: BTreeSet<String>,
    pub(super) http: Vec<HttpCall>,
    pub(super) grpc: Vec<GrpcCall>,
    last_token: u32,
}

impl OutboundCalls {
    pub(super) fn new(clusters: BTreeSet<String>) -> OutboundCalls {
        OutboundCalls {
            clusters,
            http: Vec::new(),
            grpc: Vec::new(),
            last_token: 0,
        }
    }

    pub(super) fn number(&mut self) -> u32 {
        self.last_token += 1;
        self.last_token
    }
}
