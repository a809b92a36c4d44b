//! Sends what no honest client or server would through the built module in real Envoy: nothing traps, memory stays
//! bounded, and what is odd is counted.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use host_tests::{
    envoy_rig::{EnvoyRig, RigPlan, say},
    scripted_upstream::{AnswerFraming, Script, ScriptedUpstream, Step},
    test_client::{Ask, Ending, Http1Client, Upload},
};

const CHAT: &str = "/v1/chat/completions";
/// The most memory that one machine of the module may have.
const MACHINE_LIMIT: f64 = 4.0 * 1024.0 * 1024.0;
/// How much all of Envoy may grow by, its own buffers and those of the JavaScript engine included.
const ENVOY_GROWTH_KIB: u64 = 96 * 1024;

/// One hostile exchange. All of them are watched.
struct Hostile {
    name: &'static str,
    ask: Ask,
    script: Script,
}

fn good_answer() -> Script {
    let body = "{\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
    Script::reply(200, "application/json", body)
}

fn request(name: &'static str, body: impl Into<Bytes>) -> Hostile {
    Hostile {
        name,
        ask: Ask::post(CHAT, body),
        script: good_answer(),
    }
}

fn answer(name: &'static str, content_type: &str, pieces: Vec<Bytes>) -> Hostile {
    let head = Step::Head {
        status: 200,
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        framing: AnswerFraming::Chunked,
    };
    let mut steps = vec![head];
    steps.extend(pieces.into_iter().map(Step::Data));
    let ask = Ask::post(CHAT, "{\"model\":\"m\",\"stream\":true}");
    Hostile {
        name,
        ask,
        script: Script::new(steps),
    }
}

fn one(bytes: impl Into<Vec<u8>>) -> Vec<Bytes> {
    vec![Bytes::from(bytes.into())]
}

/// Characters from 128 on stand for single bytes that are no UTF-8.
fn hostile_requests() -> Vec<Hostile> {
    let mut made = vec![
        request("an empty body", ""),
        request("spaces only", " ".repeat(100_000)),
        request("NUL bytes", vec![0_u8; 10_000]),
        request(
            "broken UTF-8",
            [
                b"{\"model\":\"".as_slice(),
                &[0xC3, 0x28, 0xFF, 0xFE],
                b"\"}",
            ]
            .concat(),
        ),
        request("half a surrogate pair", "{\"model\":\"\\ud800\\u0000\"}"),
        request(
            "a model name of a megabyte",
            format!("{{\"model\":\"{}\"}}", "m".repeat(1 << 20)),
        ),
        request("a megabyte of brackets", "[".repeat(1 << 20)),
        request("a megabyte of nested objects", "{\"a\":".repeat(1 << 18)),
        request(
            "numbers beyond reason",
            "{\"n\":1e999999,\"max_tokens\":-99999999999999999999,\"model\":\"m\"}",
        ),
        request(
            "a number of a megabyte",
            format!("{{\"n\":{},\"model\":\"m\"}}", "9".repeat(1 << 20)),
        ),
        request(
            "members of wrong types",
            "{\"model\":[1],\"stream\":\"yes\",\"n\":{},\"messages\":7}",
        ),
        request(
            "a thousand models",
            format!("{{{}}}", vec!["\"model\":\"m\""; 1000].join(",")),
        ),
    ];
    for (name, header, value) in [
        (
            "a content type that is no UTF-8",
            "content-type",
            "application/json; x=\u{ff}\u{fe}",
        ),
        ("an encoding that is no UTF-8", "x-odd", "\u{80}\u{c3}("),
    ] {
        let mut hostile = request(name, "{\"model\":\"m\"}");
        hostile.ask.headers.retain(|(own, _)| own != header);
        hostile.ask = hostile.ask.header(header, value);
        made.push(hostile);
    }
    let mut chunked = request("single bytes", "");
    let body = b"{\"model\":\"m\",\"stream\":false}"
        .iter()
        .map(|byte| Bytes::copy_from_slice(&[*byte]));
    chunked.ask.upload = Upload::Pieces(body.collect());
    made.push(chunked);
    made
}

