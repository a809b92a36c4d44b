//! What Rotel, a collector that Python's index has as a package, writes out is what a scrape shows.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and tells what it ran"
)]

use host_tests::collector_checks::all_passes;
use host_tests::real_collector::Collector;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_collector_writes_out_is_what_a_scrape_shows() {
    let metrics = [
        json!({}),
        json!({"protocol": "http/protobuf", "metrics": {"temporality": "delta"}}),
    ];
    all_passes(Collector::rotel, &metrics).await.unwrap();
}
