//! Which span is made, and which one stands above it.

use crate::TraceContext;

/// A span's own position in a trace, and its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanIdentity {
    /// The span's own position. The flags of a child are its parent's.
    pub context: TraceContext,
    /// The span above it, which somebody else makes.
    pub parent_span_id: Option<[u8; 8]>,
}

impl SpanIdentity {
    /// A span below one that a header named, out of random bytes.
    #[must_use]
    pub fn child_of(parent: &TraceContext, random: [u8; 8]) -> Self {
        Self {
            context: parent.child(random),
            parent_span_id: Some(parent.span_id),
        }
    }

    /// The only span of a new trace, out of random bytes.
    #[must_use]
    pub fn root(random: [u8; 24]) -> Self {
        Self {
            context: TraceContext::from_random(random),
            parent_span_id: None,
        }
    }
}