fn hostile_answers() -> Vec<Hostile> {
    const STREAM: &str = "text/event-stream";
    let megabyte = Bytes::from(vec![b'x'; 1_000_000]);
    let mut endless = one("data: {\"choices\":[{\"delta\":{\"content\":\"");
    endless.extend(std::iter::repeat_n(megabyte.clone(), 100));
    let usage = |numbers: &str| {
        let event = format!(
            "data: {{\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"a\"}}}}],\"usage\":{numbers}}}\n\n"
        );
        one(format!("{event}data: [DONE]\n\n"))
    };
    vec![
        answer("an event line of 100 MB without an end", STREAM, endless),
        answer("a comment of 10 MB", STREAM, [one(":"), vec![megabyte.clone(); 10], one("\n\ndata: [DONE]\n\n")].concat()),
        answer("a field name of 10 MB", STREAM, vec![megabyte; 10]),
        answer("a hundred thousand empty events", STREAM, one("data:\n\n".repeat(100_000))),
        answer("line ends only", STREAM, one("\r\n\r\r\n\n".repeat(50_000))),
        answer("payloads that are no JSON", STREAM, one("data: {oops\n\ndata: \u{0}\n\ndata: <html>\n\n".repeat(1000))),
        answer("NUL bytes", STREAM, one(vec![0_u8; 100_000])),
        answer("bytes of every value", STREAM, one((0..=255_u8).cycle().take(200_000).collect::<Vec<_>>())),
        answer("an event nested too deep", STREAM, one(format!("data: {}\n\ndata: [DONE]\n\n", "[".repeat(500_000)))),
        answer("negative tokens", STREAM, usage("{\"prompt_tokens\":-1,\"completion_tokens\":-9999999999999999999999}")),
        answer("tokens beyond reason", STREAM, usage("{\"prompt_tokens\":1e300,\"completion_tokens\":18446744073709551616}")),
        answer("tokens of wrong types", STREAM, usage("{\"prompt_tokens\":\"1\",\"completion_tokens\":[1],\"prompt_tokens_details\":3}")),
        answer("a model of a megabyte", STREAM, one(format!("data: {{\"model\":\"{}\"}}\n\ndata: [DONE]\n\n", "\u{1F600}".repeat(250_000)))),
        answer("choices beyond reason", STREAM, one((0..2000).map(|index| format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"a\"}}}}],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":1}}}}\n\n")).collect::<String>())),
        answer("JSON that never ends", "application/json", one("[".repeat(2_000_000))),
        answer("a JSON string of 20 MB", "application/json", [one("{\"x\":\""), vec![Bytes::from(vec![b'y'; 1_000_000]); 20], one("\"}")].concat()),
        answer("a content type that is no UTF-8", "text/event-stream; \u{ff}", one("data: [DONE]\n\n")),
    ]
}

fn content(script: &Script) -> u64 {
    let lengths = script.steps.iter().map(|step| match step {
        Step::Data(bytes) => bytes.len() as u64,
        _ => 0,
    });
    lengths.sum()
}

