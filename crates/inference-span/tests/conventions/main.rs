//! What is made follows the semantic conventions, whatever was measured, in both of their versions.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

#[path = "../requests/mod.rs"]
mod requests;
mod table;

use inference_span::{Attribute, Kept, Semconv, SpanFacts, SpanKind, SpanLabels, Text, Value};
use request_observer::RequestRecord;
use table::{Met, Signal, complaints};

fn met(attributes: &[Attribute]) -> Vec<Met<'_>> {
    attributes
        .iter()
        .map(|attribute| {
            let (value_type, texts) = match &attribute.value {
                Value::Text(text) => ("string", vec![text.as_ref()]),
                Value::TextList(texts) => ("string[]", texts.iter().map(AsRef::as_ref).collect()),
                Value::Int(_) => ("int", Vec::new()),
                Value::Double(_) => ("double", Vec::new()),
                Value::Bool(_) => ("boolean", Vec::new()),
            };
            Met {
                key: attribute.key.as_ref(),
                value_type,
                texts,
            }
        })
        .collect()
}

fn check(record: &RequestRecord, kind: SpanKind, semconv: Semconv, version: &str) {
    let identity = requests::identity();
    let baggage = [
        ("tenant", Text::from("blue")),
        ("error.type", Text::from("taken")),
    ];
    for labels in [SpanLabels::default(), requests::labels()] {
        let facts = SpanFacts {
            kind,
            semconv,
            labels,
            baggage: &baggage,
            ..requests::facts(record, &identity)
        };
        let complain = |signal, attributes: &[Attribute]| {
            let found = complaints(signal, version, &met(attributes), &["tenant"]);
            assert_eq!(found, Vec::<String>::new(), "{signal:?} of {record:?}");
        };
        for kept in [Kept::Sampled, Kept::Error, Kept::Slow] {
            let span = facts.span(kept);
            complain(Signal::Span, &span.attributes);
            for event in &span.events {
                if event.name == "exception" {
                    complain(Signal::ExceptionEvent, &event.attributes);
                }
            }
            if let Some(log) = facts.failure_log(Some(kept)) {
                complain(Signal::FailureLog, &log.attributes);
            }
        }
    }
}

#[test]
fn every_kind_of_request_follows_both_versions() {
    for record in requests::all_records() {
        for kind in [SpanKind::Client, SpanKind::Server] {
            check(&record, kind, Semconv::V1_41, "v1.41");
            check(&record, kind, Semconv::Head, "head");
        }
    }
}

#[test]
fn every_operation_and_provider_of_an_api_is_listed() {
    for api in request_observer::Api::ALL {
        let record = RequestRecord {
            api,
            ..requests::streamed()
        };
        check(&record, SpanKind::Client, Semconv::V1_41, "v1.41");
    }
}

#[test]
fn the_table_finds_what_is_wrong() {
    let text = |key, text| Met {
        key,
        value_type: "string",
        texts: vec![text],
    };
    let int = |key| Met {
        key,
        value_type: "int",
        texts: Vec::new(),
    };
    let good = [
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", "x"),
    ];
    for (wrong, message) in [
        (text("gen_ai.system", "openai"), "is unknown"),
        (
            text("gen_ai.usage.input_tokens", "9"),
            "is string and not \"int\"",
        ),
        (
            int("gen_ai.usage.cache_write.input_tokens"),
            "is not in v1.41",
        ),
        (text("gen_ai.output.type", "smell"), "which is not listed"),
        (text("gen_ai.request.model", ""), "is empty"),
        (int("server.port"), "stands without server.address"),
        (text("gen_ai.input.messages", "[]"), "holds content"),
        (text("exception.type", "x"), "is unknown"),
        (text("gen_ai.provider.name", "y"), "stands twice"),
    ] {
        let all = [good.to_vec(), vec![wrong]].concat();
        let found = complaints(Signal::Span, "v1.41", &all, &[]).concat();
        assert!(found.contains(message), "{message}: {found}");
    }
    for (missing, kept) in [(0, 1), (1, 0)] {
        let found = complaints(Signal::Span, "v1.41", &good[kept..=kept], &[]);
        assert_eq!(found, [format!("{} is missing", good[missing].key)]);
    }
    assert_eq!(
        complaints(Signal::Span, "v1.41", &good, &[]),
        Vec::<String>::new()
    );
}
