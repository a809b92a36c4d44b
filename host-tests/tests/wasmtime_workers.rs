//! Nothing is lost and nothing counted twice: several roots in a machine, several machines in a
//! process, machines that sleep, fail, end and come anew.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use std::time::Duration;

use host_tests::metric_assert::{Exposition, absent, at_least, equal};
use host_tests::wasmtime_host::bed::{
    Bed, Exchange, INPUT_TOKENS, OBSERVE, SCRAPE, Worker, listener, page_of,
};
use host_tests::wasmtime_host::{Times, status};

const TICK: Duration = Duration::from_secs(1);
/// Longer than a worker may be silent before it counts as gone.
const LONG_SILENCE: Duration = Duration::from_secs(75);
const TOKENS: u32 = 5;

/// A process, and how many exchanges were sent through it.
struct Count {
    bed: Bed,
    sent: u32,
}

impl Count {
    fn new() -> Count {
        let bed = Bed::new().unwrap();
        Count { bed, sent: 0 }
    }

    fn send(&mut self, worker: &Worker, times: u32) {
        for _ in 0..times {
            let exchange = Exchange::streamed_chat("m", TOKENS);
            worker.exchange(&self.bed.host, &exchange).unwrap();
            assert_eq!(worker.vm.failure(), None);
        }
        self.sent += times;
    }

    /// The page must show each exchange once.
    #[track_caller]
    fn check(&self, page: &Exposition) {
        let sent = f64::from(self.sent);
        page.assert(&[
            equal("inference_requests_total", &[], sent),
            equal(
                "inference_requests_total",
                &[("outcome", "success"), ("stream", "true"), ("model", "m")],
                sent,
            ),
            equal(
                "inference_output_tokens_total",
                &[("source", "reported")],
                sent * f64::from(TOKENS),
            ),
            equal(
                "inference_input_tokens_total",
                &[],
                sent * f64::from(INPUT_TOKENS),
            ),
            equal("gen_ai_server_time_to_first_token_seconds_count", &[], sent),
            equal(
                "inference_inter_token_latency_seconds_count",
                &[],
                sent * f64::from(TOKENS - 1),
            ),
        ]);
        // A worker that is gone takes its gauges with it, so there may be none.
        let in_flight = page.total_or_zero("inference_requests_in_flight", &[]);
        assert_eq!(in_flight, 0.0);
    }
}

