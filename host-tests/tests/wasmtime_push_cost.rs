//! What an export costs the worker that sends: fuel in all, and of the dearest callback.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "this file is a test"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use host_tests::wasmtime_host::bed::{Bed, Exchange, listener};
use host_tests::wasmtime_host::{HostOptions, HttpCallAnswer};

const PUSH: &str = r#"{"observe": false, "push": {"cluster": "otel", "interval": "5s"}}"#;
const OBSERVE: &str = r#"{"models": {"max": 1000}, "envoy_stats": false}"#;
/// Fuel is about an instruction. Compiled by wasmtime, which counts it, a million takes a fifth to a third of a
/// millisecond here; so an export of two thousand series takes 15 ms at the most, and no callback 2 ms.
const FUEL_PER_2000_SERIES: u64 = 62_000_000;
const FUEL_PER_CALLBACK: u64 = 9_500_000;

/// Fuel and time of the callbacks of one export, without those of ordinary ticks.
struct Cost {
    series: usize,
    callbacks: usize,
    fuel: u64,
    dearest: u64,
    time: Duration,
    longest: Duration,
}

fn export(push: &str, models: usize, workers: usize) -> Cost {
    let options = HostOptions {
        clusters: BTreeSet::from(["otel".to_owned()]),
        ..HostOptions::default()
    };
    let bed = Bed::with(&options).unwrap();
    let machines: Vec<_> = (0..workers)
        .map(|_| {
            let vm = bed.vm().unwrap();
            let observe = vm.root(listener("observe", OBSERVE));
            (vm, observe)
        })
        .collect();
    for (vm, observe) in &machines {
        for model in 0..models {
            let exchange = Exchange::streamed_chat(&format!("model-{model}"), 3);
            exchange.run(&bed.host, vm, observe).unwrap();
        }
    }
    bed.host.run_for(Duration::from_secs(3));
    let idle = bed.vm().unwrap();
    let push = idle.root(listener("push", push));
    let scrape = idle.root(listener("scrape", host_tests::wasmtime_host::bed::SCRAPE));
    let page = host_tests::wasmtime_host::bed::page_of(&scrape).unwrap();
    let is_point = |name: &str| !name.ends_with("_bucket") && !name.ends_with("_sum");
    let series = page
        .samples()
        .iter()
        .filter(|sample| is_point(&sample.name));
    let mut cost = Cost {
        series: series.count(),
        callbacks: 0,
        fuel: 0,
        dearest: 0,
        time: Duration::ZERO,
        longest: Duration::ZERO,
    };
    scrape.end();
    // The timers of the others do not matter; this machine's alone run.
    for _ in 0..12_000 {
        bed.host.advance(Duration::from_millis(10));
        let started = Instant::now();
        push.tick();
        let took = started.elapsed();
        let trace = idle.latest();
        let is_quick = push.tick_period() == Some(Duration::from_millis(10));
        let calls = bed.host.take_http_calls();
        let was_busy = is_quick || !calls.is_empty();
        if was_busy || cost.callbacks > 0 {
            cost.callbacks += 1;
            cost.fuel += trace.fuel;
            cost.dearest = cost.dearest.max(trace.fuel);
            cost.time += took;
            cost.longest = cost.longest.max(took);
        }
        for call in &calls {
            let head = [(":status", "200"), ("content-type", "application/grpc")];
            let answer = HttpCallAnswer::of(&head, b"").and_trailers(&[("grpc-status", "0")]);
            push.answer_http_call(call.token, answer);
        }
        if cost.callbacks > 0 && push.tick_period() == Some(Duration::from_secs(1)) {
            assert_eq!(idle.failure(), None);
            return cost;
        }
    }
    unreachable!("no export came")
}

#[test]
fn an_export_of_two_thousand_series_is_short_and_no_step_of_it_is_long() {
    for (models, workers) in [(50, 1), (50, 4), (100, 1), (200, 1)] {
        let cost = export(PUSH, models, workers);
        println!(
            "{workers} workers, {} series: {} callbacks, {} fuel, {} of the dearest; here {:?}, {:?} at the longest",
            cost.series, cost.callbacks, cost.fuel, cost.dearest, cost.time, cost.longest
        );
        if (models, workers) == (100, 1) {
            assert!((1_900..2_100).contains(&cost.series), "{}", cost.series);
            assert!(cost.fuel <= FUEL_PER_2000_SERIES, "{}", cost.fuel);
            assert!(cost.dearest <= FUEL_PER_CALLBACK, "{}", cost.dearest);
        }
    }
}

#[test]
fn compression_makes_an_export_dearer_and_no_step_of_it_long() {
    let packed = PUSH.replace("\"interval\"", "\"compression\": \"gzip\", \"interval\"");
    let cost = export(&packed, 100, 1);
    println!(
        "{} series in gzip: {} callbacks, {} fuel, {} of the dearest; here {:?}, {:?} at the longest",
        cost.series, cost.callbacks, cost.fuel, cost.dearest, cost.time, cost.longest
    );
    assert!(cost.fuel <= FUEL_PER_2000_SERIES * 2, "{}", cost.fuel);
    assert!(cost.dearest <= FUEL_PER_CALLBACK * 2, "{}", cost.dearest);
}
