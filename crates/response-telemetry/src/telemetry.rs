//! What the headers of an answer told, as values in fixed units.

use crate::OrcaReport;

/// What the headers or the trailers of one answer told about the inference behind it.
///
/// Nothing is guessed: what no header told is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Tokens of the input, those from a cache included.
    pub input_tokens: Option<u64>,
    /// Generated tokens.
    pub output_tokens: Option<u64>,
    /// Tokens of the input that came from a cache.
    pub cached_tokens: Option<u64>,
    /// Tokens of the input that had to be computed.
    pub uncached_tokens: Option<u64>,
    /// How long the request waited in the server.
    pub queue_nanos: Option<u64>,
    /// How long the server took to check and tokenize the request.
    pub validation_nanos: Option<u64>,
    /// How long the server took to the first token, by its own clock.
    pub time_to_first_token_nanos: Option<u64>,
    /// How long the server says it took for each token of the output.
    pub time_per_output_token_nanos: Option<u64>,
    /// How long the server computed.
    pub processing_nanos: Option<u64>,
    /// How long the request was in the server, waiting included.
    pub total_nanos: Option<u64>,
    /// Whether the prompt was found in a cache, where a header says just that.
    pub prompt_cache: Option<bool>,
    /// How loaded the server is.
    pub orca: Option<OrcaReport>,
    /// Why the gateway did not let the request reach a server.
    pub dropped_reason: Option<DroppedReason>,
    /// Values of known headers that could not be read, or that contradict what was read before.
    pub bad_values: u32,
}

impl Telemetry {
    /// Takes in what came later, as trailers come after headers: what it tells replaces what was told, for it is final
    /// where a header could only be what was known at the start.
    pub fn update(&mut self, later: &Self) {
        let Self {
            input_tokens,
            output_tokens,
            cached_tokens,
            uncached_tokens,
            queue_nanos,
            validation_nanos,
            time_to_first_token_nanos,
            time_per_output_token_nanos,
            processing_nanos,
            total_nanos,
            prompt_cache,
            orca,
            dropped_reason,
            bad_values,
        } = later;
        for (mine, told) in [
            (&mut self.input_tokens, input_tokens),
            (&mut self.output_tokens, output_tokens),
            (&mut self.cached_tokens, cached_tokens),
            (&mut self.uncached_tokens, uncached_tokens),
            (&mut self.queue_nanos, queue_nanos),
            (&mut self.validation_nanos, validation_nanos),
            (
                &mut self.time_to_first_token_nanos,
                time_to_first_token_nanos,
            ),
            (
                &mut self.time_per_output_token_nanos,
                time_per_output_token_nanos,
            ),
            (&mut self.processing_nanos, processing_nanos),
            (&mut self.total_nanos, total_nanos),
        ] {
            *mine = told.or(*mine);
        }
        self.prompt_cache = prompt_cache.or(self.prompt_cache);
        if orca.is_some() {
            self.orca.clone_from(orca);
        }
        self.dropped_reason = dropped_reason.or(self.dropped_reason);
        self.bad_values = self.bad_values.saturating_add(*bad_values);
        self.add_up();
    }

    /// Input is what was computed and what was not, where both are known and nobody told their sum.
    pub(crate) fn add_up(&mut self) {
        if let (None, Some(cached), Some(uncached)) =
            (self.input_tokens, self.cached_tokens, self.uncached_tokens)
        {
            self.input_tokens = Some(cached.saturating_add(uncached));
        }
    }
}

/// Why llm-d's endpoint picker dropped a request, from `x-llm-d-request-dropped-reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DroppedReason {
    /// All servers were loaded to the limit.
    RejectedSaturated,
    /// There was no server to send it to.
    RejectedNoEndpoints,
    /// It had waited too long.
    RejectedTtlExpired,
    /// Its client had gone.
    RejectedContextCancelled,
    /// The endpoint picker was about to end.
    RejectedShuttingDown,
    /// It was taken out of the queue, for no stated reason.
    Evicted,
    /// It was taken out of the queue because the queue was full.
    EvictedQueuePressure,
    /// It was taken out of the queue for one with a higher priority.
    EvictedPriority,
    /// A reason that this crate does not know.
    Other,
}

impl DroppedReason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::RejectedSaturated,
        Self::RejectedNoEndpoints,
        Self::RejectedTtlExpired,
        Self::RejectedContextCancelled,
        Self::RejectedShuttingDown,
        Self::Evicted,
        Self::EvictedQueuePressure,
        Self::EvictedPriority,
        Self::Other,
    ];

    /// The name in labels: the header's, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RejectedSaturated => "rejected_saturated",
            Self::RejectedNoEndpoints => "rejected_no_endpoints",
            Self::RejectedTtlExpired => "rejected_ttl_expired",
            Self::RejectedContextCancelled => "rejected_context_cancelled",
            Self::RejectedShuttingDown => "rejected_shutting_down",
            Self::Evicted => "evicted",
            Self::EvictedQueuePressure => "evicted_queue_pressure",
            Self::EvictedPriority => "evicted_priority",
            Self::Other => "other",
        }
    }

    /// What a value of the header says; `None` where it is empty.
    pub fn from_header(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        if value.is_empty() {
            return None;
        }
        let named = Self::ALL.into_iter().find(|reason| {
            let name = reason.as_str().bytes();
            name.len() == value.len()
                && name.zip(value).all(|(ours, theirs)| {
                    let theirs = theirs.to_ascii_lowercase();
                    ours == theirs || (ours == b'_' && theirs == b'-')
                })
        });
        Some(named.unwrap_or(Self::Other))
    }
}
