//! How much of an answer's usage is known, and why the rest is not.

/// How much of an answer's usage the server stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageStatus {
    /// Input and output (for embeddings, which generate none: input).
    Reported,
    /// One of the two, or not all of it.
    Partial,
    /// Neither, but output events were counted.
    Estimated,
    /// Nothing is known.
    Missing,
}

impl UsageStatus {
    /// Every status, for tables and tests.
    pub const ALL: [Self; 4] = [
        Self::Reported,
        Self::Partial,
        Self::Estimated,
        Self::Missing,
    ];

    /// The status in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Partial => "partial",
            Self::Estimated => "estimated",
            Self::Missing => "missing",
        }
    }
}

/// Why usage is not fully reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageReason {
    /// It is.
    None,
    /// No answer came from a server.
    NoResponse,
    /// The answer was an error, or carried one.
    Error,
    /// The answer was compressed in a way that is not known.
    Compressed,
    /// Decompressing the answer was given up: it was corrupt, or went beyond a limit.
    DecompressionGivenUp,
    /// Messages of the answer were compressed one by one.
    CompressedMessage,
    /// The answer had a content type that is not read.
    UnknownType,
    /// Bytes of the answer went by without being seen.
    BytesNotSeen,
    /// The answer could not be read as JSON.
    Unparsable,
    /// The answer stated its usage for more choices than are followed.
    TooManyChoices,
    /// The answer broke off before its end.
    StreamAborted,
    /// The client did not ask for usage in its stream.
    NoUsageRequested,
    /// The answer came whole, and the server did not state it.
    NotSent,
}

impl UsageReason {
    /// Every reason, for tables and tests.
    pub const ALL: [Self; 13] = [
        Self::None,
        Self::NoResponse,
        Self::Error,
        Self::Compressed,
        Self::DecompressionGivenUp,
        Self::CompressedMessage,
        Self::UnknownType,
        Self::BytesNotSeen,
        Self::Unparsable,
        Self::TooManyChoices,
        Self::StreamAborted,
        Self::NoUsageRequested,
        Self::NotSent,
    ];

    /// The reason in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NoResponse => "no_response",
            Self::Error => "error",
            Self::Compressed => "compressed",
            Self::DecompressionGivenUp => "decompression_given_up",
            Self::CompressedMessage => "compressed_message",
            Self::UnknownType => "unknown_type",
            Self::BytesNotSeen => "bytes_not_seen",
            Self::Unparsable => "unparsable",
            Self::TooManyChoices => "too_many_choices",
            Self::StreamAborted => "stream_aborted",
            Self::NoUsageRequested => "no_usage_requested",
            Self::NotSent => "not_sent",
        }
    }
}
