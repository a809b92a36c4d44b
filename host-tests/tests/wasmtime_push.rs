//! The role `push` against a receiver that the test plays: what is sent, by whom, and what becomes of each answer.
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
use host_tests::otlp_ledger::{Ledger, attributes, with_plain_bounds};
use host_tests::wasmtime_host::bed::{Bed, Exchange, Worker, listener};
use host_tests::wasmtime_host::{HostOptions, HttpCall, HttpCallAnswer, Root, Times, status};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message;

const SECOND: Duration = Duration::from_secs(1);
const PUSH: &str = r#"{"observe": false, "push": {"cluster": "otel", "interval": "5s"}}"#;
/// The interval, its jitter, and the ticks that one export takes.
const ONE_EXPORT: Duration = Duration::from_secs(7);

/// A process with workers that push.
struct Pushing {
    bed: Bed,
    workers: Vec<(Worker, Root)>,
    ledger: Ledger,
}

impl Pushing {
    fn new(workers: usize, push: &str) -> Pushing {
        Pushing::with(workers, push, &HostOptions::default())
    }

    fn with(workers: usize, push: &str, options: &HostOptions) -> Pushing {
        let options = HostOptions {
            clusters: BTreeSet::from(["otel".to_owned()]),
            ..options.clone()
        };
        let bed = Bed::with(&options).unwrap();
        let workers = (0..workers)
            .map(|_| {
                let worker = bed.worker().unwrap();
                let root = worker.vm.root(listener("push", push));
                assert!(root.accepted());
                (worker, root)
            })
            .collect();
        Pushing {
            bed,
            workers,
            ledger: Ledger::default(),
        }
    }

    fn serve(&self, worker: usize, times: u32) {
        for _ in 0..times {
            let exchange = Exchange::streamed_chat("m", 5);
            let (worker, _) = &self.workers[worker];
            worker.exchange(&self.bed.host, &exchange).unwrap();
        }
    }

    /// Lets time pass in small steps, and answers every call at once.
    fn run(
        &mut self,
        time: Duration,
        answer: impl Fn(&HttpCall) -> HttpCallAnswer,
    ) -> Vec<HttpCall> {
        let mut calls = Vec::new();
        let step = Duration::from_millis(5);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.bed.host.run_for(step);
            for call in self.bed.host.take_http_calls() {
                if is_taken(&answer(&call)) {
                    self.ledger.take(&request_of(&call));
                }
                self.root_of(&call)
                    .answer_http_call(call.token, answer(&call));
                calls.push(call);
            }
        }
        self.check_alive();
        calls
    }

    /// Lets time pass and answers nothing.
    fn wait(&self, time: Duration) -> Vec<HttpCall> {
        let mut calls = Vec::new();
        let step = Duration::from_millis(5);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.bed.host.run_for(step);
            calls.extend(self.bed.host.take_http_calls());
        }
        self.check_alive();
        calls
    }

    fn check_alive(&self) {
        for (worker, _) in &self.workers {
            assert_eq!(worker.vm.failure(), None);
        }
    }

    fn root_of(&self, call: &HttpCall) -> &Root {
        let mut all = self.workers.iter();
        let (_, root) = all
            .find(|(worker, root)| worker.vm.number() == call.vm && root.number() == call.root)
            .unwrap();
        root
    }

    fn page(&self) -> Exposition {
        self.workers[0].0.page().unwrap()
    }

    /// What the receiver has and the scrape has not, and the other way round; what the module says of itself left out,
    /// as each export changes it.
    fn differences(&self) -> Vec<(String, f64, f64)> {
        let own = |name: &str| name.starts_with("inferometer_");
        let received = self.ledger.exposition().without(own);
        received.changes(&with_plain_bounds(&self.page().without(own)))
    }
}

fn request_of(call: &HttpCall) -> ExportMetricsServiceRequest {
    let message = match call.body.strip_prefix(b"\0") {
        Some(framed) => {
            let (length, message) = framed.split_first_chunk().unwrap();
            assert_eq!(u32::from_be_bytes(*length) as usize, message.len());
            message
        }
        None => &call.body,
    };
    ExportMetricsServiceRequest::decode(message).unwrap()
}

