//! Turns the caller's stamps of one request into durations and an inter-token gap histogram.
//!
//! A [`Timeline`] is opened by the stamp of the request headers, which is the zero of every duration.
//! Moments are marked as they happen (the first mark of a moment stands), output events are reported with
//! their number of tokens, and [`Timeline::durations`] and [`Timeline::gaps`] say what came of it.
//!
//! ```
//! use request_timeline::{Moment, OutputEvent, Stamp, Timeline};
//!
//! const MILLISECOND: u64 = 1_000_000;
//! let bounds = [5 * MILLISECOND, 10 * MILLISECOND];
//! let mut timeline = Timeline::new(Stamp(0));
//! timeline.mark(Moment::FirstByte, Stamp(30 * MILLISECOND));
//! let event = OutputEvent { choice: 0, tokens: 1, visible: true };
//! timeline.output(event, Stamp(40 * MILLISECOND), Some(&bounds));
//! timeline.output(OutputEvent { tokens: 2, ..event }, Stamp(48 * MILLISECOND), Some(&bounds));
//! timeline.mark(Moment::Terminal, Stamp(50 * MILLISECOND));
//! timeline.mark(Moment::End, Stamp(50 * MILLISECOND));
//!
//! let durations = timeline.durations();
//! assert_eq!(durations.time_to_first_token, Some(40 * MILLISECOND));
//! assert_eq!(durations.decode, Some(8 * MILLISECOND));
//! // One gap of 8 ms brought two tokens: two samples of 4 ms.
//! assert_eq!(timeline.gaps().counts[0], 2);
//! assert_eq!(timeline.gaps().sum_nanos, 8 * MILLISECOND);
//! ```
//!
//! # What this crate does not do
//!
//! It reads no clock: a [`Stamp`] is whatever monotonic nanoseconds the caller has. It does not decide what a
//! token is. It keeps no list of stamps, so percentiles within one request cannot be had from it.
//!
//! # Limits
//!
//! Stamps that run backwards count as no time passed, and are counted ([`Timeline::backwards`]). Gaps are
//! measured for the first [`MAX_CHOICES`] choices of an answer. A histogram takes [`MAX_GAP_BUCKETS`] bounds.
//! One event stands for at most [`MAX_TOKENS_PER_EVENT`] tokens.

mod durations;
mod gaps;
mod stamp;
mod timeline;

pub use durations::Durations;
pub use gaps::{GapHistogram, MAX_GAP_BUCKETS, MAX_TOKENS_PER_EVENT};
pub use stamp::Stamp;
pub use timeline::{MAX_CHOICES, Moment, OutputEvent, Timeline};
