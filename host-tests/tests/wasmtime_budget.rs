//! What the module costs: hostcalls and fuel per callback, and memory after very many requests.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

#[path = "wasmtime_support/allocation_counter.rs"]
mod allocation_counter;
#[path = "wasmtime_support/leb128.rs"]
mod leb128;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use allocation_counter::count_allocations;
use expect_test::expect_file;
use host_tests::metric_assert::{Exposition, equal};
use host_tests::module::built_module;
use host_tests::wasmtime_host::bed::{
    Bed, Exchange, OBSERVE, SCRAPE_PATH, Worker, chunk, event, listener,
};
use host_tests::wasmtime_host::{
    CallbackTrace, CompiledModule, Host, HostOptions, Stream, Vm, VmOptions,
};

const TICK: Duration = Duration::from_secs(1);
/// How far a cost may move from what is pinned before somebody has to look.
const MARGIN: f64 = 0.05;
const STREAM_HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "text/event-stream")];

fn new_worker() -> (Bed, Worker) {
    worker_configured(OBSERVE)
}

fn worker_configured(observe: &str) -> (Bed, Worker) {
    let bed = Bed::new().unwrap();
    let worker = bed.worker_configured(observe).unwrap();
    // The first exchange makes the series; what comes after is the ordinary case.
    let exchange = Exchange::streamed_chat("m", 64);
    worker.exchange(&bed.host, &exchange).unwrap();
    bed.host.run_for(TICK * 10);
    (bed, worker)
}

fn calls(trace: &CallbackTrace) -> Vec<(&str, u32)> {
    trace
        .hostcalls
        .iter()
        .map(|(name, times)| (*name, *times))
        .collect()
}

/// What an exchange costs that was had before, so that its series are there: each callback of it.
fn costs_of(exchange: &Exchange) -> Vec<CallbackTrace> {
    costs_under(OBSERVE, exchange)
}

/// The same under a configuration.
fn costs_under(observe: &str, exchange: &Exchange) -> Vec<CallbackTrace> {
    let (bed, worker) = worker_configured(observe);
    let costs = RefCell::new(Vec::new());
    let take = || costs.borrow_mut().push(worker.vm.latest());
    for _ in 0..2 {
        costs.borrow_mut().clear();
        let before = worker.vm.recent().len();
        let stream = exchange
            .begin(&bed.host, &worker.vm, &worker.observe)
            .unwrap();
        let recent = worker.vm.recent();
        assert!(recent.len() > before || recent.len() > 3);
        let callbacks = ["context_create", "request_headers", "request_body"];
        let begun = &recent[recent.len() - callbacks.len()..];
        for (trace, name) in begun.iter().zip(callbacks) {
            assert!(trace.callback.ends_with(name), "{trace}");
        }
        costs.borrow_mut().extend_from_slice(begun);
        let head = [(":status", "200"), ("content-type", exchange.content_type)];
        stream.response_headers(&head, false);
        take();
        for chunk in &exchange.chunks {
            bed.host.advance(exchange.step);
            stream.response_body(chunk, false);
            take();
        }
        stream.response_body(b"", true);
        take();
        stream.log();
        take();
        stream.done();
        take();
        stream.delete();
        take();
    }
    costs.into_inner()
}

fn fuel_of(costs: &[CallbackTrace]) -> u64 {
    costs.iter().map(|trace| trace.fuel).sum()
}

/// The fuel of the first callback of that name, or of the one so many after it.
fn fuel_at(costs: &[CallbackTrace], callback: &str, after: usize) -> u64 {
    let mut named = costs.iter().filter(|trace| trace.callback == callback);
    named.nth(after).unwrap().fuel
}

/// A stream that waits for its first chunk.
fn open_stream(bed: &Bed, worker: &Worker) -> Stream {
    let exchange = Exchange::streamed_chat("m", 64);
    let stream = exchange
        .begin(&bed.host, &worker.vm, &worker.observe)
        .unwrap();
    stream.response_headers(&STREAM_HEAD, false);
    stream
}

