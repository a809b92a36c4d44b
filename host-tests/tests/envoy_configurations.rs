//! Every configuration in `envoy/` is accepted by real Envoy as it stands, and does what it says once it runs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use envoy_harness::{EnvoyOptions, EnvoyProcess, validate};
use host_tests::{
    envoy_rig::{envoy_binary, refuse_failures, say, scrape_at},
    metric_assert::{Exposition, equal},
    module::{MODULE_PATH, built_module, workspace_root},
    otlp_ledger::{Ledger, attributes},
    scripted_upstream::{Script, ScriptedUpstream},
    test_client::{Ask, Http1Client},
};
use otlp_receiver::{OtlpReceiver, Signal};

/// The addresses in the files, each with what stands in its place here.
const LISTEN_PORTS: [&str; 3] = ["10000", "9090", "9901"];
const UPSTREAM_PORT: &str = "8000";

fn configurations() -> Vec<String> {
    let folder = std::fs::read_dir(workspace_root().join("envoy")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".yaml")).collect();
    names.sort();
    names
}

/// The file with the module at its absolute place, which does not depend on where the test runs.
fn text(name: &str) -> String {
    let text = std::fs::read_to_string(workspace_root().join("envoy").join(name)).unwrap();
    let module = built_module().unwrap();
    assert!(
        text.contains(MODULE_PATH),
        "{name} does not name {MODULE_PATH}"
    );
    text.replace(MODULE_PATH, module.to_str().unwrap())
}

async fn start(name: &str, upstream: SocketAddr) -> EnvoyProcess {
    start_text(name, text(name), upstream).await
}

async fn start_text(name: &str, mut text: String, upstream: SocketAddr) -> EnvoyProcess {
    for port in LISTEN_PORTS {
        text = text.replace(&format!("port_value: {port}"), "port_value: 0");
    }
    let upstream = format!("port_value: {}", upstream.port());
    let theirs = format!("port_value: {UPSTREAM_PORT}");
    assert!(
        text.contains(&theirs),
        "{name} has no upstream at {UPSTREAM_PORT}"
    );
    text = text.replace(&theirs, &upstream);
    let mut options = EnvoyOptions::new();
    options.concurrency = 2;
    let mut envoy = EnvoyProcess::start_with(&envoy_binary().unwrap(), &options, &text).unwrap();
    envoy.wait_ready(Duration::from_secs(30)).await.unwrap();
    envoy
}

fn streamed() -> Script {
    Script::stream(
        [
            "data: {\"model\":\"llama-3\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
            "data: {\"model\":\"llama-3\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":75}}}\n\n",
            "data: [DONE]\n\n",
        ],
        Duration::from_millis(30),
    )
}

