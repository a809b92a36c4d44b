//! No byte that a client or a server may send costs out of proportion: fuel per byte of the worst bodies that are known.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "this file is a test"
)]

use std::io::Write;

use host_tests::wasmtime_host::Action;
use host_tests::wasmtime_host::bed::Bed;

const CHUNK_BYTES: usize = 16 * 1024;
/// So much of each pattern is sent.
const BODY_BYTES: usize = 256 * 1024;
/// Fuel is about an instruction, so a chunk that costs so much a byte holds its worker for a few milliseconds.
const PLAIN_LIMIT: u64 = 1_500;
/// A compressed byte may stand for many. What it may stand for is bounded: see `body-decompression`.
const COMPRESSED_LIMIT: u64 = 10_000;
/// What the megabyte may cost that every compressed body may bring, however small it is.
const FIRST_MEGABYTE: u64 = 300_000_000;

/// The fuel that an answer took.
fn cost(path: &str, head: &[(&str, &str)], answer: &[u8]) -> u64 {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    let stream = worker.vm.stream(&worker.observe);
    let request = [
        (":method", "POST"),
        (":path", path),
        (":authority", "models.local"),
        ("content-type", "application/json"),
    ];
    let mut fuel = 0;
    let mut spent = |action: Action| {
        assert_eq!(action, Action::Continue);
        fuel += worker.vm.latest().fuel;
    };
    stream.request_headers(&request, false);
    stream.request_body(br#"{"model":"m","stream":true}"#, true);
    stream.response_headers(head, false);
    for chunk in answer.chunks(CHUNK_BYTES) {
        spent(stream.response_body(chunk, false));
    }
    spent(stream.response_body(b"", true));
    stream.end();
    assert_eq!(worker.vm.failure(), None);
    fuel
}

fn repeated(pattern: &[u8]) -> Vec<u8> {
    pattern.iter().copied().cycle().take(BODY_BYTES).collect()
}

#[track_caller]
fn check(what: &str, path: &str, head: &[(&str, &str)], answer: &[u8]) {
    let cost = cost(path, head, answer);
    let bytes = u64::try_from(answer.len()).unwrap();
    println!("{:>9} a byte, {cost:>12} in all: {what}", cost / bytes);
    let is_compressed = head.iter().any(|(name, _)| *name == "content-encoding");
    let limit = match is_compressed {
        true => FIRST_MEGABYTE + COMPRESSED_LIMIT * bytes,
        false => PLAIN_LIMIT * bytes,
    };
    assert!(cost <= limit, "{what} costs {cost}, more than {limit}");
}

const CHAT: &str = "/v1/chat/completions";

#[test]
fn events_and_json_cost_a_bounded_amount_a_byte() {
    let stream = [(":status", "200"), ("content-type", "text/event-stream")];
    for (what, pattern) in [
        ("empty lines", b"\n".as_slice()),
        ("empty events", b"data:\n\n"),
        ("events of an empty object", b"data: {}\n\n"),
        ("comments", b":\n"),
        ("fields that nobody knows", b"a:b\n"),
        ("data lines of one event", b"data:1\n"),
        ("named events", b"event: message_delta\ndata: {}\n\n"),
        ("ends without number", b"data: [DONE]\n\n"),
        ("objects in objects", b"{\"a\":"),
        ("lists in lists", b"["),
        ("bare errors", b"{\"error\":{}}\n"),
        (
            "a usage an event",
            b"data: {\"usage\":{\"prompt_tokens\":1}}\n\n",
        ),
        (
            "a token an event",
            b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
        ),
        (
            "a choice an event",
            b"data: {\"choices\":[{\"index\":7,\"text\":\"x\"},{\"index\":8,\"text\":\"x\"}]}\n\n",
        ),
        (
            "escapes",
            b"data: {\"model\":\"\\u00e9\\ud83d\\ude00\"}\n\n",
        ),
    ] {
        check(what, CHAT, &stream, &repeated(pattern));
    }
    let json = [(":status", "200"), ("content-type", "application/json")];
    for (what, pattern) in [
        ("one list of lists", b"[[],".as_slice()),
        ("keys", b"{\"choices\":{\"choices\":"),
        ("numbers", b"1234567890.12e-7,"),
        ("escapes in one string", b"\"\\u0041\\n\\\\"),
    ] {
        let body = [b"{\"choices\":[".as_slice(), &repeated(pattern)].concat();
        check(what, CHAT, &json, &body);
    }
    let lines = [(":status", "200"), ("content-type", "application/x-ndjson")];
    for (what, pattern) in [
        ("empty objects, one a line", b"{}\n".as_slice()),
        ("digits, one a line", b"1\n"),
        ("empty lines of JSON", b"\r\n"),
        ("done lines", b"{\"done\":true}\n"),
    ] {
        check(what, "/api/chat", &lines, &repeated(pattern));
    }
}

#[test]
fn binary_framings_cost_a_bounded_amount_a_byte() {
    let grpc = [(":status", "200"), ("content-type", "application/grpc")];
    for (what, pattern) in [
        ("empty messages", b"\0\0\0\0\0".as_slice()),
        ("messages of one byte", b"\0\0\0\0\x01\x08"),
        ("messages of one empty field", b"\0\0\0\0\x02\x0a\0"),
        ("compressed empty messages", b"\x01\0\0\0\0"),
    ] {
        for path in [
            "/jetstream_proto.Orchestrator/Decode",
            "/vllm.grpc.engine.VllmEngine/Generate",
            "/inference.GRPCInferenceService/ModelStreamInfer",
        ] {
            let what = format!("{what} of {path}");
            check(&what, path, &grpc, &repeated(pattern));
        }
    }
    let aws = [
        (":status", "200"),
        ("content-type", "application/vnd.amazon.eventstream"),
    ];
    let mut empty = [16_u32.to_be_bytes(), 0_u32.to_be_bytes()].concat();
    empty.extend(crc32fast::hash(&empty).to_be_bytes());
    empty.extend(crc32fast::hash(&empty).to_be_bytes());
    let path = "/model/m/converse-stream";
    let messages = repeated(&empty);
    check("empty messages of AWS", path, &aws, &messages);
}

#[test]
fn compressed_bytes_cost_a_bounded_amount_each() {
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let zeros = vec![b'\n'; 8 << 20];
    let events: Vec<u8> = event.iter().copied().cycle().take(8 << 20).collect();
    let noise: Vec<u8> = (0..BODY_BYTES as u64)
        .map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect();
    for (what, body) in [("newlines", zeros), ("events", events), ("noise", noise)] {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let compressed = compressed(coding, &body);
            let head = [
                (":status", "200"),
                ("content-type", "text/event-stream"),
                ("content-encoding", coding),
            ];
            let what = format!("{what} in {coding}, {} bytes", compressed.len());
            check(&what, CHAT, &head, &compressed);
        }
    }
}