/// How much memory a process holds; nothing where the system does not say.
fn resident_kib(process_id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

async fn send(rig: &EnvoyRig, upstream: &ScriptedUpstream, hostile: Hostile) {
    let bytes = content(&hostile.script);
    let report = upstream.next(hostile.script);
    let name = hostile.name;
    let answer = Http1Client::once(rig.observe, &hostile.ask).await.unwrap();
    assert_eq!(
        answer.ending,
        Ending::Complete,
        "{name}: {} {:.300}",
        answer.status,
        answer.text()
    );
    assert_eq!(
        (answer.status, answer.body.len() as u64),
        (200, bytes),
        "{name}"
    );
    report.within(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_input_traps_nothing_and_is_counted() {
    let started = Instant::now();
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let plan = RigPlan {
        workers: 1,
        ..RigPlan::default()
    };
    let rig = plan.start(upstream.address()).await.unwrap();
    send(
        &rig,
        &upstream,
        request("an honest request", "{\"model\":\"m\"}"),
    )
    .await;
    let before = resident_kib(rig.envoy.process_id());
    let hostile: Vec<Hostile> = hostile_requests()
        .into_iter()
        .chain(hostile_answers())
        .collect();
    let count = hostile.len();
    for one in hostile {
        send(&rig, &upstream, one).await;
    }
    send(
        &rig,
        &upstream,
        request("an honest request", "{\"model\":\"m\"}"),
    )
    .await;
    let after = resident_kib(rig.envoy.process_id());
    let expected = (count + 2) as f64;
    let all = |scrape: &host_tests::metric_assert::Exposition| {
        scrape.total_or_zero("inference_requests_total", &[]) >= expected
    };
    rig.scrape_until("all requests", all).await.unwrap();
    let scrape = rig.scrape_settled().await.unwrap();
    assert_eq!(
        scrape.total("inference_requests_total", &[]),
        Some(expected)
    );
    assert_eq!(
        scrape.total_or_zero("inference_requests_in_flight", &[]),
        0.0
    );
    assert_eq!(
        scrape.total_or_zero("inferometer_host_errors_total", &[]),
        0.0
    );
    let anomalies: BTreeMap<&str, f64> = scrape
        .matching("inferometer_stream_anomalies_total", &[])
        .map(|sample| (sample.labels["kind"].as_str(), sample.value))
        .collect();
    for kind in [
        "oversized_event",
        "payload_too_deep",
        "payload_not_json",
        "request_not_json",
        "bad_token_number",
        "bad_request_number",
        "cut_text",
        "too_many_choices",
    ] {
        assert!(
            anomalies.get(kind).is_some_and(|count| *count >= 1.0),
            "no {kind} among {anomalies:?}"
        );
    }
    let machines = scrape.total("inferometer_build_info", &[]).unwrap();
    let memory = scrape.total("inferometer_vm_memory_bytes", &[]).unwrap() / machines;
    let longest = scrape
        .samples()
        .iter()
        .flat_map(|sample| sample.labels.values())
        .map(String::len)
        .max();
    say(&format!(
        "{count} hostile exchanges in {:.1} s; {memory:.0} bytes a machine; Envoy from {before:?} to {after:?} KiB; {anomalies:?}",
        started.elapsed().as_secs_f64()
    ));
    assert!(memory <= MACHINE_LIMIT, "{memory} bytes a machine");
    assert!(longest <= Some(128), "a label value of {longest:?} bytes");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(
            after < before + ENVOY_GROWTH_KIB,
            "Envoy grew from {before} to {after} KiB"
        );
    }
    rig.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_model_names_is_capped_alike_on_all_workers() {
    const NAMES: usize = 150;
    const ADMITTED: usize = 100;
    const TIMES: usize = 4;
    let upstream = Arc::new(ScriptedUpstream::http1().await.unwrap());
    let plan = RigPlan {
        workers: 4,
        ..RigPlan::default()
    };
    let rig = plan.start(upstream.address()).await.unwrap();
    let mut running = tokio::task::JoinSet::new();
    for turn in 0..NAMES * TIMES {
        let name = format!("model-{}", turn % NAMES);
        upstream.standing(Script::reply(
            200,
            "application/json",
            "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}",
        ));
        let observe = rig.observe;
        running.spawn(async move {
            let ask = Ask::post(CHAT, format!("{{\"model\":\"{name}\"}}"));
            Http1Client::once(observe, &ask).await.unwrap().status
        });
        if running.len() >= 16 {
            assert_eq!(running.join_next().await.unwrap().unwrap(), 200);
        }
    }
    while let Some(status) = running.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let expected = (NAMES * TIMES) as f64;
    let all = |scrape: &host_tests::metric_assert::Exposition| {
        scrape.total_or_zero("inference_requests_total", &[]) >= expected
    };
    rig.scrape_until("all requests", all).await.unwrap();
    let scrape = rig.scrape_settled().await.unwrap();
    let mut models: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in scrape.matching("inference_requests_total", &[]) {
        *models.entry(sample.labels["model"].as_str()).or_default() += sample.value;
    }
    let other = models.remove("other");
    assert_eq!(models.len(), ADMITTED, "{models:?}");
    let split: Vec<_> = models
        .iter()
        .filter(|(_, count)| **count != TIMES as f64)
        .collect();
    assert!(
        split.is_empty(),
        "itself on one worker and other on the next: {split:?}"
    );
    assert_eq!(other, Some(((NAMES - ADMITTED) * TIMES) as f64));
    say(&format!(
        "{NAMES} models {TIMES} times over 4 workers: {ADMITTED} admitted, {other:?} requests are other"
    ));
    rig.stop().await.unwrap();
}

/// Deflate of nothing: blocks that cost a table each and bring no output, ten bits long.
fn blocks_of_nothing(bytes: usize) -> Vec<u8> {
    let mut deflate = vec![0_u8; bytes];
    let second_bit_of_each = (0..bytes * 8 / 10).map(|block| block * 10 + 1);
    for bit in second_bit_of_each {
        deflate[bit / 8] |= 1 << (bit % 8);
    }
    deflate
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compressed_body_that_is_made_to_be_slow_is_given_up() {
    const BODY_BYTES: usize = 1 << 20;
    /// To undo all of it takes half a minute.
    const AT_MOST: Duration = Duration::from_secs(3);
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let plan = RigPlan {
        workers: 1,
        ..RigPlan::default()
    };
    let rig = plan.start(upstream.address()).await.unwrap();
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let body = [head, blocks_of_nothing(BODY_BYTES)].concat();
    let mut hostile = answer("blocks of nothing", "text/event-stream", one(body));
    for step in &mut hostile.script.steps {
        if let Step::Head { headers, .. } = step {
            headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
        }
    }
    let started = Instant::now();
    send(&rig, &upstream, hostile).await;
    let took = started.elapsed();
    let scrape = rig.scrape_settled().await.unwrap();
    let kind = [("kind", "compression_limit")];
    let given_up = scrape.total("inferometer_stream_anomalies_total", &kind);
    say(&format!(
        "a megabyte of blocks of nothing passed in {took:?}"
    ));
    assert_eq!(given_up, Some(1.0));
    assert!(took < AT_MOST, "{took:?}");
    rig.stop().await.unwrap();
}
