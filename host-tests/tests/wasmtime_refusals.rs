//! A host that refuses, lies or steps its clocks: the module never traps, traffic goes on, refusals
//! are counted, and what can be measured still is.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use std::time::Duration;

use host_tests::metric_assert::{Exposition, at_least, between, equal};
use host_tests::wasmtime_host::bed::{Bed, Exchange, OBSERVE, SCRAPE, Worker, listener};
use host_tests::wasmtime_host::{Action, Times, status};

const TICK: Duration = Duration::from_secs(1);
const TOKENS: u32 = 4;
/// No exchange here takes longer, so no sum of a few durations may be more.
const SANE_SECONDS: f64 = 30.0;

/// Every status that the ABI or WASI names, and some that nothing names.
const STATUSES: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 76, 99, u32::MAX];

/// Every hostcall that the module makes, and the name that its refusals are counted under.
const CALLS: &[(&str, &str)] = &[
    ("clock_time_get", "clock_time_get"),
    ("proxy_get_current_time_nanoseconds", "get_current_time"),
    ("proxy_set_tick_period_milliseconds", "set_tick_period"),
    ("proxy_get_buffer_bytes", "get_buffer"),
    ("proxy_get_header_map_value", "get_header"),
    ("proxy_get_property", "get_property"),
    ("proxy_get_shared_data", "get_shared_data"),
    ("proxy_set_shared_data", "set_shared_data"),
    ("proxy_define_metric", "define_metric"),
    ("proxy_increment_metric", "increment_metric"),
    ("proxy_record_metric", "record_metric"),
    ("proxy_send_local_response", "send_local_response"),
    ("proxy_log", ""),
];

/// Refusals that are ordinary answers: nothing is there, or another write came first.
fn is_ordinary(call: &str, refusal: u32) -> bool {
    refusal == status::NOT_FOUND && call.starts_with("proxy_get_")
        || refusal == status::CAS_MISMATCH && call == "proxy_set_shared_data"
}

fn exchanges() -> [Exchange; 2] {
    [
        Exchange::streamed_chat("m", TOKENS),
        Exchange::whole_chat("m", TOKENS),
    ]
}

fn serve(bed: &Bed, worker: &Worker, place: &str) {
    for exchange in exchanges() {
        let passed = worker.exchange(&bed.host, &exchange);
        assert!(passed.is_ok(), "{place}: {passed:?}");
    }
    assert_eq!(worker.vm.failure(), None, "{place}");
}

/// Durations are what passed, whatever the clocks did.
fn check_sane(page: &Exposition, place: &str) {
    for family in [
        "inference_request_duration_seconds",
        "gen_ai_server_request_duration_seconds",
        "gen_ai_server_time_to_first_token_seconds",
        "inference_inter_token_latency_seconds",
    ] {
        let sum = page.total_or_zero(&format!("{family}_sum"), &[]);
        assert!(sum <= SANE_SECONDS, "{place}: {family} sums to {sum}");
    }
}

#[test]
fn a_call_refused_while_serving_is_counted_and_measuring_goes_on_after_it() {
    for (call, counted_as) in CALLS {
        for refusal in STATUSES {
            let place = format!("{call} answered with {refusal}");
            let bed = Bed::new().unwrap();
            let watcher = bed.worker().unwrap();
            let worker = bed.worker().unwrap();
            serve(&bed, &worker, &place);
            bed.host.run_for(TICK);

            worker.vm.refuse(call, Times::Always, *refusal);
            serve(&bed, &worker, &place);
            bed.host.run_for(TICK * 3);
            let _no_matter_what_it_says = worker.page();
            assert_eq!(worker.vm.failure(), None, "{place}");

            bed.host.accept_all();
            bed.host.run_for(TICK * 3);
            let before = watcher.page().unwrap();
            serve(&bed, &worker, &place);
            bed.host.run_for(TICK * 3);
            let page = watcher.page().unwrap();
            let success = [("outcome", "success")];
            let total =
                |page: &Exposition| page.total_or_zero("inference_requests_total", &success);
            assert_eq!(total(&page) - total(&before), 2.0, "{place}");
            check_sane(&page, &place);
            let is_rare = matches!(
                *call,
                "proxy_set_tick_period_milliseconds"
                    | "proxy_get_current_time_nanoseconds"
                    | "proxy_define_metric"
                    | "proxy_log"
            );
            if !is_rare && !is_ordinary(call, *refusal) {
                let outcome = page.check(&[at_least(
                    "inferometer_host_errors_total",
                    &[("call", counted_as)],
                    1.0,
                )]);
                assert_eq!(outcome, Ok(()), "{place}");
            }
        }
    }
}

