//! Spans and log records, each encoded when its request ends, and requests of many.

use inference_span::{Attribute, FailureLog, Span, SpanEvent, SpanKind, SpanStatus};

use crate::attributes::key_value;
use crate::messages::{self, KIND_CLIENT, KIND_SERVER, KeyValue, LogRecord, STATUS_ERROR};
use crate::sender::{Sender, field};

/// A span or a log record as it lies in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item(Vec<u8>);

impl Item {
    /// A span, for a request of traces.
    #[must_use]
    pub fn span(span: Span) -> Item {
        let message = messages::Span {
            trace_id: span.trace_id.to_vec(),
            span_id: span.span_id.to_vec(),
            trace_state: span.trace_state,
            parent_span_id: span.parent_span_id.map_or_else(Vec::new, |id| id.to_vec()),
            name: span.name,
            kind: match span.kind {
                SpanKind::Server => KIND_SERVER,
                SpanKind::Client => KIND_CLIENT,
            },
            start_time_unix_nano: span.start_unix_nanos,
            end_time_unix_nano: span.end_unix_nanos,
            attributes: attributes(span.attributes),
            events: span.events.into_iter().map(event).collect(),
            status: match span.status {
                SpanStatus::Unset => None,
                SpanStatus::Error { description } => Some(messages::SpanStatus {
                    message: description.to_owned(),
                    code: STATUS_ERROR,
                }),
            },
            flags: span.flags,
        };
        Item(field(2, &message))
    }

    /// A log record, for a request of logs.
    #[must_use]
    pub fn log(log: FailureLog) -> Item {
        let place = log.place;
        let message = LogRecord {
            time_unix_nano: log.time_unix_nanos,
            // Whoever observes it is who makes it.
            observed_time_unix_nano: log.time_unix_nanos,
            severity_number: log.severity.number(),
            severity_text: log.severity.as_str().to_owned(),
            attributes: attributes(log.attributes),
            flags: place.map_or(0, |place| u32::from(place.flags)),
            trace_id: place.map_or_else(Vec::new, |place| place.trace_id.to_vec()),
            span_id: place.map_or_else(Vec::new, |place| place.span_id.to_vec()),
            event_name: log.event_name.to_owned(),
        };
        Item(field(2, &message))
    }

    /// How many bytes of a request it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

impl Sender {
    /// The request of items that are all of one signal.
    #[must_use]
    pub fn request_of<'a>(&self, items: impl Iterator<Item = &'a Item>) -> Vec<u8> {
        let mut encoded = Vec::new();
        for Item(bytes) in items {
            encoded.extend_from_slice(bytes);
        }
        self.request(&encoded)
    }
}

fn event(event: SpanEvent) -> messages::SpanEvent {
    messages::SpanEvent {
        time_unix_nano: event.time_unix_nanos,
        name: event.name.to_owned(),
        attributes: attributes(event.attributes),
    }
}

fn attributes(attributes: Vec<Attribute>) -> Vec<KeyValue> {
    attributes
        .into_iter()
        .map(|attribute| key_value(&attribute.key, attribute.value))
        .collect()
}
