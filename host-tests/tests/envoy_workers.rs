//! Many workers, many connections, listeners and configurations that come and go under load: the counts of the scrape
//! equal those of the client.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use envoy_harness::{HttpFilter, Listener};
use host_tests::{
    envoy_rig::{EnvoyRig, RigPlan, TICK, say, scrape_at, with_tick},
    metric_assert::{Exposition, Sample},
    mixed_load::{Load, Truth},
    scripted_upstream::ScriptedUpstream,
    test_client::{Ask, Http1Client},
};
use serde_json::json;

/// How long a listener that was removed goes on with the requests it has; the harness's default.
const DRAIN: Duration = Duration::from_secs(1);

async fn start(plan: RigPlan) -> (EnvoyRig, Arc<ScriptedUpstream>) {
    let upstream = Arc::new(ScriptedUpstream::http1().await.unwrap());
    let rig = plan.start(upstream.address()).await.unwrap();
    (rig, upstream)
}

/// The scrape at the end must equal the client's counts, and go on doing so.
async fn check(rig: &EnvoyRig, truth: &Truth) {
    let scrape = rig
        .scrape_until("all requests", |scrape| truth.is_reached_by(scrape))
        .await
        .unwrap();
    let settled = rig.scrape_settled().await.unwrap();
    let found = truth.differences(&settled);
    assert!(
        found.is_empty(),
        "{}\n(first complete scrape: {:?})",
        found.join("\n"),
        truth.differences(&scrape)
    );
}

fn is_counter(sample: &Sample) -> bool {
    ["_total", "_count", "_sum", "_bucket"]
        .iter()
        .any(|suffix| sample.name.ends_with(suffix))
}

