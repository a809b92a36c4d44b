//! Holds spans and log records, as a receiver got them, against the semantic conventions.

#[path = "../../crates/inference-span/tests/conventions/table.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "it is a test's, and fails by panicking"
)]
mod table;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use table::{Met, Signal, complaints};

/// What is wrong with a span's attributes, and those of its exceptions; `configured` are an operator's.
#[must_use]
pub fn span_complaints(span: &Span, configured: &[&str]) -> Vec<String> {
    let mut found = complain(Signal::Span, &span.attributes, configured);
    for event in span.events.iter().filter(|event| event.name == "exception") {
        found.extend(complain(Signal::ExceptionEvent, &event.attributes, &[]));
    }
    found
}

/// What is wrong with a log record's attributes; `configured` are an operator's.
#[must_use]
pub fn log_complaints(log: &LogRecord, configured: &[&str]) -> Vec<String> {
    complain(Signal::FailureLog, &log.attributes, configured)
}

fn complain(signal: Signal, attributes: &[KeyValue], configured: &[&str]) -> Vec<String> {
    let met: Vec<Met<'_>> = attributes.iter().map(met).collect();
    complaints(signal, "v1.41", &met, configured)
}

fn met(attribute: &KeyValue) -> Met<'_> {
    let value = |value: Option<&'_ Value>| match value {
        Some(Value::StringValue(_)) => "string",
        Some(Value::IntValue(_)) => "int",
        Some(Value::DoubleValue(_)) => "double",
        Some(Value::BoolValue(_)) => "boolean",
        Some(Value::ArrayValue(_)) => "string[]",
        _ => "a value of no known type",
    };
    let held = attribute
        .value
        .as_ref()
        .and_then(|value| value.value.as_ref());
    let texts = match held {
        Some(Value::StringValue(text)) => vec![text.as_str()],
        Some(Value::ArrayValue(array)) => array
            .values
            .iter()
            .filter_map(|value| match value.value.as_ref() {
                Some(Value::StringValue(text)) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Met {
        key: &attribute.key,
        value_type: value(held),
        texts,
    }
}
