//! The role `push` in real Envoy, against a real receiver of gRPC and HTTP: what arrives is what a scrape shows.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use envoy_harness::{HttpFilter, WasmPlugin};
use host_tests::envoy_rig::with_tick;
use host_tests::module::built_module;
use host_tests::otlp_ledger::attributes;
use host_tests::push_rig::{PushRig, SERVICE_NAME, is_grpc, observing};
use otlp_receiver::{Behaviour, OtlpReceiver, Signal};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(40);

async fn start(workers: u32, push: Value) -> (PushRig, OtlpReceiver) {
    let receiver = OtlpReceiver::start().unwrap();
    let address = if is_grpc(&push) {
        receiver.grpc()
    } else {
        receiver.http()
    };
    let pushing = PushRig::start(workers, &push, address).await.unwrap();
    (pushing, receiver)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_arrives_is_what_a_scrape_shows() {
    for push in [
        json!({}),
        json!({"protocol": "http/protobuf"}),
        json!({"metrics": {"temporality": "delta"}}),
    ] {
        let (mut pushing, receiver) = start(2, push).await;
        for _ in 0..3 {
            pushing.serve(40).await.unwrap();
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let ledger = pushing.delivered(&receiver).await.unwrap();
        pushing.check(&ledger).await.unwrap();
        assert_eq!(receiver.most_open(Signal::Metrics), 1);
        pushing.rig.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_of_a_real_receiver_is_counted_and_all_arrives_in_the_end() {
    let seconds = Duration::from_secs;
    let status = |code, retry_after| Behaviour::Status { code, retry_after };
    let (mut pushing, receiver) = start(2, json!({})).await;
    for behaviour in [
        status(14, None),
        status(8, Some(seconds(1))),
        status(16, None),
        Behaviour::TakePartly(2),
        Behaviour::Hang,
        Behaviour::TakeAfter(Duration::from_millis(300)),
    ] {
        receiver.next(Signal::Metrics, behaviour);
    }
    pushing.serve(100).await.unwrap();
    let deadline = Instant::now() + PATIENCE;
    while receiver.calls(Signal::Metrics) < 8 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ledger = pushing.delivered(&receiver).await.unwrap();
    let scrape = pushing.check(&ledger).await.unwrap();
    let exports = |result: &str| {
        let labels = [("signal", "metrics"), ("result", result)];
        scrape.total_or_zero("inferometer_export_total", &labels)
    };
    for result in ["rate_limited", "unauthenticated", "partial_success"] {
        assert_eq!(exports(result), 1.0, "{result}");
    }
    // The receiver and the proxy give a call up at the same moment, and the receiver calls that cancelled.
    assert!(exports("unavailable") >= 1.0);
    assert_eq!(exports("unavailable") + exports("timeout"), 2.0);
    let rejected = scrape.total("inferometer_export_rejected_total", &[]);
    assert_eq!(rejected, Some(2.0));
    pushing.rig.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_away_and_updates_of_the_sender_lose_nothing() {
    const WORKERS: u32 = 8;
    const REQUESTS: u32 = 5_000;
    const PARTS: u32 = 10;
    const AWAY: Duration = Duration::from_secs(30);
    let (mut pushing, mut receiver) = start(WORKERS, json!({})).await;
    let mut away_since = None;
    for part in 0..PARTS {
        pushing.serve(REQUESTS / PARTS).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        if [2, 4, 6].contains(&part) {
            // A configuration that differs makes a new root of the sender, and ends the one before it.
            let push = observing(&json!({"resource": {"turn": part.to_string()}}));
            let mut listeners = pushing.rig.listeners.clone();
            let plugin = WasmPlugin::new(built_module().unwrap());
            let observing = plugin.rooted("observe").configured(&with_tick(&push));
            listeners[0].filters = vec![HttpFilter::Wasm(observing)];
            pushing.rig.envoy.set_listeners(&listeners).unwrap();
            pushing.rig.listeners = listeners;
            tokio::time::sleep(Duration::from_secs(2)).await;
            pushing.rig.observe = pushing.rig.listener("observe").await.unwrap();
        }
        if part == 4 {
            receiver.pause();
            away_since = Some(Instant::now());
        }
        if away_since.is_some_and(|since| since.elapsed() > AWAY) {
            away_since = None;
            receiver.resume().unwrap();
        }
    }
    if let Some(since) = away_since {
        tokio::time::sleep(AWAY.saturating_sub(since.elapsed())).await;
        receiver.resume().unwrap();
    }
    let ledger = pushing.delivered(&receiver).await.unwrap();
    let scrape = pushing.check(&ledger).await.unwrap();
    let failed = scrape.total_or_zero("inferometer_export_total", &[("result", "unavailable")])
        + scrape.total_or_zero("inferometer_export_total", &[("result", "unreachable")]);
    assert!(failed >= 1.0, "{failed}");
    assert_eq!(receiver.most_open(Signal::Metrics), 1);
    pushing.rig.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_of_the_bootstrap_sends_what_the_workers_count() {
    let receiver = OtlpReceiver::start().unwrap();
    let mut pushing = PushRig::start_with_service(&json!({}), receiver.grpc())
        .await
        .unwrap();
    pushing.serve(50).await.unwrap();
    let ledger = pushing.delivered(&receiver).await.unwrap();
    pushing.check(&ledger).await.unwrap();
    assert_eq!(receiver.most_open(Signal::Metrics), 1);
    let resource = receiver.metrics()[0].request.resource_metrics[0]
        .resource
        .clone();
    let resource = attributes(&resource.unwrap().attributes);
    assert_eq!(resource["service.name"], SERVICE_NAME);
    assert_eq!(resource["envoy.node.id"], "inferometer");
    pushing.rig.stop().await.unwrap();
}