/// Scrapes while something runs; counters may not step back, and no gauge of requests goes below zero.
async fn scrape_during<T>(scrape: SocketAddr, running: impl Future<Output = T>) -> (T, u32) {
    let mut highest: BTreeMap<(String, BTreeMap<String, String>), f64> = BTreeMap::new();
    let mut scrapes = 0;
    tokio::pin!(running);
    loop {
        tokio::select! {
            done = &mut running => return (done, scrapes),
            () = tokio::time::sleep(TICK / 2) => {}
        }
        let text = scrape_at(scrape, None).await.unwrap().text();
        let page = Exposition::parse(&text).unwrap();
        scrapes += 1;
        for sample in page.samples() {
            assert!(
                sample.value >= 0.0 || sample.name.ends_with("_bytes"),
                "below zero: {sample}"
            );
            if is_counter(sample) {
                let key = (sample.name.clone(), sample.labels.clone());
                let before = highest.insert(key, sample.value).unwrap_or(0.0);
                assert!(
                    sample.value >= before,
                    "stepped back from {before}: {sample}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_workers_count_what_the_client_counts() {
    let started = Instant::now();
    let (rig, upstream) = start(RigPlan {
        workers: 4,
        ..RigPlan::default()
    })
    .await;
    let load = Load {
        connections: 64,
        requests: 2000,
        seed: 1,
        reconnect: false,
    };
    let (truth, scrapes) = scrape_during(rig.scrape, load.run(&upstream, rig.observe)).await;
    let truth = truth.unwrap();
    check(&rig, &truth).await;
    let stats = rig
        .envoy
        .admin_get(
            "/stats?filter=listener.*worker_._downstream_cx_total|listener.*worker_.*cx_total",
        )
        .await
        .unwrap();
    let busy = stats.lines().filter(|line| !line.ends_with(": 0")).count();
    say(&format!(
        "{} requests over {} connections and 4 workers in {:.1} s, scraped {scrapes} times meanwhile; {busy} worker-listeners busy; {truth:?}",
        load.requests,
        load.connections,
        started.elapsed().as_secs_f64()
    ));
    assert!(
        busy >= 3,
        "the load did not reach several workers:\n{stats}"
    );
    rig.stop().await.unwrap();
}

/// Waits until nothing listens there any more, and its roots have had the time to end.
async fn wait_until_gone(address: SocketAddr) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        assert!(
            Instant::now() < deadline,
            "the removed listener still accepts"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(DRAIN + 2 * TICK).await;
}

/// Runs load after load until told to stop, each request on a connection of its own.
async fn load_until(
    upstream: Arc<ScriptedUpstream>,
    address: SocketAddr,
    mut stop: tokio::sync::watch::Receiver<bool>,
) -> Truth {
    let mut truth = Truth::default();
    let mut seed = 100;
    while !*stop.borrow_and_update() {
        let load = Load {
            connections: 8,
            requests: 64,
            seed,
            reconnect: true,
        };
        truth.add(&load.run(&upstream, address).await.unwrap());
        seed += 1;
    }
    truth
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newer_listener_comes_and_goes_under_load_and_nothing_is_lost() {
    const ROUNDS: u32 = 3;
    let started = Instant::now();
    let (mut rig, upstream) = start(RigPlan {
        dynamic_listeners: true,
        ..RigPlan::default()
    })
    .await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let loading = tokio::spawn(load_until(Arc::clone(&upstream), rig.observe, stopped));
    let (observe, both) = (rig.listeners[..1].to_vec(), rig.listeners.clone());
    let mut counted = 0.0;
    for round in 0..ROUNDS {
        let before = rig.scrape().await.unwrap();
        counted = f64::max(
            counted,
            before.total_or_zero("inference_requests_total", &[]),
        );
        rig.envoy.set_listeners(&observe).unwrap();
        wait_until_gone(rig.scrape).await;
        rig.envoy.set_listeners(&both).unwrap();
        rig.scrape = rig.listener("scrape").await.unwrap();
        let after = scrape_when_it_answers(&rig).await;
        let again = after.total_or_zero("inference_requests_total", &[]);
        assert!(
            again >= counted,
            "round {round}: {again} requests after {counted}"
        );
        counted = again;
    }
    stop.send(true).unwrap();
    let truth = loading.await.unwrap();
    check(&rig, &truth).await;
    say(&format!(
        "the scrape listener left and came back {ROUNDS} times under {} requests, in {:.1} s",
        truth.watched() + truth.skipped,
        started.elapsed().as_secs_f64()
    ));
    rig.stop().await.unwrap();
}

/// A listener is named by the admin page a moment before its workers accept.
async fn scrape_when_it_answers(rig: &EnvoyRig) -> Exposition {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match rig.scrape().await {
            Ok(scrape) => return scrape,
            Err(error) => assert!(Instant::now() < deadline, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The listeners with the observing one configured otherwise.
fn reconfigured(listeners: &[Listener], configuration: &str) -> Vec<Listener> {
    let mut listeners = listeners.to_vec();
    for filter in listeners
        .iter_mut()
        .filter(|one| one.name == "observe")
        .flat_map(|one| &mut one.filters)
    {
        if let HttpFilter::Wasm(plugin) = filter {
            configuration.clone_into(&mut plugin.configuration);
        }
    }
    listeners
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configurations_change_under_load_and_nothing_is_lost() {
    let started = Instant::now();
    let (rig, upstream) = start(RigPlan {
        dynamic_listeners: true,
        ..RigPlan::default()
    })
    .await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let loading = tokio::spawn(load_until(Arc::clone(&upstream), rig.observe, stopped));
    let configurations = [
        json!({"labels": {"route": true}}),
        json!({"labels": {"upstream_endpoint": true}, "buckets": {"inference.request.duration": [0.5, 1, 2]}}),
        json!({}),
    ];
    let changing = async {
        for configuration in &configurations {
            rig.envoy
                .set_listeners(&reconfigured(&rig.listeners, &with_tick(configuration)))
                .unwrap();
            tokio::time::sleep(DRAIN + Duration::from_millis(500)).await;
        }
    };
    let ((), scrapes) = scrape_totals_during(&rig, changing).await;
    stop.send(true).unwrap();
    let truth = loading.await.unwrap();
    check(&rig, &truth).await;
    say(&format!(
        "{} configurations in turn under {} requests, scraped {scrapes} times meanwhile, in {:.1} s",
        configurations.len(),
        truth.watched() + truth.skipped,
        started.elapsed().as_secs_f64()
    ));
    rig.stop().await.unwrap();
}

/// As [`scrape_during`], where series may change their labels and buckets: the totals may not step back.
async fn scrape_totals_during<T>(rig: &EnvoyRig, running: impl Future<Output = T>) -> (T, u32) {
    const TOTALS: [&str; 4] = [
        "inference_requests_total",
        "inference_input_tokens_total",
        "inference_request_duration_seconds_count",
        "gen_ai_server_time_to_first_token_seconds_count",
    ];
    let mut highest: BTreeMap<&str, f64> = BTreeMap::new();
    let mut scrapes = 0;
    tokio::pin!(running);
    loop {
        tokio::select! {
            done = &mut running => return (done, scrapes),
            () = tokio::time::sleep(TICK / 2) => {}
        }
        let page = rig.scrape().await.unwrap();
        scrapes += 1;
        for name in TOTALS {
            let value = page.total_or_zero(name, &[]);
            let before = highest.insert(name, value).unwrap_or(0.0);
            assert!(
                value >= before,
                "{name} stepped back from {before} to {value}"
            );
        }
    }
}

/// A configuration that nobody can follow.
const WRONG: &str = r#"{"tick": 5, "lables": {}}"#;

async fn one_request(rig: &EnvoyRig, upstream: &ScriptedUpstream) {
    let report = upstream.next(host_tests::scripted_upstream::Script::reply(
        200,
        "application/json",
        "{}",
    ));
    let answer = Http1Client::once(
        rig.observe,
        &Ask::post("/v1/chat/completions", "{\"model\":\"m\"}"),
    )
    .await
    .unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    report.within(Duration::from_secs(5)).await.unwrap();
}

/// Each worker says so, and the main thread, which has a machine of its own.
fn machines(plan: &RigPlan) -> f64 {
    f64::from(plan.workers) + 1.0
}

fn rejected(scrape: &Exposition) -> f64 {
    scrape.total_or_zero("inferometer_config_rejected", &[])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_starts_with_a_wrong_configuration_serves_and_says_so() {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let plan = RigPlan::default();
    let mut options = plan.options(
        host_tests::module::built_module().unwrap(),
        upstream.address(),
    );
    options.listeners = reconfigured(&options.listeners, WRONG);
    let rig = EnvoyRig::start(options).await.unwrap();
    for _ in 0..5 {
        one_request(&rig, &upstream).await;
    }
    rig.scrape_until("a rejected configuration", |scrape| {
        rejected(scrape) == machines(&plan)
    })
    .await
    .unwrap();
    let scrape = rig.scrape_settled().await.unwrap();
    assert_eq!(rejected(&scrape), machines(&plan));
    assert_eq!(
        scrape.total_or_zero("inference_requests_total", &[]),
        0.0,
        "where none was ever good, nothing is watched"
    );
    let log = rig.stop().await.unwrap();
    for mistake in ["key `tick`", "key `lables`"] {
        assert!(
            log.contains(mistake),
            "the log does not name {mistake}:\n{log}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_update_leaves_the_last_good_configuration_in_force() {
    let plan = RigPlan {
        dynamic_listeners: true,
        observe: json!({"provider": "first"}),
        ..RigPlan::default()
    };
    let machines = machines(&plan);
    let (rig, upstream) = start(plan).await;
    one_request(&rig, &upstream).await;
    let requests = |scrape: &Exposition| {
        scrape.total_or_zero("inference_requests_total", &[("provider", "first")])
    };
    rig.scrape_until("the first request", |scrape| {
        requests(scrape) == 1.0 && rejected(scrape) == 0.0
    })
    .await
    .unwrap();
    rig.envoy
        .set_listeners(&reconfigured(&rig.listeners, WRONG))
        .unwrap();
    rig.scrape_until("a rejected configuration", |scrape| {
        rejected(scrape) == machines
    })
    .await
    .unwrap();
    tokio::time::sleep(DRAIN + 2 * TICK).await;
    one_request(&rig, &upstream).await;
    rig.scrape_until("the second request", |scrape| {
        requests(scrape) == 2.0 && rejected(scrape) == machines
    })
    .await
    .unwrap();
    rig.envoy.set_listeners(&rig.listeners).unwrap();
    rig.scrape_until("a good configuration", |scrape| rejected(scrape) == 0.0)
        .await
        .unwrap();
    one_request(&rig, &upstream).await;
    rig.scrape_until("the third request", |scrape| requests(scrape) == 3.0)
        .await
        .unwrap();
    rig.stop().await.unwrap();
}