/// Frames of zstd that bring nothing, or next to nothing, for their bytes.
#[test]
fn blocks_and_frames_of_nothing_cost_a_bounded_amount_a_byte() {
    let zstd = |blocks: &[u8]| [b"\x28\xb5\x2f\xfd\x00\x58".as_slice(), blocks].concat();
    // Raw blocks of no bytes, run-length blocks of one, and whole frames with nothing in them.
    let raw = repeated(b"\0\0\0");
    let runs = repeated(&[0x0a, 0, 0, b'x']);
    let frames = repeated(b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00");
    for (what, body) in [
        ("empty raw blocks", zstd(&raw)),
        ("run-length blocks of one byte", zstd(&runs)),
        ("empty frames", frames),
    ] {
        let head = [
            (":status", "200"),
            ("content-type", "text/event-stream"),
            ("content-encoding", "zstd"),
        ];
        check(what, CHAT, &head, &body);
    }
    let members = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.flush().unwrap();
        repeated(&encoder.finish().unwrap())
    };
    let head = [
        (":status", "200"),
        ("content-type", "text/event-stream"),
        ("content-encoding", "gzip"),
    ];
    check("empty gzip members", CHAT, &head, &members);
}

fn compressed(coding: &str, body: &[u8]) -> Vec<u8> {
    let best = flate2::Compression::best();
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), best);
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
            encoder.write_all(body).unwrap();
            encoder.into_inner()
        }
        _ => zstd::encode_all(body, 9).unwrap(),
    }
}
