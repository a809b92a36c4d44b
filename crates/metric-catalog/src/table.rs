//! The table of all metrics, and how code names its rows.

pub(crate) mod gen_ai;
pub(crate) mod inference;
pub(crate) mod own;

use metric_registry::Kind;

use crate::definition::{Base, Definition, EnvoyMirror, Metric, Profile};
use crate::label::Label;
use crate::settings::Semconv;

/// A row of the table, by its place in [`definitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    RequestDuration,
    TimeToFirstToken,
    TimePerOutputToken,
    TokenUsage,
    UsageInput,
    UsageOutput,
    UsageCacheRead,
    UsageCacheWrite,
    UsageReasoning,
    OperationInput,
    OperationOutput,
    Requests,
    InferenceDuration,
    Attempts,
    TokenProcessing,
    TimeToResponseHeaders,
    TimeToFirstByte,
    TimeToFirstVisibleToken,
    InterTokenLatency,
    MaxGap,
    OutputRate,
    InputTokens,
    OutputTokens,
    CachedInputTokens,
    ReasoningTokens,
    Usage,
    CacheRequests,
    CacheHitRatio,
    ServerQueueTime,
    ServerTimeToFirstToken,
    ServerProcessingTime,
    InFlight,
    BuildInfo,
    WorkerStarts,
    Anomalies,
    Skipped,
    Series,
    SeriesOverflow,
    InspectedBytes,
    Events,
    VmMemory,
    SnapshotBytes,
    Slots,
    HostErrors,
    ConfigRejected,
    Export,
    ExportDuration,
    ExportRejected,
    ExportDropped,
}

/// How many rows there are.
pub(crate) const ROWS: usize = gen_ai::TABLE.len() + inference::TABLE.len() + own::TABLE.len();

/// The rows without what only the documentation needs.
static GEN_AI: [Metric; gen_ai::TABLE.len()] = metrics_of(&gen_ai::TABLE);
static INFERENCE: [Metric; inference::TABLE.len()] = metrics_of(&inference::TABLE);
static OWN: [Metric; own::TABLE.len()] = metrics_of(&own::TABLE);

/// Every metric, in the order of the documentation.
#[must_use]
pub fn definitions() -> Vec<Definition> {
    gen_ai::TABLE
        .into_iter()
        .chain(inference::TABLE)
        .chain(own::TABLE)
        .collect()
}

/// The help line of a metric, or of the alias of one, by its OpenTelemetry name.
#[must_use]
pub fn help(name: &str) -> Option<&'static str> {
    metrics()
        .find(|metric| metric.name == name || metric.alias == Some(name))
        .map(|metric| metric.help)
}

/// Every row, in the order of [`Row`].
pub(crate) fn metrics() -> impl Iterator<Item = &'static Metric> {
    GEN_AI.iter().chain(&INFERENCE).chain(&OWN)
}

/// The row of that name.
pub(crate) fn metric(name: &str) -> Option<&'static Metric> {
    metrics().find(|metric| metric.name == name)
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler, which reports a wrong place"
)]
const fn metrics_of<const COUNT: usize>(table: &[Definition; COUNT]) -> [Metric; COUNT] {
    let mut metrics = [EMPTY.metric(); COUNT];
    let mut place = 0;
    while place < COUNT {
        metrics[place] = table[place].metric();
        place += 1;
    }
    metrics
}

const EMPTY: Definition = Definition {
    name: "",
    alias: None,
    kind: Kind::Counter,
    unit: "",
    scale: 1,
    help: "",
    bounds: &[],
    profile: Profile::SelfTelemetry,
    semconv: None,
    base: Base::Nothing,
    own_labels: &[],
    sample_rule: "",
    source: "",
    envoy: None,
};

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Ratios and rates are kept in millionths.
const MILLIONTHS: u64 = 1_000_000;

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Definition {
    Definition {
        name,
        unit,
        help,
        ..EMPTY
    }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Definition {
    Definition {
        name,
        kind: Kind::Gauge,
        unit,
        help,
        ..EMPTY
    }
}

const fn seconds(name: &'static str, bounds: &'static [f64], help: &'static str) -> Definition {
    histogram(name, "s", NANOS_PER_SECOND, bounds, help)
}

const fn histogram(
    name: &'static str,
    unit: &'static str,
    scale: u64,
    bounds: &'static [f64],
    help: &'static str,
) -> Definition {
    Definition {
        name,
        kind: Kind::Histogram,
        unit,
        scale,
        bounds,
        help,
        ..EMPTY
    }
}

impl Definition {
    const fn labelled(mut self, base: Base, own_labels: &'static [Label]) -> Definition {
        self.base = base;
        self.own_labels = own_labels;
        self
    }

    const fn of(mut self, profile: Profile, source: &'static str) -> Definition {
        self.profile = profile;
        self.source = source;
        self
    }

    const fn sampled(mut self, rule: &'static str) -> Definition {
        self.sample_rule = rule;
        self
    }

    const fn only_in(mut self, semconv: Semconv) -> Definition {
        self.semconv = Some(semconv);
        self
    }

    const fn also_as(mut self, alias: &'static str) -> Definition {
        self.alias = Some(alias);
        self
    }

    const fn mirrored(mut self, name: &'static str, per_unit: u64) -> Definition {
        self.envoy = Some(EnvoyMirror { name, per_unit });
        self
    }
}

// A row without a name, or a name without a row, does not compile.
const _: () = assert!(Row::ExportDropped as usize + 1 == ROWS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_named_as_its_metric() {
        let names: Vec<_> = metrics().map(|metric| metric.name).collect();
        for (row, name) in [
            (Row::RequestDuration, "gen_ai.server.request.duration"),
            (Row::TimeToFirstToken, "gen_ai.server.time_to_first_token"),
            (
                Row::TimePerOutputToken,
                "gen_ai.server.time_per_output_token",
            ),
            (Row::TokenUsage, "gen_ai.client.token.usage"),
            (
                Row::UsageInput,
                "gen_ai.client.inference.usage.input_tokens",
            ),
            (
                Row::UsageReasoning,
                "gen_ai.client.inference.usage.reasoning.output_tokens",
            ),
            (
                Row::OperationInput,
                "gen_ai.client.inference.operation.input_tokens",
            ),
            (
                Row::OperationOutput,
                "gen_ai.client.inference.operation.output_tokens",
            ),
            (Row::Requests, "inference.requests"),
            (Row::InterTokenLatency, "inference.inter_token.latency"),
            (Row::CacheHitRatio, "inference.prompt_cache.hit_ratio"),
            (Row::ServerQueueTime, "inference.server.queue_time"),
            (
                Row::ServerTimeToFirstToken,
                "inference.server.time_to_first_token",
            ),
            (
                Row::ServerProcessingTime,
                "inference.server.processing_time",
            ),
            (Row::InFlight, "inference.requests.in_flight"),
            (Row::BuildInfo, "inferometer.build.info"),
            (Row::Slots, "inferometer.slots"),
            (Row::ConfigRejected, "inferometer.config.rejected"),
            (Row::Export, "inferometer.export"),
            (Row::ExportDropped, "inferometer.export.dropped"),
        ] {
            assert_eq!(names.get(row as usize), Some(&name));
        }
    }
}
