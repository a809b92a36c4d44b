//! Hostile input: no trap, bounded memory, one record each, and what was odd is counted.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use host_tests::metric_assert::{Exposition, at_least, equal};
use host_tests::wasmtime_host::Action;
use host_tests::wasmtime_host::bed::{Bed, Exchange, Worker, event};

const CHUNK_BYTES: usize = 16 * 1024;
/// What a worker may use when a single stream has gone through it, whatever that held.
const MEMORY_LIMIT_BYTES: usize = 5 << 20;
const CHAT: &str = "/v1/chat/completions";

/// Headers as a client or server may send them.
type Head<'a> = &'a [(&'a [u8], &'a [u8])];

/// A request and answer with nothing taken for granted.
struct Hostile<'a> {
    request_head: Head<'a>,
    request: &'a [u8],
    response_head: Head<'a>,
    response: &'a [u8],
}

const REQUEST_HEAD: Head<'static> = &[
    (b":method", b"POST"),
    (b":path", b"/v1/chat/completions"),
    (b":authority", b"models.local"),
    (b"content-type", b"application/json"),
];
const STREAM_HEAD: Head<'static> = &[
    (b":status", b"200"),
    (b"content-type", b"text/event-stream"),
];
const JSON_HEAD: Head<'static> = &[(b":status", b"200"), (b"content-type", b"application/json")];

fn new_worker() -> (Bed, Worker) {
    let bed = Bed::new().unwrap();
    let worker = bed.worker().unwrap();
    (bed, worker)
}

/// Sends it in chunks of a network's size, and then an ordinary exchange, which must count too.
#[track_caller]
fn send(hostile: &Hostile<'_>) -> Exposition {
    let (bed, worker) = new_worker();
    let stream = worker.vm.stream(&worker.observe);
    let go_on = |action| assert_eq!(action, Action::Continue);
    go_on(stream.request_headers(hostile.request_head, false));
    for chunk in hostile.request.chunks(CHUNK_BYTES) {
        go_on(stream.request_body(chunk, false));
    }
    go_on(stream.request_body(b"", true));
    go_on(stream.response_headers(hostile.response_head, false));
    for chunk in hostile.response.chunks(CHUNK_BYTES) {
        go_on(stream.response_body(chunk, false));
    }
    go_on(stream.response_body(b"", true));
    stream.end();
    assert_eq!(worker.vm.failure(), None);
    let memory = worker.vm.memory_bytes();
    assert!(memory <= MEMORY_LIMIT_BYTES, "{memory} bytes of memory");
    let ordinary = Exchange::streamed_chat("ordinary", 2);
    worker.exchange(&bed.host, &ordinary).unwrap();
    let page = worker.page().unwrap();
    let labels = [("model", "ordinary"), ("outcome", "success")];
    page.assert(&[equal("inference_requests_total", &labels, 1.0)]);
    page
}

#[track_caller]
fn check_anomaly(page: &Exposition, kind: &str) {
    page.assert(&[
        equal("inference_requests_total", &[], 2.0),
        at_least("inferometer_stream_anomalies_total", &[("kind", kind)], 1.0),
    ]);
}

/// An ordinary request with a hostile streamed answer.
fn streamed(response: &[u8]) -> Hostile<'_> {
    Hostile {
        request_head: REQUEST_HEAD,
        request: br#"{"model":"m","stream":true}"#,
        response_head: STREAM_HEAD,
        response,
    }
}

/// An ordinary request with a hostile whole answer.
fn whole(response: &[u8]) -> Hostile<'_> {
    Hostile {
        response_head: JSON_HEAD,
        ..streamed(response)
    }
}

/// A hostile request with an ordinary answer.
fn asked(request: &[u8]) -> Hostile<'_> {
    Hostile {
        request,
        ..streamed(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n")
    }
}

