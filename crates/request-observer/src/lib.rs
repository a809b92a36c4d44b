//! Watches one request to an inference server and its answer, and ends in one record of it.
//!
//! A [`RequestObserver`] has one method for each callback of a proxy. Each takes the stamp of that callback and bytes
//! in whatever pieces they come, and changes nothing. However the request ends, [`RequestObserver::close`] gives one
//! [`RequestRecord`], once.
//!
//! ```
//! use request_observer::{
//!     Ending, Outcome, Phase, RequestHead, RequestObserver, ResponseHead, Settings, Stamp, UsageStatus,
//! };
//!
//! const MILLISECOND: u64 = 1_000_000;
//! let settings = Settings { gap_bounds_nanos: vec![10 * MILLISECOND], ..Settings::default() };
//! let head = RequestHead { method: b"POST", path: b"/v1/chat/completions", ..RequestHead::default() };
//! let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
//!
//! let request = br#"{"model":"qwen3","stream":true,"stream_options":{"include_usage":true}}"#;
//! observer.request_body(request, true, Stamp(MILLISECOND));
//! assert_eq!(observer.request_model(), Some("qwen3"));
//!
//! let head = ResponseHead { status: 200, content_type: b"text/event-stream", ..ResponseHead::default() };
//! observer.response_headers(&head, false, Stamp(2 * MILLISECOND), &settings);
//! let chunks: [&[u8]; 4] = [
//!     b"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
//!     b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
//!     b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n",
//!     b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
//! ];
//! for (chunk, milliseconds) in chunks.into_iter().zip([30, 40, 48, 49]) {
//!     observer.response_body(chunk, false, Stamp(milliseconds * MILLISECOND), &settings);
//! }
//! assert_eq!(observer.phase(), Phase::Decode);
//! observer.response_body(b"", true, Stamp(50 * MILLISECOND), &settings);
//!
//! let ending = Ending { code: Some(200), code_details: b"via_upstream", known: true, ..Ending::default() };
//! let record = observer.close(&ending, Stamp(51 * MILLISECOND)).unwrap();
//! assert_eq!(record.outcome, Outcome::Success);
//! assert_eq!(record.durations.time_to_first_byte, Some(30 * MILLISECOND));
//! assert_eq!(record.durations.time_to_first_token, Some(40 * MILLISECOND));
//! assert_eq!(record.durations.request, Some(50 * MILLISECOND));
//! assert_eq!((record.usage.input, record.usage.output), (Some(9), Some(2)));
//! assert_eq!(record.usage_status, UsageStatus::Reported);
//! assert_eq!(observer.close(&ending, Stamp(52 * MILLISECOND)), None);
//! ```
//!
//! # How it ended
//!
//! An error in a 2xx answer beats all. Then the terminal event (`[DONE]`, `response.completed`, `message_stop`; for a
//! whole body the complete document) is success, or what its finish reason says, even if the client leaves after it.
//! Without it, unless the response's own end was seen, the first of: the client left, the upstream broke off, a timer
//! ran out. A stream that ended by itself without its terminal event is truncated; one whose payloads are mostly not
//! JSON is malformed; a whole JSON body that was cut is truncated, one that is not JSON malformed. An upstream's
//! status other than 2xx is told by the status, and by the error's codes where the context length or a content filter
//! is meant. A gRPC exchange is told by its `grpc-status`. The proxy's own answers are told by its flags.
//!
//! # What this crate does not do
//!
//! It reads no clock and no sockets, and keeps no text of prompts and answers. An answer in a framing or a compression
//! that it does not know is measured by its bytes alone. gRPC messages that are compressed one by one are counted and
//! not read. It does not merge or count records.
//!
//! # Limits
//!
//! Memory per request is constant (about 4 KiB): no body is held. A compressed answer needs its decompressor besides,
//! whose memory is bounded for each and, by a [`Budget`], for all at once. Nothing is allocated for an ordinary chunk; an
//! answer of several choices allocates once for each further one, and at most 64 are followed. An event of more than
//! 1 MiB is given up, skipped and counted. Events that come in one chunk share its stamp. The gap before an event that
//! only the end of the stream completes may be left out of the gap histogram.

mod anomaly;
mod answer;
mod body_reader;
mod classify;
mod closing;
mod decoding;
mod ending;
mod event_stream_reader;
mod grpc_reader;
mod observer;
mod outcome;
mod payload;
mod purpose;
mod record;
mod route;
mod sequence_reader;
mod sse_reader;
mod usage_status;
mod usage_tracker;

pub use anomaly::{AnomalyCounts, AnomalyKind};
pub use body_decompression::Budget;
pub use ending::Ending;
pub use llm_payloads::{Api, FinishReason, Text, Usage};
pub use observer::{Phase, RequestObserver, ResponseHead, ResponseTrailers};
pub use outcome::Outcome;
pub use purpose::Purpose;
pub use record::RequestRecord;
pub use request_timeline::{Durations, GapHistogram, MAX_GAP_BUCKETS, Stamp};
pub use response_telemetry::{OrcaReport, Telemetry};
pub use route::{RequestHead, Settings, SkipReason};
pub use usage_status::{UsageReason, UsageStatus};
