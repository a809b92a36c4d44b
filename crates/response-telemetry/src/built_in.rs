//! The headers that servers are known to send, and what they mean.

use std::borrow::Cow;

use crate::Unit::{Count, Flag, Milliseconds, Seconds};
use crate::{HeaderRule, Meaning};

/// TGI's own total in its own unit. LoRAX, its fork, writes it in milliseconds.
pub(crate) const COMPUTE_TIME: &str = "x-compute-time";
/// A report in one of three forms, told apart by a prefix.
pub(crate) const LOAD: &str = "endpoint-load-metrics";
/// A report in base64, from before there was a prefix.
pub(crate) const BINARY_LOAD: &str = "endpoint-load-metrics-bin";
/// Why llm-d's endpoint picker dropped a request.
pub(crate) const DROPPED: &str = "x-llm-d-request-dropped-reason";

/// Headers that LoRAX sends and TGI does not; some of them mean something themselves.
pub(crate) static LORAX: [&str; 7] = [
    "x-model-id",
    "x-adapter-id",
    "x-adapter-source",
    "x-total-tokens",
    "x-skipped-tokens",
    "x-time-to-first-token",
    "x-time-per-output-token",
];

/// Where two rows have the same meaning, the earlier one counts.
///
/// Not here, since they say nothing about the inference of one request: what remains of a rate limit, the type and the
/// characters that TGI computed, `x-envoy-upstream-service-time` (Envoy's time to the headers), identities.
pub(crate) static HEADERS: [HeaderRule; 23] = [
    // TGI and LoRAX. The total in milliseconds goes before the one whose unit must be found out.
    row("x-prompt-tokens", Meaning::InputTokens, Count),
    row("x-generated-tokens", Meaning::OutputTokens, Count),
    row("x-queue-time", Meaning::QueueTime, Milliseconds),
    row("x-validation-time", Meaning::ValidationTime, Milliseconds),
    row("x-inference-time", Meaning::ProcessingTime, Milliseconds),
    row("x-total-time", Meaning::TotalTime, Milliseconds),
    row(COMPUTE_TIME, Meaning::TotalTime, Seconds),
    row(
        "x-time-per-output-token",
        Meaning::TimePerOutputToken,
        Milliseconds,
    ),
    row(
        "x-time-per-token",
        Meaning::TimePerOutputToken,
        Milliseconds,
    ),
    row(
        "x-time-to-first-token",
        Meaning::TimeToFirstToken,
        Milliseconds,
    ),
    // Fireworks.
    row("fireworks-prompt-tokens", Meaning::InputTokens, Count),
    row(
        "fireworks-cached-prompt-tokens",
        Meaning::CachedInputTokens,
        Count,
    ),
    row(
        "fireworks-server-time-to-first-token",
        Meaning::TimeToFirstToken,
        Seconds,
    ),
    row(
        "fireworks-server-processing-time",
        Meaning::ProcessingTime,
        Seconds,
    ),
    // Bedrock, which counts what was read from a cache or written to one beside the input, as its bodies do.
    row(
        "x-amzn-bedrock-input-token-count",
        Meaning::InputTokensBesideCache,
        Count,
    ),
    row(
        "x-amzn-bedrock-output-token-count",
        Meaning::OutputTokens,
        Count,
    ),
    row(
        "x-amzn-bedrock-cache-read-input-token-count",
        Meaning::CachedInputTokens,
        Count,
    ),
    row(
        "x-amzn-bedrock-cache-write-input-token-count",
        Meaning::CacheWriteInputTokens,
        Count,
    ),
    row(
        "x-amzn-bedrock-invocation-latency",
        Meaning::TotalTime,
        Milliseconds,
    ),
    // OpenAI.
    row(
        "openai-processing-ms",
        Meaning::ProcessingTime,
        Milliseconds,
    ),
    // Routers that know of their servers' caches.
    row("x-kv-cache-hit", Meaning::PromptCacheHit, Flag),
    row(
        "x-kv-cache-reused-input-tokens",
        Meaning::CachedInputTokens,
        Count,
    ),
    row(
        "x-kv-cache-uncached-input-tokens",
        Meaning::UncachedInputTokens,
        Count,
    ),
];

const fn row(header: &'static str, meaning: Meaning, unit: crate::Unit) -> HeaderRule {
    HeaderRule {
        header: Cow::Borrowed(header),
        meaning,
        unit,
    }
}

/// The rows, for a page that documents them.
pub fn built_in_headers() -> &'static [HeaderRule] {
    &HEADERS
}
