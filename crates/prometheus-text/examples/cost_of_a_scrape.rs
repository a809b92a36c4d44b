//! Prints what counting, publishing, merging and exposing cost for a given number of series.
//!
//! `cargo run --release -p prometheus-text --example cost_of_a_scrape -- 2000`

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "taking times and printing them is all that this program does"
)]

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use metric_registry::{FamilyDef, FamilyId, Gauges, Kind, Limits, Registry, Snapshot};
use prometheus_text::{Format, encode};

/// Families as a request has them, about half of them histograms.
const FAMILIES: u16 = 20;

const LABELS: [&str; 4] = ["model", "provider", "operation", "outcome"];

/// Bounds of a time to first token, in nanoseconds.
const BOUNDS_MILLIS: [u64; 23] = [
    1, 5, 10, 20, 40, 60, 80, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000,
    20_000, 30_000, 45_000, 60_000, 120_000, 300_000,
];

fn families() -> Vec<FamilyDef> {
    let names: [&str; 4] = [
        "example.first",
        "example.second",
        "example.third",
        "example.fourth",
    ];
    (0..FAMILIES)
        .zip(names.iter().cycle())
        .map(|(place, name)| {
            let histogram = place % 2 == 1;
            FamilyDef {
                name,
                kind: if histogram {
                    Kind::Histogram
                } else {
                    Kind::Counter
                },
                // A unit of its own keeps the families apart.
                unit: ["s", "ms", "us", "ns", "By"]
                    .get(usize::from(place / 4))
                    .copied()
                    .unwrap_or(""),
                scale: if histogram { 1_000_000_000 } else { 1 },
                labels: LABELS.to_vec(),
                bounds: BOUNDS_MILLIS
                    .iter()
                    .map(|bound| bound.saturating_mul(1_000_000))
                    .collect(),
            }
        })
        .collect()
}

/// Moves the series of one label set, as the end of a request does.
fn record(registry: &mut Registry, model: &str, value: u64) {
    for family in (0..FAMILIES).map(FamilyId) {
        let series = registry.series(family, &[model, "vllm", "chat", "success"]);
        if family.0 % 2 == 1 {
            registry.observe(series, value);
        } else {
            registry.add(series, value % 1_000);
        }
    }
}

/// The shortest of several runs.
fn shortest<T>(mut work: impl FnMut() -> T) -> Duration {
    let times = (0..50).map(|_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

fn main() {
    let wanted: usize = env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(2_000);
    let models: Vec<String> = (0..wanted / usize::from(FAMILIES))
        .map(|number| format!("organisation/model-{number}"))
        .collect();
    let mut registry = Registry::new(families(), Limits::default(), 1_700_000_000_000_000_000);
    let mut value: u64 = 1;
    for _ in 0..100 {
        for model in &models {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            record(&mut registry, model, value >> 30);
        }
    }
    let recording = shortest(|| {
        for model in &models {
            record(&mut registry, model, 250_000_000);
        }
    });
    let snapshot = registry.snapshot();
    let bytes = snapshot.encode();
    println!("{} series of {FAMILIES} families", snapshot.series_count());
    println!(
        "record one request ({FAMILIES} series): {:?}",
        recording
            .checked_div(u32::try_from(models.len()).unwrap_or(1))
            .unwrap_or_default()
    );
    println!("snapshot: {:?}", shortest(|| registry.snapshot()));
    println!(
        "encode: {:?}, {} bytes",
        shortest(|| snapshot.encode()),
        bytes.len()
    );
    println!("decode: {:?}", shortest(|| Snapshot::decode(&bytes)));
    let mut all = Snapshot::default();
    all.merge(&snapshot, Gauges::Add);
    println!(
        "merge into nothing: {:?}",
        shortest(|| {
            let mut all = Snapshot::default();
            all.merge(&snapshot, Gauges::Add);
            all
        })
    );
    println!(
        "merge into the same series: {:?}",
        shortest(|| all.merge(&snapshot, Gauges::Add))
    );
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let text = encode(&all, format, &|_| Some("An example."));
        let time = shortest(|| encode(&all, format, &|_| Some("An example.")));
        println!("{format:?} text: {time:?}, {} bytes", text.len());
    }
    let mut rest = registry.clone();
    println!("subtract: {:?}", shortest(|| rest.subtract(&snapshot)));
}
