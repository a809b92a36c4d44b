//! Runs every scenario straight into the observer, whole and cut, and compares its record and what a scrape would show.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use host_tests::{
    capture_facts::Moved,
    metric_assert::Exposition,
    scenario::{Scenario, load},
    scenario_checks,
    scenario_native::{Native, page, run},
};
use request_observer::{Purpose, RequestRecord};

/// What a load report beside the answer says, by the names that the observer has for it.
fn load_of(record: &RequestRecord) -> BTreeMap<String, f64> {
    let Some(report) = &record.telemetry.orca else {
        return BTreeMap::new();
    };
    [
        ("cpu_utilization", report.cpu_utilization),
        ("mem_utilization", report.mem_utilization),
        ("application_utilization", report.application_utilization),
        ("requests_per_second", report.requests_per_second),
        ("kv_cache_utilization", report.kv_cache_utilization),
        ("requests_waiting", report.requests_waiting),
        ("requests_running", report.requests_running),
        ("max_token_capacity", report.max_token_capacity),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// Everything that the record says and the scrape may not show.
fn record_differences(scenario: &Scenario, native: &Native) -> Vec<String> {
    let expect = &scenario.expect;
    let mut found = Vec::new();
    let mut compare = |what: &str, expected: String, seen: String| {
        if expected != seen {
            found.push(format!("{what}: expected {expected}, is {seen}"));
        }
    };
    match native {
        Native::Skipped(reason) => {
            compare(
                "skipped",
                format!("{:?}", expect.skipped.as_deref()),
                format!("{:?}", Some(reason.as_str())),
            );
        }
        Native::Nothing => compare("record", "one".to_owned(), "none".to_owned()),
        Native::Record(record) => {
            let skipped = format!("{:?}", expect.skipped.as_deref());
            let purpose = Some(record.purpose)
                .filter(|purpose| *purpose != Purpose::Client)
                .map(Purpose::as_str);
            compare("skipped", skipped, format!("{purpose:?}"));
            if purpose.is_some() {
                return found;
            }
            if let Some(api) = &expect.api {
                compare("api", api.clone(), record.api.as_str().to_owned());
            }
            compare(
                "load",
                format!("{:?}", expect.load),
                format!("{:?}", load_of(record)),
            );
            let reason = record.finish_reason.map(|reason| reason.as_str());
            compare(
                "finish reason",
                format!("{:?}", expect.finish_reason.as_deref()),
                format!("{reason:?}"),
            );
            let milliseconds = |nanos: Option<u64>| nanos.map(|nanos| nanos / 1_000_000);
            let durations = &record.durations;
            for (what, expected, seen) in [
                (
                    "time in the server",
                    expect.server.total_ms,
                    record.telemetry.total_nanos,
                ),
                (
                    "first token",
                    expect.first_token_ms,
                    durations.time_to_first_token,
                ),
                (
                    "first visible token",
                    expect.first_visible_token_ms,
                    durations.time_to_first_visible_token,
                ),
            ] {
                compare(
                    what,
                    format!("{expected:?}"),
                    format!("{:?}", milliseconds(seen)),
                );
            }
        }
    }
    found
}

/// Runs all scenarios with answers cut into pieces of at most `cut` bytes.
fn check(cut: usize) {
    let scenarios = load().unwrap();
    let empty = Exposition::default();
    let mut bad = Vec::new();
    for scenario in &scenarios {
        // A scenario that the module never sees begins natively all the same, so its body is not given.
        let native = run(scenario, cut);
        let text = page(&native);
        let after = Exposition::parse(&text).unwrap();
        let mut found = scenario_checks::differences(
            Moved {
                before: &empty,
                after: &after,
            },
            scenario,
        );
        found.extend(record_differences(scenario, &native));
        if !found.is_empty() {
            bad.push(format!(
                "{} (pieces of {cut}):\n  {}",
                scenario.name,
                found.join("\n  ")
            ));
        }
    }
    assert!(
        bad.is_empty(),
        "{} of {} scenarios differ:\n{}",
        bad.len(),
        scenarios.len(),
        bad.join("\n")
    );
}

#[test]
fn every_scenario_gives_its_record_and_its_metrics() {
    check(usize::MAX);
}

#[test]
fn every_scenario_gives_the_same_when_cut_into_single_bytes() {
    check(1);
}

#[test]
fn every_scenario_gives_the_same_when_cut_into_pieces_of_seven_bytes() {
    check(7);
}
