//! How a request ended, in one bounded vocabulary.

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The answer came whole.
    Success,
    /// The client left before the answer was whole.
    ClientCancel,
    /// The upstream broke off.
    UpstreamReset,
    /// Somebody waited too long: the proxy, or the server by its status.
    Timeout,
    /// No connection to an upstream could be had.
    Connect,
    /// The server or the proxy had no room.
    Overloaded,
    /// A rate was exceeded.
    RateLimited,
    /// The request was refused as wrong.
    InvalidRequest,
    /// The request did not fit the model's context.
    ContextLength,
    /// A content filter refused the request or cut the answer.
    ContentFilter,
    /// The answer began well and carried an error.
    InStreamError,
    /// The answer ended without its terminal event.
    TruncatedStream,
    /// The answer was not what its content type promised.
    MalformedStream,
    /// The proxy answered by itself.
    LocalReply,
    /// Any other status than 2xx from the upstream.
    HttpError,
}

impl Outcome {
    /// Every outcome, for tables and tests.
    pub const ALL: [Self; 15] = [
        Self::Success,
        Self::ClientCancel,
        Self::UpstreamReset,
        Self::Timeout,
        Self::Connect,
        Self::Overloaded,
        Self::RateLimited,
        Self::InvalidRequest,
        Self::ContextLength,
        Self::ContentFilter,
        Self::InStreamError,
        Self::TruncatedStream,
        Self::MalformedStream,
        Self::LocalReply,
        Self::HttpError,
    ];

    /// The outcome in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ClientCancel => "client_cancel",
            Self::UpstreamReset => "upstream_reset",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::InvalidRequest => "invalid_request",
            Self::ContextLength => "context_length",
            Self::ContentFilter => "content_filter",
            Self::InStreamError => "in_stream_error",
            Self::TruncatedStream => "truncated_stream",
            Self::MalformedStream => "malformed_stream",
            Self::LocalReply => "local_reply",
            Self::HttpError => "http_error",
        }
    }
}
