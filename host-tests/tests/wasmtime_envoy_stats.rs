//! The proxy's own stats say what the scrape says: each request once, whichever worker had it, and
//! gauges set by one worker for all.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

use std::time::Duration;

use host_tests::wasmtime_host::bed::{Bed, Exchange, INPUT_TOKENS, OBSERVE, Worker, listener};
use host_tests::wasmtime_host::{Host, Root, Stat, StatKind};

const TICK: Duration = Duration::from_secs(1);
const TOKENS: u32 = 4;

/// The sum over the stats of a name that carry a tag.
fn sum(host: &Host, kind: StatKind, name: &str, tag: &str) -> Stat {
    let stats = host.stats();
    let named = stats.iter().filter(|(own_kind, stat, _)| {
        let own_name = stat.rsplit(";.;").next().unwrap();
        *own_kind == kind && own_name == name && stat.contains(tag)
    });
    named.fold(Stat::default(), |sum, (_, _, stat)| Stat {
        value: sum.value.wrapping_add(stat.value),
        samples: sum.samples + stat.samples,
    })
}

fn counter(host: &Host, name: &str, tag: &str) -> u64 {
    sum(host, StatKind::Counter, name, tag).value
}

fn in_flight(host: &Host, tag: &str) -> u64 {
    sum(host, StatKind::Gauge, "inference_requests_in_flight", tag).value
}

fn workers(bed: &Bed) -> [Worker; 3] {
    std::array::from_fn(|_| bed.worker().unwrap())
}

#[test]
fn counters_and_histograms_move_once_a_request_over_all_workers() {
    let bed = Bed::new().unwrap();
    let workers = workers(&bed);
    for (worker, times) in workers.iter().zip([1, 2, 3]) {
        for _ in 0..times {
            let exchange = Exchange::streamed_chat("m", TOKENS);
            worker.exchange(&bed.host, &exchange).unwrap();
        }
    }
    let host = &bed.host;
    assert_eq!(
        counter(host, "inference_requests", "outcome=.=success;.;"),
        6
    );
    assert_eq!(counter(host, "inference_requests", "stream=.=true;.;"), 6);
    assert_eq!(counter(host, "inference_requests", ""), 6);
    assert_eq!(
        counter(host, "inference_output_tokens", "model=.=m;.;"),
        u64::from(6 * TOKENS)
    );
    assert_eq!(
        counter(host, "inference_input_tokens", "source=.=reported;.;"),
        u64::from(6 * INPUT_TOKENS)
    );
    // Request headers and body, response headers, the role, then the first token: 40 ms.
    let first_token = "gen_ai_server_time_to_first_token_milliseconds";
    let expected = Stat {
        value: 6 * 40,
        samples: 6,
    };
    assert_eq!(sum(host, StatKind::Histogram, first_token, ""), expected);
    let page = workers[0].page().unwrap();
    assert!(page.total("inference_requests_total", &[]).is_some());
    bed.host.run_for(TICK * 5);
    assert_eq!(counter(host, "inference_requests", ""), 6);
}

#[test]
fn a_worker_defines_each_stat_once() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    worker.exchange(&bed.host, &exchange).unwrap();
    bed.host.run_for(TICK * 10);
    for _ in 0..5 {
        worker.exchange(&bed.host, &exchange).unwrap();
        bed.host.run_for(TICK);
    }
    let latest = worker.vm.recent();
    assert!(latest.iter().any(|t| t.count("proxy_increment_metric") > 0));
    for trace in latest {
        assert_eq!(trace.count("proxy_define_metric"), 0, "{trace}");
    }
}

/// How often a machine defined a stat and looked at shared data for an exchange that it has had
/// before, once a listener has come or gone since.
fn asked_again(change: impl FnOnce(&Worker) -> Option<Root>) -> [u32; 2] {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    worker.exchange(&bed.host, &exchange).unwrap();
    bed.host.run_for(TICK * 3);
    let updated = change(&worker);
    let root = updated.as_ref().unwrap_or(&worker.observe);
    exchange.run(&bed.host, &worker.vm, root).unwrap();
    let recent = worker.vm.recent();
    let log = recent
        .iter()
        .rfind(|trace| trace.callback == "proxy_on_log");
    let log = log.unwrap();
    assert!(log.count("proxy_increment_metric") > 0, "{log}");
    ["proxy_define_metric", "proxy_get_shared_data"].map(|name| log.count(name))
}

#[test]
fn the_end_of_another_listener_defines_no_stat_and_learns_no_name_anew() {
    let asked = asked_again(|worker| {
        worker.scrape.end();
        None
    });
    assert_eq!(asked, [0, 0]);
}

