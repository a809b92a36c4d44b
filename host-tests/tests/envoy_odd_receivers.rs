//! What the role `push` makes of receivers that answer in every odd way, through a real Envoy: each is counted as what it
//! is, and the next export arrives.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

use flate2::{Compression, read::GzEncoder};
use host_tests::envoy_rig::say;
use host_tests::metric_assert::Exposition;
use host_tests::push_rig::PushRig;
use host_tests::scripted_upstream::{AnswerFraming, Finish, Script, ScriptedUpstream, Step};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);
/// How long an answer may take, the proxy's patience of two seconds included.
const ONE_ANSWER: Duration = Duration::from_secs(12);

/// An answer, and what it is to be counted as.
type Odd = (&'static str, Script, &'static str);

fn head(status: u16, headers: &[(&str, &str)], framing: AnswerFraming) -> Step {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Step::Head {
        status,
        headers: headers.iter().map(own).collect(),
        framing,
    }
}

fn data(bytes: &[u8]) -> Step {
    Step::Data(bytes.to_vec().into())
}

fn gzip(message: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(message, Compression::fast());
    encoder.read_to_end(&mut packed).unwrap();
    packed
}

fn framed(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flags], length.as_slice(), message].concat()
}

fn grpc(headers: &[(&str, &str)], body: &[u8], trailers: &[(&str, &str)]) -> Script {
    let mut all = vec![("content-type", "application/grpc")];
    all.extend(headers);
    let mut steps = vec![head(200, &all, AnswerFraming::NoBody)];
    if !body.is_empty() {
        steps.push(data(body));
    }
    if !trailers.is_empty() {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        steps.push(Step::Trailers(trailers.iter().map(own).collect()));
    }
    Script::new(steps)
}

fn odd_grpc() -> Vec<Odd> {
    let good = [("grpc-status", "0")];
    let mut cut = grpc(&[], b"\0", &[]);
    // The head has passed the proxy before the reset comes.
    cut.steps.push(Step::Wait(Duration::from_millis(300)));
    vec![
        ("nothing after the head", grpc(&[], b"", &[]), "unreadable"),
        ("all of it in one head", grpc(&good, b"", &[]), "success"),
        (
            "a page",
            Script::reply(200, "text/html", "<html>"),
            "unreadable",
        ),
        (
            "a message that is cut",
            grpc(&[], b"\0\0\0\0\x09short", &good),
            "unreadable",
        ),
        ("two messages", grpc(&[], &[0; 10], &good), "unreadable"),
        (
            "a compressed message",
            grpc(&[("grpc-encoding", "gzip")], &framed(1, &gzip(b"")), &good),
            "success",
        ),
        (
            "compressed, in no coding",
            grpc(&[], &framed(1, &gzip(b"")), &good),
            "unreadable",
        ),
        (
            "a word for a status",
            grpc(&[], b"", &[("grpc-status", "fine")]),
            "unreadable",
        ),
        (
            "a status that is none",
            grpc(&[], b"", &[("grpc-status", "99")]),
            "refused",
        ),
        (
            "a megabyte",
            grpc(&[], &framed(0, &vec![0; 1 << 20]), &good),
            "unreadable",
        ),
        (
            "a reset after the head",
            cut.finishing(Finish::Reset),
            "unreachable",
        ),
        (
            "a reset at once",
            Script::new(Vec::new()).finishing(Finish::Reset),
            // The proxy answers in the receiver's place.
            "unavailable",
        ),
        (
            "a page of a proxy",
            Script::reply(502, "text/html", "<html>"),
            "unavailable",
        ),
    ]
}

fn odd_http() -> Vec<Odd> {
    let length = AnswerFraming::Length;
    let cut = vec![head(200, &[], length(100)), data(b"abc")];
    vec![
        (
            "an empty body",
            Script::reply(200, "application/x-protobuf", ""),
            "success",
        ),
        (
            "no body",
            Script::new(vec![head(204, &[], AnswerFraming::NoBody)]),
            "success",
        ),
        (
            "a page",
            Script::reply(200, "text/html", "<html>"),
            "unreadable",
        ),
        (
            "compressed",
            Script::new(vec![
                head(200, &[("content-encoding", "gzip")], AnswerFraming::Chunked),
                data(&gzip(b"")),
            ]),
            "success",
        ),
        (
            "not what it says",
            Script::new(vec![
                head(200, &[("content-encoding", "gzip")], AnswerFraming::Chunked),
                data(b"none"),
            ]),
            "unreadable",
        ),
        (
            "a move",
            Script::new(vec![head(
                302,
                &[("location", "http://127.0.0.1/")],
                length(0),
            )]),
            "refused",
        ),
        (
            "a body that is cut",
            Script::new(cut).finishing(Finish::Close),
            "unreachable",
        ),
        (
            "no HTTP",
            Script::new(vec![Step::Raw("220 smtp ready\r\n".into())]).finishing(Finish::Close),
            "unavailable",
        ),
        (
            "nothing",
            Script::new(Vec::new()).finishing(Finish::Close),
            "unavailable",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_over_grpc_are_counted_as_what_they_are() {
    let receiver = ScriptedUpstream::http2().await.unwrap();
    check(
        &receiver,
        json!({}),
        odd_grpc(),
        grpc(&[], &[0; 5], &[("grpc-status", "0")]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_over_http_are_counted_as_what_they_are() {
    let receiver = ScriptedUpstream::http1().await.unwrap();
    let push = json!({"protocol": "http/protobuf"});
    check(
        &receiver,
        push,
        odd_http(),
        Script::reply(200, "application/x-protobuf", ""),
    )
    .await;
}

/// Gives each odd answer once, a good one after it, and looks after both what was counted.
async fn check(receiver: &ScriptedUpstream, push: Value, odd: Vec<Odd>, good: Script) {
    let mut pushing = PushRig::start(2, &push, receiver.address()).await.unwrap();
    receiver.standing(good.clone());
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    for (what, script, result) in odd {
        pushing.serve(2).await.unwrap();
        let before = exports(&pushing).await;
        let given = receiver.next(script);
        let followed = receiver.next(good.clone());
        given.within(ONE_ANSWER).await.unwrap();
        followed.within(ONE_ANSWER).await.unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut news = exports(&pushing).await;
            news.retain(|result, count| before.get(result) != Some(count));
            let is_counted = news.contains_key(result) && news.contains_key("success");
            if is_counted {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "{what}: not {result} but {news:?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        say(&format!("{what}: {result}"));
        *expected.entry(result.to_owned()).or_default() += 1.0;
    }
    let mut counted = exports(&pushing).await;
    counted.remove("success");
    expected.remove("success");
    assert_eq!(counted, expected);
    pushing.rig.stop().await.unwrap();
}

/// How many exports ended how.
async fn exports(pushing: &PushRig) -> BTreeMap<String, f64> {
    let page: Exposition = pushing.rig.scrape().await.unwrap();
    page.matching("inferometer_export_total", &[])
        .filter(|sample| sample.value > 0.0)
        .map(|sample| (sample.labels["result"].clone(), sample.value))
        .collect()
}
