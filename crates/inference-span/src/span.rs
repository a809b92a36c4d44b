//! The span of one request.

use llm_payloads::Text;

use crate::attribute::{Attribute, Value, Words};
use crate::facts::SpanFacts;
use crate::sampler::Kept;

/// On which side of a request a span stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// The one that asks: what the conventions define for inference.
    Client,
    /// The one that answers, for a proxy that is the front of a server.
    Server,
}

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    /// What happened.
    pub name: &'static str,
    /// When, in nanoseconds since 1970; never outside the span.
    pub time_unix_nanos: u64,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Well, which by the conventions is not for an instrumentation to say.
    Unset,
    /// With an error.
    Error {
        /// The outcome in one word; never a message of anybody's.
        description: &'static str,
    },
}

/// The span of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span.
    pub span_id: [u8; 8],
    /// The span above it.
    pub parent_span_id: Option<[u8; 8]>,
    /// As OTLP has them: the flags of W3C Trace Context in the low byte, and above them bit 8, that it is known whether
    /// the parent is remote, and bit 9, that it is.
    pub flags: u32,
    /// `tracestate` as it came; may be empty.
    pub trace_state: String,
    /// The operation, with the model where metrics show its name.
    pub name: String,
    /// On which side it stands.
    pub kind: SpanKind,
    /// When it began, in nanoseconds since 1970.
    pub start_unix_nanos: u64,
    /// When it ended: later by exactly the request's duration.
    pub end_unix_nanos: u64,
    /// What is known of it, each name once.
    pub attributes: Vec<Attribute>,
    /// What happened within it, in the order of time.
    pub events: Vec<SpanEvent>,
    /// How it ended.
    pub status: SpanStatus,
}

/// Whether the parent is remote is known.
const HAS_IS_REMOTE: u32 = 0x100;
/// The parent is remote.
const IS_REMOTE: u32 = 0x200;

impl SpanFacts<'_> {
    /// The span, and why there is one, which a [`Sampler`](crate::Sampler) says.
    #[must_use]
    pub fn span(&self, kept: Kept) -> Span {
        let context = &self.identity.context;
        let times = self.times();
        let kept_for = kept
            .exception()
            .map(|word| Attribute::new("inference.span.kept_for", Value::Text(word.into())));
        let trace_flags = match kept {
            Kept::Sampled => context.sampled_flags(),
            Kept::Error | Kept::Slow => context.flags,
        };
        // A parent is known by a header only, so it is somebody else's.
        let remote = self.identity.parent_span_id.map_or(0, |_| IS_REMOTE);
        Span {
            trace_id: context.trace_id,
            span_id: context.span_id,
            parent_span_id: self.identity.parent_span_id,
            flags: u32::from(trace_flags) | HAS_IS_REMOTE | remote,
            trace_state: context.trace_state.clone(),
            name: self.name(),
            kind: self.kind,
            start_unix_nanos: times.start,
            end_unix_nanos: times.end,
            attributes: self.attributes(kept_for),
            events: self.events(),
            status: match self.record.error_type {
                None => SpanStatus::Unset,
                Some(_) => SpanStatus::Error {
                    description: self.record.outcome.as_str(),
                },
            },
        }
    }

    /// Names of spans become labels of metrics, so they hold admitted models only.
    fn name(&self) -> String {
        let operation = self.record.api.operation();
        match self.labels.model {
            "" | "unknown" | "other" => operation.to_owned(),
            model => format!("{operation} {}", Text::from(model).as_str()),
        }
    }

    fn events(&self) -> Vec<SpanEvent> {
        let times = self.times();
        let at = |nanos: u64| times.start.saturating_add(nanos).min(times.end);
        let first = self.moment(|durations| durations.time_to_first_token);
        let mut events: Vec<_> = [
            ("inference.first_token", first),
            ("inference.first_visible_token", self.later_visible_token()),
        ]
        .into_iter()
        .filter_map(|(name, nanos)| {
            Some(SpanEvent {
                name,
                time_unix_nanos: at(nanos?),
                attributes: Vec::new(),
            })
        })
        .collect();
        events.extend(self.error_words().map(|[exception, error]| SpanEvent {
            name: "exception",
            time_unix_nanos: times.end,
            attributes: vec![exception, error],
        }));
        events
    }

    /// What the conventions call the error of a failed request, in an exception and everywhere else.
    pub(crate) fn error_words(&self) -> Option<[Attribute; 2]> {
        let error = self.record.error_type.as_ref()?;
        let word = || Value::Text(Words::from(error.as_str().to_owned()));
        Some(["exception.type", "error.type"].map(|key| Attribute::new(key, word())))
    }
}
