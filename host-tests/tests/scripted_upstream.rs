//! The scripted upstream and the test client, tried on one another before anything stands between them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use bytes::Bytes;
use host_tests::{
    scripted_upstream::{AnswerFraming, Finish, Gate, Script, ScriptedUpstream, Step},
    test_client::{Answer, Ask, Ending, Http1Client, Http2Client, Leave, Upload},
};

const LIMIT: Duration = Duration::from_secs(5);

/// The same exchange over each protocol.
async fn both(
    ask: &Ask,
    script: &Script,
    check: impl Fn(&Answer, &host_tests::scripted_upstream::Served),
) {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let report = upstream.next(script.clone());
    let answer = Http1Client::once(upstream.address(), ask).await.unwrap();
    check(&answer, &report.within(LIMIT).await.unwrap());

    let upstream = ScriptedUpstream::http2().await.unwrap();
    let report = upstream.next(script.clone());
    let answer = Http2Client::once(upstream.address(), ask).await.unwrap();
    check(&answer, &report.within(LIMIT).await.unwrap());
}

#[tokio::test]
async fn pieces_arrive_in_order_with_comparable_stamps() {
    let script = Script::stream(["one", "two", "three"], Duration::from_millis(15));
    let ask = Ask::post("/v1/x", "{}");
    both(&ask, &script, |answer, served| {
        assert_eq!(answer.text(), "onetwothree");
        assert_eq!(answer.ending, Ending::Complete);
        assert_eq!(served.body, b"{}");
        assert_eq!(served.sent_at.len(), 4);
        for (piece, bytes) in [(1, 3), (2, 6), (3, 11)] {
            let sent = served.sent_at[piece];
            let received = answer.body_at(bytes).unwrap();
            assert!(received >= sent, "piece {piece} came before it was sent");
            assert!(
                received - sent < Duration::from_millis(10),
                "piece {piece} was late"
            );
        }
        assert!(served.sent_at[2] - served.sent_at[1] >= Duration::from_millis(15));
    })
    .await;
}

#[tokio::test]
async fn trailers_pass_both_ways() {
    let trailer = vec![("x-sum".to_owned(), "7".to_owned())];
    let script = Script::new(vec![
        Step::event_stream(),
        Step::Data(Bytes::from_static(b"data")),
        Step::Trailers(trailer.clone()),
    ]);
    let mut ask = Ask::new("POST", "/");
    let pieces = vec![Bytes::from_static(b"ab"), Bytes::from_static(b"cd")];
    ask.upload = Upload::PiecesAndTrailers(pieces, trailer.clone());
    both(&ask, &script, |answer, served| {
        assert_eq!(answer.trailers, trailer);
        assert_eq!(served.trailers, trailer);
        assert_eq!(served.body, b"abcd");
    })
    .await;
}

#[tokio::test]
async fn a_reset_cuts_the_answer_off() {
    let mut script = Script::stream(["one"], Duration::ZERO).finishing(Finish::Reset);
    // A reset overtakes what the receiver has not read yet.
    script.steps.push(Step::Wait(Duration::from_millis(50)));
    both(&Ask::post("/", "{}"), &script, |answer, _| {
        assert_eq!((answer.status, answer.text().as_str()), (200, "one"));
        assert!(
            matches!(answer.ending, Ending::CutOff(_)),
            "{:?}",
            answer.ending
        );
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_by_a_stalling_upstream() {
    let script = Script::stream(["one"], Duration::ZERO).finishing(Finish::Stall);
    let ask = Ask::post("/", "{}").leaving(Leave::AfterBody(3));
    both(&ask, &script, |answer, served| {
        assert_eq!(answer.ending, Ending::Left);
        assert!(served.peer_left);
    })
    .await;
}

#[tokio::test]
async fn a_gate_holds_the_next_piece_back() {
    let gate = Gate::closed();
    let script = Script::new(vec![
        Step::event_stream(),
        Step::Data(Bytes::from_static(b"first")),
        Step::Gate(gate.clone()),
        Step::Data(Bytes::from_static(b"second")),
    ]);
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let report = upstream.named("gated", script);
    let (sender, mut received) = tokio::sync::watch::channel(0);
    let mut ask = Ask::post("/", "{}").header("x-script", "gated");
    ask.received = Some(sender);
    let asking = tokio::spawn(async move { Http1Client::once(upstream.address(), &ask).await });
    received.wait_for(|bytes| *bytes >= 5).await.unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(*received.borrow(), 5);
    gate.open();
    assert_eq!(asking.await.unwrap().unwrap().text(), "firstsecond");
    assert_eq!(report.within(LIMIT).await.unwrap().sent_at.len(), 3);
}

#[tokio::test]
async fn a_continue_is_waited_for_and_a_connection_is_kept() {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let first = upstream.next(Script::reply(200, "text/plain", "one"));
    let second = upstream.next(Script::reply(404, "text/plain", "two"));
    let mut client = Http1Client::connect(upstream.address()).await.unwrap();
    let ask = Ask::post("/", "body").header("expect", "100-continue");
    let answer = client.exchange(&ask).await;
    assert_eq!(
        (answer.interim.as_slice(), answer.status),
        ([100].as_slice(), 200)
    );
    assert_eq!(first.within(LIMIT).await.unwrap().body, b"body");
    let answer = client.exchange(&Ask::new("GET", "/again")).await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "two"));
    assert_eq!(
        second.within(LIMIT).await.unwrap().request_line,
        "GET /again HTTP/1.1"
    );
}

#[tokio::test]
async fn an_answer_that_ends_with_the_connection_is_complete() {
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let head = Step::Head {
        status: 200,
        headers: Vec::new(),
        framing: AnswerFraming::Close,
    };
    let _report = upstream.next(Script::new(vec![
        head,
        Step::Data(Bytes::from_static(b"all")),
    ]));
    let answer = Http1Client::once(upstream.address(), &Ask::new("GET", "/"))
        .await
        .unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.ending),
        ("all", Ending::Complete)
    );
}
