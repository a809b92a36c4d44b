//! Registries filled for the tests of the text.

#![allow(dead_code, reason = "each test binary uses its part of this module")]

use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry};

/// Integer units of a second.
pub(crate) const NANOS: u64 = 1_000_000_000;

/// A family of the given shape.
pub(crate) fn family(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    scale: u64,
    labels: &[&'static str],
    bounds: &[u64],
) -> FamilyDef {
    FamilyDef {
        name,
        kind,
        unit,
        scale,
        labels: labels.to_vec(),
        bounds: bounds.to_vec(),
    }
}

pub(crate) const REQUESTS: FamilyId = FamilyId(0);
pub(crate) const DURATION: FamilyId = FamilyId(1);
pub(crate) const IN_FLIGHT: FamilyId = FamilyId(2);
pub(crate) const USAGE: FamilyId = FamilyId(3);
pub(crate) const RATE: FamilyId = FamilyId(4);
pub(crate) const HIT_RATIO: FamilyId = FamilyId(5);
pub(crate) const INSPECTED: FamilyId = FamilyId(6);

/// Families of every kind, unit and scale that the product uses.
pub(crate) fn families() -> Vec<FamilyDef> {
    use Kind::{Counter, Gauge, Histogram};
    vec![
        family(
            "inference.requests",
            Counter,
            "{request}",
            1,
            &["model", "outcome"],
            &[],
        ),
        family(
            "inference.request.duration",
            Histogram,
            "s",
            NANOS,
            &["model"],
            &[NANOS / 10, NANOS, 10 * NANOS],
        ),
        family(
            "inference.requests.in_flight",
            Gauge,
            "{request}",
            1,
            &["model", "phase"],
            &[],
        ),
        family(
            "gen_ai.client.token.usage",
            Histogram,
            "{token}",
            1,
            &["gen_ai.request.model", "gen_ai.token.type"],
            &[1, 4, 1_048_576, 67_108_864],
        ),
        family(
            "inference.output_tokens.rate",
            Histogram,
            "{token}/s",
            1_000,
            &["model"],
            &[1, 500, 10_000],
        ),
        family(
            "inference.prompt_cache.hit_ratio",
            Histogram,
            "1",
            1_000,
            &["model"],
            &[0, 100, 1_000],
        ),
        family("inferometer.inspected.bytes", Counter, "By", 1, &[], &[]),
    ]
}

/// Help for each family of [`families`], with every character that needs an escape.
pub(crate) fn help(name: &str) -> Option<&'static str> {
    match name {
        "inference.requests" => Some("Requests by \"outcome\"."),
        "inference.request.duration" => {
            Some("From the first to the last byte,\nby the clock\\watch.")
        }
        "inferometer.inspected.bytes" => Some("Bytes read."),
        "inference.requests.in_flight" => Some("Requests now open."),
        "gen_ai.client.token.usage" => Some("Tokens of a request."),
        "inference.output_tokens.rate" => Some("Tokens in a second."),
        "inference.prompt_cache.hit_ratio" => Some("Cached part of the prompt."),
        _ => None,
    }
}

/// A registry in which the given models were served.
pub(crate) fn served(models: &[&str], limits: Limits) -> Registry {
    let mut registry = Registry::new(families(), limits, NANOS);
    for (place, model) in (1..).zip(models) {
        let series = registry.series(REQUESTS, &[model, "success"]);
        registry.add(series, place);
        let series = registry.series(DURATION, &[model]);
        registry.observe(series, 123_456_789);
        registry.observe(series, place * 20 * NANOS);
        let series = registry.series(IN_FLIGHT, &[model, "decode"]);
        registry.set_gauge(series, -2);
        let series = registry.series(USAGE, &[model, "input"]);
        registry.observe(series, 4);
        registry.observe(series, 70_000_000);
        let series = registry.series(RATE, &[model]);
        registry.observe(series, 41_250);
        let series = registry.series(HIT_RATIO, &[model]);
        registry.observe(series, 667);
    }
    let series = registry.series(INSPECTED, &[]);
    registry.add(series, 9_007_199_254_740_993);
    registry
}
