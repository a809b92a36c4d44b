//! The role `push` in real Envoy, against a real receiver of gRPC and HTTP: what arrives is what a scrape shows.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use envoy_harness::{HttpFilter, WasmPlugin};
use host_tests::collector_checks::{log_records_of, spans_when};
use host_tests::envoy_rig::{say, with_tick};
use host_tests::module::built_module;
use host_tests::otlp_ledger::attributes;
use host_tests::push_rig::{PushRig, SERVICE, is_grpc, observing};
use host_tests::span_checks::{log_complaints, span_complaints};
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, metric::Data};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind};
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
        json!({"compression": "gzip"}),
        json!({"compression": "gzip", "protocol": "http/protobuf"}),
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
async fn spans_and_log_records_arrive_once_each_under_their_callers() {
    const REQUESTS: u32 = 600;
    let push = json!({"traces": {"baggage": ["tenant"], "compression": "gzip"}, "logs": true});
    let (mut pushing, mut receiver) = start(4, push).await;
    pushing.headers = |number| {
        vec![
            ("traceparent", format!("00-{number:032x}-{number:016x}-01")),
            ("baggage", format!("tenant=t{number}")),
        ]
    };
    pushing.serve(REQUESTS / 2).await.unwrap();
    // A receiver that goes in the middle of calls resets them.
    for signal in [Signal::Traces, Signal::Logs, Signal::Metrics] {
        receiver.always(signal, Behaviour::Hang);
    }
    pushing.serve(REQUESTS / 2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    receiver.pause();
    for signal in [Signal::Traces, Signal::Logs, Signal::Metrics] {
        receiver.always(signal, Behaviour::Take);
    }
    receiver.resume().unwrap();
    pushing.fail().await.unwrap();
    let spans = spans_when(&receiver, REQUESTS as usize + 1).await.unwrap();
    let ledger = pushing.delivered(&receiver).await.unwrap();
    pushing.check(&ledger).await.unwrap();
    let mut numbers = BTreeSet::new();
    let mut seconds = 0.0;
    for span in &spans {
        let faults = span_complaints(span, &["tenant"]);
        assert_eq!(faults, [] as [String; 0], "{span:?}");
        assert_eq!(span.kind(), SpanKind::Client);
        let number = u128::from_be_bytes(span.trace_id.as_slice().try_into().unwrap());
        let parent = u64::from_be_bytes(span.parent_span_id.as_slice().try_into().unwrap());
        assert_eq!(number, u128::from(parent));
        assert_eq!(attributes(&span.attributes)["tenant"], format!("t{number}"));
        assert!(numbers.insert(number), "{number} twice");
        let nanos = span.end_time_unix_nano - span.start_time_unix_nano;
        seconds += Duration::from_nanos(nanos).as_secs_f64();
    }
    // Each is as long as the metric says, so all together are.
    let scrape = pushing.rig.scrape_settled().await.unwrap();
    let sum = scrape.total_or_zero("gen_ai_server_request_duration_seconds_sum", &[]);
    let apart = (sum - seconds).abs();
    assert!(apart < 1e-3, "{sum} s by the metric, {seconds} s by spans");
    let exemplars = exemplars_of(&receiver);
    assert!(!exemplars.is_empty());
    for exemplar in &exemplars {
        let is_its = |span: &&Span| span.span_id == exemplar.span_id;
        let span = spans.iter().find(is_its).unwrap();
        assert_eq!(span.trace_id, exemplar.trace_id);
    }
    let logs = log_records_of(&receiver);
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert_eq!(log_complaints(&logs[0], &["tenant"]), [] as [String; 0]);
    let failed = spans.iter().find(|span| span.status.is_some()).unwrap();
    assert_eq!(logs[0].span_id, failed.span_id);
    say(&format!(
        "{} spans, {} exemplars and {} log record, durations {apart:.9} s apart from the metric's sum",
        spans.len(),
        exemplars.len(),
        logs.len()
    ));
    pushing.rig.stop().await.unwrap();
}

fn exemplars_of(receiver: &OtlpReceiver) -> Vec<Exemplar> {
    let requests = receiver.metrics().into_iter();
    requests
        .flat_map(|received| received.request.resource_metrics)
        .flat_map(|resource| resource.scope_metrics)
        .flat_map(|scope| scope.metrics)
        .flat_map(|metric| match metric.data {
            Some(Data::Histogram(histogram)) => histogram.data_points,
            _ => Vec::new(),
        })
        .flat_map(|point| point.exemplars)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_of_the_bootstrap_sends_what_the_workers_count() {
    for listeners_push in [false, true] {
        let receiver = OtlpReceiver::start().unwrap();
        let to = receiver.grpc();
        let mut pushing = PushRig::start_with_service(&json!({}), listeners_push, to)
            .await
            .unwrap();
        pushing.serve(50).await.unwrap();
        let ledger = pushing.delivered(&receiver).await.unwrap();
        pushing.check(&ledger).await.unwrap();
        assert_eq!(receiver.most_open(Signal::Metrics), 1);
        // A worker may have sent before the service was there; once it is, no worker does.
        let deadline = Instant::now() + PATIENCE;
        let senders = loop {
            let senders = senders(&receiver);
            if senders.last().is_some_and(|last| last == SERVICE) || Instant::now() > deadline {
                break senders;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert_eq!(senders.last().unwrap(), SERVICE, "{senders:?}");
        let most = 1 + usize::from(listeners_push);
        assert!(senders.len() <= most, "{senders:?}");
        say(&format!("sent by {senders:?}"));
        pushing.rig.stop().await.unwrap();
    }
}

/// The services that the requests of metrics name as their senders, one after the other.
fn senders(receiver: &OtlpReceiver) -> Vec<String> {
    let names = receiver.metrics().into_iter().map(|received| {
        let resource = received.request.resource_metrics[0].resource.clone();
        let resource = attributes(&resource.unwrap().attributes);
        assert_eq!(resource["envoy.node.id"], "inferometer");
        resource["service.name"].clone()
    });
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}