#[test]
fn an_update_does_anew_only_what_it_changes() {
    let check = |configuration: &str, expected: [bool; 2]| {
        let asked = asked_again(|worker| {
            let updated = worker.vm.root(listener("observe", configuration));
            worker.observe.end();
            Some(updated)
        });
        assert_eq!(asked.map(|times| times > 0), expected, "{configuration}");
    };
    check(OBSERVE, [false, false]);
    check(r#"{"tick": "500ms"}"#, [false, false]);
    check(r#"{"limits": {"series": 900}}"#, [false, false]);
    check(r#"{"models": {"max": 7}}"#, [false, true]);
    check(r#"{"labels": {"route": true}}"#, [true, false]);
    check(
        r#"{"envoy_stats": {"metrics": ["inference.requests"]}}"#,
        [true, false],
    );
}

#[test]
fn the_gauge_of_requests_in_flight_is_set_by_one_worker_for_all() {
    let bed = Bed::new().unwrap();
    let workers = workers(&bed);
    let exchange = Exchange::streamed_chat("m", TOKENS);
    bed.host.run_for(TICK);
    let open: Vec<_> = workers
        .iter()
        .map(|worker| {
            exchange
                .begin(&bed.host, &worker.vm, &worker.observe)
                .unwrap()
        })
        .collect();
    bed.host.run_for(TICK * 2);
    assert_eq!(in_flight(&bed.host, "phase=.=prefill;.;"), 3);
    assert_eq!(in_flight(&bed.host, ""), 3);
    for stream in &open {
        exchange.answer(&bed.host, stream).unwrap();
        stream.end();
    }
    bed.host.run_for(TICK * 2);
    assert_eq!(in_flight(&bed.host, ""), 0);
}

#[test]
fn another_worker_sets_the_gauges_when_the_one_that_did_is_gone() {
    let bed = Bed::new().unwrap();
    let [first, second, third] = workers(&bed);
    let exchange = Exchange::streamed_chat("m", TOKENS);
    bed.host.run_for(TICK * 2);
    let on_second = exchange
        .begin(&bed.host, &second.vm, &second.observe)
        .unwrap();
    let on_first = exchange
        .begin(&bed.host, &first.vm, &first.observe)
        .unwrap();
    bed.host.run_for(TICK * 2);
    assert_eq!(in_flight(&bed.host, ""), 2);
    first.vm.fail("out of memory");
    // What was in flight there is cut by the proxy and must not be shown for ever.
    bed.host.run_for(TICK * 8);
    assert_eq!(in_flight(&bed.host, ""), 1);
    exchange.answer(&bed.host, &on_second).unwrap();
    on_second.end();
    bed.host.run_for(TICK * 2);
    assert_eq!(in_flight(&bed.host, ""), 0);
    on_first.end();
    assert_eq!(third.vm.failure(), None);
}

#[test]
fn no_stat_is_defined_where_the_role_is_off() {
    let bed = Bed::new().unwrap();
    let vm = bed.vm().unwrap();
    let root = vm.root(listener("observe", r#"{"envoy_stats": false}"#));
    let exchange = Exchange::streamed_chat("m", TOKENS);
    exchange.run(&bed.host, &vm, &root).unwrap();
    bed.host.run_for(TICK * 5);
    assert_eq!(bed.host.stats(), []);
}

#[test]
fn only_the_chosen_metrics_are_mirrored() {
    let bed = Bed::new().unwrap();
    let vm = bed.vm().unwrap();
    let chosen = r#"{"envoy_stats": {"metrics": ["inference.requests"]}}"#;
    let root = vm.root(listener("observe", chosen));
    let exchange = Exchange::streamed_chat("m", TOKENS);
    exchange.run(&bed.host, &vm, &root).unwrap();
    bed.host.run_for(TICK * 5);
    let names: Vec<String> = bed
        .host
        .stats()
        .into_iter()
        .map(|(_, name, _)| name)
        .collect();
    assert!(!names.is_empty());
    assert!(
        names
            .iter()
            .all(|name| name.ends_with(";.;inference_requests")),
        "{names:?}"
    );
}

#[test]
fn a_configuration_update_moves_no_stat_twice() {
    let bed = Bed::new().unwrap();
    let vm = bed.vm().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let mut root = vm.root(listener("observe", "{}"));
    for configuration in [r#"{"labels": {"route": true}}"#, r#"{"tick": "2s"}"#, "{}"] {
        exchange.run(&bed.host, &vm, &root).unwrap();
        let updated = vm.root(listener("observe", configuration));
        root.end();
        root = updated;
        exchange.run(&bed.host, &vm, &root).unwrap();
        bed.host.run_for(TICK * 3);
    }
    assert_eq!(counter(&bed.host, "inference_requests", ""), 6);
    assert_eq!(vm.failure(), None);
}
