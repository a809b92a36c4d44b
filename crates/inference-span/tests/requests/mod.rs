//! Requests of every kind, run through the real observer, for the tests of what is made of their records.
#![allow(dead_code, reason = "each test uses a part")]

use inference_span::{Semconv, SpanFacts, SpanIdentity, SpanKind, SpanLabels, TraceContext};
use request_observer::{
    Durations, Ending, FinishReason, Outcome, RequestHead, RequestObserver, RequestRecord,
    ResponseHead, Settings, Stamp, Telemetry, Text, Usage, UsageReason, UsageStatus,
};

pub(crate) const MILLISECOND: u64 = 1_000_000;
/// The wall clock at the end of each request.
pub(crate) const ENDED: u64 = 1_700_000_000_000_000_000;
/// What a client asked and was answered, which nothing that is made of a record may hold.
pub(crate) const PROMPT: &str = "Zanzibar";
pub(crate) const ANSWER: &str = "Quetzal";

pub(crate) fn parent() -> TraceContext {
    TraceContext {
        trace_id: [0x0a; 16],
        span_id: [0x0b; 8],
        flags: 1,
        trace_state: "rojo=1".to_owned(),
    }
}

pub(crate) fn identity() -> SpanIdentity {
    SpanIdentity::child_of(&parent(), [0x0c; 8])
}

pub(crate) fn labels() -> SpanLabels<'static> {
    SpanLabels {
        model: "qwen3",
        provider: "vllm",
        server_address: Some("10.0.0.7"),
        server_port: Some(8000),
    }
}

pub(crate) fn facts<'a>(record: &'a RequestRecord, identity: &'a SpanIdentity) -> SpanFacts<'a> {
    SpanFacts {
        record,
        identity,
        kind: SpanKind::Client,
        ended_at_unix_nanos: ENDED,
        labels: SpanLabels::default(),
        baggage: &[],
        semconv: Semconv::V1_41,
    }
}

/// One request and its answer in pieces, 10 ms apart; `flags` as the proxy sets them.
pub(crate) struct Exchange<'a> {
    pub(crate) path: &'a str,
    pub(crate) request: &'a [u8],
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) answer: &'a [&'a [u8]],
    pub(crate) ends: bool,
    pub(crate) flags: u64,
}

pub(crate) fn record(exchange: &Exchange<'_>) -> RequestRecord {
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: exchange.path.as_bytes(),
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.request_body(exchange.request, true, Stamp(0));
    let mut now = 10 * MILLISECOND;
    let head = ResponseHead {
        status: exchange.status,
        content_type: exchange.content_type.as_bytes(),
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(now), &settings);
    for piece in exchange.answer {
        now += 10 * MILLISECOND;
        observer.response_body(piece, false, Stamp(now), &settings);
    }
    now += 10 * MILLISECOND;
    if exchange.ends {
        observer.response_body(b"", true, Stamp(now), &settings);
    }
    let ending = Ending {
        code: Some(u64::from(exchange.status)),
        code_details: b"via_upstream",
        flags: exchange.flags,
        attempts: Some(1),
        known: true,
    };
    observer.close(&ending, Stamp(now)).unwrap()
}

const STREAM_REQUEST: &str = "{\"model\":\"qwen3\",\"stream\":true,\"n\":2,\"stream_options\":{\"include_usage\":true},\
    \"messages\":[{\"role\":\"user\",\"content\":\"Zanzibar\"}]}";

/// A streamed answer that reasons first, of which `pieces` pieces come.
fn stream(pieces: usize, ends: bool, flags: u64) -> RequestRecord {
    let answer: [&[u8]; 5] = [
        b"data: {\"model\":\"qwen3-30b\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Quetzal\"}}]}\n\n",
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Quetzal\"},\"finish_reason\":\"stop\"}]}\n\n",
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\
          \"prompt_tokens_details\":{\"cached_tokens\":8},\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n",
        b"data: [DONE]\n\n",
    ];
    record(&Exchange {
        path: "/v1/chat/completions",
        request: STREAM_REQUEST.as_bytes(),
        status: 200,
        content_type: "text/event-stream",
        answer: &answer[..pieces],
        ends,
        flags,
    })
}

