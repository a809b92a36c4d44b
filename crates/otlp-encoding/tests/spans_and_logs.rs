//! Spans and log records, read by the published messages.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use inference_span::{
    Kept, Semconv, SpanFacts, SpanIdentity, SpanKind, SpanLabels, Text, TraceContext,
};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, span, status::StatusCode};
use otlp_encoding::{Item, ResourceAttributes, Sender};
use prost::Message;
use request_observer::{
    Ending, RequestHead, RequestObserver, RequestRecord, ResponseHead, Settings, Stamp,
};

const END: u64 = 1_700_000_000_000_000_000;

fn record(status: u16) -> RequestRecord {
    let settings = Settings::default();
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/chat/completions",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    observer.request_body(br#"{"model":"m","stream":true}"#, true, Stamp(1));
    let head = ResponseHead {
        status,
        content_type: b"text/event-stream",
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(10), &settings);
    for (at, body) in [
        (
            20,
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        ),
        (
            30,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
    ] {
        observer.response_body(body.as_bytes(), false, Stamp(at), &settings);
    }
    let ending = Ending {
        code: Some(u64::from(status)),
        code_details: b"via_upstream",
        known: true,
        ..Ending::default()
    };
    observer.close(&ending, Stamp(40)).unwrap()
}

fn parent() -> TraceContext {
    let traceparent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    TraceContext::parse(traceparent, b"a=1").unwrap()
}

/// A span and, if there is one, a log record of the request.
fn items(status: u16, kind: SpanKind, identity: &SpanIdentity) -> (Item, Option<Item>) {
    let record = record(status);
    let facts = SpanFacts {
        record: &record,
        identity,
        kind,
        ended_at_unix_nanos: END,
        labels: SpanLabels {
            model: "m",
            ..SpanLabels::default()
        },
        baggage: &[("tenant", Text::from("blue"))],
        semconv: Semconv::V1_41,
    };
    let log = facts.failure_log(Some(Kept::Sampled)).map(Item::log);
    (Item::span(facts.span(Kept::Sampled)), log)
}

fn sender() -> Sender {
    let mut resource = ResourceAttributes::default();
    resource.set("service.name", "gateway");
    Sender::new(&resource, "inferometer", "1.2.3")
}

fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    let held = attributes.iter().find(|attribute| attribute.key == key)?;
    held.value.as_ref()?.value.as_ref()
}

fn text(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

fn spans(bytes: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(bytes).unwrap();
    let resource = &request.resource_spans[0];
    let attributes = &resource.resource.as_ref().unwrap().attributes;
    assert_eq!(value(attributes, "service.name"), Some(&text("gateway")));
    let scope = &resource.scope_spans[0];
    assert_eq!(scope.scope.as_ref().unwrap().name, "inferometer");
    assert_eq!(scope.schema_url, resource.schema_url);
    assert!(scope.schema_url.ends_with("/1.41.0"));
    scope.spans.clone()
}

#[test]
fn a_span_has_every_field_that_was_made() {
    let identity = SpanIdentity::child_of(&parent(), [7; 8]);
    let (item, log) = items(200, SpanKind::Client, &identity);
    assert_eq!(log, None);
    let bytes = sender().request_of([&item].into_iter());
    let spans = spans(&bytes);
    let [span] = spans.as_slice() else {
        unreachable!("{spans:?}")
    };
    assert_eq!(span.trace_id, parent().trace_id);
    assert_eq!(span.span_id, [7; 8]);
    assert_eq!(span.parent_span_id, parent().span_id);
    assert_eq!(span.trace_state, "a=1");
    assert_eq!(span.flags, 0x301);
    assert_eq!(span.name, "chat m");
    assert_eq!(span.kind(), span::SpanKind::Client);
    assert_eq!(
        (span.start_time_unix_nano, span.end_time_unix_nano),
        (END - 40, END)
    );
    assert_eq!(span.status, None);
    let held = |key| value(&span.attributes, key);
    assert_eq!(held("tenant"), Some(&text("blue")));
    assert_eq!(held("gen_ai.request.stream"), Some(&Value::BoolValue(true)));
    assert_eq!(
        held("http.response.status_code"),
        Some(&Value::IntValue(200))
    );
    assert_eq!(
        held("inference.time_to_first_token"),
        Some(&Value::DoubleValue(20e-9))
    );
    let reasons = ArrayValue {
        values: vec![AnyValue {
            value: Some(text("stop")),
        }],
    };
    assert_eq!(
        held("gen_ai.response.finish_reasons"),
        Some(&Value::ArrayValue(reasons))
    );
    assert_eq!(span.events.len(), 1);
    assert_eq!(span.events[0].name, "inference.first_token");
    assert_eq!(span.events[0].time_unix_nano, END - 20);
}

#[test]
fn a_failed_request_has_a_status_an_event_and_a_log_record() {
    let identity = SpanIdentity::root([9; 24]);
    let (item, log) = items(500, SpanKind::Server, &identity);
    let spans = spans(&sender().request_of([&item].into_iter()));
    let span = &spans[0];
    assert_eq!(span.kind(), span::SpanKind::Server);
    assert_eq!(span.parent_span_id, [] as [u8; 0]);
    let status = span.status.as_ref().unwrap();
    assert_eq!(status.code(), StatusCode::Error);
    assert!(!status.message.is_empty());
    let exception = span.events.last().unwrap();
    assert_eq!(exception.name, "exception");
    assert_eq!(
        value(&exception.attributes, "error.type"),
        Some(&text("500"))
    );

    let bytes = sender().request_of([&log.unwrap()].into_iter());
    let request = ExportLogsServiceRequest::decode(bytes.as_slice()).unwrap();
    let log = &request.resource_logs[0].scope_logs[0].log_records[0];
    assert_eq!(
        (log.time_unix_nano, log.observed_time_unix_nano),
        (END, END)
    );
    assert_eq!(
        (log.severity_number, log.severity_text.as_str()),
        (17, "ERROR")
    );
    assert_eq!(log.event_name, "inference.request.failed");
    assert_eq!(log.span_id, span.span_id);
    assert_eq!(log.trace_id, span.trace_id);
    assert_eq!(log.flags, 0x03);
    assert_eq!(log.body, None);
    assert_eq!(value(&log.attributes, "error.type"), Some(&text("500")));
}

#[test]
fn many_items_make_one_request_whose_size_is_theirs_and_little_more() {
    let identity = SpanIdentity::root([9; 24]);
    let (item, _) = items(200, SpanKind::Client, &identity);
    let (other, _) = items(500, SpanKind::Client, &identity);
    let alone = sender().request_of([].into_iter()).len();
    let bytes = sender().request_of([&item, &other, &item].into_iter());
    let spans = spans(&bytes);
    assert_eq!(spans.len(), 3);
    assert_eq!(spans[0], spans[2]);
    let sizes = item.size() * 2 + other.size();
    assert!((sizes..sizes + alone + 16).contains(&bytes.len()));
}