/// Every counter of the earlier page must be on the later one, and not lower.
#[track_caller]
fn check_no_step_back(earlier: &Exposition, later: &Exposition) {
    let is_counter = |series: &str| {
        let name = series.split('{').next().unwrap();
        ["_total", "_count", "_sum", "_bucket"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let back: Vec<_> = earlier
        .changes(later)
        .into_iter()
        .filter(|(series, before, after)| is_counter(series) && after < before)
        .collect();
    assert!(back.is_empty(), "counters stepped back: {back:?}");
}

#[test]
fn a_scrape_shows_what_its_own_worker_has_counted_up_to_now() {
    let mut count = Count::new();
    let worker = count.bed.worker().unwrap();
    count.send(&worker, 3);
    count.check(&worker.page().unwrap());
}

#[test]
fn a_scrape_shows_what_other_workers_have_counted_a_tick_later() {
    let mut count = Count::new();
    let workers: Vec<Worker> = (0..4).map(|_| count.bed.worker().unwrap()).collect();
    for (worker, times) in workers.iter().zip([1, 2, 3, 4]) {
        count.send(worker, times);
    }
    count.bed.host.run_for(TICK);
    for worker in &workers {
        count.check(&worker.page().unwrap());
    }
    let page = workers[0].page().unwrap();
    page.assert(&[
        equal("inferometer_worker_starts_total", &[], 4.0),
        equal("inferometer_build_info", &[], 4.0),
    ]);
}

#[test]
fn requests_in_flight_are_added_up_over_workers_and_return_to_zero() {
    let mut count = Count::new();
    let (a, b) = (count.bed.worker().unwrap(), count.bed.worker().unwrap());
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let host = &count.bed.host;
    let waiting = exchange.begin(host, &a.vm, &a.observe).unwrap();
    let decoding = exchange.begin(host, &b.vm, &b.observe).unwrap();
    let head = [(":status", "200"), ("content-type", "text/event-stream")];
    decoding.response_headers(&head, false);
    decoding.response_body(&exchange.chunks[0], false);
    decoding.response_body(&exchange.chunks[1], false);
    host.run_for(TICK);
    b.page().unwrap().assert(&[
        equal("inference_requests_in_flight", &[("phase", "prefill")], 1.0),
        equal("inference_requests_in_flight", &[("phase", "decode")], 1.0),
    ]);
    for chunk in &exchange.chunks[2..] {
        decoding.response_body(chunk, false);
    }
    decoding.response_body(b"", true);
    decoding.end();
    exchange.answer(host, &waiting).unwrap();
    waiting.end();
    host.run_for(TICK);
    a.page().unwrap().assert(&[
        equal("inference_requests_in_flight", &[], 0.0),
        equal("inference_requests_total", &[], 2.0),
    ]);
    count.sent += 2;
    count.send(&a, 1);
    count.bed.host.run_for(TICK);
    count.bed.host.run_for(TICK);
    assert_eq!(
        b.page().unwrap().total("inference_requests_total", &[]),
        Some(3.0)
    );
}

#[test]
fn the_newer_listener_of_a_machine_can_go_and_come_without_loss() {
    let mut count = Count::new();
    let other = count.bed.worker().unwrap();
    let mut worker = count.bed.worker().unwrap();
    for _ in 0..3 {
        count.send(&worker, 2);
        worker.scrape.end();
        assert!(worker.scrape.is_gone());
        count.send(&worker, 2);
        count.bed.host.run_for(TICK * 5);
        count.check(&other.page().unwrap());
        worker.scrape = worker.vm.root(listener("scrape", SCRAPE));
        count.send(&worker, 2);
        count.check(&worker.page().unwrap());
        count.bed.host.run_for(TICK);
        count.check(&other.page().unwrap());
    }
    assert_eq!(worker.vm.failure(), None);
    other.page().unwrap().assert(&[
        equal("inferometer_worker_starts_total", &[], 2.0),
        equal("inferometer_slots", &[("state", "live")], 2.0),
    ]);
}

#[test]
fn the_older_listener_of_a_machine_can_go_and_come_without_loss() {
    let mut count = Count::new();
    let other = count.bed.worker().unwrap();
    let mut worker = count.bed.worker().unwrap();
    for _ in 0..3 {
        count.send(&worker, 2);
        worker.observe.end();
        assert!(worker.observe.is_gone());
        count.bed.host.run_for(TICK * 5);
        count.check(&other.page().unwrap());
        count.check(&worker.page().unwrap());
        worker.observe = worker.vm.root(listener("observe", OBSERVE));
        count.send(&worker, 2);
        count.bed.host.run_for(TICK);
        count.check(&other.page().unwrap());
    }
    assert_eq!(worker.vm.failure(), None);
}

#[test]
fn a_configuration_update_under_traffic_loses_no_stream() {
    let mut count = Count::new();
    let other = count.bed.worker().unwrap();
    let mut worker = count.bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    // Other buckets, other labels, a profile less and more, and back.
    for configuration in [
        r#"{"buckets": {"inference.request.duration": [0.05, 1, 10]}}"#,
        r#"{"labels": {"upstream_cluster": false, "upstream_endpoint": true}}"#,
        r#"{"tick": "200ms"}"#,
        OBSERVE,
    ] {
        let host = &count.bed.host;
        let open = exchange.begin(host, &worker.vm, &worker.observe).unwrap();
        let updated = worker.vm.root(listener("observe", configuration));
        assert!(updated.accepted());
        worker.observe.end();
        assert!(!worker.observe.is_gone(), "a stream still holds the root");
        worker.observe = updated;
        count.send(&worker, 2);
        let host = &count.bed.host;
        host.run_for(TICK);
        exchange.answer(host, &open).unwrap();
        open.end();
        count.sent += 1;
        count.bed.host.run_for(TICK);
        count.check(&other.page().unwrap());
        count.check(&worker.page().unwrap());
    }
    assert_eq!(worker.vm.failure(), None);
}

#[test]
fn a_worker_that_slept_is_folded_and_comes_back_without_loss_or_double() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let sleeper = count.bed.worker().unwrap();
    count.send(&sleeper, 3);
    count.bed.host.run_for(TICK);
    // Counted, not published: it will be once the sleeper awakes.
    count.send(&sleeper, 2);
    sleeper.vm.stall();
    let mut earlier = watcher.page().unwrap();
    for _ in 0..LONG_SILENCE.as_secs() {
        count.bed.host.run_for(TICK);
        let page = watcher.page().unwrap();
        check_no_step_back(&earlier, &page);
        page.assert(&[equal("inference_requests_total", &[], 3.0)]);
        earlier = page;
    }
    earlier.assert(&[
        equal("inferometer_slots", &[("state", "live")], 1.0),
        equal("inferometer_slots", &[("state", "free")], 1.0),
    ]);
    sleeper.vm.resume();
    count.send(&sleeper, 4);
    for _ in 0..10 {
        count.bed.host.run_for(TICK);
        let page = watcher.page().unwrap();
        check_no_step_back(&earlier, &page);
        earlier = page;
    }
    count.check(&watcher.page().unwrap());
    count.check(&sleeper.page().unwrap());
    watcher
        .page()
        .unwrap()
        .assert(&[equal("inferometer_slots", &[("state", "live")], 2.0)]);
}

#[test]
fn a_worker_that_sleeps_again_and_again_is_never_counted_twice() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let sleeper = count.bed.worker().unwrap();
    for _ in 0..4 {
        count.send(&sleeper, 1);
        count.bed.host.run_for(TICK);
        sleeper.vm.stall();
        count.bed.host.run_for(LONG_SILENCE);
        count.check(&watcher.page().unwrap());
        sleeper.vm.resume();
        // A scrape is the first thing it does: it must not count what the base holds.
        count.check(&sleeper.page().unwrap());
        count.bed.host.run_for(TICK * 2);
        count.check(&watcher.page().unwrap());
    }
}

