//! Runs every scenario's callbacks into the built module in wasmtime, and compares what its page shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{collections::BTreeSet, time::Duration};

use host_tests::{
    capture_facts::Moved,
    metric_assert::Exposition,
    scenario::{Scenario, load},
    scenario_callbacks::Callback,
    scenario_checks,
    scripted_upstream::Lines,
    wasmtime_host::{
        Stream,
        bed::{Bed, SCRAPE, Worker, listener},
    },
};

/// A request's or response's head with its pseudo headers first.
fn head(pseudo: &[(&str, &str)], lines: &Lines) -> Lines {
    let pseudo = pseudo
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    pseudo.chain(lines.iter().cloned()).collect()
}

fn play(bed: &Bed, worker: &Worker, scenario: &Scenario) {
    let callbacks = scenario.callbacks();
    let stream = worker.vm.stream(&worker.observe);
    stream.set("xds.cluster_name", "upstream");
    stream.set("upstream.address", "127.0.0.1:8000");
    let (method, path) = (scenario.request.method(), scenario.request.path());
    let pseudo = [
        (":method", method),
        (":path", path),
        (":authority", "models"),
        (":scheme", "http"),
    ];
    let request = head(&pseudo, &scenario.request.lines());
    if callbacks.never_seen {
        let status = callbacks.facts.code.to_string();
        stream.set_logged_headers(&request, &head(&[(":status", &status)], &Lines::new()));
    } else {
        stream.request_headers(&request, false);
        let mut now = Duration::ZERO;
        for (at, call) in &callbacks.calls {
            bed.host.advance(at.saturating_sub(now));
            now = *at;
            make(&stream, call);
        }
        bed.host.advance(callbacks.end.saturating_sub(now));
    }
    let facts = &callbacks.facts;
    stream.set("response.flags", i64::try_from(facts.flags).unwrap());
    stream.set("response.code", i64::try_from(facts.code).unwrap());
    stream.set("response.code_details", facts.details.as_str());
    stream.set(
        "upstream.request_attempt_count",
        i64::try_from(facts.attempts).unwrap(),
    );
    stream.end();
}

fn make(stream: &Stream, call: &Callback) {
    match call {
        Callback::RequestBody(bytes) => {
            stream.request_body(bytes, true);
        }
        Callback::ResponseHeaders(status, lines, end) => {
            let status = status.to_string();
            stream.response_headers(&head(&[(":status", &status)], lines), *end);
        }
        Callback::ResponseBody(bytes, end) => {
            stream.response_body(bytes, *end);
        }
        Callback::ResponseTrailers(lines) => {
            stream.response_trailers(lines);
        }
    }
}

/// The exact sum of a histogram of seconds, in whole milliseconds.
fn milliseconds(page: &Exposition, name: &str) -> u64 {
    let seconds = page.total_or_zero(&format!("{name}_sum"), &[]);
    let milliseconds = (seconds * 1e3).round();
    if milliseconds.is_finite() && milliseconds >= 0.0 {
        milliseconds as u64
    } else {
        u64::MAX
    }
}

fn differences(scenario: &Scenario) -> Vec<String> {
    let bed = Bed::new().unwrap();
    let vm = bed.vm().unwrap();
    // Names of refused requests are themselves, as they are in the other runners.
    let expect = &scenario.expect;
    let names: BTreeSet<_> = [&expect.request_model, &expect.response_model]
        .into_iter()
        .flatten()
        .collect();
    let models = if names.is_empty() {
        serde_json::json!({})
    } else {
        serde_json::json!({"models": {"allow": names}})
    };
    let observe = vm.root(listener("observe", models.to_string()));
    let scrape = vm.root(listener("scrape", SCRAPE));
    let worker = Worker {
        vm,
        observe,
        scrape,
    };
    play(&bed, &worker, scenario);
    let mut found = Vec::new();
    if let Some(failure) = worker.vm.failure() {
        found.push(format!("the module failed: {failure}"));
    }
    let page = worker.page().unwrap();
    let empty = Exposition::default();
    found.extend(scenario_checks::differences(
        Moved {
            before: &empty,
            after: &page,
        },
        scenario,
    ));
    for (name, expected) in [
        (
            host_tests::capture_facts::FIRST_TOKEN,
            expect.first_token_ms,
        ),
        (
            "inference_time_to_first_visible_token_seconds",
            expect.first_visible_token_ms,
        ),
    ] {
        let seen = milliseconds(&page, name);
        if expected.unwrap_or(0) != seen {
            found.push(format!("{name}: expected {expected:?} ms, is {seen} ms"));
        }
    }
    let in_flight = page.total_or_zero("inference_requests_in_flight", &[]);
    if in_flight != 0.0 {
        found.push(format!("{in_flight} requests are still in flight"));
    }
    found
}

#[test]
fn every_scenario_gives_its_metrics_in_the_built_module() {
    let scenarios = load().unwrap();
    let bad: Vec<String> = scenarios
        .iter()
        .map(|scenario| (scenario, differences(scenario)))
        .filter(|(_, found)| !found.is_empty())
        .map(|(scenario, found)| format!("{}:\n  {}", scenario.name, found.join("\n  ")))
        .collect();
    assert!(
        bad.is_empty(),
        "{} of {} scenarios differ:\n{}",
        bad.len(),
        scenarios.len(),
        bad.join("\n")
    );
}
