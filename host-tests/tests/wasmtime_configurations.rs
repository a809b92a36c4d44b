//! Wrong configurations: every mistake is in the log, the proxy keeps serving, the gauge says it, and
//! the last good configuration stays in force.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use std::fs;
use std::time::Duration;

use host_tests::metric_assert::equal;
use host_tests::module::workspace_root;
use host_tests::wasmtime_host::Times;
use host_tests::wasmtime_host::bed::{Bed, Exchange, OBSERVE, SCRAPE, listener, page_of};

const TICK: Duration = Duration::from_secs(1);
/// The log level of a refusal.
const ERROR: u32 = 4;

/// Wrong configurations and the messages they give, as the configuration's own tests pin them.
const MISTAKES: &str = "crates/plugin-config/tests/mistakes.txt";

/// Each wrong configuration with its messages.
fn mistakes() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(workspace_root().join(MISTAKES)).unwrap();
    let blocks = text.split("\n\n").filter(|block| !block.starts_with('#'));
    let mistakes: Vec<_> = blocks
        .map(|block| {
            let (configuration, messages) = block.split_once("\n--\n").unwrap();
            let messages = messages.lines().map(str::to_owned).collect();
            (configuration.to_owned(), messages)
        })
        .collect();
    assert!(mistakes.len() >= 25, "only {} are left", mistakes.len());
    mistakes
}

#[test]
fn every_wrong_configuration_is_refused_with_every_message_and_the_proxy_keeps_serving() {
    let exchange = Exchange::streamed_chat("m", 2);
    for (configuration, messages) in mistakes() {
        let bed = Bed::new().unwrap();
        let vm = bed.vm().unwrap();
        let scrape = vm.root(listener("scrape", SCRAPE));
        let wrong = vm.root(listener("observe", &configuration));
        assert!(wrong.accepted(), "a refusal would stop the proxy");
        let log = bed.host.take_log();
        for message in &messages {
            assert!(
                log.iter()
                    .any(|line| line.level == ERROR && line.text.contains(message.as_str())),
                "{configuration}\nshould log: {message}\nlogged: {log:?}"
            );
        }
        exchange.run(&bed.host, &vm, &wrong).unwrap();
        bed.host.run_for(TICK);
        assert_eq!(vm.failure(), None, "{configuration}");
        let page = page_of(&scrape).unwrap();
        page.assert(&[equal("inferometer_config_rejected", &[], 1.0)]);
        // There was no good configuration before, so nothing is measured.
        assert_eq!(page.total_or_zero("inference_requests_total", &[]), 0.0);
    }
}

#[test]
fn a_good_configuration_shows_nothing_rejected() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    bed.host.run_for(TICK);
    let page = worker.page().unwrap();
    assert_eq!(page.total_or_zero("inferometer_config_rejected", &[]), 0.0);
    let log = bed.host.log();
    assert!(log.iter().all(|line| line.level < ERROR), "{log:?}");
}

#[test]
fn the_last_good_configuration_stays_in_force_until_the_mistake_is_mended() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let good = r#"{"labels": {"upstream_cluster": true, "upstream_endpoint": true}}"#;
    let observe = worker.vm.root(listener("observe", good));
    worker.observe.end();

    let wrong = worker.vm.root(listener(
        "observe",
        r#"{"labels": {"upstream_endpoints": true}}"#,
    ));
    assert!(wrong.accepted());
    observe.end();
    let exchange = Exchange::streamed_chat("m", 2);
    exchange.run(&bed.host, &worker.vm, &wrong).unwrap();
    let with_labels = [
        ("upstream_endpoint", "10.0.0.7:8000"),
        ("upstream_cluster", "model-servers"),
    ];
    worker.page().unwrap().assert(&[
        equal("inferometer_config_rejected", &[], 1.0),
        equal("inference_requests_total", &with_labels, 1.0),
    ]);

    let mended = worker.vm.root(listener("observe", OBSERVE));
    wrong.end();
    exchange.run(&bed.host, &worker.vm, &mended).unwrap();
    worker.page().unwrap().assert(&[
        equal("inferometer_config_rejected", &[], 0.0),
        equal("inference_requests_total", &[], 2.0),
    ]);
}

#[test]
fn the_last_good_configuration_of_another_listener_is_not_taken() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let stranger = worker.vm.root(listener("stranger", "{"));
    assert!(stranger.accepted());
    let exchange = Exchange::streamed_chat("m", 2);
    exchange.run(&bed.host, &worker.vm, &stranger).unwrap();
    assert_eq!(stranger.get("/metrics", ""), None);
    let page = worker.page().unwrap();
    assert_eq!(page.total_or_zero("inference_requests_total", &[]), 0.0);
}

#[test]
fn a_scraping_listener_keeps_its_last_good_path() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let wrong = worker.vm.root(listener(
        "scrape",
        r#"{"observe": false, "scrape": {"path": 5}}"#,
    ));
    worker.scrape.end();
    let page = page_of(&wrong).unwrap();
    page.assert(&[equal("inferometer_config_rejected", &[], 1.0)]);
}

#[test]
fn the_gauge_counts_workers_whose_configuration_was_refused() {
    let bed = Bed::new().unwrap();
    let workers: Vec<_> = (0..3).map(|_| bed.worker().unwrap()).collect();
    for worker in &workers {
        let _wrong = worker.vm.root(listener("observe", "[]"));
    }
    bed.host.run_for(TICK * 2);
    let page = workers[0].page().unwrap();
    page.assert(&[equal("inferometer_config_rejected", &[], 3.0)]);
}

#[test]
fn a_refused_root_that_goes_takes_its_refusal_along() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let wrong = worker.vm.root(listener("observe", "[]"));
    wrong.end();
    bed.host.run_for(TICK * 2);
    let page = worker.page().unwrap();
    assert_eq!(page.total_or_zero("inferometer_config_rejected", &[]), 0.0);
}

#[test]
fn a_configuration_that_the_host_withholds_is_no_reason_to_stop() {
    let bed = Bed::new().unwrap();
    bed.host
        .refuse("proxy_get_buffer_bytes", Times::Next(1), 10);
    let vm = bed.vm().unwrap();
    let root = vm.root(listener("observe", "{}"));
    assert!(root.accepted());
    let log = bed.host.log();
    assert!(log.iter().any(|line| line.level == ERROR), "{log:?}");
    assert_eq!(vm.failure(), None);
}

#[test]
fn hostile_configurations_do_no_harm() {
    let deep = "[".repeat(100_000);
    let wide = format!(
        r#"{{"models": {{"allow": [{}"a"]}}}}"#,
        r#""b","#.repeat(50_000)
    );
    let long = format!(r#"{{"provider": "{}"}}"#, "x".repeat(1 << 20));
    let keys: Vec<String> = (0..20_000).map(|key| format!(r#""key{key}": 1"#)).collect();
    let many = format!("{{{}}}", keys.join(","));
    for configuration in [
        deep.as_bytes(),
        wide.as_bytes(),
        long.as_bytes(),
        many.as_bytes(),
        b"\xff\xfe",
        b"\0",
        b"{\"a\":\"\\ud800\"}",
    ] {
        let bed = Bed::new().unwrap();
        let vm = bed.vm().unwrap();
        let root = vm.root(listener("observe", configuration));
        assert_eq!(vm.failure(), None);
        assert!(root.accepted());
        let longest = bed.host.log().iter().map(|line| line.text.len()).max();
        assert!(longest.unwrap() <= 2_000, "a log line of {longest:?} bytes");
        let lines = bed.host.log().len();
        assert!(lines <= 100, "{lines} log lines for one configuration");
    }
}