#[test]
fn a_chunk_of_an_answer_costs_one_clock_reading_and_one_buffer_reading() {
    let (bed, worker) = new_worker();
    let stream = open_stream(&bed, &worker);
    let most = [("clock_time_get", 1), ("proxy_get_buffer_bytes", 1)];
    for chunk in &Exchange::streamed_chat("m", 64).chunks {
        stream.response_body(chunk, false);
        assert_eq!(calls(&worker.vm.latest()), most);
    }
    // Many events in one chunk are one chunk.
    let events = Exchange::streamed_chat("m", 64).chunks.concat();
    stream.response_body(&events, false);
    assert_eq!(calls(&worker.vm.latest()), most);
    stream.response_body(b"", false);
    assert_eq!(calls(&worker.vm.latest()), []);
    stream.response_body(b"", true);
    assert_eq!(calls(&worker.vm.latest()), most[..1]);
}

/// How often a machine's allocator was called.
fn allocations(vm: &Vm, counters: &[String]) -> i64 {
    let counts = counters
        .iter()
        .map(|name| vm.exported_number(name).unwrap());
    counts.sum()
}

#[test]
fn an_ordinary_content_chunk_allocates_its_buffer_and_nothing_else() {
    let counting = count_allocations(&fs::read(built_module().unwrap()).unwrap());
    let module = CompiledModule::from_bytes(&counting.module).unwrap();
    let host = Host::new(&HostOptions::default());
    let vm = host.vm(&module, VmOptions::default()).unwrap();
    let root = vm.root(listener("observe", OBSERVE));
    let exchange = Exchange::streamed_chat("m", 64);
    let before_request = allocations(&vm, &counting.counters);
    let stream = exchange.begin(&host, &vm, &root).unwrap();
    stream.response_headers(&STREAM_HEAD, false);
    let in_request = allocations(&vm, &counting.counters) - before_request;
    assert!(in_request > 5, "the counter does not count: {in_request}");
    // The role, the first token and the second may still make room for what follows.
    let (first, content) = exchange.chunks[..60].split_at(3);
    for chunk in first {
        stream.response_body(chunk, false);
    }
    for chunk in content {
        let before = allocations(&vm, &counting.counters);
        host.advance(exchange.step);
        stream.response_body(chunk, false);
        assert_eq!(allocations(&vm, &counting.counters) - before, 1);
    }
    assert_eq!(vm.failure(), None);
}