#[test]
fn a_call_refused_from_the_first_moment_on_stops_neither_the_proxy_nor_a_later_worker() {
    for (call, _) in CALLS {
        for refusal in STATUSES {
            let place = format!("{call} answered with {refusal}");
            let bed = Bed::new().unwrap();
            bed.host.refuse(call, Times::Always, *refusal);
            let vm = bed.vm().unwrap();
            let observe = vm.root(listener("observe", OBSERVE));
            let scrape = vm.root(listener("scrape", SCRAPE));
            assert!(observe.accepted() && scrape.accepted(), "{place}");
            let worker = Worker {
                vm,
                observe,
                scrape,
            };
            serve(&bed, &worker, &place);
            bed.host.run_for(TICK * 3);
            let _no_matter_what_it_says = worker.page();
            worker.scrape.end();
            worker.observe.end();
            assert_eq!(worker.vm.failure(), None, "{place}");

            bed.host.accept_all();
            let later = bed.worker().unwrap();
            serve(&bed, &later, &place);
            bed.host.run_for(TICK);
            later
                .page()
                .unwrap()
                .assert(&[at_least("inference_requests_total", &[], 2.0)]);
        }
    }
}

#[test]
fn a_host_that_refuses_everything_still_has_its_traffic() {
    for refusal in STATUSES {
        let bed = Bed::new().unwrap();
        for (call, _) in CALLS {
            bed.host.refuse(call, Times::Always, *refusal);
        }
        let worker = bed.worker().unwrap();
        serve(&bed, &worker, "everything refused");
        bed.host.run_for(TICK * 3);
        worker.observe.end();
        worker.scrape.end();
        assert_eq!(worker.vm.failure(), None);
    }
}

#[test]
fn a_host_that_says_ok_and_gives_nothing_still_has_its_traffic() {
    for (call, _) in CALLS {
        let bed = Bed::new().unwrap();
        let worker = bed.worker().unwrap();
        serve(&bed, &worker, call);
        bed.host.refuse(call, Times::Always, status::OK);
        serve(&bed, &worker, call);
        bed.host.run_for(TICK * 3);
        let _no_matter_what_it_says = worker.page();
        bed.host.accept_all();
        serve(&bed, &worker, call);
        bed.host.run_for(TICK * 3);
        worker.observe.end();
        worker.scrape.end();
        assert_eq!(worker.vm.failure(), None, "{call}");
    }
}

#[test]
fn a_scrape_that_cannot_be_answered_is_not_held() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    bed.host
        .refuse("proxy_send_local_response", Times::Always, 10);
    let stream = worker.vm.stream(&worker.scrape);
    let head = [(":method", "GET"), (":path", "/metrics")];
    let action = stream.request_headers(&head, true);
    assert_eq!(action, Action::Continue, "nobody would ever answer it");
    stream.end();
}

#[test]
fn a_scrape_without_readable_data_says_so() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    serve(&bed, &worker, "before");
    bed.host.refuse("proxy_get_shared_data", Times::Always, 10);
    let answer = worker.scrape.get("/metrics", "").unwrap();
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("status 10"), "{}", answer.text());
}

#[test]
fn a_body_that_is_refused_leaves_a_record_that_says_so() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let stream = exchange
        .begin(&bed.host, &worker.vm, &worker.observe)
        .unwrap();
    worker
        .vm
        .refuse("proxy_get_buffer_bytes", Times::Next(1), 2);
    exchange.answer(&bed.host, &stream).unwrap();
    stream.end();
    worker.page().unwrap().assert(&[
        equal("inference_requests_total", &[], 1.0),
        at_least(
            "inferometer_stream_anomalies_total",
            &[("kind", "bytes_not_seen")],
            1.0,
        ),
        equal(
            "inferometer_host_errors_total",
            &[("call", "get_buffer")],
            1.0,
        ),
    ]);
}

