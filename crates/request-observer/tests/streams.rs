//! What is made of streams: moments, gaps, tokens of an event, echoes, and every way to write an event.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

use request_observer::{
    Ending, Outcome, Phase, RequestHead, RequestObserver, RequestRecord, ResponseHead, Settings,
    Stamp, Usage,
};

/// Observes an answer whose chunks come ten apart, the first at 100.
fn observe(path: &str, request: &str, chunks: &[&str]) -> RequestRecord {
    let settings = Settings {
        gap_bounds_nanos: vec![2, 5, 10, 20],
        ..Settings::default()
    };
    let head = RequestHead {
        method: b"POST",
        path: path.as_bytes(),
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.request_body(request.as_bytes(), true, Stamp(3));
    let head = ResponseHead {
        status: 200,
        content_type: b"text/event-stream",
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(50), &settings);
    assert_eq!(observer.phase(), Phase::Prefill);
    let mut now = 100;
    for chunk in chunks {
        observer.response_body(chunk.as_bytes(), false, Stamp(now), &settings);
        now += 10;
    }
    observer.response_body(b"", true, Stamp(now), &settings);
    let ending = Ending {
        code_details: b"via_upstream",
        known: true,
        ..Ending::default()
    };
    observer.close(&ending, Stamp(now)).unwrap()
}

fn chat(chunks: &[&str]) -> RequestRecord {
    observe("/v1/chat/completions", "{}", chunks)
}

fn delta(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn the_four_first_moments_differ() {
    let (reasoning, content) = (delta(r#"{"reasoning":"hm"}"#), delta(r#"{"content":"a"}"#));
    let record = chat(&[": ping\n\n", ROLE, &reasoning, &content, DONE]);
    let durations = record.durations;
    assert_eq!(durations.time_to_request_end, Some(3));
    assert_eq!(durations.time_to_response_headers, Some(50));
    assert_eq!(durations.time_to_first_byte, Some(100));
    assert_eq!(durations.time_to_first_token, Some(120));
    assert_eq!(durations.time_to_first_visible_token, Some(130));
    assert_eq!(
        (durations.decode, durations.max_gap, durations.request),
        (Some(10), Some(10), Some(150))
    );
    assert_eq!(record.first_token_chunk, Some(2));
    assert_eq!(
        record.first_token_offset,
        Some((8 + ROLE.len() + reasoning.len()) as u64)
    );
}

#[test]
fn a_token_counts_when_its_event_is_complete() {
    let content = delta(r#"{"content":"a"}"#);
    let (left, right) = content.split_at(content.len() - 1);
    let record = chat(&[left, right, DONE]);
    assert_eq!(
        (
            record.durations.time_to_first_token,
            record.first_token_chunk
        ),
        (Some(110), Some(1))
    );
    assert_eq!(record.first_token_offset, Some(content.len() as u64));
}

#[test]
fn progress_pings_and_empty_tokens_are_no_first_token() {
    let progress = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\
                    \"prompt_progress\":{\"total\":9,\"processed\":5}}\n\n";
    let record = chat(&[progress, ":\n\n", &delta(r#"{"content":""}"#), DONE]);
    assert_eq!(
        (
            record.durations.time_to_first_token,
            record.durations.max_gap
        ),
        (None, None)
    );
    assert_eq!(
        (record.first_token_chunk, record.estimated_output),
        (None, None)
    );
    assert_eq!(record.outcome, Outcome::Success);
}

#[test]
fn an_event_may_be_written_in_any_way_that_the_format_allows() {
    let payload = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    for (start, end) in [
        ("data: ", "\n\n"),
        ("data:", "\n\n"),
        ("data: ", "\r\n\r\n"),
        ("data: ", "\r\r"),
        ("data: ", " \n\n"),
        ("\u{feff}data: ", "\n\n"),
        ("id: 7\nevent: message\nretry: 9\n: x\ndata: ", "\n: x\n\n"),
        ("data:\ndata: ", "\ndata:\n\n"),
        ("unknown: x\ndata: ", "\nunknown\n\n"),
    ] {
        let record = chat(&[&format!("{start}{payload}{end}"), "data: [DONE]"]);
        assert_eq!(
            (record.estimated_output, record.outcome),
            (Some(1), Outcome::Success),
            "{start:?} {end:?}"
        );
        assert!(record.anomalies.is_empty(), "{start:?} {end:?}");
    }
    let joined = "data: {\"usage\":{\"prompt_tokens\":1\ndata: 2}}\n\n";
    assert_eq!(
        chat(&[joined]).usage,
        Usage::default(),
        "a line feed joins two lines of data"
    );
    let split = payload.replacen(',', ",\ndata: ", 1);
    assert_eq!(
        chat(&[&format!("data: {split}\n\n")]).estimated_output,
        Some(1)
    );
}

#[test]
fn the_last_event_counts_without_its_blank_line_if_it_is_whole() {
    let content = delta(r#"{"content":"a"}"#);
    for missing in 1..=2 {
        let record = chat(&[&content[..content.len() - missing]]);
        assert_eq!(
            (record.estimated_output, record.first_token_chunk),
            (Some(1), Some(0))
        );
        assert_eq!(
            record.first_token_offset,
            Some((content.len() - missing) as u64)
        );
    }
    let broken = chat(&[&content[..content.len() - 3]]);
    assert_eq!((broken.estimated_output, broken.events), (None, 0));
    assert!(
        broken.anomalies.is_empty(),
        "a stream that breaks off is not odd JSON"
    );
}

#[test]
fn gaps_are_shared_by_the_tokens_that_an_event_brought() {
    let with_usage = |tokens: u64| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"a\"}}}}],\
             \"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{tokens}}}}}\n\n"
        )
    };
    let record = chat(&[&with_usage(1), &with_usage(2), &with_usage(7), DONE]);
    assert_eq!(
        record.gaps.counts[..5],
        [5, 0, 1, 0, 0],
        "a gap of ten, and five of two"
    );
    assert_eq!((record.gaps.count, record.gaps.sum_nanos), (6, 20));
    let ids =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"token_ids\":[1,2]}]}\n\n";
    assert_eq!(chat(&[ids, ids, DONE]).gaps.counts[..3], [0, 2, 0]);
    let plain = delta(r#"{"content":"a"}"#);
    assert_eq!(chat(&[&plain, &plain, DONE]).gaps.counts[..3], [0, 0, 1]);
}

#[test]
fn interleaved_choices_have_their_own_gaps() {
    let choice = |index: u32| {
        format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"a\"}}}}]}}\n\n")
    };
    let request = r#"{"n":2,"stream":true}"#;
    let (first, second) = (choice(0), choice(1));
    let record = observe(
        "/v1/chat/completions",
        request,
        &[&first, &second, &first, &second, DONE],
    );
    assert_eq!(
        (record.gaps.count, record.gaps.counts[3]),
        (2, 2),
        "two gaps of twenty"
    );
    assert_eq!(
        (
            record.choices,
            record.estimated_output,
            record.durations.max_gap
        ),
        (2, Some(4), Some(10))
    );
}

#[test]
fn an_echo_of_the_last_message_is_no_token_on_a_server_that_echoes() {
    let request = r#"{"echo":true,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"So \"it\""}]}"#;
    let (echo, content) = (
        delta(r#"{"content":"So \"it\""}"#),
        delta(r#"{"content":" is"}"#),
    );
    let echoing = observe(
        "/v1/chat/completions",
        request,
        &[ROLE, &echo, &content, DONE],
    );
    assert_eq!(
        (echoing.first_token_chunk, echoing.estimated_output),
        (Some(2), Some(1))
    );
    let silent = observe(
        "/v1/chat/completions",
        request,
        &[ROLE, &content, &content, DONE],
    );
    assert_eq!(
        (silent.first_token_chunk, silent.estimated_output),
        (Some(1), Some(2))
    );
    let not_asked = observe(
        "/v1/chat/completions",
        &request.replace("true", "false"),
        &[&echo, DONE],
    );
    assert_eq!(not_asked.estimated_output, Some(1));
}

#[test]
fn usage_stated_for_each_prompt_of_a_batch_is_summed() {
    let prompt = |index: u32, input: u32, cached: u32| {
        format!(
            "data: {{\"choices\":[{{\"text\":\"a\",\"index\":{index}}}],\"usage\":{{\"prompt_tokens\":{input},\
             \"completion_tokens\":4,\"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}}}\n\n"
        )
    };
    let request = r#"{"prompt":["a","b"],"stream":true}"#;
    let record = observe(
        "/v1/completions",
        request,
        &["data: null\n\n", &prompt(0, 3, 2), &prompt(1, 5, 0), DONE],
    );
    let expected = Usage {
        input: Some(8),
        output: Some(8),
        cached_input: Some(2),
        ..Usage::default()
    };
    assert_eq!((record.usage, record.choices), (expected, 2));
}

#[test]
fn the_name_of_a_tool_is_the_first_token_of_its_call() {
    let named = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\
                 \"content_block\":{\"type\":\"tool_use\",\"name\":\"f\"}}\n\n";
    assert_eq!(
        observe("/v1/messages", "{}", &[named]).first_token_chunk,
        Some(0)
    );
    let added = "data: {\"item\":{\"type\":\"function_call\",\"name\":\"f\"},\"type\":\"response.output_item.added\"}\n\n";
    assert_eq!(
        observe("/v1/responses", "{}", &[added]).first_token_chunk,
        Some(0)
    );
    let call = delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f"}}]}"#);
    assert_eq!(chat(&[ROLE, &call]).first_token_chunk, Some(1));
}
