//! Reads what the headers of requests and answers tell about the inference behind them.
//!
//! ```
//! use response_telemetry::{HeaderRule, Meaning, TelemetryReader, Unit};
//!
//! let extra = [HeaderRule::new("x-our-ttft", Meaning::TimeToFirstToken, Unit::Milliseconds)];
//! let mut reader = TelemetryReader::new(&extra);
//! reader.read(b"content-type", b"application/json");
//! reader.read(b"X-Prompt-Tokens", b"17");
//! reader.read(b"x-queue-time", b"3");
//! reader.read(b"x-our-ttft", b"12.5");
//! reader.read(b"endpoint-load-metrics", b"TEXT named_metrics.kv_cache_usage_perc=0.4");
//!
//! let telemetry = reader.finish();
//! assert_eq!(telemetry.input_tokens, Some(17));
//! assert_eq!(telemetry.queue_nanos, Some(3_000_000));
//! assert_eq!(telemetry.time_to_first_token_nanos, Some(12_500_000));
//! assert_eq!(telemetry.orca.unwrap().kv_cache_utilization, Some(0.4));
//! ```
//!
//! # What it accepts
//!
//! - Headers and trailers of answers, one by one and in any order, by a built-in table ([`built_in_headers`]) and one
//!   of the caller's; see [`Telemetry`]. Names are in any case, as HTTP/1 has them.
//! - Load reports as text, JSON or protocol buffers; see [`OrcaReport`].
//! - The headers by which a gateway's endpoint picker tells where it sent a request; see [`Routing`].
//!
//! Values are whatever bytes they are. What cannot be read, is negative, not finite or absurd is counted in
//! `bad_values` and left out, each value on its own. Unknown headers and unknown keys of a report are passed over.
//! Durations go from decimal text to nanoseconds without a binary fraction in between. No input makes it panic.
//!
//! # What this crate does not do
//!
//! - It does not guess a unit, but for one header: `x-compute-time` is in seconds, save where headers that only LoRAX
//!   sends stand beside it.
//! - It does not judge values against one another: that cached tokens are no more than all tokens, for instance.
//! - It does not read what is no fact of the one request: rate limits and what remains of them, identities.
//! - It does not bound the number of different names that [`Routing`] gives.
//!
//! # Limits
//!
//! - A number has at most 64 bytes, a duration is at most a day, a count at most a thousand million.
//! - A load report has at most 16 KiB; only its binary form allocates, as much as it has bytes.
//! - A name of [`Routing`] has at most 1 KiB.

mod base64;
mod built_in;
mod decimal;
mod orca;
mod reader;
mod routing;
mod rule;
mod telemetry;

pub use built_in::built_in_headers;
pub use orca::OrcaReport;
pub use reader::TelemetryReader;
pub use routing::Routing;
pub use rule::{HeaderRule, Meaning, Unit};
pub use telemetry::{DroppedReason, Telemetry};
