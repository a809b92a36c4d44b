//! However a stream ends, and whichever callbacks come, it is counted once and with its outcome.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

use host_tests::metric_assert::{Exposition, equal};
use host_tests::wasmtime_host::Stream;
use host_tests::wasmtime_host::bed::{Bed, Exchange, Worker, event};

/// Bits of `response.flags`.
mod flag {
    pub(crate) const UPSTREAM_TIMEOUT: i64 = 1 << 2;
    pub(crate) const UPSTREAM_REMOTE_RESET: i64 = 1 << 4;
    pub(crate) const UPSTREAM_CONNECTION_FAILURE: i64 = 1 << 5;
    pub(crate) const UPSTREAM_TERMINATION: i64 = 1 << 6;
    pub(crate) const UPSTREAM_OVERFLOW: i64 = 1 << 7;
    pub(crate) const RATE_LIMITED: i64 = 1 << 11;
    pub(crate) const UNAUTHORIZED: i64 = 1 << 12;
    pub(crate) const CLIENT_LEFT: i64 = 1 << 14;
    pub(crate) const IDLE_TIMEOUT: i64 = 1 << 16;
    pub(crate) const CLIENT_RESET: i64 = 1 << 28;
}

const STREAM_HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "text/event-stream")];

struct Setting {
    bed: Bed,
    worker: Worker,
    exchange: Exchange,
}

impl Setting {
    fn new() -> Setting {
        let bed = Bed::new().unwrap();
        let worker = bed.worker().unwrap();
        let exchange = Exchange::streamed_chat("m", 3);
        Setting {
            bed,
            worker,
            exchange,
        }
    }

    fn begin(&self) -> Stream {
        self.exchange
            .begin(&self.bed.host, &self.worker.vm, &self.worker.observe)
            .unwrap()
    }

    /// Response headers and so many chunks.
    fn answer_begins(&self, stream: &Stream, chunks: usize) {
        stream.response_headers(&STREAM_HEAD, false);
        for chunk in &self.exchange.chunks[..chunks] {
            stream.response_body(chunk, false);
        }
    }

    /// The proxy answers by itself.
    fn answered_by_proxy(&self, stream: &Stream, status: &str, details: &str) {
        stream.set("response.code_details", details);
        let head = [(":status", status), ("content-type", "text/plain")];
        stream.response_headers(&head, false);
        stream.response_body(b"upstream connect error", true);
    }

    #[track_caller]
    fn check(&self, outcome: &str) -> Exposition {
        assert_eq!(self.worker.vm.failure(), None);
        let page = self.worker.page().unwrap();
        page.assert(&[
            equal("inference_requests_total", &[("outcome", outcome)], 1.0),
            equal("inference_requests_total", &[], 1.0),
            equal("inference_usage_total", &[], 1.0),
            equal("inference_request_duration_seconds_count", &[], 1.0),
        ]);
        assert_eq!(page.total_or_zero("inference_requests_in_flight", &[]), 0.0);
        page
    }
}

/// Ends a stream with flags in each way that the proxy may end it.
#[track_caller]
fn check(outcome: &str, flags: i64, happens: impl Fn(&Setting, &Stream)) {
    let setting = Setting::new();
    let stream = setting.begin();
    happens(&setting, &stream);
    stream.set("response.flags", flags);
    stream.end();
    setting.check(outcome);
}

#[test]
fn a_complete_stream_is_a_success() {
    check("success", 0, |setting, stream| {
        setting.exchange.answer(&setting.bed.host, stream).unwrap();
    });
}

#[test]
fn a_stream_with_trailers_and_no_last_chunk_is_a_success() {
    check("success", 0, |setting, stream| {
        setting.answer_begins(stream, setting.exchange.chunks.len());
        stream.response_trailers(&[("x-trailer", "1")]);
    });
}

#[test]
fn a_client_that_leaves_is_a_cancel_wherever_it_leaves() {
    for flags in [flag::CLIENT_LEFT, flag::CLIENT_RESET] {
        check("client_cancel", flags, |_, _| {});
        check("client_cancel", flags, |setting, stream| {
            setting.answer_begins(stream, 0);
        });
        check("client_cancel", flags, |setting, stream| {
            setting.answer_begins(stream, 3);
        });
    }
}

