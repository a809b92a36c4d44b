//! What every kind of answer means, by OTLP's rules.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceResponse,
};
use std::io::Read as _;

use flate2::read::{GzDecoder, GzEncoder};
use otlp_delivery::{Compression, Outcome, Protocol, Reply, Signal, Target, judge, request};
use proptest::prelude::*;
use prost::Message;

const SECOND: u64 = 1_000_000_000;

fn pairs<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<(&'a [u8], &'a [u8])> {
    pairs
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect()
}

/// Outcome, whether to try again, the pause asked for, and what was rejected.
type Expected = (Outcome, bool, Option<u64>, u64);

#[track_caller]
fn check(protocol: Protocol, reply: &Reply<'_>, expected: Expected) {
    let verdict = judge(protocol, reply);
    let got = (
        verdict.outcome,
        verdict.may_retry(),
        verdict.pause_nanos,
        verdict.rejected,
    );
    assert_eq!(got, expected, "{reply:?}: {}", verdict.message);
    assert!(verdict.message.len() <= 256);
}

fn partial(rejected: i64) -> Vec<u8> {
    ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: rejected,
            error_message: "too\nold".to_owned(),
        }),
    }
    .encode_to_vec()
}

fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// `google.rpc.Status` with a `RetryInfo` of seven and a half seconds.
fn retry_info(seconds: u64) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        [
            &[number << 3 | 2, u8::try_from(bytes.len()).unwrap()],
            bytes,
        ]
        .concat()
    };
    let mut delay = vec![1 << 3];
    prost::encoding::encode_varint(seconds, &mut delay);
    delay.push(2 << 3);
    prost::encoding::encode_varint(SECOND / 2, &mut delay);
    let info = field(1, &delay);
    let any = [
        field(1, b"type.googleapis.com/google.rpc.RetryInfo"),
        field(2, &info),
    ]
    .concat();
    field(3, &any)
}

#[test]
fn http_statuses_mean_what_the_protocol_says() {
    for (status, outcome, again) in [
        ("200", Outcome::Success, false),
        ("202", Outcome::Success, false),
        ("301", Outcome::Refused, false),
        ("400", Outcome::Refused, false),
        ("401", Outcome::Unauthenticated, false),
        ("403", Outcome::Unauthenticated, false),
        ("404", Outcome::Refused, false),
        ("408", Outcome::Refused, false),
        ("413", Outcome::TooLarge, false),
        ("429", Outcome::RateLimited, true),
        ("500", Outcome::Refused, false),
        ("501", Outcome::Refused, false),
        ("502", Outcome::Unavailable, true),
        ("503", Outcome::Unavailable, true),
        ("504", Outcome::Timeout, true),
    ] {
        let reply = Reply {
            headers: pairs(&[(":status", status)]),
            ..Reply::default()
        };
        check(Protocol::HttpProtobuf, &reply, (outcome, again, None, 0));
    }
}

#[test]
fn a_receiver_can_ask_for_a_pause_of_up_to_five_minutes() {
    for (value, pause) in [
        ("7", Some(7 * SECOND)),
        ("0", Some(0)),
        ("100000000000000", Some(300 * SECOND)),
        ("-1", None),
        ("Tue, 01 Dec 2026 13:00:00 GMT", None),
    ] {
        let reply = Reply {
            headers: pairs(&[(":status", "503"), ("Retry-After", value)]),
            ..Reply::default()
        };
        let expected = (Outcome::Unavailable, true, pause, 0);
        check(Protocol::HttpProtobuf, &reply, expected);
    }
}

#[test]
fn grpc_codes_mean_what_the_protocol_says() {
    for (code, outcome, again) in [
        ("0", Outcome::Success, false),
        ("1", Outcome::Unavailable, true),
        ("2", Outcome::Refused, false),
        ("3", Outcome::Refused, false),
        ("4", Outcome::Timeout, true),
        ("5", Outcome::Refused, false),
        ("6", Outcome::Refused, false),
        ("7", Outcome::Unauthenticated, false),
        ("8", Outcome::RateLimited, false),
        ("9", Outcome::Refused, false),
        ("10", Outcome::Unavailable, true),
        ("11", Outcome::Unavailable, true),
        ("12", Outcome::Refused, false),
        ("13", Outcome::Refused, false),
        ("14", Outcome::Unavailable, true),
        ("15", Outcome::Unavailable, true),
        ("16", Outcome::Unauthenticated, false),
        ("99999999999", Outcome::Refused, false),
    ] {
        let head = pairs(&[(":status", "200"), ("content-type", "application/grpc")]);
        let status = pairs(&[("grpc-status", code), ("grpc-message", "why")]);
        let in_trailers = Reply {
            headers: head.clone(),
            body: &[],
            trailers: status.clone(),
        };
        let trailers_only = Reply {
            headers: [head, status].concat(),
            ..Reply::default()
        };
        for reply in [in_trailers, trailers_only] {
            check(Protocol::Grpc, &reply, (outcome, again, None, 0));
        }
    }
}

