//! Spans and log records against a receiver that the test plays: what is made of a request, and what becomes of it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "this file is a test"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use host_tests::metric_assert::{Exposition, equal};
use host_tests::otlp_ledger::attributes;
use host_tests::span_checks::{log_complaints, span_complaints};
use host_tests::wasmtime_host::bed::{Bed, Exchange, Worker, listener, page_of};
use host_tests::wasmtime_host::{HostOptions, HttpCall, HttpCallAnswer, Root};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, exemplar, metric::Data};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message;

const SECOND: Duration = Duration::from_secs(1);
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const NOT_SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// One worker whose observing listener pushes spans, or what it is told to.
struct Tracing {
    bed: Bed,
    worker: Worker,
    root: Root,
}

impl Tracing {
    fn new(members: &str) -> Tracing {
        let options = HostOptions {
            clusters: BTreeSet::from(["otel".to_owned(), "other".to_owned()]),
            ..HostOptions::default()
        };
        let bed = Bed::with(&options).unwrap();
        let worker = bed.worker().unwrap();
        let root = Tracing::configured(&worker, members);
        Tracing { bed, worker, root }
    }

    fn configured(worker: &Worker, members: &str) -> Root {
        let text = format!(
            r#"{{"push": {{"cluster": "otel", "interval": "1s", "metrics": false, {members}}}}}"#
        );
        let root = worker.vm.root(listener("push", &text));
        assert!(root.accepted(), "{text}");
        root
    }

    fn serve(&self, exchange: &Exchange) {
        exchange
            .run(&self.bed.host, &self.worker.vm, &self.root)
            .unwrap();
    }

    fn serve_times(&self, times: usize) {
        let exchange = Exchange {
            step: Duration::from_micros(10),
            ..Exchange::whole_chat("m", 3)
        };
        for _ in 0..times {
            self.serve(&exchange);
        }
    }

    /// Lets time pass and gives every call, answered so.
    fn run(&self, time: Duration, answer: impl Fn(&HttpCall) -> HttpCallAnswer) -> Vec<HttpCall> {
        let mut all = Vec::new();
        let step = Duration::from_millis(50);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.bed.host.run_for(step);
            loop {
                let calls = self.bed.host.take_http_calls();
                if calls.is_empty() {
                    break;
                }
                for call in calls {
                    self.root.answer_http_call(call.token, answer(&call));
                    all.push(call);
                }
            }
        }
        assert_eq!(self.worker.vm.failure(), None);
        all
    }

    /// The spans that are delivered within a few seconds.
    fn spans(&self) -> Vec<Span> {
        self.run(SECOND * 4, taken)
            .iter()
            .flat_map(spans_of)
            .collect()
    }

    fn page(&self) -> Exposition {
        self.worker.page().unwrap()
    }
}

fn taken(_call: &HttpCall) -> HttpCallAnswer {
    grpc("0")
}

fn grpc(status: &str) -> HttpCallAnswer {
    let head = [(":status", "200"), ("content-type", "application/grpc")];
    HttpCallAnswer::of(&head, b"").and_trailers(&[("grpc-status", status)])
}

fn unavailable(_call: &HttpCall) -> HttpCallAnswer {
    grpc("14")
}