#[test]
fn a_client_that_leaves_after_the_terminal_event_had_its_answer() {
    check("success", flag::CLIENT_LEFT, |setting, stream| {
        setting.answer_begins(stream, setting.exchange.chunks.len());
    });
}

#[test]
fn an_upstream_that_breaks_off_is_a_reset() {
    for flags in [flag::UPSTREAM_REMOTE_RESET, flag::UPSTREAM_TERMINATION] {
        check("upstream_reset", flags, |setting, stream| {
            setting.answered_by_proxy(
                stream,
                "503",
                "upstream_reset_before_response_started{connection_termination}",
            );
        });
        check("upstream_reset", flags, |setting, stream| {
            setting.answer_begins(stream, 3);
        });
    }
}

#[test]
fn what_the_proxy_answers_by_itself_has_its_reason_as_outcome() {
    fn by_proxy(outcome: &str, flags: i64, status: &str, details: &str) {
        check(outcome, flags, |setting, stream| {
            setting.answered_by_proxy(stream, status, details);
        });
    }
    by_proxy("timeout", flag::UPSTREAM_TIMEOUT, "504", "response_timeout");
    by_proxy(
        "connect",
        flag::UPSTREAM_CONNECTION_FAILURE,
        "503",
        "upstream_reset_before_response_started{connection_failure}",
    );
    by_proxy("overloaded", flag::UPSTREAM_OVERFLOW, "503", "overflow");
}

#[test]
fn a_stream_that_falls_silent_is_a_timeout() {
    check("timeout", flag::IDLE_TIMEOUT, |setting, stream| {
        setting.answer_begins(stream, 3);
    });
}

#[test]
fn a_stream_that_ends_before_its_terminal_event_is_truncated() {
    check("truncated_stream", 0, |setting, stream| {
        setting.answer_begins(stream, 3);
        stream.response_body(b"", true);
    });
}

#[test]
fn an_error_inside_a_stream_beats_the_terminal_event() {
    check("in_stream_error", 0, |setting, stream| {
        setting.answer_begins(stream, 2);
        let error = r#"{"error":{"message":"no","type":"server_error","code":500}}"#;
        stream.response_body(&event(error), false);
        stream.response_body(&event("[DONE]"), true);
    });
}

#[test]
fn a_request_that_an_earlier_filter_answered_is_seen_in_the_log_callback_only() {
    for (flags, status, details, outcome) in [
        (flag::UNAUTHORIZED, "401", "ext_authz_denied", "local_reply"),
        (
            flag::RATE_LIMITED,
            "429",
            "request_rate_limited",
            "rate_limited",
        ),
        (
            0,
            "403",
            "rbac_access_denied_matched_policy[none]",
            "local_reply",
        ),
    ] {
        let setting = Setting::new();
        let stream = setting.worker.vm.stream(&setting.worker.observe);
        stream.set_logged_headers(
            &[
                (":method", "POST"),
                (":path", "/v1/chat/completions"),
                ("content-type", "application/json"),
            ],
            &[(":status", status)],
        );
        stream.set("response.flags", flags);
        stream.set("response.code", status.parse::<i64>().unwrap());
        stream.set("response.code_details", details);
        stream.set("request.duration", 2_000_000);
        stream.end();
        setting.check(outcome);
    }
}

#[test]
fn a_request_without_anything_in_the_log_callback_is_no_request_to_a_model() {
    let setting = Setting::new();
    let stream = setting.worker.vm.stream(&setting.worker.observe);
    stream.end();
    let page = setting.worker.page().unwrap();
    assert_eq!(page.total_or_zero("inference_requests_total", &[]), 0.0);
    assert_eq!(setting.worker.vm.failure(), None);
}

#[test]
fn a_stream_without_a_log_callback_is_counted_when_it_is_done() {
    let setting = Setting::new();
    let stream = setting.begin();
    let host = &setting.bed.host;
    setting.exchange.answer(host, &stream).unwrap();
    stream.end_without_log();
    setting.check("success").assert(&[equal(
        "inference_output_tokens_total",
        &[("source", "reported")],
        3.0,
    )]);
}

#[test]
fn a_stream_that_only_begins_and_is_done_is_counted_without_a_guess_at_success() {
    for chunks in [0, 3] {
        let setting = Setting::new();
        let stream = setting.begin();
        setting.answer_begins(&stream, chunks);
        stream.end_without_log();
        let page = setting.worker.page().unwrap();
        page.assert(&[equal("inference_requests_total", &[], 1.0)]);
        let success = [("outcome", "success")];
        assert_eq!(
            page.total_or_zero("inference_requests_total", &success),
            0.0
        );
    }
}