#[test]
fn retry_info_makes_exhaustion_a_pause() {
    let padded = STANDARD.encode(retry_info(7));
    let bare = STANDARD_NO_PAD.encode(retry_info(7));
    let long = STANDARD.encode(retry_info(5_000));
    let half = SECOND / 2;
    for (details, expected) in [
        (padded.as_str(), (true, Some(7 * SECOND + half))),
        (&bare, (true, Some(7 * SECOND + half))),
        (&long, (true, Some(300 * SECOND))),
        ("!!", (false, None)),
        ("", (false, None)),
    ] {
        let trailers = [("grpc-status", "8"), ("grpc-status-details-bin", details)];
        let reply = Reply {
            headers: pairs(&[(":status", "200")]),
            body: &[],
            trailers: pairs(&trailers),
        };
        let expected = (Outcome::RateLimited, expected.0, expected.1, 0);
        check(Protocol::Grpc, &reply, expected);
    }
}

#[test]
fn a_proxys_own_answer_to_a_grpc_call_is_read_by_its_status() {
    for (status, outcome, again) in [
        ("200", Outcome::Unreadable, false),
        ("400", Outcome::Refused, false),
        ("401", Outcome::Unauthenticated, false),
        ("404", Outcome::Refused, false),
        ("413", Outcome::TooLarge, false),
        ("429", Outcome::RateLimited, true),
        ("503", Outcome::Unavailable, true),
        ("504", Outcome::Timeout, true),
    ] {
        let reply = Reply {
            headers: pairs(&[(":status", status), ("content-type", "text/plain")]),
            body: b"upstream connect error",
            ..Reply::default()
        };
        check(Protocol::Grpc, &reply, (outcome, again, None, 0));
    }
}

