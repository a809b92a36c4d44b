//! What a real Prometheus holds of what was pushed is what a scrape shows: names, labels, buckets and values.
//!
//! Left out of a plain run, since it builds Prometheus: `cargo xtask test --real` runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::time::{Duration, Instant};

use host_tests::envoy_rig::say;
use host_tests::go_program::can_be_built;
use host_tests::otlp_ledger::with_plain_bounds;
use host_tests::push_rig::PushRig;
use host_tests::real_prometheus::{METRICS_PATH, Prometheus};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_real_prometheus_holds_is_what_a_scrape_shows() {
    if !can_be_built() {
        say("NOT RUN: there is no Go to build Prometheus with");
        return;
    }
    let starting = tokio::task::spawn_blocking(Prometheus::start);
    let prometheus = starting.await.unwrap().unwrap();
    let push = json!({"protocol": "http/protobuf", "metrics": {"path": METRICS_PATH}});
    let mut pushing = PushRig::start(2, &push, prometheus.address).await.unwrap();
    for _ in 0..3 {
        pushing.serve(100).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    let scrape = pushing.rig.scrape_settled().await.unwrap();
    let own = |name: &str| name.starts_with("inferometer_");
    let shown = with_plain_bounds(&scrape.without(own));
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let held = with_plain_bounds(&prometheus.holds().await.unwrap());
        let differences = held.changes(&shown);
        if differences.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{differences:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let series = shown.samples().len();
    say(&format!(
        "a real Prometheus holds {series} series that equal the scrape's"
    ));
    pushing.rig.stop().await.unwrap();
}
