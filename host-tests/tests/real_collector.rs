//! What a real OpenTelemetry Collector writes out is what a scrape shows.
//!
//! Left out of a plain run, since it builds the collector: `cargo xtask test --real` runs it. A plain run does the same
//! with Rotel: `envoy_rotel.rs`.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and tells what it ran"
)]

use host_tests::collector_checks::all_passes;
use host_tests::envoy_rig::say;
use host_tests::go_program::can_be_built;
use host_tests::real_collector::Collector;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_real_collector_writes_out_is_what_a_scrape_shows() {
    if !can_be_built() {
        say(
            "NOT RUN: there is no Go to build a collector with; the tests of `envoy_rotel` stand in for this one",
        );
        return;
    }
    let metrics = [
        json!({}),
        json!({"protocol": "http/protobuf"}),
        json!({"compression": "gzip", "metrics": {"temporality": "delta"}}),
        json!({"protocol": "http/protobuf", "metrics": {"temporality": "delta"}}),
    ];
    all_passes(Collector::opentelemetry, &metrics)
        .await
        .unwrap();
}
