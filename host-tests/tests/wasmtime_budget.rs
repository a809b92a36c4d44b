//! What the module costs: hostcalls and fuel per callback, and memory after very many requests.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "this file is a test"
)]

#[path = "wasmtime_support/allocation_counter.rs"]
mod allocation_counter;
#[path = "wasmtime_support/leb128.rs"]
mod leb128;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use allocation_counter::count_allocations;
use expect_test::expect_file;
use host_tests::metric_assert::equal;
use host_tests::module::built_module;
use host_tests::wasmtime_host::bed::{Bed, Exchange, OBSERVE, Worker, chunk, event, listener};
use host_tests::wasmtime_host::{
    CallbackTrace, CompiledModule, Host, HostOptions, Stream, Vm, VmOptions,
};

const TICK: Duration = Duration::from_secs(1);
/// How far a cost may move from what is pinned before somebody has to look.
const MARGIN: f64 = 0.05;
const STREAM_HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "text/event-stream")];

fn new_worker() -> (Bed, Worker) {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    // The first exchange makes the series; what comes after is the ordinary case.
    let exchange = Exchange::streamed_chat("m", 64);
    worker.exchange(&bed.host, &exchange).unwrap();
    bed.host.run_for(TICK * 10);
    (bed, worker)
}

fn calls<'a>(trace: &'a CallbackTrace) -> Vec<(&'a str, u32)> {
    trace.hostcalls.iter().map(|(name, times)| (*name, *times)).collect()
}

/// Everything a stream's callbacks cost, callback by callback.
struct Costs<'a> {
    bed: &'a Bed,
    worker: &'a Worker,
    fuel: u64,
    hostcalls: BTreeMap<&'static str, u32>,
}

impl Costs<'_> {
    fn take(&mut self) {
        let latest = self.worker.vm.latest();
        self.fuel += latest.fuel;
        for (name, times) in latest.hostcalls {
            *self.hostcalls.entry(name).or_default() += times;
        }
    }

    fn run(&mut self, exchange: &Exchange) {
        let head = [
            (":method", "POST"),
            (":path", exchange.path.as_str()),
            ("content-type", "application/json"),
        ];
        let stream = self.worker.vm.stream(&self.worker.observe);
        self.take();
        stream.request_headers(&head, false);
        self.take();
        stream.request_body(&exchange.request, true);
        self.take();
        let response_head = [
            (":status", "200"),
            ("content-type", exchange.content_type),
        ];
        stream.response_headers(&response_head, false);
        self.take();
        for chunk in &exchange.chunks {
            self.bed.host.advance(exchange.step);
            stream.response_body(chunk, false);
            self.take();
        }
        stream.response_body(b"", true);
        self.take();
        stream.log();
        self.take();
        stream.done();
        self.take();
        stream.delete();
        self.take();
    }
}

fn costs_of(exchange: &Exchange) -> (u64, BTreeMap<&'static str, u32>) {
    let (bed, worker) = new_worker();
    // Twice, so that what the first one makes anew is there.
    worker.exchange(&bed.host, exchange).unwrap();
    let mut costs = Costs {
        bed: &bed,
        worker: &worker,
        fuel: 0,
        hostcalls: BTreeMap::new(),
    };
    costs.run(exchange);
    (costs.fuel, costs.hostcalls)
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
    let counts = counters.iter().map(|name| vm.exported_number(name).unwrap());
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
    for exchange in [Exchange::streamed_chat("m", 8), Exchange::whole_chat("m", 8)] {
        let (_fuel, hostcalls) = costs_of(&exchange);
        assert!(!hostcalls.is_empty());
        for name in NEVER {
            assert_eq!(hostcalls.get(name), None, "{name}");
        }
        // Labels and series are known by now, so nothing goes to the log or to shared data.
        assert_eq!(hostcalls.get("proxy_log"), None);
        assert_eq!(hostcalls.get("proxy_set_shared_data"), None);
        assert_eq!(hostcalls.get("proxy_get_shared_data"), None);
        assert_eq!(hostcalls.get("proxy_define_metric"), None);
    }
}

#[test]
fn a_tick_with_nothing_new_costs_a_clock_reading_and_a_sign_of_life() {
    let (bed, worker) = new_worker();
    bed.host.run_for(TICK * 20);
    let tick = worker.vm.latest_of("proxy_on_tick").unwrap();
    assert_eq!(tick.count("clock_time_get"), 1);
    assert!(tick.count("proxy_set_shared_data") <= 1, "{tick}");
    assert_eq!(tick.count("proxy_log"), 0);
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
    let mut measured = Vec::new();
    let (bed, worker) = new_worker();
    let vm = &worker.vm;
    let stream = open_stream(&bed, &worker);
    measured.push(("response headers", vm.latest().fuel));
    let trace = |name| vm.latest_of(name).unwrap().fuel;
    measured.push(("request headers", trace("proxy_on_request_headers")));
    measured.push(("request body of 121 bytes", trace("proxy_on_request_body")));
    let content = event(&chunk("m", r#"{"content":" token"}"#));
    stream.response_body(&content, false);
    measured.push(("first token chunk", vm.latest().fuel));
    bed.host.advance(Duration::from_millis(10));
    stream.response_body(&content, false);
    measured.push(("content chunk", vm.latest().fuel));
    stream.response_body(&content.repeat(16), false);
    measured.push(("chunk of 16 content events", vm.latest().fuel));
    stream.log();
    measured.push(("log of a streamed request", vm.latest().fuel));
    stream.done();
    stream.delete();

    let streamed = costs_of(&Exchange::streamed_chat("m", 64)).0;
    measured.push(("streamed request of 64 tokens", streamed));
    let whole = costs_of(&Exchange::whole_chat("m", 64)).0;
    measured.push(("request answered whole", whole));
    let other = Exchange {
        path: "/v1/models".to_owned(),
        ..Exchange::whole_chat("m", 64)
    };
    measured.push(("request that is not watched", costs_of(&other).0));

    bed.host.run_for(TICK * 20);
    measured.push(("tick with nothing new", trace("proxy_on_tick")));
    let (bed, worker) = worker_with_200_label_sets();
    let exchange = Exchange::whole_chat("org/model-0", 2);
    worker.exchange(&bed.host, &exchange).unwrap();
    worker.observe.tick();
    bed.host.run_for(TICK);
    let publishing = worker.vm.latest_of("proxy_on_tick").unwrap().fuel;
    measured.push(("tick that publishes 200 label sets", publishing));
    let _page = worker.page().unwrap();
    let scrape = worker.vm.latest_of("proxy_on_request_headers").unwrap();
    measured.push(("scrape of 200 label sets", scrape.fuel));
    measured
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
    let worker = bed.worker().unwrap();
    let exchanges = label_sets();
    assert_eq!(exchanges.len(), 200);
    for number in 0..REQUESTS {
        let exchange = &exchanges[number % exchanges.len()];
        worker.exchange(&bed.host, exchange).unwrap();
        if number % 1_000 == 0 {
            bed.host.run_for(TICK);
        }
        if number % 10_000 == 0 {
            let _page = worker.page().unwrap();
        }
    }
    let page = worker.page().unwrap();
    let memory = worker.vm.memory_bytes();
    println!("{memory} bytes of linear memory after {REQUESTS} requests");
    assert_eq!(worker.vm.failure(), None);
    page.assert(&[equal("inference_requests_total", &[], REQUESTS as f64)]);
    assert!(memory <= LIMIT_BYTES, "{memory} bytes");
}