fn header<'a>(call: &'a HttpCall, name: &str) -> Option<&'a str> {
    let mut named = call.headers.iter();
    let (_, value) = named.find(|(own, _)| own == name.as_bytes())?;
    std::str::from_utf8(value).ok()
}

fn grpc_ok(_call: &HttpCall) -> HttpCallAnswer {
    grpc("0")
}

fn grpc(status: &str) -> HttpCallAnswer {
    let head = [(":status", "200"), ("content-type", "application/grpc")];
    HttpCallAnswer::of(&head, b"").and_trailers(&[("grpc-status", status)])
}

fn is_taken(answer: &HttpCallAnswer) -> bool {
    let is = |(name, value): &(Vec<u8>, Vec<u8>)| {
        name == b"grpc-status" && value == b"0" || name == b":status" && value == b"202"
    };
    answer.headers.iter().chain(&answer.trailers).any(is)
}

fn exports(page: &Exposition, result: &str) -> f64 {
    let labels = [("signal", "metrics"), ("result", result)];
    page.total_or_zero("inferometer_export_total", &labels)
}

#[test]
fn what_is_pushed_is_what_a_scrape_shows() {
    for push in [
        PUSH,
        r#"{"observe": false, "push": {"cluster": "otel", "metrics": {"temporality": "delta"}}}"#,
        r#"{"observe": false, "push": {"cluster": "otel", "metrics": {"histograms": "base2_exponential_bucket_histogram"}}}"#,
    ] {
        let mut pushing = Pushing::new(3, push);
        for round in 0..3 {
            pushing.serve(round, 4);
            pushing.run(ONE_EXPORT, grpc_ok);
        }
        pushing.run(ONE_EXPORT * 2, grpc_ok);
        assert_eq!(pushing.ledger.faults(), [] as [String; 0], "{push}");
        let mut differences = pushing.differences();
        if push.contains("base2") {
            // Buckets of another kind stand nowhere in a scrape.
            differences.retain(|(series, ..)| !series.contains("_bucket"));
        }
        if push.contains("delta") {
            // A sum of sums is not exact in floating point.
            differences.retain(|(_, one, other)| (one - other).abs() > 1e-9);
        }
        assert_eq!(differences, [], "{push}");
        assert_eq!(pushing.ledger.instances().len(), 1, "{push}");
        let (requests, points) = pushing.ledger.counts();
        assert!(
            (4..=7).contains(&requests) && points > 100,
            "{requests} {points}"
        );
    }
}

#[test]
fn a_call_has_what_the_protocol_asks_for_and_says_who_sends() {
    let options = HostOptions {
        environment: vec![
            "PATH=/bin".to_owned(),
            "OTEL_RESOURCE_ATTRIBUTES=team=ml,service.name=unused,a=b%20c".to_owned(),
            "OTEL_SERVICE_NAME=gateway".to_owned(),
        ],
        ..HostOptions::default()
    };
    let push = r#"{"observe": false, "push": {"cluster": "otel", "authority": "otel:4317", "timeout": "3s",
        "headers": {"x-api-key": "hunter2"}, "resource": {"team": "platform"}}}"#;
    let mut pushing = Pushing::with(1, push, &options);
    let calls = pushing.run(ONE_EXPORT, grpc_ok);
    let call = &calls[0];
    assert_eq!((call.cluster.as_str(), call.timeout_ms), ("otel", 3_000));
    for (name, value) in [
        (":method", "POST"),
        (
            ":path",
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        ),
        (":authority", "otel:4317"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "3000m"),
        ("x-api-key", "hunter2"),
    ] {
        assert_eq!(header(call, name), Some(value), "{name}");
    }
    let request = request_of(call);
    let resource = request.resource_metrics[0].resource.as_ref().unwrap();
    let resource = attributes(&resource.attributes);
    for (name, value) in [
        ("service.name", "gateway"),
        ("team", "platform"),
        ("a", "b c"),
        ("telemetry.sdk.name", "inferometer"),
    ] {
        assert_eq!(
            resource.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }
    let id = &resource["service.instance.id"];
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
    assert_eq!(id.as_bytes()[14], b'4', "{id}");
    let log = pushing.bed.host.take_log();
    assert!(
        log.iter().all(|line| !line.text.contains("hunter2")),
        "{log:?}"
    );
}