#[test]
fn content_chunks_leave_no_memory_behind() {
    let (bed, worker) = new_worker();
    let stream = open_stream(&bed, &worker);
    let content = event(&chunk("m", r#"{"content":" token"}"#));
    stream.response_body(&content, false);
    let before = worker.vm.memory_bytes();
    for _ in 0..50_000 {
        stream.response_body(&content, false);
    }
    assert_eq!(worker.vm.memory_bytes(), before);
    assert_eq!(worker.vm.failure(), None);
}

#[test]
fn a_chunk_of_a_request_costs_a_buffer_reading_and_its_end_a_clock_reading() {
    let (_bed, worker) = new_worker();
    let stream = worker.vm.stream(&worker.observe);
    stream.request_headers(
        &[
            (":method", "POST"),
            (":path", "/v1/chat/completions"),
            ("content-type", "application/json"),
        ],
        false,
    );
    stream.request_body(b"{\"messages\":[\"", false);
    assert_eq!(calls(&worker.vm.latest()), [("proxy_get_buffer_bytes", 1)]);
    stream.request_body(b"\"],\"model\":\"m\"}", true);
    assert_eq!(
        calls(&worker.vm.latest()),
        [("clock_time_get", 1), ("proxy_get_buffer_bytes", 1)]
    );
}

#[test]
fn all_headers_of_an_answer_or_a_watched_request_come_in_one_reading() {
    let (_bed, worker) = new_worker();
    let stream = worker.vm.stream(&worker.observe);
    let head = [
        (":method", "POST"),
        (":path", "/v1/chat/completions"),
        ("content-type", "application/json"),
        ("x-llm-d-inference-objective", "critical"),
    ];
    stream.request_headers(&head, false);
    let read = [("clock_time_get", 1), ("proxy_get_header_map_pairs", 1)];
    let request = worker.vm.latest();
    assert_eq!(calls(&request)[..2], read);
    assert_eq!(calls(&request)[2..], [("proxy_get_header_map_value", 2)]);
    stream.response_headers(&STREAM_HEAD, false);
    assert_eq!(calls(&worker.vm.latest()), read);
    stream.response_trailers(&[("grpc-status", "0"), ("x-queue-time", "3")]);
    assert_eq!(calls(&worker.vm.latest()), read);
    // Of what is not watched, method and path are enough.
    let stream = worker.vm.stream(&worker.observe);
    stream.request_headers(&[(":method", "GET"), (":path", "/v1/models")], true);
    assert_eq!(
        calls(&worker.vm.latest()),
        [("proxy_get_header_map_value", 2)]
    );
    stream.response_headers(&STREAM_HEAD, true);
    assert_eq!(calls(&worker.vm.latest()), []);
}

/// Hostcalls that would change a stream, hold it, or leave the proxy.
const NEVER: &[&str] = &[
    "proxy_add_header_map_value",
    "proxy_call_foreign_function",
    "proxy_close_stream",
    "proxy_continue_stream",
    "proxy_enqueue_shared_queue",
    "proxy_grpc_call",
    "proxy_http_call",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_send_local_response",
    "proxy_set_buffer_bytes",
    "proxy_set_header_map_pairs",
    "proxy_set_property",
];

#[test]
fn no_callback_of_an_observed_stream_changes_it() {
    for exchange in [
        Exchange::streamed_chat("m", 8),
        Exchange::whole_chat("m", 8),
    ] {
        // The labels are known by now, so nothing goes to the log or to shared data either.
        let only_at_first = [
            "proxy_log",
            "proxy_set_shared_data",
            "proxy_get_shared_data",
            "proxy_define_metric",
        ];
        for trace in costs_of(&exchange) {
            for name in NEVER.iter().chain(&only_at_first) {
                assert_eq!(trace.count(name), 0, "{trace}");
            }
        }
    }
}

#[test]
fn a_tick_with_nothing_new_costs_a_clock_reading_and_a_sign_of_life() {
    let (bed, worker) = new_worker();
    bed.host.run_for(TICK * 20);
    let recent = worker.vm.recent();
    assert!(recent.len() > 20);
    for tick in recent {
        assert_eq!(tick.callback, "proxy_on_tick");
        assert_eq!(tick.count("clock_time_get"), 1, "{tick}");
        assert!(tick.count("proxy_set_shared_data") <= 1, "{tick}");
        assert_eq!(tick.count("proxy_log"), 0, "{tick}");
    }
}

/// A worker that holds the series of two hundred label sets.
fn worker_with_200_label_sets() -> (Bed, Worker) {
    let (bed, worker) = new_worker();
    for exchange in label_sets() {
        worker.exchange(&bed.host, &exchange).unwrap();
    }
    bed.host.run_for(TICK * 10);
    (bed, worker)
}

/// Fifty models, each streamed and whole, on two routes.
fn label_sets() -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for number in 0..50 {
        let model = format!("org/model-{number}");
        for exchange in [
            Exchange::streamed_chat(&model, 2),
            Exchange::whole_chat(&model, 2),
        ] {
            let completions = Exchange {
                path: "/v1/completions".to_owned(),
                ..exchange.clone()
            };
            exchanges.extend([exchange, completions]);
        }
    }
    exchanges
}

/// The fuel of everything that is pinned.
fn measure() -> Vec<(&'static str, u64)> {
    let streamed = costs_of(&Exchange::streamed_chat("m", 64));
    let whole = costs_of(&Exchange::whole_chat("m", 64));
    let other = costs_of(&Exchange {
        path: "/v1/models".to_owned(),
        ..Exchange::whole_chat("m", 64)
    });
    let traced = costs_under(
        r#"{"push": {"cluster": "absent", "metrics": false, "traces": true}}"#,
        &Exchange {
            headers: vec![(
                "traceparent",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            )],
            ..Exchange::streamed_chat("m", 64)
        },
    );
    let body = "proxy_on_response_body";
    let mut measured = vec![
        (
            "request headers",
            fuel_at(&streamed, "proxy_on_request_headers", 0),
        ),
        (
            "request body",
            fuel_at(&streamed, "proxy_on_request_body", 0),
        ),
        (
            "response headers",
            fuel_at(&streamed, "proxy_on_response_headers", 0),
        ),
        ("chunk of the role", fuel_at(&streamed, body, 0)),
        ("chunk of the first token", fuel_at(&streamed, body, 1)),
        ("chunk of the second token", fuel_at(&streamed, body, 2)),
        ("chunk of the last token", fuel_at(&streamed, body, 64)),
        ("chunk of the usage", fuel_at(&streamed, body, 66)),
        (
            "log of a streamed request",
            fuel_at(&streamed, "proxy_on_log", 0),
        ),
        (
            "request headers of a traced request",
            fuel_at(&traced, "proxy_on_request_headers", 0),
        ),
        (
            "log of a streamed request with its span",
            fuel_at(&traced, "proxy_on_log", 0),
        ),
        ("streamed request of 64 tokens", fuel_of(&streamed)),
        ("request answered whole", fuel_of(&whole)),
        ("request that is not watched", fuel_of(&other)),
    ];
    let (bed, worker) = new_worker();
    bed.host.run_for(TICK * 30);
    measured.push(("tick with nothing new", dearest_tick(&worker)));
    let (bed, worker) = worker_with_200_label_sets();
    bed.host.run_for(TICK * 30);
    measured.push((
        "tick with nothing new and 200 label sets",
        dearest_tick(&worker),
    ));
    let exchange = Exchange::whole_chat("org/model-0", 2);
    worker.exchange(&bed.host, &exchange).unwrap();
    bed.host.run_for(TICK);
    measured.push(("tick that publishes 200 label sets", dearest_tick(&worker)));
    let _page = worker.page().unwrap();
    let recent = worker.vm.recent();
    let scrape = recent.iter().map(|trace| trace.fuel).max();
    measured.push(("scrape of 200 label sets", scrape.unwrap()));
    measured
}

/// Most ticks are of a root that has nothing to do; the dearest is the one that counts.
fn dearest_tick(worker: &Worker) -> u64 {
    let ticks = worker.vm.recent().into_iter();
    ticks
        .filter(|trace| trace.callback == "proxy_on_tick")
        .map(|trace| trace.fuel)
        .max()
        .unwrap()
}

/// `wasmtime_fuel.txt` holds what is pinned. `UPDATE_EXPECT=1` writes it anew where a cost has moved
/// by more than the margin.
#[test]
fn fuel_stays_within_a_small_margin_of_what_is_pinned() {
    let pinned: BTreeMap<&str, u64> = include_str!("wasmtime_fuel.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, fuel)| (name, fuel.replace('_', "").parse().unwrap()))
        .collect();
    let mut table = String::new();
    for (name, fuel) in measure() {
        let pin = pinned.get(name).copied().unwrap_or(0);
        println!("{name}: {fuel} (pinned {pin})");
        let within = (fuel as f64 - pin as f64).abs() <= pin as f64 * MARGIN;
        let shown = if within { pin } else { fuel };
        writeln!(table, "{name}: {}", grouped(shown)).unwrap();
    }
    expect_file!["wasmtime_fuel.txt"].assert_eq(&table);
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join("_")
}

#[test]
fn a_hundred_thousand_requests_over_200_label_sets_fit_into_4_mib() {
    const REQUESTS: usize = 100_000;
    const LIMIT_BYTES: usize = 4 << 20;
    let bed = Bed::new().unwrap();
    let (worker, scraped) = (bed.worker().unwrap(), bed.worker().unwrap());
    let exchanges = label_sets();
    assert_eq!(exchanges.len(), 200);
    for number in 0..REQUESTS {
        let exchange = &exchanges[number % exchanges.len()];
        worker.exchange(&bed.host, exchange).unwrap();
        if number % 1_000 == 0 {
            bed.host.run_for(TICK);
        }
        if number % 10_000 == 0 {
            let _page = scraped.page().unwrap();
        }
    }
    bed.host.run_for(TICK);
    let answer = scraped.scrape.get(SCRAPE_PATH, "").unwrap();
    let page = Exposition::parse(&answer.text()).unwrap();
    let (memory, with_page) = (worker.vm.memory_bytes(), scraped.vm.memory_bytes());
    println!(
        "after {REQUESTS} requests: {memory} bytes of linear memory where they were counted, \
         {with_page} bytes where {} samples were written on a page of {} bytes",
        page.samples().len(),
        answer.body.len()
    );
    assert_eq!(worker.vm.failure(), None);
    assert_eq!(scraped.vm.failure(), None);
    page.assert(&[equal("inference_requests_total", &[], REQUESTS as f64)]);
    assert!(memory <= LIMIT_BYTES, "{memory} bytes");
    // The host takes a page in one piece, so the worker that answers has to hold it once.
    let room_for_page = LIMIT_BYTES + answer.body.len();
    assert!(with_page <= room_for_page, "{with_page} bytes");
}