/// Serves, ticks and serves again while one single reading of the monotonic clock is refused.
#[test]
fn one_refused_reading_of_the_monotonic_clock_spoils_no_duration_and_stops_no_publish() {
    for after in 0..40 {
        let place = format!("reading {after}");
        let bed = Bed::new().unwrap();
        let watcher = bed.worker().unwrap();
        let worker = bed.worker().unwrap();
        worker.vm.refuse("clock_time_get", Times::After(after), 76);
        for _ in 0..3 {
            serve(&bed, &worker, &place);
            bed.host.run_for(TICK);
        }
        bed.host.accept_all();
        bed.host.run_for(TICK * 2);
        let page = watcher.page().unwrap();
        let outcome = page.check(&[
            equal("inference_requests_total", &[], 6.0),
            equal(
                "inferometer_host_errors_total",
                &[("call", "clock_time_get")],
                1.0,
            ),
        ]);
        assert_eq!(outcome, Ok(()), "{place}");
        check_sane(&page, &place);
    }
}

#[test]
fn a_host_without_a_monotonic_clock_is_measured_by_the_wall_clock() {
    let bed = Bed::new().unwrap();
    bed.host.refuse("clock_time_get", Times::Always, 76);
    let watcher = bed.worker().unwrap();
    let worker = bed.worker().unwrap();
    serve(&bed, &worker, "wall clock");
    bed.host.run_for(TICK * 2);
    let page = watcher.page().unwrap();
    check_sane(&page, "wall clock");
    page.assert(&[
        equal("inference_requests_total", &[], 2.0),
        between(
            "gen_ai_server_time_to_first_token_seconds_sum",
            &[],
            0.03,
            0.06,
        ),
        at_least(
            "inferometer_host_errors_total",
            &[("call", "clock_time_get")],
            1.0,
        ),
    ]);
    // A worker that goes silent is still found out.
    worker.vm.fail("gone");
    bed.host.run_for(TICK * 75);
    watcher
        .page()
        .unwrap()
        .assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn a_monotonic_clock_that_comes_and_goes_stops_no_publish() {
    let bed = Bed::new().unwrap();
    let watcher = bed.worker().unwrap();
    let worker = bed.worker().unwrap();
    let mut sent = 0.0;
    for round in 0..4 {
        if round % 2 == 0 {
            bed.host.refuse("clock_time_get", Times::Always, 76);
        } else {
            bed.host.accept("clock_time_get");
        }
        bed.host.run_for(TICK * 3);
        serve(&bed, &worker, "flapping");
        sent += 2.0;
        bed.host.run_for(TICK * 3);
        let page = watcher.page().unwrap();
        page.assert(&[equal("inference_requests_total", &[], sent)]);
        check_sane(&page, "flapping");
    }
}

#[test]
fn a_clock_that_steps_back_gives_durations_of_zero_and_an_anomaly() {
    for back in [
        Duration::from_millis(15),
        Duration::from_secs(3600),
        Duration::from_secs(4_999),
    ] {
        let place = format!("back by {back:?}");
        let bed = Bed::new().unwrap();
        let watcher = bed.worker().unwrap();
        let worker = bed.worker().unwrap();
        bed.host.run_for(TICK);
        let exchange = Exchange::streamed_chat("m", TOKENS);
        let stream = exchange
            .begin(&bed.host, &worker.vm, &worker.observe)
            .unwrap();
        let nanos = u64::try_from(back.as_nanos()).unwrap();
        bed.host
            .set_monotonic_nanos(bed.host.monotonic_nanos() - nanos);
        exchange.answer(&bed.host, &stream).unwrap();
        stream.end();
        bed.host.run_for(TICK * 3);
        let page = watcher.page().unwrap();
        let outcome = page.check(&[
            equal("inference_requests_total", &[("outcome", "success")], 1.0),
            at_least(
                "inferometer_stream_anomalies_total",
                &[("kind", "clock_backwards")],
                1.0,
            ),
        ]);
        assert_eq!(outcome, Ok(()), "{place}");
        check_sane(&page, &place);
    }
}

#[test]
fn a_wall_clock_that_jumps_changes_no_duration() {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let exchange = Exchange::streamed_chat("m", TOKENS);
    let stream = exchange
        .begin(&bed.host, &worker.vm, &worker.observe)
        .unwrap();
    bed.host.set_wall_nanos(1_000);
    exchange.answer(&bed.host, &stream).unwrap();
    stream.end();
    let steps = 2.0 + f64::from(u32::try_from(exchange.chunks.len()).unwrap());
    let expected = steps * exchange.step.as_secs_f64();
    worker.page().unwrap().assert(&[between(
        "inference_request_duration_seconds_sum",
        &[],
        expected - 0.001,
        expected + 0.001,
    )]);
}