#[test]
fn one_worker_sends_for_all_and_it_is_one_that_serves_nothing() {
    let mut pushing = Pushing::new(4, PUSH);
    for worker in 0..3 {
        pushing.serve(worker, 1);
    }
    let calls = pushing.run(ONE_EXPORT * 4, grpc_ok);
    let senders: BTreeSet<u32> = calls.iter().map(|call| call.vm).collect();
    assert_eq!(senders, BTreeSet::from([pushing.workers[3].0.vm.number()]));
    let requests = pushing.ledger.exposition();
    requests.assert(&[equal("inference_requests_total", &[], 3.0)]);
}

#[test]
fn when_the_sender_dies_another_follows_and_nothing_is_lost() {
    let mut pushing = Pushing::new(3, PUSH);
    pushing.serve(0, 2);
    pushing.serve(1, 2);
    let calls = pushing.run(ONE_EXPORT, grpc_ok);
    let first = calls[0].vm;
    // It dies with a call in flight, whose answer nobody hears.
    let unanswered = pushing.wait(ONE_EXPORT);
    assert_eq!(unanswered.len(), 1);
    let dead = pushing
        .workers
        .iter()
        .position(|(worker, _)| worker.vm.number() == first);
    let (dead, _root) = pushing.workers.remove(dead.unwrap());
    dead.vm.fail("on purpose");
    // Two lease periods of ten seconds and two ticks.
    let calls = pushing.run(SECOND * 24, grpc_ok);
    assert!(!calls.is_empty());
    assert!(calls.iter().all(|call| call.vm != first));
    pushing.run(ONE_EXPORT * 2, grpc_ok);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
    // The dead one's gauges are gone from both.
    assert_eq!(pushing.differences(), []);
    assert_eq!(pushing.ledger.instances().len(), 1);
}

#[test]
fn what_a_former_sender_could_not_deliver_is_not_sent_after_others_have() {
    let push = r#"{"observe": false, "push": {"cluster": "otel", "interval": "5s", "metrics": {"temporality": "delta"}}}"#;
    let mut pushing = Pushing::new(1, push);
    pushing.serve(0, 3);
    let calls = pushing.run(SECOND * 20, |_| grpc("14"));
    assert!(!calls.is_empty());
    // One that serves nothing is preferred, and delivers.
    let idle = pushing.bed.worker().unwrap();
    let root = idle.vm.root(listener("push", push));
    pushing.workers.push((idle, root));
    pushing.run(SECOND * 60, grpc_ok);
    pushing.serve(0, 2);
    let calls = pushing.run(SECOND * 20, grpc_ok);
    let (idle, _root) = pushing.workers.pop().unwrap();
    assert!(calls.iter().all(|call| call.vm == idle.vm.number()));
    idle.vm.fail("on purpose");
    pushing.serve(0, 1);
    pushing.run(SECOND * 60, grpc_ok);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
    let mut differences = pushing.differences();
    // Sums of deltas are sums of rounded numbers.
    differences.retain(|(_, one, other)| (one - other).abs() > 1e-9);
    assert_eq!(differences, []);
}

#[test]
fn an_update_of_the_configuration_changes_the_receiver_and_loses_nothing() {
    let mut pushing = Pushing::new(2, PUSH);
    pushing.serve(0, 3);
    pushing.run(ONE_EXPORT, grpc_ok);
    for round in 0_u32..3 {
        for (worker, root) in &mut pushing.workers {
            let renamed = PUSH.replace("5s", &format!("{}s", 4 - round));
            let next = worker.vm.root(listener("push", renamed));
            std::mem::replace(root, next).end();
        }
        pushing.serve(1, 1);
        pushing.run(ONE_EXPORT, grpc_ok);
    }
    pushing.run(ONE_EXPORT * 2, grpc_ok);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
    assert_eq!(pushing.differences(), []);
    assert_eq!(pushing.ledger.instances().len(), 1);
}

