//! Buckets of a histogram: where a value belongs, and how counts move when the bounds change.

/// The bucket of a value: a bound belongs to the bucket that it closes; past the last bound lies `+Inf`.
pub(crate) fn bucket_of(bounds: &[u64], value: u64) -> usize {
    bounds.partition_point(|bound| *bound < value)
}

/// Calls `add(bucket, count)` for each count of a histogram as it falls into other bounds.
///
/// All that is known of a count is its bucket, so it goes where the bucket's upper bound would: to the smallest
/// bound that is not below it, else to `+Inf`. No count is lost, none moves to a bucket that claims to be faster.
pub(crate) fn rebin(
    from_bounds: &[u64],
    counts: &[u64],
    to_bounds: &[u64],
    mut add: impl FnMut(usize, u64),
) {
    for (place, count) in counts.iter().enumerate() {
        let bucket = match from_bounds.get(place) {
            Some(upper) => bucket_of(to_bounds, *upper),
            None => to_bounds.len(),
        };
        add(bucket, *count);
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_it_closes() {
        let bounds = [10, 20];
        let buckets = [0, 10, 11, 20, 21, u64::MAX].map(|value| bucket_of(&bounds, value));
        assert_eq!(buckets, [0, 0, 1, 1, 2, 2]);
        assert_eq!(bucket_of(&[], 7), 0);
    }

    fn check(from: &[u64], counts: &[u64], to: &[u64], expected: &[u64]) {
        let mut moved = vec![0; to.len() + 1];
        rebin(from, counts, to, |bucket, count| moved[bucket] += count);
        assert_eq!(moved, expected, "{counts:?} of {from:?} into {to:?}");
    }

    #[test]
    fn counts_go_to_the_smallest_bound_that_is_not_below_their_own() {
        check(&[10, 20], &[1, 2, 4], &[10, 20], &[1, 2, 4]);
        check(&[10, 20], &[1, 2, 4], &[15], &[1, 6]);
        check(&[10, 20], &[1, 2, 4], &[5, 10, 15, 40], &[0, 1, 0, 2, 4]);
        check(&[10, 20], &[1, 2, 4], &[], &[7]);
        check(&[], &[7], &[1, 2], &[0, 0, 7]);
    }
}