/// It came whole.
pub(crate) fn streamed() -> RequestRecord {
    stream(5, true, 0)
}

/// The upstream broke off after the first reasoning.
pub(crate) fn broken_off() -> RequestRecord {
    // Bit 6: the upstream ended the connection.
    stream(2, false, 1 << 6)
}

/// A whole answer without usage.
pub(crate) fn whole() -> RequestRecord {
    record(&Exchange {
        path: "/v1/chat/completions",
        request: br#"{"model":"qwen3","messages":[{"role":"user","content":"Zanzibar"}]}"#,
        status: 200,
        content_type: "application/json",
        answer: &[br#"{"model":"qwen3","choices":[{"index":0,"finish_reason":"stop","message":{"content":"Quetzal"}}]}"#],
        ends: true,
        flags: 0,
    })
}

/// A refusal whose message repeats the prompt.
pub(crate) fn refused() -> RequestRecord {
    record(&Exchange {
        path: "/v1/chat/completions",
        request: STREAM_REQUEST.as_bytes(),
        status: 400,
        content_type: "application/json",
        answer: &[
            br#"{"error":{"message":"Zanzibar is no prompt","type":"Zanzibar","code":"Zanzibar"}}"#,
        ],
        ends: true,
        flags: 0,
    })
}

/// Three inputs at once.
pub(crate) fn embeddings() -> RequestRecord {
    record(&Exchange {
        path: "/v1/embeddings",
        request: br#"{"model":"bge","input":["Zanzibar","b","c"]}"#,
        status: 200,
        content_type: "application/json",
        answer: &[br#"{"model":"bge","data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}"#],
        ends: true,
        flags: 0,
    })
}

/// Everything that a record can hold is known.
pub(crate) fn everything() -> RequestRecord {
    RequestRecord {
        request_model: Some(Text::from("qwen3")),
        response_model: Some(Text::from("qwen3-30b")),
        error_type: Some(Text::from("in_stream_error")),
        outcome: Outcome::InStreamError,
        finish_reason: Some(FinishReason::ToolCalls),
        attempts: 3,
        choices: 2,
        usage: Usage {
            input: Some(100),
            output: Some(50),
            cached_input: Some(64),
            cache_write_input: Some(16),
            reasoning: Some(20),
        },
        usage_status: UsageStatus::Partial,
        usage_reason: UsageReason::StreamAborted,
        estimated_output: Some(48),
        durations: Durations {
            request: Some(900 * MILLISECOND),
            time_to_request_end: Some(1),
            time_to_response_headers: Some(2),
            time_to_first_byte: Some(250 * MILLISECOND),
            time_to_first_token: Some(300 * MILLISECOND),
            time_to_first_visible_token: Some(500 * MILLISECOND),
            decode: Some(400 * MILLISECOND),
            max_gap: Some(125 * MILLISECOND),
        },
        telemetry: Telemetry {
            queue_nanos: Some(50 * MILLISECOND),
            time_to_first_token_nanos: Some(200 * MILLISECOND),
            processing_nanos: Some(800 * MILLISECOND),
            ..Telemetry::default()
        },
        ..streamed()
    }
}

/// Records of every kind: of each exchange above, and each outcome and finish reason.
pub(crate) fn all_records() -> Vec<RequestRecord> {
    let mut records = vec![
        streamed(),
        broken_off(),
        whole(),
        refused(),
        embeddings(),
        everything(),
    ];
    for outcome in Outcome::ALL {
        let error = (outcome != Outcome::Success).then(|| Text::from(outcome.as_str()));
        records.push(RequestRecord {
            outcome,
            error_type: error,
            ..streamed()
        });
    }
    for reason in FinishReason::ALL {
        records.push(RequestRecord {
            finish_reason: Some(reason),
            ..everything()
        });
    }
    records
}
