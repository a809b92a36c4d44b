//! What a real OpenTelemetry Collector writes out is what a scrape shows.
//!
//! Left out of a plain run, since it builds the collector: `cargo xtask test --real` runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::time::Duration;

use host_tests::envoy_rig::say;
use host_tests::go_program::can_be_built;
use host_tests::push_rig::{PushRig, is_grpc};
use host_tests::real_collector::Collector;
use otlp_receiver::OtlpReceiver;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_real_collector_writes_out_is_what_a_scrape_shows() {
    if !can_be_built() {
        say("NOT RUN: there is no Go to build a collector with");
        return;
    }
    for push in [
        json!({}),
        json!({"protocol": "http/protobuf"}),
        json!({"compression": "gzip", "metrics": {"temporality": "delta"}}),
        json!({"protocol": "http/protobuf", "metrics": {"temporality": "delta"}}),
    ] {
        let sink = OtlpReceiver::start().unwrap();
        let address = sink.http();
        let starting = tokio::task::spawn_blocking(move || Collector::start(address));
        let collector = starting.await.unwrap().unwrap();
        let to = if is_grpc(&push) {
            collector.grpc
        } else {
            collector.http
        };
        let mut pushing = PushRig::start(4, &push, to).await.unwrap();
        for _ in 0..4 {
            pushing.serve(100).await.unwrap();
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let ledger = pushing.delivered(&sink).await.unwrap();
        say(&format!("through a real collector, {push}:"));
        let scrape = pushing.check(&ledger).await.unwrap();
        let failed = scrape.total_or_zero("inferometer_export_total", &[])
            - scrape.total_or_zero("inferometer_export_total", &[("result", "success")]);
        assert_eq!(failed, 0.0);
        pushing.rig.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exponential_histograms_have_exact_counts_and_sums_behind_a_real_collector() {
    if !can_be_built() {
        say("NOT RUN: there is no Go to build a collector with");
        return;
    }
    let push = json!({"metrics": {"histograms": "base2_exponential_bucket_histogram"}});
    let sink = OtlpReceiver::start().unwrap();
    let address = sink.http();
    let starting = tokio::task::spawn_blocking(move || Collector::start(address));
    let collector = starting.await.unwrap().unwrap();
    let mut pushing = PushRig::start(2, &push, collector.grpc).await.unwrap();
    pushing.serve(100).await.unwrap();
    let ledger = pushing.delivered(&sink).await.unwrap();
    assert_eq!(ledger.faults(), [] as [String; 0]);
    let scrape = pushing.rig.scrape_settled().await.unwrap();
    let is_other = |name: &str| name.starts_with("inferometer_") || name.ends_with("_bucket");
    let received = ledger.exposition().without(is_other);
    assert_eq!(received.changes(&scrape.without(is_other)), []);
    pushing.rig.stop().await.unwrap();
}
