//! The role `push` in real Envoy, against a real receiver of gRPC and HTTP: what arrives is what a scrape shows.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use envoy_harness::{EnvoyOptions, HttpFilter, Upstream, WasmPlugin};
use host_tests::envoy_rig::{EnvoyRig, RigPlan, say, with_tick};
use host_tests::metric_assert::Exposition;
use host_tests::module::built_module;
use host_tests::otlp_ledger::{Ledger, with_plain_bounds};
use host_tests::scripted_upstream::{Script, ScriptedUpstream};
use host_tests::test_client::{Ask, Http1Client};
use otlp_receiver::{Behaviour, OtlpReceiver};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const PATIENCE: Duration = Duration::from_secs(40);

/// An Envoy whose observing listener pushes as well, to `receiver`.
struct Pushing {
    rig: EnvoyRig,
    upstream: ScriptedUpstream,
    receiver: OtlpReceiver,
    sent: u32,
}

/// The observing configuration of the rig with the role `push`.
fn observing(push: &Value) -> Value {
    let mut push = push.clone();
    push["cluster"] = json!("otel");
    push["interval"] = json!("1s");
    push["timeout"] = json!("2s");
    json!({ "push": push })
}

fn options(
    workers: u32,
    push: &Value,
    upstream: &ScriptedUpstream,
    receiver: &OtlpReceiver,
) -> EnvoyOptions {
    let plan = RigPlan {
        workers,
        observe: observing(push),
        dynamic_listeners: true,
        ..RigPlan::default()
    };
    let mut options = plan.options(built_module().unwrap(), upstream.address());
    let is_http = push["protocol"] == "http/protobuf";
    options.upstreams.push(if is_http {
        Upstream::at("otel", receiver.http())
    } else {
        Upstream::at("otel", receiver.grpc()).http2()
    });
    options
}

impl Pushing {
    async fn start(workers: u32, push: Value) -> Pushing {
        let upstream = ScriptedUpstream::http1().await.unwrap();
        let receiver = OtlpReceiver::start().unwrap();
        let options = options(workers, &push, &upstream, &receiver);
        let rig = EnvoyRig::start(options).await.unwrap();
        Pushing {
            rig,
            upstream,
            receiver,
            sent: 0,
        }
    }

    async fn serve(&mut self, times: u32) {
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..times {
            self.upstream.standing(Script::reply(
                200,
                "application/json",
                "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\
                 \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
            ));
            let observe = self.rig.observe;
            running.spawn(async move {
                let ask = Ask::post(CHAT, "{\"model\":\"m\"}");
                Http1Client::once(observe, &ask).await.unwrap().status
            });
            if running.len() >= 16 {
                assert_eq!(running.join_next().await.unwrap().unwrap(), 200);
            }
        }
        while let Some(status) = running.join_next().await {
            assert_eq!(status.unwrap(), 200);
        }
        self.sent += times;
    }

    fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        for received in self.receiver.metrics() {
            ledger.take(&received.request);
        }
        ledger
    }

    /// Waits until the receiver has all requests, and gives its books.
    async fn delivered(&self) -> Ledger {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ledger = self.ledger();
            let exposition = ledger.exposition();
            let got = exposition.total_or_zero("inference_requests_total", &[]);
            let in_flight = exposition.total_or_zero("inference_requests_in_flight", &[]);
            if got >= f64::from(self.sent) && in_flight == 0.0 {
                assert_eq!(got, f64::from(self.sent));
                return ledger;
            }
            assert!(
                Instant::now() < deadline,
                "{got} of {} requests after {} calls",
                self.sent,
                self.receiver.calls()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Holds the books against a scrape; what the module says of itself is left out, as each export changes it.
    async fn check(&self, ledger: &Ledger) -> Exposition {
        let own = |name: &str| name.starts_with("inferometer_");
        let scrape = self.rig.scrape_settled().await.unwrap();
        let shown = with_plain_bounds(&scrape.without(own));
        let received = ledger.exposition().without(own);
        let mut differences = received.changes(&shown);
        // Sums of deltas are sums of rounded numbers.
        differences.retain(|(_, one, other)| (one - other).abs() > 1e-6);
        assert_eq!(differences, []);
        assert_eq!(ledger.faults(), [] as [String; 0]);
        assert_eq!(ledger.instances().len(), 1);
        let (requests, points) = ledger.counts();
        say(&format!(
            "{} calls, {requests} taken, {points} points, {} series equal to the scrape's",
            self.receiver.calls(),
            shown.samples().len()
        ));
        scrape
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_arrives_is_what_a_scrape_shows() {
    for push in [
        json!({}),
        json!({"protocol": "http/protobuf"}),
        json!({"temporality": "delta"}),
    ] {
        let mut pushing = Pushing::start(2, push).await;
        for _ in 0..3 {
            pushing.serve(40).await;
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let ledger = pushing.delivered().await;
        pushing.check(&ledger).await;
        assert_eq!(pushing.receiver.most_open(), 1);
        pushing.rig.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_of_a_real_receiver_is_counted_and_all_arrives_in_the_end() {
    let seconds = Duration::from_secs;
    let status = |code, retry_after| Behaviour::Status { code, retry_after };
    let mut pushing = Pushing::start(2, json!({})).await;
    for behaviour in [
        status(14, None),
        status(8, Some(seconds(1))),
        status(16, None),
        Behaviour::TakePartly(2),
        Behaviour::Hang,
        Behaviour::TakeAfter(Duration::from_millis(300)),
    ] {
        pushing.receiver.next(behaviour);
    }
    pushing.serve(100).await;
    let deadline = Instant::now() + PATIENCE;
    while pushing.receiver.calls() < 8 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ledger = pushing.delivered().await;
    let scrape = pushing.check(&ledger).await;
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
    let mut pushing = Pushing::start(WORKERS, json!({})).await;
    let mut away_since = None;
    for part in 0..PARTS {
        pushing.serve(REQUESTS / PARTS).await;
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
            pushing.receiver.pause();
            away_since = Some(Instant::now());
        }
        if away_since.is_some_and(|since| since.elapsed() > AWAY) {
            away_since = None;
            pushing.receiver.resume().unwrap();
        }
    }
    if let Some(since) = away_since {
        tokio::time::sleep(AWAY.saturating_sub(since.elapsed())).await;
        pushing.receiver.resume().unwrap();
    }
    let ledger = pushing.delivered().await;
    let scrape = pushing.check(&ledger).await;
    let failed = scrape.total_or_zero("inferometer_export_total", &[("result", "unavailable")])
        + scrape.total_or_zero("inferometer_export_total", &[("result", "unreachable")]);
    assert!(failed >= 1.0, "{failed}");
    assert_eq!(pushing.receiver.most_open(), 1);
    pushing.rig.stop().await.unwrap();
}