fn spans_of(call: &HttpCall) -> Vec<Span> {
    let message = call.body.get(5..).unwrap();
    let request = ExportTraceServiceRequest::decode(message).unwrap();
    let resources = request.resource_spans.into_iter();
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn logs_of(call: &HttpCall) -> Vec<LogRecord> {
    let message = call.body.get(5..).unwrap();
    let request = ExportLogsServiceRequest::decode(message).unwrap();
    let resources = request.resource_logs.into_iter();
    let scopes = resources.flat_map(|resource| resource.scope_logs);
    scopes.flat_map(|scope| scope.log_records).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failing() -> Exchange {
    Exchange {
        status: 503,
        content_type: "application/json",
        chunks: vec![br#"{"error":{"message":"the secret prompt"}}"#.to_vec()],
        ..Exchange::streamed_chat("m", 1)
    }
}

#[test]
fn a_request_becomes_a_span_below_that_of_its_caller() {
    let tracing = Tracing::new(r#""traces": {"baggage": ["tenant"]}"#);
    tracing.serve(&Exchange {
        headers: vec![
            ("traceparent", SAMPLED),
            ("tracestate", "vendor=1"),
            ("tracestate", "other=2"),
            ("baggage", "secret=no,tenant=blue"),
        ],
        ..Exchange::streamed_chat("llama", 5)
    });
    let calls = tracing.run(SECOND * 4, taken);
    let [call] = calls.as_slice() else {
        unreachable!("{} calls", calls.len())
    };
    let path = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    assert!(call.headers.contains(&(b":path".to_vec(), path.to_vec())));
    for text in ["hello", " token", "secret"] {
        let found = call
            .body
            .windows(text.len())
            .any(|window| window == text.as_bytes());
        assert!(!found, "{text}");
    }
    let spans = spans_of(call);
    let [span] = spans.as_slice() else {
        unreachable!("{spans:?}")
    };
    assert_eq!(span.name, "chat llama");
    assert_eq!(hex(&span.trace_id), TRACE);
    assert_eq!(hex(&span.parent_span_id), "b7ad6b7169203331");
    assert_ne!(span.span_id, span.parent_span_id);
    assert_eq!(span.trace_state, "vendor=1,other=2");
    assert_eq!(span.kind(), SpanKind::Client);
    let held = attributes(&span.attributes);
    for (name, value) in [
        ("tenant", "blue"),
        ("gen_ai.request.model", "llama"),
        ("gen_ai.usage.output_tokens", "5"),
        ("server.address", "10.0.0.7"),
        ("server.port", "8000"),
        ("inference.outcome", "success"),
    ] {
        assert_eq!(held.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(span_complaints(span, &["tenant"]), [] as [String; 0]);
    let events: Vec<&str> = span
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert_eq!(events, ["inference.first_token"]);
    // The metric's sum over one request is that request's duration.
    let page = tracing.page();
    let sum = page
        .total("gen_ai_server_request_duration_seconds_sum", &[])
        .unwrap();
    let nanos = span.end_time_unix_nano - span.start_time_unix_nano;
    assert!((sum - Duration::from_nanos(nanos).as_secs_f64()).abs() < 1e-9);
}

#[test]
fn the_listeners_direction_or_the_configuration_says_on_which_side_a_span_stands() {
    for (members, direction, kind) in [
        (r#""traces": true"#, 1, SpanKind::Server),
        (r#""traces": true"#, 2, SpanKind::Client),
        (r#""traces": true"#, 0, SpanKind::Client),
        (r#""traces": {"kind": "client"}"#, 1, SpanKind::Client),
        (r#""traces": {"kind": "server"}"#, 0, SpanKind::Server),
    ] {
        let tracing = Tracing::new(members);
        let exchange = Exchange::whole_chat("m", 1);
        let (host, vm) = (&tracing.bed.host, &tracing.worker.vm);
        let stream = exchange.begin(host, vm, &tracing.root).unwrap();
        stream.set("xds.listener_direction", direction);
        exchange.answer(host, &stream).unwrap();
        stream.end();
        let spans = tracing.spans();
        assert_eq!(spans.len(), 1);
        assert_eq!(spans[0].kind(), kind, "{members} {direction}");
    }
}

#[test]
fn a_span_ends_with_the_last_byte_however_late_the_proxy_tells_of_the_end() {
    let tracing = Tracing::new(r#""traces": true"#);
    let exchange = Exchange::whole_chat("m", 1);
    let (host, vm) = (&tracing.bed.host, &tracing.worker.vm);
    let began = host.wall_nanos();
    let stream = exchange.begin(host, vm, &tracing.root).unwrap();
    exchange.answer(host, &stream).unwrap();
    let ended = host.wall_nanos();
    host.advance(SECOND * 30);
    stream.end();
    let spans = tracing.spans();
    let times = (spans[0].start_time_unix_nano, spans[0].end_time_unix_nano);
    assert_eq!(times, (began, ended));
}

#[test]
fn the_proxys_own_span_is_the_parent_where_there_is_one() {
    let tracing = Tracing::new(r#""traces": true"#);
    let exchange = Exchange {
        headers: vec![("traceparent", SAMPLED)],
        ..Exchange::whole_chat("m", 1)
    };
    let (host, vm) = (&tracing.bed.host, &tracing.worker.vm);
    let stream = exchange.begin(host, vm, &tracing.root).unwrap();
    exchange.answer(host, &stream).unwrap();
    let proxys = format!("00-{TRACE}-00000000000000aa-01");
    stream.set_logged_headers(&[("traceparent", proxys.as_str())], &[(":status", "200")]);
    stream.end();
    // An end that shows no headers leaves the caller's.
    let stream = exchange.begin(host, vm, &tracing.root).unwrap();
    exchange.answer(host, &stream).unwrap();
    stream.end_without_log();
    let parents: Vec<String> = tracing
        .spans()
        .iter()
        .map(|span| hex(&span.parent_span_id))
        .collect();
    assert_eq!(parents, ["00000000000000aa", "b7ad6b7169203331"]);
}

#[test]
fn who_gets_a_span_is_as_the_configuration_says() {
    let with = |traceparent| Exchange {
        headers: vec![("traceparent", traceparent)],
        ..Exchange::whole_chat("m", 1)
    };
    let plain = || Exchange::whole_chat("m", 1);
    let broken = || with("00-zz");
    let failing_with = |traceparent| Exchange {
        headers: vec![("traceparent", traceparent)],
        ..failing()
    };
    let slow = || Exchange {
        step: SECOND,
        ..failing_with(NOT_SAMPLED)
    };
    for (members, exchange, is_kept) in [
        (r#""traces": true"#, plain(), true),
        (r#""traces": true"#, broken(), true),
        (r#""traces": true"#, with(NOT_SAMPLED), false),
        (r#""traces": {"ratio": 0}"#, plain(), false),
        (r#""traces": {"ratio": 0}"#, with(SAMPLED), true),
        (
            r#""traces": {"ratio": 0, "follow_parent": false}"#,
            with(SAMPLED),
            false,
        ),
        (r#""traces": true"#, failing_with(NOT_SAMPLED), false),
        (
            r#""traces": {"keep_errors": true}"#,
            failing_with(NOT_SAMPLED),
            true,
        ),
        (r#""traces": {"keep_slower_than": "1s"}"#, slow(), true),
        (r#""traces": {"keep_slower_than": "10s"}"#, slow(), false),
        (r#""logs": true"#, plain(), false),
    ] {
        let tracing = Tracing::new(members);
        tracing.serve(&exchange);
        let spans = tracing.spans();
        let wanted = usize::from(is_kept);
        assert_eq!(spans.len(), wanted, "{members} {:?}", exchange.headers);
        for span in spans {
            assert_eq!(span_complaints(&span, &[]), [] as [String; 0]);
        }
    }
}

#[test]
fn a_failed_request_is_an_error_and_a_log_record_that_points_to_its_span() {
    let tracing = Tracing::new(r#""traces": true, "logs": true"#);
    tracing.serve(&failing());
    tracing.serve(&Exchange::whole_chat("m", 1));
    let calls = tracing.run(SECOND * 4, taken);
    for call in &calls {
        let found = call.body.windows(6).any(|window| window == b"secret");
        assert!(!found, "the server's message");
    }
    let is_of_logs = |call: &&HttpCall| {
        let path = b"/opentelemetry.proto.collector.logs.v1.LogsService/Export".to_vec();
        call.headers.contains(&(b":path".to_vec(), path))
    };
    let (logs, traces): (Vec<&HttpCall>, Vec<&HttpCall>) = calls.iter().partition(is_of_logs);
    let logs: Vec<LogRecord> = logs.into_iter().flat_map(logs_of).collect();
    let spans: Vec<Span> = traces.into_iter().flat_map(spans_of).collect();
    assert_eq!((spans.len(), logs.len()), (2, 1));
    let status = spans[0].status.clone().unwrap();
    assert_eq!(status.code(), StatusCode::Error);
    assert_eq!(logs[0].span_id, spans[0].span_id);
    assert_eq!(logs[0].trace_id, spans[0].trace_id);
    assert_eq!(span_complaints(&spans[0], &[]), [] as [String; 0]);
    assert_eq!(log_complaints(&logs[0], &[]), [] as [String; 0]);
}

#[test]
fn an_outage_costs_the_oldest_spans_and_no_memory() {
    const HELD: usize = 2_048;
    let tracing = Tracing::new(r#""traces": true"#);
    tracing.serve_times(HELD + 500);
    tracing.run(SECOND * 60, unavailable);
    let before = tracing.worker.vm.memory_bytes();
    for _ in 0..4 {
        tracing.serve_times(HELD);
        tracing.run(SECOND * 60, unavailable);
    }
    assert_eq!(tracing.worker.vm.memory_bytes(), before);
    let delivered: usize = tracing
        .run(SECOND * 40, taken)
        .iter()
        .map(|call| spans_of(call).len())
        .inspect(|spans| assert!(*spans <= 512, "{spans}"))
        .sum();
    assert_eq!(delivered, HELD);
    let dropped = HELD * 4 + 500;
    tracing.page().assert(&[
        equal(
            "inferometer_export_dropped_total",
            &[("signal", "traces")],
            f64::from(u32::try_from(dropped).unwrap()),
        ),
        equal(
            "inferometer_export_total",
            &[("signal", "traces"), ("result", "success")],
            4.0,
        ),
    ]);
}

#[test]
fn what_is_refused_for_good_is_counted_and_what_is_too_large_comes_in_halves() {
    let tracing = Tracing::new(r#""traces": true"#);
    tracing.serve_times(3);
    let calls = tracing.run(SECOND * 4, |_| grpc("3"));
    assert_eq!(calls.len(), 1);
    let dropped = |signal| [("signal", signal)];
    let name = "inferometer_export_dropped_total";
    tracing
        .page()
        .assert(&[equal(name, &dropped("traces"), 3.0)]);

    let tracing = Tracing::new(r#""traces": {"protocol": "http/protobuf", "path": "/in/traces"}"#);
    tracing.serve_times(6);
    let sizes = std::cell::RefCell::new(Vec::new());
    tracing.run(SECOND * 30, |call| {
        let path = (b":path".to_vec(), b"/in/traces".to_vec());
        assert!(call.headers.contains(&path));
        let request = ExportTraceServiceRequest::decode(call.body.as_slice()).unwrap();
        let spans = request.resource_spans[0].scope_spans[0].spans.len();
        sizes.borrow_mut().push(spans);
        let status = if spans > 2 { "413" } else { "200" };
        let head = [
            (":status", status),
            ("content-type", "application/x-protobuf"),
        ];
        HttpCallAnswer::of(&head, b"")
    });
    assert_eq!(sizes.into_inner(), [6, 3, 1, 1, 1, 1, 1, 1]);
    assert_eq!(tracing.page().total(name, &[]), None);
}

#[test]
fn spans_outlive_an_update_and_are_counted_when_nobody_is_left_to_send_them() {
    let mut tracing = Tracing::new(r#""traces": true"#);
    tracing.serve_times(5);
    // A call is under way when its root ends.
    let calls = loop {
        tracing.bed.host.run_for(SECOND);
        let calls = tracing.bed.host.take_http_calls();
        if !calls.is_empty() {
            break calls;
        }
    };
    assert_eq!(spans_of(&calls[0]).len(), 5);
    let next = Tracing::configured(&tracing.worker, r#""traces": {"cluster": "other"}"#);
    std::mem::replace(&mut tracing.root, next).end();
    tracing.serve_times(1);
    let calls = tracing.run(SECOND * 4, taken);
    let delivered: usize = calls.iter().map(|call| spans_of(call).len()).sum();
    assert_eq!(delivered, 6);
    assert!(calls.iter().all(|call| call.cluster == "other"));

    tracing.serve_times(7);
    tracing.root.end();
    tracing.bed.host.run_for(SECOND * 3);
    let page = page_of(&tracing.worker.scrape).unwrap();
    let labels = [("signal", "traces")];
    page.assert(&[equal("inferometer_export_dropped_total", &labels, 7.0)]);
}

#[test]
fn what_a_traced_request_measured_points_to_its_span_whoever_sends_the_metrics() {
    let tracing = Tracing::new(r#""traces": true"#);
    let sender = tracing.bed.worker().unwrap();
    let push = r#"{"observe": false, "push": {"cluster": "otel", "interval": "1s"}}"#;
    let metrics = sender.vm.root(listener("push", push));
    let duration = "gen_ai.server.request.duration";
    for traceparent in [SAMPLED, NOT_SAMPLED] {
        tracing.serve(&Exchange {
            headers: vec![("traceparent", traceparent)],
            ..Exchange::streamed_chat("llama", 5)
        });
    }
    let mut exemplars = Vec::new();
    let mut spans = Vec::new();
    for _ in 0..200 {
        tracing.bed.host.run_for(Duration::from_millis(50));
        for call in tracing.bed.host.take_http_calls() {
            let is_span = call.vm == tracing.worker.vm.number();
            let root = if is_span { &tracing.root } else { &metrics };
            root.answer_http_call(call.token, taken(&call));
            if is_span {
                spans.extend(spans_of(&call));
            } else {
                exemplars.push(exemplars_of(&call, duration));
            }
        }
    }
    let [span] = spans.as_slice() else {
        unreachable!("{spans:?}")
    };
    // They come with the export after the measurement, and perhaps with the next one.
    let with_some = exemplars.iter().filter(|some| !some.is_empty()).count();
    assert!(
        (1..=3).contains(&with_some),
        "{with_some} of {}",
        exemplars.len()
    );
    for exemplar in exemplars.concat() {
        assert_eq!(exemplar.trace_id, span.trace_id);
        assert_eq!(exemplar.span_id, span.span_id);
        assert_eq!(exemplar.time_unix_nano, span.end_time_unix_nano);
        let nanos = span.end_time_unix_nano - span.start_time_unix_nano;
        let seconds = Duration::from_nanos(nanos).as_secs_f64();
        assert_eq!(exemplar.value, Some(exemplar::Value::AsDouble(seconds)));
    }
}

fn exemplars_of(call: &HttpCall, metric: &str) -> Vec<Exemplar> {
    let message = call.body.get(5..).unwrap();
    let request = ExportMetricsServiceRequest::decode(message).unwrap();
    let resources = request.resource_metrics.into_iter();
    let scopes = resources.flat_map(|resource| resource.scope_metrics);
    let named = scopes
        .flat_map(|scope| scope.metrics)
        .filter(|found| found.name == metric);
    named
        .flat_map(|found| match found.data {
            Some(Data::Histogram(histogram)) => histogram.data_points,
            _ => Vec::new(),
        })
        .flat_map(|point| point.exemplars)
        .collect()
}

#[test]
fn nobody_needs_an_answer_to_record_and_ask_again() {
    let tracing = Tracing::new(r#""traces": {"timeout": "2s"}"#);
    tracing.serve_times(1);
    let mut calls = Vec::new();
    for _ in 0..60 {
        tracing.bed.host.run_for(SECOND);
        calls.extend(tracing.bed.host.take_http_calls());
        tracing.serve_times(1);
    }
    println!("{} calls in a minute without an answer", calls.len());
    assert!((3..=20).contains(&calls.len()), "{}", calls.len());
    let labels = [("signal", "traces"), ("result", "timeout")];
    let page = tracing.page();
    assert!(page.total("inferometer_export_total", &labels).unwrap() >= 3.0);
    let calls = tracing.run(SECOND * 60, taken);
    let delivered: usize = calls.iter().map(|call| spans_of(call).len()).sum();
    assert_eq!(delivered, 61);
}
