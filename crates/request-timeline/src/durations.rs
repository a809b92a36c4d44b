//! The durations of one request, each with its definition.

/// How long the parts of one request took, in nanoseconds; `None` where a part never began or never ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Request headers to the end of the exchange.
    pub request: Option<u64>,
    /// Request headers to the last byte of the request body.
    pub time_to_request_end: Option<u64>,
    /// Request headers to response headers.
    pub time_to_response_headers: Option<u64>,
    /// Request headers to the first non-empty response body chunk.
    pub time_to_first_byte: Option<u64>,
    /// Request headers to the chunk that completed the first event with generated output.
    pub time_to_first_token: Option<u64>,
    /// Request headers to the chunk that completed the first event with generated output other than reasoning.
    pub time_to_first_visible_token: Option<u64>,
    /// First token to last token.
    pub decode: Option<u64>,
    /// The longest silence after the first token: between two output events of whichever choice, or between the
    /// last of them and the terminal event (the end of the exchange, where no terminal event came). A stream that
    /// stalls and is then given up therefore shows its stall.
    pub max_gap: Option<u64>,
}
