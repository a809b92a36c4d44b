//! Input that nobody should send: no panic, bounded memory, counted where it is odd, the same however it is cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

use proptest::prelude::*;
use request_observer::{
    AnomalyKind, Api, Ending, Outcome, RequestHead, RequestObserver, RequestRecord, ResponseHead,
    Settings, Stamp, Usage,
};

const PATHS: [(&str, Api); 5] = [
    ("/v1/chat/completions", Api::ChatCompletions),
    ("/v1/completions", Api::Completions),
    ("/v1/responses", Api::Responses),
    ("/v1/embeddings", Api::Embeddings),
    ("/v1/messages", Api::Messages),
];
const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const DONE: &[u8] = b"data: [DONE]\n\n";

fn observe(path: &str, content_type: &str, request: &[&[u8]], answer: &[&[u8]]) -> RequestRecord {
    let settings = Settings {
        gap_bounds_nanos: vec![1, 10],
        ..Settings::default()
    };
    let head = RequestHead {
        method: b"POST",
        path: path.as_bytes(),
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    for piece in request {
        observer.request_body(piece, false, Stamp(0));
    }
    observer.request_body(b"", true, Stamp(0));
    let head = ResponseHead {
        status: 200,
        content_type: content_type.as_bytes(),
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(0), &settings);
    for piece in answer {
        observer.response_body(piece, false, Stamp(0), &settings);
    }
    observer.response_body(b"", true, Stamp(0), &settings);
    let ending = Ending {
        code_details: b"via_upstream",
        known: true,
        ..Ending::default()
    };
    observer.close(&ending, Stamp(0)).unwrap()
}

/// Observes a chat's answer, whole and in small pieces, which must agree.
fn check(content_type: &str, answer: &[u8]) -> RequestRecord {
    let chat = PATHS[0].0;
    let whole = observe(chat, content_type, &[b"{}"], &[answer]);
    let size = (answer.len() / 5000).max(1);
    let mut pieces = observe(
        chat,
        content_type,
        &[b"{}"],
        &answer.chunks(size).collect::<Vec<_>>(),
    );
    pieces.first_token_chunk = whole.first_token_chunk;
    assert_eq!(pieces, whole);
    whole
}

fn event(payload: &[u8]) -> Vec<u8> {
    [b"data: ", payload, b"\n\n"].concat()
}

fn token(text: &[u8]) -> Vec<u8> {
    event(
        &[
            br#"{"choices":[{"index":0,"delta":{"content":""#,
            text,
            br#""}}]}"#,
        ]
        .concat(),
    )
}

#[test]
fn deeply_nested_json_is_not_followed() {
    let deep = [
        event("[".repeat(100_000).as_bytes()),
        token(b"a"),
        DONE.to_vec(),
    ]
    .concat();
    let record = check(STREAM, &deep);
    assert_eq!(
        (
            record.outcome,
            record.anomalies.of(AnomalyKind::PayloadTooDeep)
        ),
        (Outcome::Success, 1)
    );
    assert_eq!(record.estimated_output, Some(1));
    let deep = check(
        JSON,
        format!("{{\"usage\":{}", "{\"a\":".repeat(100_000)).as_bytes(),
    );
    assert_eq!(deep.outcome, Outcome::MalformedStream);
}

#[test]
fn control_characters_and_invalid_utf8_do_no_harm() {
    let record = check(
        STREAM,
        &[
            token(b"\0"),
            token(b"\xff\xfe"),
            b"\0\0\0\n\n".to_vec(),
            DONE.to_vec(),
        ]
        .concat(),
    );
    assert_eq!(record.outcome, Outcome::Success);
    assert_eq!(
        record.anomalies.of(AnomalyKind::PayloadNotJson),
        1,
        "a bare NUL inside a string is no JSON"
    );
    let named = check(STREAM, &event(b"{\"model\":\"a\\u0000b\xff\"}"));
    assert_eq!(named.response_model.unwrap().as_str(), "a_b_");
}

#[test]
fn a_model_name_of_a_megabyte_is_cut_on_either_side() {
    let name = vec![b'm'; 1 << 20];
    let body = [b"{\"model\":\"".as_slice(), &name, b"\"}"].concat();
    for (path, _) in PATHS {
        let record = observe(path, JSON, &[&body], &[&body]);
        for model in [
            record.request_model.unwrap(),
            record.response_model.unwrap(),
        ] {
            assert_eq!((model.as_str().len(), model.is_cut()), (128, true));
        }
        assert_eq!(record.anomalies.of(AnomalyKind::CutText), 2);
    }
}

#[test]
fn impossible_numbers_of_tokens_are_ignored_and_counted() {
    let usage =
        |tokens: &str| format!(r#"{{"usage":{{"prompt_tokens":{tokens},"completion_tokens":2}}}}"#);
    for tokens in [
        "-5",
        "1.5",
        "9007199254740993",
        "1e999",
        "18446744073709551616",
        "true",
    ] {
        let record = check(JSON, usage(tokens).as_bytes());
        assert_eq!(
            record.usage,
            Usage {
                output: Some(2),
                ..Usage::default()
            },
            "{tokens}"
        );
        assert_eq!(
            record.anomalies.of(AnomalyKind::BadTokenNumber),
            1,
            "{tokens}"
        );
    }
    let endless = check(JSON, usage(&"9".repeat(100_000)).as_bytes());
    assert_eq!(
        (endless.outcome, endless.usage),
        (Outcome::MalformedStream, Usage::default())
    );
}

#[test]
fn of_two_equal_keys_the_last_counts() {
    let twice = br#"{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2,"prompt_tokens":3,"completion_tokens":4}}"#;
    assert_eq!(
        check(JSON, twice).usage,
        Usage {
            input: Some(3),
            output: Some(4),
            ..Usage::default()
        }
    );
}

#[test]
fn an_event_above_the_limit_is_given_up_and_the_next_one_counts() {
    let large = |size: usize| token(&vec![b'a'; size]);
    let fits = check(STREAM, &[large((1 << 20) - 100), DONE.to_vec()].concat());
    assert_eq!(
        (fits.estimated_output, fits.anomalies.is_empty()),
        (Some(1), true)
    );
    let does_not = check(
        STREAM,
        &[large(1 << 20), token(b"b"), DONE.to_vec()].concat(),
    );
    assert_eq!(does_not.outcome, Outcome::Success);
    assert_eq!((does_not.estimated_output, does_not.events), (Some(1), 3));
    assert_eq!(does_not.anomalies.of(AnomalyKind::OversizedEvent), 1);
    let many_lines = check(
        STREAM,
        &[b"data: [1,\n".repeat(400_000), b"\n".to_vec(), token(b"b")].concat(),
    );
    assert_eq!(
        (
            many_lines.estimated_output,
            many_lines.anomalies.of(AnomalyKind::OversizedEvent)
        ),
        (Some(1), 1)
    );
}

#[test]
fn the_name_of_an_event_above_the_limit_still_counts() {
    let answer = [
        b"event: response.completed\n".to_vec(),
        token(&vec![b'a'; 1 << 20]),
    ]
    .concat();
    let record = observe("/v1/responses", STREAM, &[b"{}"], &[&answer]);
    assert_eq!(
        (
            record.outcome,
            record.anomalies.of(AnomalyKind::OversizedEvent)
        ),
        (Outcome::Success, 1)
    );
}

#[test]
fn a_line_of_ten_megabytes_without_an_end_is_skipped() {
    for start in ["data: ", "data: {\"a\":\"", ": ", "event: ", "x", ""] {
        let line = [start.as_bytes(), &vec![b'a'; 10 << 20]].concat();
        let record = check(STREAM, &line);
        assert_eq!(record.outcome, Outcome::TruncatedStream, "{start}");
        let expected = u32::from(start.starts_with("data"));
        assert_eq!(
            record.anomalies.of(AnomalyKind::OversizedEvent),
            expected,
            "{start}"
        );
    }
}

#[test]
fn a_whole_body_may_be_of_any_size() {
    let embedding = "0.123456789,".repeat(2 << 20);
    let body = format!(
        r#"{{"data":[{{"embedding":[{embedding}0]}}],"model":"m","usage":{{"prompt_tokens":7}}}}"#
    );
    let record = check(JSON, body.as_bytes());
    assert_eq!(
        (record.outcome, record.usage.input),
        (Outcome::Success, Some(7))
    );
}

#[test]
fn a_thousand_choices_are_followed_as_far_as_the_limit() {
    let choice = |index: u32| {
        let payload = format!(
            r#"{{"choices":[{{"index":{index},"text":"a"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1}}}}"#
        );
        event(payload.as_bytes())
    };
    let answer = (0..1000)
        .flat_map(choice)
        .chain(DONE.to_vec())
        .collect::<Vec<_>>();
    let record = observe("/v1/completions", STREAM, &[br#"{"n":1000}"#], &[&answer]);
    assert_eq!(
        (
            record.usage.output,
            record.anomalies.of(AnomalyKind::TooManyChoices)
        ),
        (Some(64), 1)
    );
    assert_eq!(record.usage_status.as_str(), "partial");
    assert_eq!(record.usage_reason.as_str(), "too_many_choices");
}

#[test]
fn a_request_that_cannot_be_read_is_still_watched() {
    for body in [
        "",
        "model=m",
        "\0\0\0",
        "{\"model\":",
        "[[[",
        "{\"model\":7}",
    ] {
        let record = observe(
            "/v1/chat/completions",
            STREAM,
            &[body.as_bytes()],
            &[&token(b"a"), DONE],
        );
        assert_eq!(
            (record.outcome, record.request_model, record.choices),
            (Outcome::Success, None, 1),
            "{body}"
        );
        let odd = !matches!(body, "" | "{\"model\":7}");
        assert_eq!(
            record.anomalies.of(AnomalyKind::RequestNotJson),
            u32::from(odd),
            "{body}"
        );
    }
}

/// Pieces out of which streams are made that are almost right.
const FRAGMENTS: [&[u8]; 34] = [
    b"data: ",
    b"data:",
    b"data",
    b"event: error\n",
    b"event: response.output_text.delta\n",
    b"event: message_stop\n",
    b"id: 7\n",
    b": ping\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"[DONE]",
    b"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}",
    b"{\"choices\":[{\"index\":1,\"text\":\"a\",\"finish_reason\":\"stop\"}]}",
    b"{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}",
    b"{\"usage\":{\"input_tokens\":3,\"output_tokens\":-4}}",
    b"{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}",
    b"{\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":1}}}",
    b"{\"error\":{\"message\":\"m\"}}",
    b"{\"timings\":{\"cache_n\":1,\"prompt_n\":2,\"predicted_n\":3}}",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u",
    b"null",
    b"-1e9",
    b"\0",
    b"\xff",
    b" ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_bytes_in_any_pieces_give_one_record_and_always_the_same(
        api in 0..PATHS.len(),
        as_stream in any::<bool>(),
        fragments in prop::collection::vec(0..FRAGMENTS.len(), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let body: Vec<u8> = fragments.iter().flat_map(|fragment| FRAGMENTS[*fragment]).copied().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for place in places {
            pieces.push(&body[start..place]);
            start = place;
        }
        pieces.push(&body[start..]);
        let content_type = if as_stream { STREAM } else { JSON };
        let (path, expected) = PATHS[api];
        let whole = observe(path, content_type, &[&body], &[&body]);
        let mut cut = observe(path, content_type, &pieces, &pieces);
        cut.first_token_chunk = whole.first_token_chunk;
        prop_assert_eq!(&cut, &whole);
        prop_assert_eq!(whole.api, expected);
    }

    #[test]
    fn any_random_bytes_give_a_record(body in prop::collection::vec(any::<u8>(), 0..600)) {
        for (path, _) in PATHS {
            let record = observe(path, STREAM, &[&body], &[&body]);
            prop_assert!(record.outcome != Outcome::Success);
        }
    }
}

#[test]
fn an_answer_that_takes_too_long_to_decompress_is_read_no_further() {
    // "hi" in a stored block of raw gzip, a hundred members of it.
    let member = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x02\0\xfd\xffhi\0\0\0\0\0\0\0\0";
    let body = member.repeat(100);
    for (patience, inspected) in [(usize::MAX, 0), (2, 1), (0, 1)] {
        let settings = Settings::default();
        let head = RequestHead {
            method: b"POST",
            path: b"/v1/chat/completions",
            ..RequestHead::default()
        };
        let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
        observer.request_body(b"{}", true, Stamp(0));
        let head = ResponseHead {
            status: 200,
            content_type: STREAM.as_bytes(),
            content_encoding: b"gzip",
            ..ResponseHead::default()
        };
        observer.response_headers(&head, false, Stamp(0), &settings);
        let mut asked = 0;
        let mut may_go_on = || {
            asked += 1;
            asked <= patience
        };
        observer.response_body_while(&body, true, Stamp(1), &settings, &mut may_go_on);
        let record = observer.close(&Ending::default(), Stamp(2)).unwrap();
        let given_up = record.anomalies.of(AnomalyKind::CompressionLimit);
        assert_eq!(given_up, inspected, "{patience}");
        let pieces = body.len().div_ceil(512);
        assert_eq!(asked, pieces.min(patience.saturating_add(1)));
    }
}