#[test]
fn headers_that_are_no_text_do_no_harm() {
    let junk: &[u8] = b"\xff\xfe\x00\x80 \r\n";
    for name in [
        b":path".as_slice(),
        b":method",
        b":authority",
        b"content-type",
        b"content-encoding",
        b"upgrade",
        b"accept",
    ] {
        let mut head: Vec<(&[u8], &[u8])> = REQUEST_HEAD.to_vec();
        head.retain(|(own, _)| *own != name);
        head.push((name, junk));
        head.push((junk, junk));
        let _page = send(&Hostile {
            request_head: &head,
            ..streamed(b"data: [DONE]\n\n")
        });
    }
    for name in [b":status".as_slice(), b"content-type", b"content-encoding"] {
        let mut head: Vec<(&[u8], &[u8])> = STREAM_HEAD.to_vec();
        head.retain(|(own, _)| *own != name);
        head.push((name, junk));
        let page = send(&Hostile {
            response_head: &head,
            ..streamed(b"data: [DONE]\n\n")
        });
        page.assert(&[equal("inference_requests_total", &[], 2.0)]);
    }
}

#[test]
fn headers_of_a_megabyte_do_no_harm() {
    let long = vec![b'a'; 1 << 20];
    let mut path = b"/".to_vec();
    path.extend(&long);
    path.extend(CHAT.as_bytes());
    let request_head: Vec<(&[u8], &[u8])> = vec![
        (b":method", b"POST"),
        (b":path", &path),
        (b"content-type", &long),
    ];
    let page = send(&Hostile {
        request_head: &request_head,
        ..streamed(b"data: [DONE]\n\n")
    });
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn a_model_name_of_a_megabyte_is_cut() {
    let name = "m".repeat(1 << 20);
    let request = format!(r#"{{"model":"{name}","stream":true}}"#);
    let page = send(&asked(request.as_bytes()));
    check_anomaly(&page, "cut_text");
    let longest = page
        .samples()
        .iter()
        .flat_map(|sample| sample.labels.values())
        .map(String::len)
        .max();
    assert!(longest.unwrap() <= 128, "a label of {longest:?} bytes");
    let answer = format!(r#"{{"model":"{name}","choices":[]}}"#);
    check_anomaly(&send(&whole(answer.as_bytes())), "cut_text");
}

#[test]
fn model_names_that_are_no_plain_text_make_a_page_that_can_be_read() {
    for name in [
        r#"a\"b\\c\nd"#,
        r"\u0000\u0007\u001b[31m",
        r"\ud800",
        r"\ud83d\ude00",
        r"\u202e",
        "}{\\\"=,",
    ] {
        let request = format!(r#"{{"model":"{name}","stream":true}}"#);
        let page = send(&asked(request.as_bytes()));
        page.assert(&[equal("inference_requests_total", &[], 2.0)]);
    }
    let page = send(&asked(b"{\"model\":\"\xff\xfe\xc3\x28\",\"stream\":true}"));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn requests_that_are_no_json_are_counted_as_such() {
    for request in [
        b"not json".as_slice(),
        b"{\"model\":",
        b"{\"model\":\"m\"} trailing",
        b"\0\0\0\0",
        b"\xef\xbb\xbf\xff",
        b"{'model':'m'}",
    ] {
        check_anomaly(&send(&asked(request)), "request_not_json");
    }
}

#[test]
fn deep_json_is_not_followed() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let request = format!(r#"{{"model":"m","messages":{deep}}}"#);
    check_anomaly(&send(&asked(request.as_bytes())), "request_not_json");
    let answer = format!(r#"{{"model":"m","choices":{deep}}}"#);
    check_anomaly(&send(&whole(answer.as_bytes())), "payload_too_deep");
    let unclosed = format!("data: {}\n\n", "{\"a\":".repeat(200_000));
    check_anomaly(&send(&streamed(unclosed.as_bytes())), "payload_too_deep");
}

#[test]
fn payloads_that_are_no_json_are_counted_as_such() {
    for response in [
        b"data: not json\n\ndata: [DONE]\n\n".as_slice(),
        b"data: \0\0\0\n\ndata: [DONE]\n\n",
        b"data: {\"choices\":[}\n\ndata: [DONE]\n\n",
        b"data: {\"a\":\"\xff\xfe\"}]\n\ndata: [DONE]\n\n",
    ] {
        check_anomaly(&send(&streamed(response)), "payload_not_json");
    }
    check_anomaly(
        &send(&streamed(b"data: {\"choices\":[\n\ndata: [DONE]\n\n")),
        "payload_truncated",
    );
    check_anomaly(&send(&whole(b"{\"choices\":[")), "payload_truncated");
    check_anomaly(&send(&whole(b"<html>")), "payload_not_json");
}

#[test]
fn bytes_that_are_no_utf8_inside_strings_do_no_harm() {
    let page = send(&streamed(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\xc3\"}}]}\n\ndata: [DONE]\n\n",
    ));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn nul_bytes_everywhere_do_no_harm() {
    let nuls = vec![0; 1 << 20];
    let _page = send(&asked(&nuls));
    let _page = send(&whole(&nuls));
    let page = send(&streamed(&nuls));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn numbers_beyond_all_measure_are_counted_and_not_taken() {
    for usage in [
        r#"{"prompt_tokens":-5,"completion_tokens":3}"#,
        r#"{"prompt_tokens":5,"completion_tokens":1e308}"#,
        r#"{"prompt_tokens":99999999999999999999999999,"completion_tokens":3}"#,
        r#"{"prompt_tokens":18446744073709551615,"completion_tokens":18446744073709551615}"#,
        r#"{"prompt_tokens":1.5,"completion_tokens":3}"#,
    ] {
        let response = event(&format!(r#"{{"choices":[],"usage":{usage}}}"#));
        let page = send(&streamed(&[response, event("[DONE]")].concat()));
        check_anomaly(&page, "bad_token_number");
        let tokens = page.total_or_zero("inference_input_tokens_total", &[])
            + page.total_or_zero("inference_output_tokens_total", &[]);
        assert!(tokens < 1000.0, "{usage} counted as {tokens} tokens");
    }
    let digits = "9".repeat(1 << 20);
    let answer = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{digits}}}}}"#);
    let page = send(&whole(answer.as_bytes()));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
    let anomalies = page.total_or_zero("inferometer_stream_anomalies_total", &[]);
    assert!(anomalies >= 1.0, "a number of a megabyte is odd");
    for n in ["-1", "1e99", "99999999999999999999"] {
        let request = format!(r#"{{"model":"m","stream":true,"n":{n},"max_tokens":{n}}}"#);
        check_anomaly(&send(&asked(request.as_bytes())), "bad_request_number");
    }
}

#[test]
fn repeated_keys_count_once() {
    let usage = r#""usage":{"prompt_tokens":1,"prompt_tokens":7,"completion_tokens":1,"completion_tokens":3}"#;
    let answer = format!(r#"{{"model":"a","model":"b","choices":[],{usage},{usage}}}"#);
    let page = send(&whole(answer.as_bytes()));
    // Those of the ordinary exchange are on the page too.
    page.assert(&[
        equal("inference_requests_total", &[], 2.0),
        equal("inference_input_tokens_total", &[], 7.0 + 11.0),
        equal("inference_output_tokens_total", &[], 3.0 + 2.0),
    ]);
}

#[test]
fn an_event_line_of_100_megabytes_without_a_newline_takes_no_memory() {
    let (_bed, worker) = new_worker();
    let stream = worker.vm.stream(&worker.observe);
    stream.request_headers(REQUEST_HEAD, false);
    stream.request_body(br#"{"model":"m","stream":true}"#, true);
    stream.response_headers(STREAM_HEAD, false);
    stream.response_body(b"data: {\"choices\":[{\"delta\":{\"content\":\"", false);
    let before = worker.vm.memory_bytes();
    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..(100 << 20) / chunk.len() {
        assert_eq!(stream.response_body(&chunk, false), Action::Continue);
    }
    let growth = worker.vm.memory_bytes() - before;
    stream.response_body(b"\"}}]}\n\ndata: [DONE]\n\n", true);
    stream.end();
    assert_eq!(worker.vm.failure(), None);
    // A chunk's own buffer is all that may come on top.
    assert!(growth <= 4 * chunk.len(), "{growth} bytes more");
    let page = worker.page().unwrap();
    page.assert(&[equal("inference_requests_total", &[], 1.0)]);
}

#[test]
fn a_request_of_100_megabytes_is_read_to_its_last_key_and_takes_no_memory() {
    let (_bed, worker) = new_worker();
    let stream = worker.vm.stream(&worker.observe);
    stream.request_headers(REQUEST_HEAD, false);
    stream.request_body(b"{\"messages\":[{\"content\":\"", false);
    let before = worker.vm.memory_bytes();
    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..(100 << 20) / chunk.len() {
        stream.request_body(&chunk, false);
    }
    let growth = worker.vm.memory_bytes() - before;
    stream.request_body(b"\"}],\"model\":\"late\",\"stream\":true}", true);
    stream.response_headers(STREAM_HEAD, false);
    stream.response_body(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n", false);
    stream.response_body(b"data: [DONE]\n\n", true);
    stream.end();
    assert_eq!(worker.vm.failure(), None);
    assert!(growth <= 4 * chunk.len(), "{growth} bytes more");
    let labels = [("model", "late"), ("stream", "true")];
    let page = worker.page().unwrap();
    page.assert(&[equal("inference_requests_total", &labels, 1.0)]);
}

#[test]
fn events_without_number_in_one_chunk_do_no_harm() {
    let empty = b"data:\n\n".repeat(100_000);
    let _page = send(&streamed(&empty));
    let comments = b": ping\n\n".repeat(100_000);
    let _page = send(&streamed(&comments));
    let newlines = b"\r\n\r\n\n\r".repeat(100_000);
    let page = send(&streamed(&newlines));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn choices_without_number_are_not_followed_and_counted() {
    let choices: Vec<String> = (0..5_000)
        .map(|index| format!(r#"{{"index":{index},"delta":{{"content":"x"}}}}"#))
        .collect();
    let response = event(&format!(r#"{{"choices":[{}]}}"#, choices.join(",")));
    let page = send(&streamed(&[response, event("[DONE]")].concat()));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
    let huge = br#"data: {"choices":[{"index":4294967296999,"delta":{"content":"x"}}]}

data: [DONE]

"#;
    let page = send(&streamed(huge));
    page.assert(&[equal("inference_requests_total", &[], 2.0)]);
}

#[test]
fn ten_thousand_model_names_fill_a_list_and_no_more() {
    let (bed, worker) = new_worker();
    for number in 0..10_000 {
        let model = format!("model-{number}");
        let exchange = Exchange::whole_chat(&model, 1);
        worker.exchange(&bed.host, &exchange).unwrap();
    }
    assert_eq!(worker.vm.failure(), None);
    let page = worker.page().unwrap();
    let names: std::collections::BTreeSet<&String> = page
        .matching("inference_requests_total", &[])
        .filter_map(|sample| sample.labels.get("model"))
        .collect();
    assert_eq!(names.len(), 101, "a hundred names, and `other`");
    page.assert(&[
        equal("inference_requests_total", &[], 10_000.0),
        equal("inference_requests_total", &[("model", "other")], 9_900.0),
    ]);
    let memory = worker.vm.memory_bytes();
    assert!(memory <= MEMORY_LIMIT_BYTES, "{memory} bytes of memory");
}

#[test]
fn model_names_of_requests_that_fail_fill_nothing() {
    let (bed, worker) = new_worker();
    for number in 0..1_000 {
        let exchange = Exchange {
            status: 404,
            ..Exchange::whole_chat(&format!("junk-{number}"), 1)
        };
        worker.exchange(&bed.host, &exchange).unwrap();
    }
    let page = worker.page().unwrap();
    page.assert(&[equal(
        "inference_requests_total",
        &[("model", "other")],
        1_000.0,
    )]);
}

#[test]
fn every_prefix_of_an_answer_followed_by_junk_is_counted_once() {
    let exchange = Exchange::streamed_chat("m", 2);
    let body = exchange.chunks.concat();
    let (bed, worker) = new_worker();
    for cut in 0..body.len() {
        let stream = exchange
            .begin(&bed.host, &worker.vm, &worker.observe)
            .unwrap();
        stream.response_headers(STREAM_HEAD, false);
        stream.response_body(&body[..cut], false);
        stream.response_body(b"\xff\0\r\x80{[\"\\", true);
        stream.end();
    }
    assert_eq!(worker.vm.failure(), None);
    let sent = f64::from(u32::try_from(body.len()).unwrap());
    let page = worker.page().unwrap();
    page.assert(&[equal("inference_requests_total", &[], sent)]);
}
