//! What is made of a finished request besides metrics: a span, and a log record if it failed.

use hostcalls::HeaderPairs;
use inference_span::{
    Kept, Sampler, Semconv, SpanFacts, SpanIdentity, SpanKind, SpanLabels, TraceContext, baggage,
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
#[derive(Default)]
pub(crate) struct Propagated {
    traceparent: Vec<u8>,
    tracestate: Vec<u8>,
    baggage: Vec<u8>,
}

impl Propagated {
    /// Reads them. A header that comes more than once is one list, as everywhere in HTTP.
    fn read(headers: &HeaderPairs) -> Propagated {
        let mut read = Propagated::default();
        for (name, value) in headers {
            let place = match name {
                b"traceparent" => &mut read.traceparent,
                b"tracestate" => &mut read.tracestate,
                b"baggage" => &mut read.baggage,
                _ => continue,
            };
            if place.len().saturating_add(value.len()) > HEADER_BYTES {
                continue;
            }
            if !place.is_empty() {
                place.push(b',');
            }
            place.extend(value);
        }
        read
    }

    fn context(&self) -> Option<TraceContext> {
        TraceContext::parse(&self.traceparent, &self.tracestate).ok()
    }
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
        self.is_on().then(|| Box::new(Propagated::read(headers)))
    }

    /// Records a request that is over. `model` is what labels show; `early` is what its headers said when it came.
    pub(crate) fn record(
        &self,
        record: &RequestRecord,
        facts: &Facts,
        model: &str,
        early: Option<&Propagated>,
        worker: &mut Worker,
    ) {
        if !self.is_on() || record.purpose != Purpose::Client {
            return;
        }
        // If the proxy traces, its own span stands in the headers that went to the upstream, and is the better parent.
        let late = Propagated::read(&facts.request_headers);
        let propagated = match early {
            Some(early) if late.context().is_none() => early,
            _ => &late,
        };
        let identity = self.identity(propagated);
        let traces = self.traces.as_ref();
        let kept = traces.and_then(|traces| traces.sampler.decide(&identity, record));
        let is_logged = self.logs && record.error_type.is_some();
        if kept.is_none() && !is_logged {
            return;
        }
        let wall = hostcalls::wall_nanos();
        let keys = traces.map(|traces| traces.baggage.as_slice());
        let baggage: Vec<_> = baggage(&propagated.baggage, keys.unwrap_or_default()).collect();
        let (address, port) = facts.server().unzip();
        let span_facts = SpanFacts {
            record,
            identity: &identity,
            kind: self.kind(worker),
            ended_at_unix_nanos: worker.note(wall).unwrap_or_default(),
            labels: SpanLabels {
                model,
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

    fn identity(&self, propagated: &Propagated) -> SpanIdentity {
        let follows = self
            .traces
            .as_ref()
            .is_none_or(|traces| traces.follow_parent);
        match propagated.context().filter(|_| follows) {
            Some(parent) => SpanIdentity::child_of(&parent, random()),
            None => SpanIdentity::root(random()),
        }
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
