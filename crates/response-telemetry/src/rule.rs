//! Which header means what, in which unit: the rows of the built-in table and of the configurable one.

use std::borrow::Cow;

/// What the value of a header means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Tokens of the input, those from a cache included.
    InputTokens,
    /// Generated tokens.
    OutputTokens,
    /// Tokens of the input that came from a cache.
    CachedInputTokens,
    /// Tokens of the input that had to be computed. The input is their sum with the cached ones, once both are known.
    UncachedInputTokens,
    /// Tokens of the input that are in none of the two counts of a cache: all of the input where no cache is spoken of.
    InputTokensBesideCache,
    /// Tokens of the input that were written to a cache.
    CacheWriteInputTokens,
    /// Whether the prompt was found in a cache.
    PromptCacheHit,
    /// How long the request waited in the server.
    QueueTime,
    /// How long the server took to check and tokenize the request.
    ValidationTime,
    /// How long the server took to the first token.
    TimeToFirstToken,
    /// How long the server took for each token of the output.
    TimePerOutputToken,
    /// How long the server computed.
    ProcessingTime,
    /// How long the request was in the server.
    TotalTime,
    /// How much of the server's memory for keys and values is in use.
    KvCacheUtilization,
    /// Requests that wait in the server.
    RequestsWaiting,
    /// Requests that the server computes.
    RequestsRunning,
}

impl Meaning {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 16] = [
        Self::InputTokens,
        Self::OutputTokens,
        Self::CachedInputTokens,
        Self::UncachedInputTokens,
        Self::InputTokensBesideCache,
        Self::CacheWriteInputTokens,
        Self::PromptCacheHit,
        Self::QueueTime,
        Self::ValidationTime,
        Self::TimeToFirstToken,
        Self::TimePerOutputToken,
        Self::ProcessingTime,
        Self::TotalTime,
        Self::KvCacheUtilization,
        Self::RequestsWaiting,
        Self::RequestsRunning,
    ];

    /// The name in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::CachedInputTokens => "cached_input_tokens",
            Self::UncachedInputTokens => "uncached_input_tokens",
            Self::InputTokensBesideCache => "input_tokens_beside_cache",
            Self::CacheWriteInputTokens => "cache_write_input_tokens",
            Self::PromptCacheHit => "prompt_cache_hit",
            Self::QueueTime => "queue_time",
            Self::ValidationTime => "validation_time",
            Self::TimeToFirstToken => "time_to_first_token",
            Self::TimePerOutputToken => "time_per_output_token",
            Self::ProcessingTime => "processing_time",
            Self::TotalTime => "total_time",
            Self::KvCacheUtilization => "kv_cache_utilization",
            Self::RequestsWaiting => "requests_waiting",
            Self::RequestsRunning => "requests_running",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|meaning| meaning.as_str() == name)
    }

    /// The units in which it can be given.
    pub const fn units(self) -> &'static [Unit] {
        match self {
            Self::InputTokens
            | Self::OutputTokens
            | Self::CachedInputTokens
            | Self::UncachedInputTokens
            | Self::InputTokensBesideCache
            | Self::CacheWriteInputTokens
            | Self::RequestsWaiting
            | Self::RequestsRunning => &[Unit::Count],
            Self::PromptCacheHit => &[Unit::Flag],
            Self::QueueTime
            | Self::ValidationTime
            | Self::TimeToFirstToken
            | Self::TimePerOutputToken
            | Self::ProcessingTime
            | Self::TotalTime => &[
                Unit::Seconds,
                Unit::Milliseconds,
                Unit::Microseconds,
                Unit::Nanoseconds,
            ],
            Self::KvCacheUtilization => &[Unit::Ratio, Unit::Percent],
        }
    }
}

/// How the value of a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, with a fraction or without.
    Seconds,
    /// Thousandths of a second, with a fraction or without.
    Milliseconds,
    /// Millionths of a second, with a fraction or without.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
    /// A whole number.
    Count,
    /// A number from 0 to 1.
    Ratio,
    /// A number from 0 to 100.
    Percent,
    /// `true` or `false`, `1` or `0`, `yes` or `no`, `hit` or `miss`.
    Flag,
}

impl Unit {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
        Self::Count,
        Self::Ratio,
        Self::Percent,
        Self::Flag,
    ];

    /// The name in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Count => "count",
            Self::Ratio => "ratio",
            Self::Percent => "percent",
            Self::Flag => "flag",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == name)
    }
}

/// One row of a table of headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRule {
    /// The header's name, in any case.
    pub header: Cow<'static, str>,
    /// What its value means.
    pub meaning: Meaning,
    /// How it is written: one of [`Meaning::units`]; with any other, each value is a bad one.
    pub unit: Unit,
}

impl HeaderRule {
    /// A row of a configured table.
    pub fn new(header: impl Into<Cow<'static, str>>, meaning: Meaning, unit: Unit) -> Self {
        Self {
            header: header.into(),
            meaning,
            unit,
        }
    }
}