#[test]
fn the_gauges_of_a_silent_worker_do_not_count() {
    let count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let sleeper = count.bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let host = &count.bed.host;
    let open = exchange.begin(host, &sleeper.vm, &sleeper.observe).unwrap();
    host.run_for(TICK);
    let in_flight = |value| [equal("inference_requests_in_flight", &[], value)];
    watcher.page().unwrap().assert(&in_flight(1.0));
    sleeper.vm.stall();
    host.run_for(TICK * 5);
    let silent = watcher.page().unwrap();
    assert_eq!(
        silent.total_or_zero("inference_requests_in_flight", &[]),
        0.0
    );
    sleeper.vm.resume();
    host.run_for(TICK);
    watcher.page().unwrap().assert(&in_flight(1.0));
    exchange.answer(host, &open).unwrap();
    open.end();
    host.run_for(TICK);
    watcher.page().unwrap().assert(&in_flight(0.0));
}

#[test]
fn a_failed_machine_loses_at_most_what_it_had_not_published() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let victim = count.bed.worker().unwrap();
    count.send(&victim, 3);
    count.bed.host.run_for(TICK);
    // Lost with the machine: they are not published yet.
    victim
        .exchange(&count.bed.host, &Exchange::streamed_chat("m", TOKENS))
        .unwrap();
    victim.vm.fail("out of memory");
    let successor = count.bed.worker().unwrap();
    count.send(&successor, 2);
    count.bed.host.run_for(TICK);
    count.check(&watcher.page().unwrap());
    count.bed.host.run_for(LONG_SILENCE);
    count.send(&successor, 1);
    count.bed.host.run_for(TICK);
    count.check(&watcher.page().unwrap());
    watcher.page().unwrap().assert(&[
        equal("inferometer_worker_starts_total", &[], 3.0),
        equal("inferometer_slots", &[("state", "free")], 1.0),
    ]);
}

