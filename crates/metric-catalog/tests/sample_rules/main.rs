//! Which requests give a sample to which metric, and what the sample is.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod durations;
mod requests;
mod tokens;

use metric_catalog::{
    Catalog, CatalogSettings, LabelSwitches, Moved, RecordLabels, Semconv, rebin_gaps,
};
use metric_registry::{Kind, Limits, Registry, SeriesValue};
use request_observer::{
    AnomalyCounts, AnomalyKind, Api, Durations, GapHistogram, Outcome, Purpose, RequestRecord,
    Stamp, Telemetry, Text, Usage, UsageReason, UsageStatus,
};

const MILLI: u64 = 1_000_000;

const LABELS: RecordLabels<'_> = RecordLabels {
    model: "m",
    request_model: "asked",
    response_model: "answered",
    provider: "openai",
    server_address: Some("10.0.0.1"),
    server_port: Some("8000"),
    upstream_cluster: Some("vllm"),
    upstream_endpoint: Some("10.0.0.1:8000"),
    route: Some("chat"),
    inference_objective: Some("critical"),
    inference_fairness_id: Some("tenant"),
    inference_model_rewrite: Some("m-tuned"),
    destination_endpoint: Some("10.0.0.2:8000"),
};

/// A streamed answer of one choice with eleven output tokens, of which the first came after 100 ms and the last after
/// 600 ms.
fn streamed() -> RequestRecord {
    RequestRecord {
        api: Api::ChatCompletions,
        purpose: Purpose::Client,
        request_model: None,
        response_model: None,
        accepted: true,
        stream: true,
        status: Some(200),
        outcome: Outcome::Success,
        error_type: None,
        finish_reason: None,
        attempts: 1,
        choices: 1,
        usage: Usage {
            input: Some(64),
            output: Some(11),
            cached_input: Some(48),
            cache_write_input: None,
            reasoning: Some(3),
        },
        usage_status: UsageStatus::Reported,
        usage_reason: UsageReason::None,
        estimated_output: None,
        durations: Durations {
            request: Some(700 * MILLI),
            time_to_request_end: Some(MILLI),
            time_to_response_headers: Some(50 * MILLI),
            time_to_first_byte: Some(60 * MILLI),
            time_to_first_token: Some(100 * MILLI),
            time_to_first_visible_token: Some(250 * MILLI),
            decode: Some(500 * MILLI),
            max_gap: Some(90 * MILLI),
        },
        gaps: gaps(&Catalog::new(&CatalogSettings::default()).gap_bounds_nanos()),
        telemetry: Telemetry::default(),
        anomalies: AnomalyCounts::default(),
        events: 12,
        inspected_bytes: 4096,
        first_token_chunk: Some(1),
        first_token_offset: Some(512),
    }
}

/// Two gaps of 20 ms and one of 90 ms that brought three tokens.
fn gaps(bounds: &[u64]) -> GapHistogram {
    let mut gaps = GapHistogram::new();
    for (gap, tokens) in [(20, 1), (20, 1), (90, 3)] {
        gaps.add(Stamp(0), Stamp(gap * MILLI), tokens, bounds);
    }
    gaps
}

/// A JSON answer.
fn whole() -> RequestRecord {
    RequestRecord {
        stream: false,
        durations: Durations {
            request: Some(700 * MILLI),
            time_to_response_headers: Some(690 * MILLI),
            time_to_first_byte: Some(695 * MILLI),
            ..Durations::default()
        },
        gaps: GapHistogram::new(),
        ..streamed()
    }
}

/// A request that never got an answer.
fn unanswered(outcome: Outcome) -> RequestRecord {
    RequestRecord {
        accepted: false,
        status: None,
        outcome,
        error_type: Some(text(outcome.as_str())),
        usage: Usage::default(),
        usage_status: UsageStatus::Missing,
        usage_reason: UsageReason::NoResponse,
        durations: Durations {
            request: Some(700 * MILLI),
            ..Durations::default()
        },
        events: 0,
        ..whole()
    }
}

fn text(text: &str) -> Text {
    Text::from_prefix(text.as_bytes(), text.len() as u64)
}

fn registry_after(settings: &CatalogSettings, records: &[RequestRecord]) -> (Registry, Vec<Moved>) {
    let catalog = Catalog::new(settings);
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let mut moves = Vec::new();
    for record in records {
        catalog.record(record, &LABELS, &mut registry, &mut |moved| {
            moves.push(moved)
        });
    }
    (registry, moves)
}

/// The series of a metric, each as its own labels and its value: a counter's, or a histogram's count and sum.
fn series_of(settings: &CatalogSettings, record: &RequestRecord, name: &str) -> Vec<String> {
    const BASE: [&str; 8] = [
        "model",
        "provider",
        "operation",
        "upstream_cluster",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
    ];
    let snapshot = registry_after(settings, std::slice::from_ref(record))
        .0
        .snapshot();
    let mut lines = Vec::new();
    for family in snapshot.families_named(name) {
        for series in family.series() {
            let own = series.labels().filter(|(name, _)| !BASE.contains(name));
            let labels: Vec<String> = own
                .map(|(name, value)| format!("{name}={value} "))
                .collect();
            let value = match series.value() {
                SeriesValue::Counter(value) => value.to_string(),
                SeriesValue::Gauge(value) | SeriesValue::Reading { level: value, .. } => {
                    value.to_string()
                }
                SeriesValue::Histogram { counts, sum } => {
                    format!(
                        "{} of {}",
                        counts.iter().sum::<u64>(),
                        sum as f64 / family.scale() as f64
                    )
                }
            };
            lines.push(format!("{}{value}", labels.concat()));
        }
    }
    lines
}

fn check(record: &RequestRecord, name: &str, expected: &[&str]) {
    assert_eq!(
        series_of(&CatalogSettings::default(), record, name),
        expected,
        "{name}"
    );
}

fn check_in_head(record: &RequestRecord, name: &str, expected: &[&str]) {
    let head = CatalogSettings {
        semconv: Semconv::Head,
        ..CatalogSettings::default()
    };
    assert_eq!(series_of(&head, record, name), expected, "{name}");
}
