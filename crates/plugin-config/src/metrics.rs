//! The names of metrics that a configuration may use; a test of the metric catalogue keeps them equal to it.

/// A histogram whose buckets can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    /// The metric's OpenTelemetry name.
    pub name: &'static str,
    /// Integer units that one of the metric's unit is counted in; no two bounds may fall on the same integer.
    pub per_unit: u64,
}

impl Histogram {
    /// Least bound that can be told from zero and is worth telling.
    pub(crate) fn least_bound(&self) -> f64 {
        if self.per_unit == 1 { 1.0 } else { 0.000_001 }
    }

    /// The bound in integer units.
    pub(crate) fn scaled(&self, bound: f64) -> u64 {
        (bound * self.per_unit as f64 + 0.5) as u64
    }
}

const fn seconds(name: &'static str) -> Histogram {
    Histogram {
        name,
        per_unit: 1_000_000_000,
    }
}

const fn tokens(name: &'static str) -> Histogram {
    Histogram { name, per_unit: 1 }
}

const fn ratio(name: &'static str) -> Histogram {
    Histogram {
        name,
        per_unit: 1_000_000,
    }
}

/// Every histogram whose buckets `buckets` can set.
pub const HISTOGRAMS: &[Histogram] = &[
    seconds("gen_ai.server.request.duration"),
    seconds("gen_ai.server.time_to_first_token"),
    seconds("gen_ai.server.time_per_output_token"),
    tokens("gen_ai.client.token.usage"),
    tokens("gen_ai.client.inference.operation.input_tokens"),
    tokens("gen_ai.client.inference.operation.output_tokens"),
    seconds("inference.request.duration"),
    seconds("inference.token_processing.duration"),
    seconds("inference.time_to_response_headers"),
    seconds("inference.time_to_first_byte"),
    seconds("inference.time_to_first_visible_token"),
    seconds("inference.inter_token.latency"),
    seconds("inference.stream.max_gap"),
    ratio("inference.output_tokens.rate"),
    ratio("inference.prompt_cache.hit_ratio"),
    seconds("inference.server.queue_time"),
    seconds("inference.server.time_to_first_token"),
    seconds("inference.server.processing_time"),
    seconds("inferometer.export.duration"),
];

/// Every metric that `envoy_stats` can mirror to the proxy's own stats; `true` mirrors them all.
pub const MIRRORED_METRICS: &[&str] = &[
    "gen_ai.server.time_to_first_token",
    "gen_ai.server.time_per_output_token",
    "inference.requests",
    "inference.request.duration",
    "inference.attempts",
    "inference.token_processing.duration",
    "inference.time_to_response_headers",
    "inference.time_to_first_byte",
    "inference.time_to_first_visible_token",
    "inference.stream.max_gap",
    "inference.output_tokens.rate",
    "inference.input_tokens",
    "inference.output_tokens",
    "inference.cached_input_tokens",
    "inference.reasoning_tokens",
    "inference.usage",
    "inference.prompt_cache.requests",
    "inference.prompt_cache.hit_ratio",
    "inference.server.queue_time",
    "inference.server.time_to_first_token",
    "inference.server.processing_time",
    "inference.requests.in_flight",
    "inferometer.stream.anomalies",
];

/// The histogram of that name.
pub(crate) fn histogram(name: &str) -> Option<&'static Histogram> {
    HISTOGRAMS.iter().find(|histogram| histogram.name == name)
}