#[test]
fn partial_success_is_taken_and_never_sent_again() {
    for (rejected, outcome) in [(5, Outcome::PartialSuccess), (0, Outcome::Success)] {
        let message = partial(rejected);
        let expected = (outcome, false, None, u64::try_from(rejected).unwrap());
        let http = Reply {
            headers: pairs(&[(":status", "200")]),
            body: &message,
            ..Reply::default()
        };
        check(Protocol::HttpProtobuf, &http, expected);
        assert_eq!(judge(Protocol::HttpProtobuf, &http).message, "too old");
        let framed = frame(&message);
        let grpc = Reply {
            headers: pairs(&[(":status", "200")]),
            body: &framed,
            trailers: pairs(&[("grpc-status", "0")]),
        };
        check(Protocol::Grpc, &grpc, expected);
        assert!(judge(Protocol::Grpc, &grpc).is_taken());
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_taken_all_the_same() {
    for body in [
        b"\x00\x00\x00\x00\x09short".as_slice(),
        b"\x01\x00\x00\x00\x00",
        b"\x00\x00",
        b"\x00\x00\x00\x00\x01\xff",
    ] {
        let reply = Reply {
            headers: pairs(&[(":status", "200")]),
            body,
            trailers: pairs(&[("grpc-status", "0")]),
        };
        check(
            Protocol::Grpc,
            &reply,
            (Outcome::Unreadable, false, None, 0),
        );
        assert!(judge(Protocol::Grpc, &reply).is_taken());
    }
}

#[test]
fn an_answer_is_read_in_the_coding_that_it_names() {
    for (message, outcome) in [
        (Vec::new(), Outcome::Success),
        (partial(0), Outcome::Success),
        (partial(2), Outcome::PartialSuccess),
        (vec![0xFF], Outcome::Unreadable),
        // It says that it is larger than any answer.
        (vec![0; 65 << 10], Outcome::Unreadable),
    ] {
        let mut packed = Vec::new();
        let mut encoder = GzEncoder::new(message.as_slice(), flate2::Compression::fast());
        encoder.read_to_end(&mut packed).unwrap();
        let rejected = u64::from(outcome == Outcome::PartialSuccess) * 2;
        let expected = (outcome, false, None, rejected);
        let http = Reply {
            headers: pairs(&[(":status", "200"), ("content-encoding", "gzip")]),
            body: &packed,
            ..Reply::default()
        };
        check(Protocol::HttpProtobuf, &http, expected);
        let mut framed = frame(&packed);
        framed.splice(..1, [1]);
        let grpc = Reply {
            headers: pairs(&[(":status", "200"), ("grpc-encoding", "gzip")]),
            body: &framed,
            trailers: pairs(&[("grpc-status", "0")]),
        };
        check(Protocol::Grpc, &grpc, expected);
    }
    for (coding, body) in [("gzip", b"none".as_slice()), ("compress", b"")] {
        let reply = Reply {
            headers: pairs(&[(":status", "200"), ("content-encoding", coding)]),
            body,
            ..Reply::default()
        };
        let expected = (Outcome::Unreadable, false, None, 0);
        check(Protocol::HttpProtobuf, &reply, expected);
        assert!(judge(Protocol::HttpProtobuf, &reply).is_taken());
    }
}

#[test]
fn an_answer_without_a_status_of_grpc_takes_nothing() {
    let reply = Reply {
        headers: pairs(&[(":status", "200"), ("content-type", "text/html")]),
        body: b"<html>",
        ..Reply::default()
    };
    let verdict = judge(Protocol::Grpc, &reply);
    assert_eq!(verdict.outcome, Outcome::Unreadable);
    assert!(!verdict.is_taken() && !verdict.may_retry());
}

#[test]
fn no_answer_is_one_to_try_again() {
    for protocol in [Protocol::Grpc, Protocol::HttpProtobuf] {
        let expected = (Outcome::Unreachable, true, None, 0);
        check(protocol, &Reply::default(), expected);
    }
}

#[test]
fn requests_have_what_each_protocol_asks_for() {
    let own = [("authorization".to_owned(), "Bearer x".to_owned())];
    let target = Target {
        protocol: Protocol::Grpc,
        compression: Compression::None,
        authority: "collector:4317",
        path: "/custom",
        timeout_millis: 10_000,
        headers: &own,
        user_agent: "inferometer/0.1.0",
    };
    let timeout = target.grpc_timeout();
    let grpc = request(&target, Signal::Metrics, &timeout, b"abc".to_vec());
    assert_eq!(grpc.body, b"\0\0\0\0\x03abc");
    let service = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
    for header in [
        (":method", "POST"),
        (":path", service),
        (":authority", "collector:4317"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "10000m"),
        ("authorization", "Bearer x"),
    ] {
        assert!(grpc.headers.contains(&header), "{header:?}");
    }
    let http = Target {
        protocol: Protocol::HttpProtobuf,
        ..target
    };
    let http = request(&http, Signal::Traces, &timeout, b"abc".to_vec());
    assert_eq!(http.body, b"abc");
    assert!(http.headers.contains(&(":path", "/custom")));
    assert!(
        http.headers
            .contains(&("content-type", "application/x-protobuf"))
    );
    assert!(!http.headers.iter().any(|(name, _)| *name == "te"));
}

#[test]
fn a_compressed_request_says_so_and_holds_the_message() {
    let message: Vec<u8> = b"inference.requests llama ".repeat(1_000);
    let target = Target {
        protocol: Protocol::Grpc,
        compression: Compression::Gzip,
        authority: "collector:4317",
        path: "/v1/metrics",
        timeout_millis: 10_000,
        headers: &[],
        user_agent: "inferometer/0.1.0",
    };
    let unpacked = |bytes: &[u8]| {
        let mut all = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
        all
    };
    let grpc = request(&target, Signal::Metrics, "10000m", message.clone());
    assert!(grpc.headers.contains(&("grpc-encoding", "gzip")));
    let [1, length @ .., _, _, _, _] = *grpc.body.first_chunk::<9>().unwrap() else {
        panic!("{:?}", grpc.body.first_chunk::<9>());
    };
    let packed = grpc.body.get(5..).unwrap();
    assert_eq!(u32::from_be_bytes(length) as usize, packed.len());
    assert!(packed.len() < message.len() / 20, "{}", packed.len());
    assert_eq!(unpacked(packed), message);
    let http = Target {
        protocol: Protocol::HttpProtobuf,
        ..target
    };
    let http = request(&http, Signal::Metrics, "10000m", message.clone());
    assert!(http.headers.contains(&("content-encoding", "gzip")));
    assert_eq!(unpacked(&http.body), message);
}

proptest! {
    #[test]
    fn nothing_that_comes_back_panics(
        headers in prop::collection::vec(("[a-z:-]{0,12}", ".{0,20}"), 0..6),
        status in "[0-9]{0,4}", code in "[0-9]{0,3}", details in ".{0,40}",
        body in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut all: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.push((":status", &status));
        let trailers = [("grpc-status", code.as_str()), ("grpc-status-details-bin", &details)];
        let reply = Reply { headers: pairs(&all), body: &body, trailers: pairs(&trailers) };
        for protocol in [Protocol::Grpc, Protocol::HttpProtobuf] {
            let verdict = judge(protocol, &reply);
            prop_assert!(!(verdict.is_taken() && verdict.may_retry()));
        }
    }
}