/// What is counted for an answer, and how many calls come within a minute of nothing but such answers.
#[track_caller]
fn check_refusal(answer: &HttpCallAnswer, result: &str, calls: std::ops::RangeInclusive<usize>) {
    let mut pushing = Pushing::new(1, PUSH);
    pushing.serve(0, 2);
    let refused = pushing.run(SECOND * 60, |_| answer.clone());
    let page = pushing.page();
    assert_eq!(
        exports(&page, result),
        refused.len() as f64,
        "{result}: {answer:?}"
    );
    assert!(
        calls.contains(&refused.len()),
        "{result}: {} calls",
        refused.len()
    );
    let warnings = pushing.bed.host.take_log();
    let warnings: Vec<_> = warnings.iter().filter(|line| line.level == 3).collect();
    assert!(warnings.len() <= 1, "{warnings:?}");
    // As soon as it works again all of it arrives.
    pushing.run(SECOND * 400, grpc_ok);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
    assert_eq!(pushing.differences(), [], "{result}");
}

#[test]
fn every_refusal_costs_freshness_and_no_data() {
    let http = |status: &str| HttpCallAnswer::of(&[(":status", status)], b"");
    // One second, two, four and so on up to thirty, each by chance down to its half.
    let backed_off = 4..=9;
    check_refusal(&grpc("14"), "unavailable", backed_off.clone());
    check_refusal(&grpc("8"), "rate_limited", backed_off.clone());
    check_refusal(&grpc("16"), "unauthenticated", backed_off.clone());
    check_refusal(&grpc("3"), "refused", backed_off.clone());
    check_refusal(&grpc("4"), "timeout", backed_off.clone());
    check_refusal(&http("413"), "too_large", backed_off.clone());
    check_refusal(&http("429"), "rate_limited", backed_off.clone());
    check_refusal(&http("503"), "unavailable", backed_off.clone());
    check_refusal(&http("504"), "timeout", backed_off.clone());
    check_refusal(
        &HttpCallAnswer::default(),
        "unreachable",
        backed_off.clone(),
    );
}

#[test]
fn retry_info_is_heeded() {
    // google.rpc.Status with a RetryInfo of forty seconds.
    let details = "GjAKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SBAoCCCg=";
    let head = [(":status", "200")];
    let answer = HttpCallAnswer::of(&head, b"")
        .and_trailers(&[("grpc-status", "8"), ("grpc-status-details-bin", details)]);
    check_refusal(&answer, "rate_limited", 2..=2);
    let late = [(":status", "503"), ("retry-after", "40")];
    let mut pushing = Pushing::new(
        1,
        &PUSH.replace(
            "\"interval\"",
            "\"protocol\": \"http/protobuf\", \"interval\"",
        ),
    );
    let calls = pushing.run(SECOND * 60, |_| HttpCallAnswer::of(&late, b""));
    assert_eq!(calls.len(), 2);
    assert_eq!(header(&calls[0], ":path"), Some("/v1/metrics"));
    assert_eq!(
        header(&calls[0], "content-type"),
        Some("application/x-protobuf")
    );
}

#[test]
fn partial_success_is_counted_and_never_sent_again() {
    let mut pushing = Pushing::new(1, PUSH);
    pushing.serve(0, 1);
    let message = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: 3,
            error_message: "too old".to_owned(),
        }),
    };
    let message = message.encode_to_vec();
    let body = [
        [0, 0, 0, 0, u8::try_from(message.len()).unwrap()].as_slice(),
        &message,
    ]
    .concat();
    let answer =
        HttpCallAnswer::of(&[(":status", "200")], &body).and_trailers(&[("grpc-status", "0")]);
    let calls = pushing.run(SECOND * 60, |_| answer.clone());
    // The interval is five seconds, and up to a twentieth more.
    assert!((9..=13).contains(&calls.len()), "{}", calls.len());
    let page = pushing.page();
    let signal = [("signal", "metrics")];
    let rejected = page.total_or_zero("inferometer_export_rejected_total", &signal);
    assert_eq!(rejected, 3.0 * calls.len() as f64);
}