#[test]
fn the_last_listener_of_a_machine_leaves_everything_behind() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let leaver = count.bed.worker().unwrap();
    count.bed.host.run_for(TICK);
    count.send(&leaver, 3);
    leaver.scrape.end();
    leaver.observe.end();
    assert_eq!(leaver.vm.failure(), None);
    count.check(&watcher.page().unwrap());
    count.bed.host.run_for(LONG_SILENCE);
    count.check(&watcher.page().unwrap());
}

#[test]
fn a_machine_that_ends_before_its_first_tick_leaves_everything_behind() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let leaver = count.bed.worker().unwrap();
    count.send(&leaver, 3);
    leaver.observe.end();
    leaver.scrape.end();
    count.check(&watcher.page().unwrap());
}

#[test]
fn a_stream_that_outlives_its_listener_is_counted() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let leaver = count.bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let host = &count.bed.host;
    let open = exchange.begin(host, &leaver.vm, &leaver.observe).unwrap();
    leaver.scrape.end();
    leaver.observe.end();
    host.run_for(TICK);
    exchange.answer(host, &open).unwrap();
    open.end();
    assert!(leaver.observe.is_gone());
    count.sent += 1;
    count.check(&watcher.page().unwrap());
}

#[test]
fn a_machine_that_is_only_configured_writes_nothing() {
    let bed = Bed::new().unwrap();
    let canary = bed.worker().unwrap();
    canary.observe.end();
    canary.scrape.end();
    assert_eq!(canary.vm.failure(), None);
    assert_eq!(
        bed.host.shared_data_keys("inferometer"),
        Vec::<String>::new()
    );
}

#[test]
fn a_publish_that_always_loses_its_compare_and_swap_loses_no_count() {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let unlucky = count.bed.worker().unwrap();
    count.bed.host.run_for(TICK);
    let refusal = status::CAS_MISMATCH;
    unlucky
        .vm
        .refuse("proxy_set_shared_data", Times::Always, refusal);
    count.send(&unlucky, 4);
    count.bed.host.run_for(TICK * 10);
    assert_eq!(unlucky.vm.failure(), None);
    watcher
        .page()
        .unwrap()
        .assert(&[absent("inference_requests_total", &[])]);
    count.bed.host.accept("proxy_set_shared_data");
    count.send(&unlucky, 1);
    count.bed.host.run_for(TICK * 3);
    // The name of the model was not admitted while nothing could be written.
    let page = watcher.page().unwrap();
    page.assert(&[
        equal(
            "inference_requests_total",
            &[("outcome", "success")],
            f64::from(count.sent),
        ),
        equal(
            "inference_output_tokens_total",
            &[("source", "reported")],
            f64::from(count.sent * TOKENS),
        ),
    ]);
}

/// What came of a run: what the page shows, what was sent, and how often the hostcall was made.
struct Run {
    requests: f64,
    tokens: f64,
    sent: f64,
    calls: u32,
}

