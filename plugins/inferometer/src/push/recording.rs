//! What is made of a finished request besides metrics: a span, and a log record if it failed.

use hostcalls::HeaderPairs;
use inference_span::{
    Kept, Sampler, Semconv, SpanFacts, SpanIdentity, SpanKind, SpanLabels, Text, TraceContext,
    baggage,
};
use otlp_encoding::{Exemplar, Item};
use plugin_config::{Config, Push, PushSpanKind, PushTraces};
use request_observer::{Purpose, RequestRecord};

use super::identity::random;
use super::pusher::of_this_machine;
use crate::ending::Facts;
use crate::worker::Worker;

const NANOS_PER_MILLI: u64 = 1_000_000;
/// How Envoy numbers a listener for what comes to the workload beside it.
const INBOUND: u64 = 1;
/// The most bytes of one header that are kept.
const HEADER_BYTES: usize = 8 << 10;

/// What a configuration wants to be recorded of each request.
pub(crate) struct Recording {
    traces: Option<Traces>,
    logs: bool,
    semconv: Semconv,
    provider: String,
}

struct Traces {
    sampler: Sampler,
    kind: Option<SpanKind>,
    follow_parent: bool,
    baggage: Vec<String>,
}

/// What a request's headers say of the trace that it belongs to.
pub(crate) struct Propagated {
    parent: Option<TraceContext>,
    /// The values that become attributes.
    baggage: Vec<(String, Text)>,
}

/// A request that is over.
pub(crate) struct Recorded<'a> {
    pub(crate) record: &'a RequestRecord,
    pub(crate) facts: &'a Facts,
    /// The model as labels show it.
    pub(crate) model: &'a str,
    /// What the request's headers said when it came.
    pub(crate) early: Option<&'a Propagated>,
    /// A proxy may tell of the end long after the last byte has passed.
    pub(crate) ended_ago_nanos: u64,
}

impl Recording {
    /// What a configuration says.
    pub(crate) fn of(config: &Config) -> Recording {
        let push = config.push();
        Recording {
            traces: push.and_then(Push::traces).map(Traces::of),
            logs: push.is_some_and(|push| push.logs().is_some()),
            semconv: match config.semconv() {
                plugin_config::Semconv::V1_41 => Semconv::V1_41,
                plugin_config::Semconv::Head => Semconv::Head,
            },
            provider: config.provider().unwrap_or_default().to_owned(),
        }
    }

    /// Whether anything is.
    pub(crate) fn is_on(&self) -> bool {
        self.traces.is_some() || self.logs
    }

    /// Keeps what a request's headers say of its trace, for a request whose end brings no headers.
    pub(crate) fn propagated(&self, headers: &HeaderPairs) -> Option<Box<Propagated>> {
        self.is_on().then(|| Box::new(self.read(headers)))
    }

    /// Reads them. A header that comes more than once is one list, as everywhere in HTTP.
    fn read(&self, headers: &HeaderPairs) -> Propagated {
        let joined = |wanted: &[u8]| {
            let mut joined: Vec<u8> = Vec::new();
            for (name, value) in headers {
                let room = HEADER_BYTES.saturating_sub(joined.len());
                if name == wanted && value.len() < room {
                    if !joined.is_empty() {
                        joined.push(b',');
                    }
                    joined.extend(value);
                }
            }
            joined
        };
        let follows = self
            .traces
            .as_ref()
            .is_none_or(|traces| traces.follow_parent);
        let keys = self.traces.as_ref().map(|traces| traces.baggage.as_slice());
        let keys = keys.unwrap_or_default();
        let mut read = Propagated {
            parent: None,
            baggage: Vec::new(),
        };
        if follows {
            let parent = TraceContext::parse(&joined(b"traceparent"), &joined(b"tracestate"));
            read.parent = parent.ok();
        }
        if !keys.is_empty() {
            let header = joined(b"baggage");
            let found = baggage(&header, keys);
            read.baggage = found.map(|(key, value)| (key.to_owned(), value)).collect();
        }
        read
    }

    /// Records a request that is over.
    pub(crate) fn record(&self, recorded: &Recorded<'_>, worker: &mut Worker) {
        let Recorded { record, facts, .. } = *recorded;
        if !self.is_on() || record.purpose != Purpose::Client {
            return;
        }
        // If the proxy traces, its own span stands in the headers that went to the upstream, and is the better parent.
        let late = self.read(&facts.request_headers);
        let propagated = match recorded.early {
            Some(early) if late.parent.is_none() => early,
            _ => &late,
        };
        let identity = match &propagated.parent {
            Some(parent) => SpanIdentity::child_of(parent, random()),
            None => SpanIdentity::root(random()),
        };
        let traces = self.traces.as_ref();
        let kept = traces.and_then(|traces| traces.sampler.decide(&identity, record));
        let is_logged = self.logs && record.error_type.is_some();
        if kept.is_none() && !is_logged {
            return;
        }
        let wall = hostcalls::wall_nanos();
        let wall = worker.note(wall).unwrap_or_default();
        let pairs = propagated.baggage.iter();
        let baggage: Vec<_> = pairs.map(|(key, value)| (key.as_str(), *value)).collect();
        let (address, port) = facts.server().unzip();
        let span_facts = SpanFacts {
            record,
            identity: &identity,
            kind: self.kind(worker),
            ended_at_unix_nanos: wall.saturating_sub(recorded.ended_ago_nanos),
            labels: SpanLabels {
                model: recorded.model,
                provider: &self.provider,
                server_address: address,
                server_port: port.and_then(|port| port.parse().ok()),
            },
            baggage: &baggage,
            semconv: self.semconv,
        };
        let pusher = of_this_machine();
        if let Ok(mut pusher) = pusher.try_borrow_mut() {
            if let Some(kept) = kept {
                pusher.record_span(Item::span(span_facts.span(kept)), worker);
            }
            if kept == Some(Kept::Sampled) {
                let place = (identity.context.trace_id, identity.context.span_id);
                let time = span_facts.ended_at_unix_nanos;
                let times = worker.last_times();
                pusher.record_exemplars(times.map(|(metric, labels, amount)| {
                    Exemplar::new(metric, labels, amount, time, place)
                }));
            }
            if is_logged && let Some(log) = span_facts.failure_log(kept) {
                pusher.record_log(Item::log(log), worker);
            }
        };
    }

    /// Where nothing else is said, whoever answers for the workload beside it is a server, whoever asks for it a client.
    fn kind(&self, worker: &mut Worker) -> SpanKind {
        if let Some(kind) = self.traces.as_ref().and_then(|traces| traces.kind) {
            return kind;
        }
        let direction = hostcalls::property_u64("xds\0listener_direction");
        match worker.note(direction).flatten() {
            Some(INBOUND) => SpanKind::Server,
            _ => SpanKind::Client,
        }
    }
}

impl Traces {
    fn of(traces: &PushTraces) -> Traces {
        Traces {
            sampler: Sampler {
                ratio: traces.ratio(),
                keep_errors: traces.keep_errors(),
                keep_slower_than_nanos: traces
                    .keep_slower_than_millis()
                    .map(|millis| u64::from(millis).saturating_mul(NANOS_PER_MILLI)),
            },
            kind: traces.kind().map(|kind| match kind {
                PushSpanKind::Client => SpanKind::Client,
                PushSpanKind::Server => SpanKind::Server,
            }),
            follow_parent: traces.follow_parent(),
            baggage: traces.baggage().to_vec(),
        }
    }
}
