//! Explicit buckets as base-2 exponential ones.
//!
//! Of a value that fell into an explicit bucket nothing is known but that it is not above the bucket's bound. So each
//! count goes to the exponential bucket that holds that bound: no value is made to look faster than it may have been,
//! and a quantile read from the result is the bound that the explicit buckets give, within the scale's error.

/// The most exponential buckets, as of OpenTelemetry's own aggregation.
const MAX_BUCKETS: i64 = 160;
const MAX_SCALE: i32 = 20;
const MIN_SCALE: i32 = -10;

/// Where the counts of explicit buckets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) scale: i32,
    /// The index of the first bucket.
    pub(crate) offset: i32,
    /// For each explicit bucket its place behind the offset.
    places: Vec<usize>,
}

impl Layout {
    /// The finest layout for these upper bounds, which are ascending and above zero.
    pub(crate) fn of(bounds: &[f64]) -> Layout {
        let fits = |scale: &i32| span(bounds, *scale) <= MAX_BUCKETS;
        let scale = (MIN_SCALE..=MAX_SCALE)
            .rev()
            .find(fits)
            .unwrap_or(MIN_SCALE);
        let first = bounds.first().map_or(0, |bound| index(*bound, scale));
        let mut places: Vec<usize> = bounds
            .iter()
            .map(|bound| {
                let behind = index(*bound, scale).saturating_sub(first);
                usize::try_from(behind).unwrap_or(0)
            })
            .collect();
        // What is above the last bound lies in the bucket behind it, or further up.
        places.push(places.last().map_or(0, |last| last.saturating_add(1)));
        Layout {
            scale,
            offset: i32::try_from(first).unwrap_or(0),
            places,
        }
    }

    /// The counts of the exponential buckets.
    pub(crate) fn counts(&self, explicit: &[u64]) -> Vec<u64> {
        let size = self.places.last().map_or(0, |last| last.saturating_add(1));
        let mut counts = vec![0_u64; size];
        for (count, place) in explicit.iter().zip(&self.places) {
            if let Some(total) = counts.get_mut(*place) {
                *total = total.saturating_add(*count);
            }
        }
        // Empty buckets at the end say nothing.
        while counts.last() == Some(&0) {
            counts.pop();
        }
        counts
    }
}

/// The index of the bucket that holds a value: bucket `i` covers `(base^i, base^(i+1)]`.
fn index(value: f64, scale: i32) -> i64 {
    let position = value.log2() * f64::from(scale).exp2();
    (position.ceil() as i64).saturating_sub(1)
}

/// How many buckets lie between the first bound and what is above the last one.
fn span(bounds: &[f64], scale: i32) -> i64 {
    let ends = bounds.first().zip(bounds.last());
    ends.map_or(1, |(first, last)| {
        let distance = index(*last, scale).saturating_sub(index(*first, scale));
        distance.saturating_add(2)
    })
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_have_a_bucket_each() {
        let layout = Layout::of(&[1.0, 2.0, 4.0, 8.0]);
        // Three octaves, and the finest scale that spans them in 160 buckets has 32 an octave.
        assert_eq!((layout.scale, layout.offset), (5, -1));
        let counts = layout.counts(&[1, 2, 3, 4, 5]);
        let filled: Vec<_> = counts.iter().enumerate().filter(|(_, n)| **n > 0).collect();
        assert_eq!(filled, [(0, &1), (32, &2), (64, &3), (96, &4), (97, &5)]);
    }

    #[test]
    fn every_bound_lies_in_its_bucket_and_no_count_is_lost() {
        for bounds in [
            vec![0.01, 0.02, 0.04, 0.08, 1310.72],
            vec![0.000_001],
            vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
            vec![1.0, 67_108_864.0],
            vec![],
        ] {
            let layout = Layout::of(&bounds);
            let base = f64::from(-layout.scale).exp2().exp2();
            for (bound, place) in bounds.iter().zip(&layout.places) {
                let index = layout.offset + i32::try_from(*place).unwrap_or(0);
                let upper = base.powi(index + 1) * (1.0 + 1e-9);
                let lower = base.powi(index) * (1.0 - 1e-9);
                assert!(lower <= *bound && *bound <= upper, "{bound} in {index}");
            }
            let explicit: Vec<u64> = (1..=bounds.len() as u64 + 1).collect();
            let counts = layout.counts(&explicit);
            assert_eq!(counts.iter().sum::<u64>(), explicit.iter().sum::<u64>());
            assert!(counts.len() as i64 <= MAX_BUCKETS);
        }
    }

    #[test]
    fn nothing_counted_has_no_buckets() {
        assert_eq!(Layout::of(&[1.0]).counts(&[0, 0]), Vec::<u64>::new());
    }
}
