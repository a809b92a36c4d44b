//! Makes one OpenTelemetry span of the record of one finished request, and a log record of a failed one.
//!
//! ```
//! use inference_span::{
//!     Kept, Sampler, Semconv, SpanFacts, SpanIdentity, SpanKind, SpanLabels, SpanStatus, TraceContext, Value,
//! };
//! use request_observer::{Ending, RequestHead, RequestObserver, ResponseHead, Settings, Stamp};
//!
//! // The record of a request whose server was overloaded.
//! let settings = Settings::default();
//! let head = RequestHead { method: b"POST", path: b"/v1/chat/completions", ..RequestHead::default() };
//! let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
//! observer.request_body(br#"{"model":"qwen3"}"#, true, Stamp(1));
//! let head = ResponseHead { status: 503, content_type: b"application/json", ..ResponseHead::default() };
//! observer.response_headers(&head, true, Stamp(250_000_000), &settings);
//! let ending = Ending { code: Some(503), code_details: b"via_upstream", known: true, ..Ending::default() };
//! let record = observer.close(&ending, Stamp(250_000_000)).unwrap();
//!
//! // Its client had a span of its own, in a trace that is sampled.
//! let traceparent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
//! let parent = TraceContext::parse(traceparent, b"").unwrap();
//! let identity = SpanIdentity::child_of(&parent, [1; 8]);
//! let kept = Sampler::default().decide(&identity, &record);
//! assert_eq!(kept, Some(Kept::Sampled));
//!
//! let facts = SpanFacts {
//!     record: &record,
//!     identity: &identity,
//!     kind: SpanKind::Client,
//!     ended_at_unix_nanos: 1_700_000_000_000_000_000,
//!     labels: SpanLabels { model: "qwen3", ..SpanLabels::default() },
//!     baggage: &[],
//!     semconv: Semconv::V1_41,
//! };
//! let span = facts.span(Kept::Sampled);
//! assert_eq!(span.name, "chat qwen3");
//! assert_eq!(span.parent_span_id, Some(parent.span_id));
//! assert_eq!(span.end_unix_nanos - span.start_unix_nanos, 250_000_000);
//! assert_eq!(span.status, SpanStatus::Error { description: "overloaded" });
//! let error = span.attributes.iter().find(|attribute| attribute.key == "error.type").unwrap();
//! assert_eq!(error.value, Value::Text("503".into()));
//!
//! let log = facts.failure_log(kept).unwrap();
//! assert_eq!(log.event_name, "gen_ai.client.operation.exception");
//! assert_eq!(log.place.unwrap().span_id, span.span_id);
//! ```
//!
//! # What the span says
//!
//! The attributes of the conventions for inference spans, in the version that is asked for, each only where it is known:
//! `gen_ai.operation.name` and `gen_ai.provider.name` always; the models as the request and the answer name them;
//! `gen_ai.request.stream` and `gen_ai.response.time_to_first_chunk` (the first byte of a body) for streams;
//! `gen_ai.request.choice.count`; `gen_ai.response.finish_reasons`, which holds one reason for all choices, the one that
//! tells most; the token numbers that the server stated; `error.type`, which every request has that did not succeed;
//! `server.address` and `server.port`; `http.response.status_code`.
//!
//! Besides them `inference.outcome`, `inference.usage.status`, `inference.usage.reason` where usage is not whole,
//! `inference.usage.estimated_output_tokens`, `inference.attempts` where it was not one, `inference.span.kept_for` (see
//! [`Sampler`]), and in seconds `inference.time_to_first_token`, `inference.time_to_first_visible_token` where reasoning
//! came before, `inference.stream.max_gap` and the server's own `inference.server.queue_time`,
//! `inference.server.time_to_first_token` and `inference.server.processing_time`. They mean what the metrics of these
//! names mean. What a stream that broke off had stated of its tokens is shown as it stood then.
//!
//! Its events are `inference.first_token`, `inference.first_visible_token` and, at the end of a request that failed,
//! `exception` with `exception.type` and `error.type`.
//!
//! # Which parent
//!
//! Whichever context the caller read. In a proxy's request callbacks `traceparent` is the client's, so the span becomes a
//! sibling of the proxy's own; once the request has gone upstream it is the proxy's own, if the proxy traces in that
//! format, so the span comes to stand below the proxy's. A span that has no parent is the only one of its trace,
//! because nobody is told of it.
//!
//! # What this crate does not do
//!
//! It reads no clock and has no source of random numbers: stamps and bytes are passed in. It writes no headers, so nobody
//! downstream learns of its spans. It encodes and sends nothing. No text of prompts, answers or error messages is in
//! what it makes, because a record has none: errors are words. It does not change `tracestate`, so the probability by
//! which a span was kept is not told there.
//!
//! # Limits
//!
//! Texts are cut at 128 bytes. A `tracestate` has at most 512 bytes, or is dropped. Of `baggage` the first 8 KiB and 32
//! keys are looked at. A span has at most 29 attributes of its own and 3 events.

mod attribute;
mod baggage;
mod facts;
mod failure_log;
mod hex;
mod identity;
mod sampler;
mod semconv;
mod span;
mod trace_context;
mod trace_state;

pub use attribute::{Attribute, Value, Words};
pub use baggage::{MAX_BAGGAGE_BYTES, MAX_BAGGAGE_KEYS, baggage};
pub use facts::{SpanFacts, SpanLabels};
pub use failure_log::{FailureLog, LogPlace, Severity};
pub use hex::hex;
pub use identity::SpanIdentity;
pub use llm_payloads::Text;
pub use sampler::{Kept, Sampler};
pub use semconv::Semconv;
pub use span::{Span, SpanEvent, SpanKind, SpanStatus};
pub use trace_context::{TraceContext, TraceparentFlaw};