#[test]
fn log_and_done_together_count_once() {
    let setting = Setting::new();
    let stream = setting.begin();
    let host = &setting.bed.host;
    setting.exchange.answer(host, &stream).unwrap();
    stream.log();
    setting.check("success");
    stream.log();
    stream.done();
    stream.delete();
    setting.check("success");
}

#[test]
fn callbacks_after_the_end_do_no_harm() {
    let setting = Setting::new();
    let stream = setting.begin();
    let host = &setting.bed.host;
    setting.exchange.answer(host, &stream).unwrap();
    stream.log();
    stream.response_body(b"data: {}\n\n", true);
    stream.response_trailers(&[("a", "b")]);
    stream.request_trailers(&[("a", "b")]);
    stream.done();
    stream.delete();
    setting.check("success");
}

#[test]
fn a_scrape_is_no_request_to_a_model() {
    let setting = Setting::new();
    for _ in 0..3 {
        setting.worker.page().unwrap();
    }
    let page = setting.worker.page().unwrap();
    assert_eq!(page.total_or_zero("inference_requests_total", &[]), 0.0);
    assert_eq!(page.total_or_zero("inferometer_skipped_total", &[]), 0.0);
}

#[test]
fn the_observing_listener_leaves_the_engines_own_metrics_alone() {
    let setting = Setting::new();
    assert_eq!(setting.worker.observe.get("/metrics", ""), None);
}

#[test]
fn what_is_not_watched_is_counted_by_its_reason() {
    fn check(method: &str, path: &str, more: &[(&str, &str)], reason: &str) {
        let setting = Setting::new();
        let stream = setting.worker.vm.stream(&setting.worker.observe);
        let mut head = vec![(":method", method), (":path", path)];
        head.extend(more);
        stream.request_headers(&head, false);
        stream.request_body(b"{}", true);
        stream.response_headers(&STREAM_HEAD, false);
        stream.response_body(b"data: {}\n\n", true);
        assert!(setting.worker.vm.latest().hostcalls.is_empty());
        stream.end();
        let page = setting.worker.page().unwrap();
        page.assert(&[equal(
            "inferometer_skipped_total",
            &[("reason", reason)],
            1.0,
        )]);
        assert_eq!(page.total_or_zero("inference_requests_total", &[]), 0.0);
    }
    const CHAT: &str = "/v1/chat/completions";
    check("GET", "/v1/models", &[], "not_post");
    check("GET", CHAT, &[], "not_post");
    check("POST", "/v1/models", &[], "not_generation_route");
    check("POST", CHAT, &[("upgrade", "websocket")], "upgrade");
    check(
        "POST",
        CHAT,
        &[("content-encoding", "gzip")],
        "compressed_request",
    );
    check("POST", "/v1/audio/speech", &[], "audio");
    check("POST", "/v1/batches", &[], "batch");
    check(
        "POST",
        CHAT,
        &[("content-type", "multipart/form-data; boundary=x")],
        "multipart",
    );
}

#[test]
fn an_answer_cut_anywhere_is_counted_the_same() {
    let setting = Setting::new();
    let body = setting.exchange.chunks.concat();
    for cut in 0..=body.len() {
        let stream = setting.begin();
        stream.response_headers(&STREAM_HEAD, false);
        stream.response_body(&body[..cut], false);
        stream.response_body(&body[cut..], true);
        stream.end();
    }
    assert_eq!(setting.worker.vm.failure(), None);
    let sent = f64::from(u32::try_from(body.len()).unwrap()) + 1.0;
    let page = setting.worker.page().unwrap();
    page.assert(&[
        equal("inference_requests_total", &[("outcome", "success")], sent),
        equal("inference_usage_total", &[("status", "reported")], sent),
        equal(
            "inference_output_tokens_total",
            &[("source", "reported")],
            sent * 3.0,
        ),
        equal("gen_ai_server_time_to_first_token_seconds_count", &[], sent),
        equal(
            "inference_inter_token_latency_seconds_count",
            &[],
            sent * 2.0,
        ),
    ]);
    let anomalies = page.total_or_zero("inferometer_stream_anomalies_total", &[]);
    assert_eq!(anomalies, 0.0);
}
