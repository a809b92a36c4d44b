//! The log record of a failed request.

use crate::attribute::Attribute;
use crate::facts::SpanFacts;
use crate::sampler::Kept;
use crate::span::SpanKind;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A request of somebody's failed; whether that matters is for whoever asked to say.
    Warn,
    /// The server that this proxy stands for failed.
    Error,
}

impl Severity {
    /// The number that OpenTelemetry has for it.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Warn => 13,
            Self::Error => 17,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// Where in a trace a log record belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPlace {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span in it.
    pub span_id: [u8; 8],
    /// The flags of W3C Trace Context.
    pub flags: u8,
}

/// The log record of a failed request. It has no body: all that it says are its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureLog {
    /// When the request ended, in nanoseconds since 1970.
    pub time_unix_nanos: u64,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of record it is.
    pub event_name: &'static str,
    /// What is known, each name once: `exception.type` and what the span has.
    pub attributes: Vec<Attribute>,
    /// Where it belongs: to the request's span; where none is made, to its parent; where there is none either, nowhere.
    pub place: Option<LogPlace>,
}

impl SpanFacts<'_> {
    /// The log record, if the request failed. `kept` says whether it has a span, and why.
    #[must_use]
    pub fn failure_log(&self, kept: Option<Kept>) -> Option<FailureLog> {
        let [exception, _] = self.error_words()?;
        // The conventions' own repository has an event for clients only.
        let (severity, event_name) = match self.kind {
            SpanKind::Client => (Severity::Warn, "gen_ai.client.operation.exception"),
            SpanKind::Server => (Severity::Error, "inference.request.failed"),
        };
        Some(FailureLog {
            time_unix_nanos: self.times().end,
            severity,
            event_name,
            attributes: self.attributes(Some(exception)),
            place: self.place(kept),
        })
    }

    fn place(&self, kept: Option<Kept>) -> Option<LogPlace> {
        let context = &self.identity.context;
        let place = LogPlace {
            trace_id: context.trace_id,
            span_id: context.span_id,
            flags: context.flags,
        };
        match kept {
            Some(Kept::Sampled) => Some(LogPlace {
                flags: context.sampled_flags(),
                ..place
            }),
            Some(Kept::Error | Kept::Slow) => Some(place),
            None => self
                .identity
                .parent_span_id
                .map(|span_id| LogPlace { span_id, ..place }),
        }
    }
}