/// One worker comes, serves, sleeps, is folded, comes back and goes, while another looks on; one
/// single hostcall of it all is refused.
fn run_with_one_refusal(call: &'static str, after: u32, status: u32) -> Run {
    let mut count = Count::new();
    let watcher = count.bed.worker().unwrap();
    let worker = count.bed.worker().unwrap();
    let made_before = count.bed.host.calls_made(call);
    count.bed.host.refuse(call, Times::After(after), status);
    count.send(&worker, 1);
    count.bed.host.run_for(TICK * 2);
    count.send(&watcher, 1);
    count.send(&worker, 1);
    count.bed.host.run_for(TICK);
    worker.vm.stall();
    count.bed.host.run_for(LONG_SILENCE);
    worker.vm.resume();
    count.send(&worker, 1);
    count.bed.host.run_for(TICK * 2);
    count.send(&worker, 1);
    worker.scrape.end();
    worker.observe.end();
    count.bed.host.run_for(TICK * 6);
    let calls = count.bed.host.calls_made(call) - made_before;
    count.bed.host.accept_all();
    count.bed.host.run_for(LONG_SILENCE);
    for vm in [&watcher.vm, &worker.vm] {
        assert_eq!(vm.failure(), None, "{call} {after} {status}");
    }
    let page = watcher.page().unwrap();
    Run {
        requests: page.total_or_zero("inference_requests_total", &[]),
        tokens: page.total_or_zero("inference_output_tokens_total", &[]),
        sent: f64::from(count.sent),
        calls,
    }
}

/// Refuses every single call of a run in turn, or every so many-th.
fn refuse_each(call: &'static str, step: usize, statuses: &[u32]) {
    let calls = run_with_one_refusal(call, u32::MAX, status::OK).calls;
    assert!(calls > 80, "a run makes only {calls} calls of {call}");
    for status in statuses {
        for after in (0..calls).step_by(step) {
            let run = run_with_one_refusal(call, after, *status);
            let place = format!("{call} {after} answered with {status}");
            let Run {
                requests,
                tokens,
                sent,
                ..
            } = run;
            assert!(requests <= sent, "{place}: {requests} of {sent}");
            // Only the last request can go: a farewell that the host refuses has no second chance.
            assert!(requests >= sent - 1.0, "{place}: {requests} of {sent}");
            assert_eq!(tokens, requests * f64::from(TOKENS), "{place}");
        }
    }
}

#[test]
fn whichever_write_of_shared_data_is_refused_nothing_counts_twice_and_only_a_farewell_is_lost() {
    let statuses = [status::CAS_MISMATCH, 99];
    refuse_each("proxy_set_shared_data", 1, &statuses);
}

#[test]
fn whichever_read_of_shared_data_is_refused_nothing_counts_twice_and_only_a_farewell_is_lost() {
    refuse_each("proxy_get_shared_data", 4, &[status::INTERNAL_FAILURE]);
}

#[test]
fn what_a_stranger_wrote_under_our_keys_does_no_harm() {
    let mut count = Count::new();
    let garbage: &[&[u8]] = &[
        b"",
        b"\0",
        b"\xff\xff\xff\xff",
        &[1; 4096],
        b"\x01\x01\0\0\0\0",
    ];
    for value in garbage {
        for key in ["base", "slot/0", "heartbeat/0", "models"] {
            let host = &count.bed.host;
            host.set_shared_data("inferometer", &format!("inferometer/1/{key}"), value);
        }
        let worker = count.bed.worker().unwrap();
        count.send(&worker, 1);
        count.bed.host.run_for(TICK * 2);
        assert_eq!(worker.vm.failure(), None);
        let page = worker.page().unwrap();
        page.assert(&[at_least("inference_requests_total", &[], 1.0)]);
    }
}

#[test]
fn a_page_is_one_and_the_same_whichever_worker_answers() {
    let mut count = Count::new();
    let workers: Vec<Worker> = (0..3).map(|_| count.bed.worker().unwrap()).collect();
    for worker in &workers {
        count.send(worker, 2);
    }
    count.bed.host.run_for(TICK * 6);
    let pages: Vec<Exposition> = workers
        .iter()
        .map(|worker| page_of(&worker.scrape).unwrap())
        .collect();
    assert_eq!(pages[0].changes(&pages[1]), []);
    assert_eq!(pages[0].changes(&pages[2]), []);
}
