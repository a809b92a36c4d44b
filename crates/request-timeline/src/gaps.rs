//! The gaps between a request's output events as a histogram with the caller's bounds, weighted by tokens.

use crate::Stamp;

/// The most bounds a gap histogram takes; bounds past these are not looked at.
pub const MAX_GAP_BUCKETS: usize = 32;

/// The most tokens one event stands for. A server that claims more is believed up to here, so that a wrong number
/// cannot drown every other sample.
pub const MAX_TOKENS_PER_EVENT: u32 = 65_536;

/// Gaps per token, bucketed by the bounds given at each [`add`](GapHistogram::add).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapHistogram {
    /// Tokens per bucket, not cumulative: `counts[i]` holds gaps up to and including bound `i`, the slot after the
    /// last bound holds all longer ones.
    pub counts: [u64; MAX_GAP_BUCKETS + 1],
    /// The sum of all gaps in nanoseconds.
    pub sum_nanos: u64,
    /// The number of tokens, which is the sum of `counts`.
    pub count: u64,
}

impl GapHistogram {
    /// An empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: [0; MAX_GAP_BUCKETS + 1],
            sum_nanos: 0,
            count: 0,
        }
    }

    /// Adds the gap from `previous` to `now`, which brought `tokens` tokens (zero counts as one): as many samples,
    /// each of an equal part of the gap. `bounds` are nanoseconds, rising, upper-inclusive.
    pub fn add(&mut self, previous: Stamp, now: Stamp, tokens: u32, bounds: &[u64]) {
        let gap = now.nanos_since(previous);
        let tokens = u64::from(tokens.clamp(1, MAX_TOKENS_PER_EVENT));
        let per_token = gap.checked_div(tokens).unwrap_or(gap);
        let bucket = bounds
            .iter()
            .take(MAX_GAP_BUCKETS)
            .take_while(|bound| per_token > **bound)
            .count();
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(tokens);
        }
        self.sum_nanos = self.sum_nanos.saturating_add(gap);
        self.count = self.count.saturating_add(tokens);
    }
}

impl Default for GapHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gap: u64, tokens: u32, bucket: usize, weight: u64) {
        let mut gaps = GapHistogram::new();
        gaps.add(
            Stamp(100),
            Stamp(100_u64.saturating_add(gap)),
            tokens,
            &[10, 20, 30],
        );
        assert_eq!(
            gaps.counts[bucket], weight,
            "gap {gap} of {tokens} tokens: {:?}",
            gaps.counts
        );
        assert_eq!((gaps.count, gaps.sum_nanos), (weight, gap));
    }

    #[test]
    fn a_gap_lies_in_the_first_bucket_whose_bound_it_does_not_pass() {
        check(0, 1, 0, 1);
        check(10, 1, 0, 1);
        check(11, 1, 1, 1);
        check(30, 1, 2, 1);
        check(31, 1, 3, 1);
    }

    #[test]
    fn a_gap_that_brought_several_tokens_counts_for_each_with_its_part() {
        check(40, 2, 1, 2);
        check(90, 3, 2, 3);
        check(5, 0, 0, 1);
    }

    #[test]
    fn an_absurd_number_of_tokens_is_believed_up_to_the_limit() {
        check(5, u32::MAX, 0, u64::from(MAX_TOKENS_PER_EVENT));
    }

    #[test]
    fn bounds_past_the_limit_are_not_looked_at() {
        let bounds: Vec<u64> = (0..40).collect();
        let mut gaps = GapHistogram::new();
        gaps.add(Stamp(0), Stamp(39), 1, &bounds);
        assert_eq!(gaps.counts[MAX_GAP_BUCKETS], 1);
    }
}
