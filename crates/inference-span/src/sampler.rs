//! Which requests get a span, decided once they have ended.

use request_observer::{Purpose, RequestRecord};

use crate::SpanIdentity;

/// How many bits of a trace id are random by W3C Trace Context: the low ones.
const RANDOM_BITS: u32 = 56;
/// How many values they have.
const RANDOM_VALUES: u64 = 1 << RANDOM_BITS;

/// Which requests get a span.
///
/// A span is made when its request is over, so how it went can decide. In this order:
///
/// 1. A request that is none of a client's (a prefill leg, a probe, an unrecognised body) gets none.
/// 2. With a parent that is sampled it gets one: the trace is recorded, and would have a hole. So a client that may send
///    `traceparent` decides for itself; where that is not wanted, pass no parent.
/// 3. Without a parent the ratio decides, by the rule of OpenTelemetry's
///    [consistent probability sampling](https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/):
///    the low 56 bits of the trace id are a random number `R`, and the trace is kept if `R` reaches the threshold
///    `(1 - ratio) * 2^56`. Whoever follows that rule and samples as much or more keeps the same traces.
/// 4. A request that failed gets one if `keep_errors` says so, a slow one if `keep_slower_than_nanos` does.
///
/// What the fourth rule keeps of a trace that is not sampled stands alone: its parent, if it has one, was most likely
/// recorded by nobody, so a viewer shows a span whose parent is missing. Such a span does not have the sampled flag
/// and says in `inference.span.kept_for` why it is there, so that counts of spans can leave it out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The part of traces without a parent that is kept, from 0 to 1. What is below is 0, what is above 1, and what is
    /// no number 0.
    pub ratio: f64,
    /// Whether every request that failed is kept: all with an `error.type`, those that the client broke off among them.
    pub keep_errors: bool,
    /// Requests that took longer than this are kept.
    pub keep_slower_than_nanos: Option<u64>,
}

impl Default for Sampler {
    /// Everything that no parent speaks against.
    fn default() -> Self {
        Self {
            ratio: 1.0,
            keep_errors: false,
            keep_slower_than_nanos: None,
        }
    }
}

/// Why a request gets a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// Its trace is sampled: its parent says so, or the ratio does.
    Sampled,
    /// It failed, in a trace that is not sampled.
    Error,
    /// It was slow, in a trace that is not sampled.
    Slow,
}

impl Kept {
    /// The reason in one word, where it is not the ordinary one.
    pub(crate) const fn exception(self) -> Option<&'static str> {
        match self {
            Self::Sampled => None,
            Self::Error => Some("error"),
            Self::Slow => Some("slow"),
        }
    }
}

impl Sampler {
    /// Whether this request gets a span, and why.
    #[must_use]
    pub fn decide(&self, identity: &SpanIdentity, record: &RequestRecord) -> Option<Kept> {
        if record.purpose != Purpose::Client {
            return None;
        }
        let context = &identity.context;
        let is_sampled = match identity.parent_span_id {
            Some(_) => context.is_sampled(),
            None => self.ratio_keeps(&context.trace_id),
        };
        let is_slow = self
            .keep_slower_than_nanos
            .zip(record.durations.request)
            .is_some_and(|(limit, took)| took > limit);
        match (is_sampled, is_slow) {
            (true, _) => Some(Kept::Sampled),
            _ if self.keep_errors && record.error_type.is_some() => Some(Kept::Error),
            (_, true) => Some(Kept::Slow),
            _ => None,
        }
    }

    fn ratio_keeps(&self, trace_id: &[u8; 16]) -> bool {
        // The cast takes what is no number as 0.
        let kept_values = (self.ratio.clamp(0.0, 1.0) * RANDOM_VALUES as f64).round() as u64;
        let threshold = RANDOM_VALUES.saturating_sub(kept_values);
        let random = u128::from_be_bytes(*trace_id) & u128::from(RANDOM_VALUES.wrapping_sub(1));
        random >= u128::from(threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(ratio: f64, low_bits: u64) -> bool {
        let sampler = Sampler {
            ratio,
            ..Sampler::default()
        };
        // The bits above the random ones must not matter.
        [0, u128::MAX << RANDOM_BITS]
            .map(|high| sampler.ratio_keeps(&(high | u128::from(low_bits)).to_be_bytes()))
            .into_iter()
            .reduce(|one, other| {
                assert_eq!(one, other);
                one
            })
            .unwrap()
    }

    #[test]
    fn the_threshold_is_where_the_specification_puts_it() {
        // A quarter has the threshold c00…, of the specification's own examples; a half 800….
        for (ratio, threshold) in [
            (0.25, 0xc0_0000_0000_0000_u64),
            (0.5, 0x80_0000_0000_0000),
            (0.01, RANDOM_VALUES - 720_575_940_379_279),
        ] {
            assert!(keeps(ratio, threshold), "{ratio}");
            assert!(!keeps(ratio, threshold - 1), "{ratio}");
        }
    }

    #[test]
    fn all_and_nothing_are_exact() {
        for (ratio, kept) in [
            (1.0, true),
            (7.0, true),
            (f64::INFINITY, true),
            (0.0, false),
            (-1.0, false),
            (f64::NAN, false),
            (f64::NEG_INFINITY, false),
            (1e-18, false),
        ] {
            for low_bits in [0, 1, RANDOM_VALUES / 2, RANDOM_VALUES - 1] {
                assert_eq!(keeps(ratio, low_bits), kept, "{ratio} {low_bits:x}");
            }
        }
    }

    #[test]
    fn a_greater_ratio_keeps_all_that_a_smaller_one_keeps() {
        let ratios = [0.001, 0.1, 0.3, 0.9];
        for step in 0..1000_u64 {
            let bits = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) & (RANDOM_VALUES - 1);
            let kept: Vec<_> = ratios.iter().map(|ratio| keeps(*ratio, bits)).collect();
            assert!(kept.is_sorted(), "{bits:x}: {kept:?}");
        }
    }
}