/// One streamed request and one that is refused.
async fn two_requests(observe: SocketAddr, upstream: &ScriptedUpstream) {
    for (script, status) in [
        (streamed(), 200),
        (
            Script::reply(429, "application/json", "{\"error\":{}}"),
            429,
        ),
    ] {
        let report = upstream.next(script);
        let ask = Ask::post(
            "/v1/chat/completions",
            "{\"model\":\"llama-3\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        );
        assert_eq!(
            Http1Client::once(observe, &ask).await.unwrap().status,
            status
        );
        report.within(Duration::from_secs(5)).await.unwrap();
    }
}

#[tokio::test]
async fn every_configuration_is_accepted_by_envoy() {
    let binary = envoy_binary().unwrap();
    let names = configurations();
    // Each of them also runs, in a test of its own below.
    assert_eq!(
        names,
        ["minimal.yaml", "otlp.yaml", "stats.yaml"],
        "a configuration without a test that runs it"
    );
    for name in &names {
        validate(&binary, &text(name))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
    }
    say(&format!("Envoy {} accepts {names:?}", binary.version));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_minimal_configuration_measures_and_answers_scrapes() {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let envoy = start("minimal.yaml", upstream.address()).await;
    let observe = envoy.listener_address("observe").await.unwrap();
    let scrape = envoy.listener_address("scrape").await.unwrap();
    two_requests(observe, &upstream).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    let page = loop {
        let page = Exposition::parse(&scrape_at(scrape, None).await.unwrap().text()).unwrap();
        if page.total_or_zero("inference_requests_total", &[]) >= 2.0 {
            break page;
        }
        assert!(
            Instant::now() < deadline,
            "the requests did not reach the scrape"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let cluster = [("model", "llama-3"), ("upstream_cluster", "inference")];
    page.assert(&[
        equal(
            "inference_requests_total",
            &[("outcome", "success"), ("stream", "true")],
            1.0,
        ),
        equal(
            "inference_requests_total",
            &[("outcome", "rate_limited")],
            1.0,
        ),
        equal("inference_requests_total", &cluster, 2.0),
        equal(
            "inference_output_tokens_total",
            &[("source", "reported")],
            7.0,
        ),
        equal("gen_ai_server_time_to_first_token_seconds_count", &[], 1.0),
    ]);
    // The engine has a page of that name itself, so the observing listener must let the request through.
    let report = upstream.next(Script::reply(200, "text/plain", "the engine's own"));
    let answer = Http1Client::once(observe, &Ask::new("GET", "/metrics"))
        .await
        .unwrap();
    assert_eq!(answer.text(), "the engine's own");
    report.within(Duration::from_secs(5)).await.unwrap();
    let own = envoy.admin_get("/stats?filter=wasmcustom").await.unwrap();
    assert_eq!(
        own.trim(),
        "",
        "this configuration leaves Envoy's own stats alone"
    );
    refuse_failures(&envoy.stop().await.unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_otlp_configuration_pushes_to_a_collector() {
    const COLLECTOR: &str = "port_value: 4317";
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let receiver = OtlpReceiver::start().unwrap();
    let text = text("otlp.yaml");
    assert!(text.contains(COLLECTOR));
    let collector = format!("port_value: {}", receiver.grpc().port());
    let text = text.replace(COLLECTOR, &collector);
    let envoy = start_text("otlp.yaml", text, upstream.address()).await;
    let observe = envoy.listener_address("observe").await.unwrap();
    two_requests(observe, &upstream).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    let received = loop {
        let mut ledger = Ledger::default();
        for received in receiver.metrics() {
            ledger.take(&received.request);
        }
        assert_eq!(ledger.faults(), [] as [String; 0]);
        let received = ledger.exposition();
        if received.total_or_zero("inference_requests_total", &[]) >= 2.0 {
            break received;
        }
        let calls = receiver.calls(Signal::Metrics);
        assert!(
            Instant::now() < deadline,
            "after {calls} calls nothing came"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let refused = [("outcome", "rate_limited")];
    received.assert(&[
        equal("inference_requests_total", &refused, 1.0),
        equal("inference_cached_input_tokens_total", &[], 75.0),
        equal("gen_ai_server_time_to_first_token_seconds_count", &[], 1.0),
    ]);
    let resource = receiver.metrics()[0].request.resource_metrics[0]
        .resource
        .clone();
    let resource = attributes(&resource.unwrap().attributes);
    assert_eq!(resource["service.name"], "inference-gateway");
    refuse_failures(&envoy.stop().await.unwrap()).unwrap();
}

/// The upper bounds of a histogram's buckets on a page.
fn bounds(page: &Exposition, name: &str) -> Vec<f64> {
    let bucket = format!("{name}_bucket");
    let samples = page.samples().iter().filter(|sample| sample.name == bucket);
    let mut bounds: Vec<f64> = samples
        .map(|sample| sample.labels["le"].replace("+Inf", "inf").parse().unwrap())
        .collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds.retain(|bound| bound.is_finite());
    bounds
}

/// Those lines of Envoy's page that are the module's.
fn ours(page: &str) -> String {
    let is_ours = |line: &&str| {
        ["inference_", "gen_ai_", "inferometer_"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    page.lines()
        .filter(is_ours)
        .map(|line| format!("{line}\n"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stats_configuration_gives_envoys_page_labels_and_buckets() {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let envoy = start("stats.yaml", upstream.address()).await;
    let observe = envoy.listener_address("observe").await.unwrap();
    two_requests(observe, &upstream).await;
    // Envoy merges the workers' parts of a histogram every five seconds.
    let deadline = Instant::now() + Duration::from_secs(15);
    let page = loop {
        let whole = envoy.admin_get("/stats/prometheus").await.unwrap();
        for line in whole.lines() {
            assert!(
                !line.contains("=.=") && !line.contains("___"),
                "a tag was left in the name: {line}"
            );
        }
        let page = Exposition::parse(&ours(&whole)).unwrap();
        let merged =
            page.total_or_zero("inference_request_duration_milliseconds_count", &[]) >= 2.0;
        if merged && page.total_or_zero("inference_requests", &[]) >= 2.0 {
            break page;
        }
        assert!(
            Instant::now() < deadline,
            "the requests did not reach Envoy's page:\n{}",
            ours(&whole)
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let base = [
        ("model", "llama-3"),
        ("provider", "openai"),
        ("operation", "chat"),
        ("upstream_cluster", "inference"),
    ];
    page.assert(&[
        equal(
            "inference_requests",
            &[&base[..], &[("outcome", "success"), ("stream", "true")]].concat(),
            1.0,
        ),
        equal(
            "inference_requests",
            &[
                &base[..],
                &[("outcome", "rate_limited"), ("stream", "false")],
            ]
            .concat(),
            1.0,
        ),
        equal(
            "inference_input_tokens",
            &[&base[..], &[("source", "reported")]].concat(),
            100.0,
        ),
        equal(
            "inference_output_tokens",
            &[&base[..], &[("source", "reported")]].concat(),
            7.0,
        ),
        equal("inference_request_duration_milliseconds_count", &base, 2.0),
        equal(
            "gen_ai_server_time_to_first_token_milliseconds_count",
            &[("model_asked", "llama-3"), ("model_answered", "llama-3")],
            1.0,
        ),
    ]);
    let first_token = page
        .total("gen_ai_server_time_to_first_token_milliseconds_sum", &[])
        .unwrap();
    assert!(
        (25.0..200.0).contains(&first_token),
        "a first token after {first_token} ms"
    );
    for (name, expected) in [
        (
            "inference_request_duration_milliseconds",
            vec![
                100.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0, 30_000.0, 60_000.0,
                120_000.0, 300_000.0, 600_000.0,
            ],
        ),
        (
            "inference_prompt_cache_hit_ratio_thousandths",
            (1..=10).map(|tenth| f64::from(tenth) * 100.0).collect(),
        ),
    ] {
        assert_eq!(bounds(&page, name), expected, "{name}");
    }
    assert_eq!(
        bounds(&page, "gen_ai_server_time_to_first_token_milliseconds").len(),
        23
    );
    refuse_failures(&envoy.stop().await.unwrap()).unwrap();
}
