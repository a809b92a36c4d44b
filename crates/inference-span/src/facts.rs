//! What is known of a finished request besides its record, and the attributes that all of it amounts to.

use llm_payloads::Text;
use request_observer::{Durations, FinishReason, RequestRecord, UsageStatus};

use crate::attribute::{Attribute, Attributes, Value};
use crate::{Semconv, SpanIdentity, SpanKind};

/// What the caller knows of the request besides its record.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanLabels<'a> {
    /// The model as metrics may show it: an admitted name, or `other`, `unknown` or empty where there is none.
    pub model: &'a str,
    /// The provider; empty for the one that the API implies.
    pub provider: &'a str,
    /// The server's address.
    pub server_address: Option<&'a str>,
    /// Its port, shown beside an address only.
    pub server_port: Option<u16>,
}

/// One finished request, out of which a [`Span`](crate::Span) and a [`FailureLog`](crate::FailureLog) are made.
#[derive(Clone, Copy, Debug)]
pub struct SpanFacts<'a> {
    /// What was measured.
    pub record: &'a RequestRecord,
    /// Where the span stands in its trace.
    pub identity: &'a SpanIdentity,
    /// On which side of the request the span stands.
    pub kind: SpanKind,
    /// The wall clock at the end of the request, in nanoseconds since 1970.
    pub ended_at_unix_nanos: u64,
    /// What else is shown.
    pub labels: SpanLabels<'a>,
    /// What was taken over from [`baggage`](crate::baggage()): each becomes an attribute under its own key, unless the
    /// span has one of that name.
    pub baggage: &'a [(&'a str, Text)],
    /// Which version of the conventions names the attributes.
    pub semconv: Semconv,
}

/// When a request began and ended, in nanoseconds since 1970.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl SpanFacts<'_> {
    /// The wall clock gives the end, the monotonic clock the duration, so that the span is as long as the metrics say,
    /// whatever was done to the wall clock meanwhile. An end before the duration could have passed since 1970 is moved.
    pub(crate) fn times(&self) -> Times {
        let duration = self.record.durations.request.unwrap_or_default();
        let start = self.ended_at_unix_nanos.saturating_sub(duration);
        Times {
            start,
            end: start.saturating_add(duration),
        }
    }

    /// A moment of a streamed answer, which lies within the request. Metrics show these for streams only.
    pub(crate) fn moment(&self, moment: impl Fn(&Durations) -> Option<u64>) -> Option<u64> {
        moment(&self.record.durations).filter(|_| self.record.stream)
    }

    /// The first output that is no reasoning, where it was not the first output.
    pub(crate) fn later_visible_token(&self) -> Option<u64> {
        self.moment(|durations| durations.time_to_first_visible_token)
            .filter(|visible| Some(*visible) != self.record.durations.time_to_first_token)
    }

    /// The attributes that span and log record have in common, and what only one of them has. Names from outside come
    /// last, so that they take none of ours.
    pub(crate) fn attributes(&self, only_here: Option<Attribute>) -> Vec<Attribute> {
        let mut attributes = Attributes::default();
        self.conventional(&mut attributes);
        self.usage(&mut attributes);
        self.own(&mut attributes);
        if let Some(Attribute { key, value }) = only_here {
            attributes.push(key, value);
        }
        for (key, value) in self.baggage {
            attributes.text((*key).to_owned(), Some(value));
        }
        attributes.into_vec()
    }

    /// The attributes of the conventions but for usage.
    fn conventional(&self, attributes: &mut Attributes) {
        let (record, labels) = (self.record, &self.labels);
        attributes.word("gen_ai.operation.name", record.api.operation());
        attributes.text("gen_ai.provider.name", Some(&Text::from(labels.provider)));
        // Does nothing where a provider was given.
        attributes.word("gen_ai.provider.name", record.api.provider());
        attributes.text("gen_ai.request.model", record.request_model.as_ref());
        attributes.text("gen_ai.response.model", record.response_model.as_ref());
        if record.stream {
            attributes.push("gen_ai.request.stream", Value::Bool(true));
        }
        // An embedding of several inputs is no choice among several answers.
        let generates = record.api.dialect().rules.generates;
        let choices = Some(record.choices).filter(|choices| *choices > 1 && generates);
        attributes.int("gen_ai.request.choice.count", choices.map(u64::from));
        if let Some(reason) = self.finish_reason() {
            let reasons = vec![reason.as_str().into()];
            attributes.push("gen_ai.response.finish_reasons", Value::TextList(reasons));
        }
        attributes.seconds(
            "gen_ai.response.time_to_first_chunk",
            self.moment(|durations| durations.time_to_first_byte),
        );
        attributes.text("error.type", record.error_type.as_ref());
        if let Some(address) = labels.server_address.filter(|address| !address.is_empty()) {
            attributes.text("server.address", Some(&Text::from(address)));
            attributes.int("server.port", labels.server_port.map(u64::from));
        }
        attributes.int("http.response.status_code", record.status.map(u64::from));
    }

    /// The head of the conventions wants `error` for an accepted stream that was interrupted.
    fn finish_reason(&self) -> Option<FinishReason> {
        let record = self.record;
        let was_interrupted = record.accepted && record.stream && record.error_type.is_some();
        let implied =
            (self.semconv == Semconv::Head && was_interrupted).then_some(FinishReason::Error);
        record.finish_reason.or(implied)
    }

    /// The numbers that the server stated; what it did not state is left out, for zero would be a number.
    fn usage(&self, attributes: &mut Attributes) {
        let usage = &self.record.usage;
        let cache_write = match self.semconv {
            Semconv::V1_41 => "gen_ai.usage.cache_creation.input_tokens",
            Semconv::Head => "gen_ai.usage.cache_write.input_tokens",
        };
        for (key, number) in [
            ("gen_ai.usage.input_tokens", usage.input),
            ("gen_ai.usage.output_tokens", usage.output),
            ("gen_ai.usage.cache_read.input_tokens", usage.cached_input),
            (cache_write, usage.cache_write_input),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
        ] {
            attributes.int(key, number);
        }
    }

    /// What the conventions have no name for.
    fn own(&self, attributes: &mut Attributes) {
        let record = self.record;
        attributes.word("inference.outcome", record.outcome.as_str());
        attributes.word("inference.usage.status", record.usage_status.as_str());
        if record.usage_status != UsageStatus::Reported {
            attributes.word("inference.usage.reason", record.usage_reason.as_str());
        }
        attributes.int(
            "inference.usage.estimated_output_tokens",
            record.estimated_output,
        );
        let attempts = Some(record.attempts).filter(|attempts| *attempts != 1);
        attributes.int("inference.attempts", attempts);
        let told = &record.telemetry;
        for (key, nanos) in [
            (
                "inference.time_to_first_token",
                self.moment(|durations| durations.time_to_first_token),
            ),
            (
                "inference.time_to_first_visible_token",
                self.later_visible_token(),
            ),
            (
                "inference.stream.max_gap",
                self.moment(|durations| durations.max_gap),
            ),
            ("inference.server.queue_time", told.queue_nanos),
            (
                "inference.server.time_to_first_token",
                told.time_to_first_token_nanos,
            ),
            ("inference.server.processing_time", told.processing_nanos),
        ] {
            attributes.seconds(key, nanos);
        }
    }
}