#[test]
fn a_cluster_that_is_not_there_yet_is_tried_again() {
    let mut pushing = Pushing::new(1, PUSH);
    let vm = &pushing.workers[0].0.vm;
    vm.refuse("proxy_http_call", Times::Next(3), status::BAD_ARGUMENT);
    let calls = pushing.run(SECOND * 40, grpc_ok);
    assert!(!calls.is_empty());
    let page = pushing.page();
    assert_eq!(exports(&page, "no_cluster"), 3.0);
    let log = pushing.bed.host.take_log();
    assert!(
        log.iter()
            .any(|line| line.text.contains("knows no cluster `otel`")),
        "{log:?}"
    );
    assert!(
        log.iter().any(|line| line.text.contains("again")),
        "{log:?}"
    );
}

#[test]
fn a_call_that_is_never_answered_is_given_up() {
    let pushing = Pushing::new(1, PUSH);
    // Ten seconds and two ticks.
    let calls = pushing.wait(SECOND * 60);
    assert!((3..=5).contains(&calls.len()), "{}", calls.len());
    assert_eq!(
        exports(&pushing.page(), "timeout"),
        calls.len() as f64 - 1.0
    );
    // An answer that comes later than that is nobody's.
    let root = &pushing.workers[0].1;
    root.answer_http_call(calls[0].token, grpc("0"));
    pushing.check_alive();
}

#[test]
fn no_memory_grows_over_a_thousand_exports() {
    let mut pushing = Pushing::new(1, &PUSH.replace("5s", "1s"));
    pushing.serve(0, 3);
    pushing.run(SECOND * 30, grpc_ok);
    let before = pushing.workers[0].0.vm.memory_bytes();
    let mut calls = 0;
    while calls < 1_000 {
        calls += pushing.run(SECOND * 60, grpc_ok).len();
    }
    assert_eq!(pushing.workers[0].0.vm.memory_bytes(), before);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
}

/// Whoever holds the lease dies with a call in flight, two hundred times.
#[test]
fn two_exports_are_never_in_flight_however_often_the_sender_dies() {
    const TAKE_OVERS: u32 = 200;
    const TIMEOUT: Duration = Duration::from_secs(2);
    /// The call's timeout and two ticks.
    const TERM: Duration = Duration::from_secs(4);
    const STEP: Duration = Duration::from_millis(50);
    let push =
        r#"{"observe": false, "push": {"cluster": "otel", "interval": "1s", "timeout": "2s"}}"#;
    let mut pushing = Pushing::new(3, push);
    let mut served = 0;
    let mut since_last_call = Duration::MAX;
    let mut longest = Duration::ZERO;
    for turn in 0..TAKE_OVERS {
        // The survivors go on counting, those that have served nothing among them.
        if turn % 20 == 0 {
            pushing.serve(0, 1);
            served += 1;
            pushing.bed.host.run_for(SECOND);
            since_last_call = since_last_call.saturating_add(SECOND);
        }
        let call = loop {
            pushing.bed.host.run_for(STEP);
            since_last_call = since_last_call.saturating_add(STEP);
            let calls = pushing.bed.host.take_http_calls();
            assert!(calls.len() <= 1, "{calls:?}");
            if let Some(call) = calls.into_iter().next() {
                break call;
            }
            assert!(
                turn == 0 || since_last_call <= TERM * 2,
                "nobody follows at turn {turn}"
            );
        };
        // The proxy holds the call of a dead machine until its timeout.
        assert!(
            since_last_call >= TIMEOUT,
            "two calls in {since_last_call:?} at turn {turn}"
        );
        if turn > 0 {
            longest = longest.max(since_last_call);
        }
        since_last_call = Duration::ZERO;
        let mut all = pushing.workers.iter();
        let dying = all
            .position(|(worker, _)| worker.vm.number() == call.vm)
            .unwrap();
        let (dead, _root) = pushing.workers.remove(dying);
        dead.vm.fail("on purpose");
        let worker = pushing.bed.worker().unwrap();
        let root = worker.vm.root(listener("push", push));
        pushing.workers.push((worker, root));
    }
    println!("{TAKE_OVERS} take-overs, each within {longest:?} of the call that was lost");
    pushing.run(SECOND * 30, grpc_ok);
    assert_eq!(pushing.ledger.faults(), [] as [String; 0]);
    let received = pushing.ledger.exposition();
    received.assert(&[equal("inference_requests_total", &[], f64::from(served))]);
    assert_eq!(pushing.ledger.instances().len(), 1);
}
