//! What one series holds, apart from its family, so that series of different shapes can be reckoned with.

use std::borrow::Cow;

use crate::buckets::rebin;
use crate::snapshot::{Family, Series, SeriesValue, later_reading};

/// A series' value with the scale and the buckets that give it a meaning.
///
/// A snapshot can hold series of one name that look alike once absent labels are left out, as when a label was
/// switched off while counting went on, and two snapshots may have counted in different buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured<'a> {
    /// Integer units in 1.0 of the unit.
    pub scale: u64,
    /// Upper bounds of a histogram's buckets.
    pub bounds: &'a [u64],
    /// What it holds.
    pub value: SeriesValue<'a>,
}

impl<'a> Measured<'a> {
    /// The value of a series of that family.
    #[must_use]
    pub fn of(family: Family<'a>, series: Series<'a>) -> Measured<'a> {
        Measured {
            scale: family.scale(),
            bounds: family.bounds(),
            value: series.value(),
        }
    }

    /// Adds another of the same kind, in this one's scale and buckets; one of another kind is left out.
    pub fn add(&mut self, other: &Measured<'_>) {
        let other = other.value_in(self.scale, self.bounds);
        match (&mut self.value, other) {
            (SeriesValue::Counter(sum), SeriesValue::Counter(more)) => {
                *sum = sum.saturating_add(more);
            }
            (SeriesValue::Gauge(level), SeriesValue::Gauge(more)) => {
                *level = level.saturating_add(more);
            }
            (
                SeriesValue::Reading {
                    level,
                    at_unix_nanos,
                },
                SeriesValue::Reading {
                    level: other_level,
                    at_unix_nanos: other_at,
                },
            ) => {
                let [at, told] = later_reading(
                    [*at_unix_nanos, level.cast_unsigned()],
                    [other_at, other_level.cast_unsigned()],
                );
                (*at_unix_nanos, *level) = (at, told.cast_signed());
            }
            (
                SeriesValue::Histogram { counts, sum },
                SeriesValue::Histogram {
                    counts: more,
                    sum: more_sum,
                },
            ) => {
                for (count, more) in counts.to_mut().iter_mut().zip(more.iter()) {
                    *count = count.saturating_add(*more);
                }
                *sum = sum.saturating_add(more_sum);
            }
            _ => {}
        }
    }

    /// What was added since an earlier state of the same series. Nothing where the earlier state holds more, as counting
    /// has then begun anew. A gauge is its level now.
    #[must_use]
    pub fn since(&self, earlier: &Measured<'_>) -> Option<Measured<'a>> {
        let earlier = earlier.value_in(self.scale, self.bounds);
        let value = match (&self.value, earlier) {
            (SeriesValue::Counter(sum), SeriesValue::Counter(less)) => {
                SeriesValue::Counter(sum.checked_sub(less)?)
            }
            (
                level @ (SeriesValue::Gauge(_) | SeriesValue::Reading { .. }),
                SeriesValue::Gauge(_) | SeriesValue::Reading { .. },
            ) => level.clone(),
            (
                SeriesValue::Histogram { counts, sum },
                SeriesValue::Histogram {
                    counts: less,
                    sum: less_sum,
                },
            ) => SeriesValue::Histogram {
                counts: counts
                    .iter()
                    .zip(less.iter())
                    .map(|(count, less)| count.checked_sub(*less))
                    .collect::<Option<Vec<u64>>>()?
                    .into(),
                sum: sum.checked_sub(less_sum)?,
            },
            _ => return None,
        };
        Some(Measured {
            value,
            ..self.clone()
        })
    }

    fn value_in(&self, scale: u64, bounds: &[u64]) -> SeriesValue<'_> {
        if self.scale == scale && self.bounds == bounds {
            return self.value.clone();
        }
        let convert = |value: u64| rescaled(value, self.scale, scale);
        match &self.value {
            SeriesValue::Counter(sum) => SeriesValue::Counter(convert(*sum)),
            SeriesValue::Gauge(level) => SeriesValue::Gauge(signed(*level, convert)),
            SeriesValue::Reading {
                level,
                at_unix_nanos,
            } => SeriesValue::Reading {
                level: signed(*level, convert),
                at_unix_nanos: *at_unix_nanos,
            },
            SeriesValue::Histogram { counts, sum } => {
                let own: Vec<u64> = self.bounds.iter().map(|bound| convert(*bound)).collect();
                let mut moved = vec![0_u64; bounds.len().saturating_add(1)];
                rebin(&own, counts, bounds, |bucket, more| {
                    if let Some(count) = moved.get_mut(bucket) {
                        *count = count.saturating_add(more);
                    }
                });
                SeriesValue::Histogram {
                    counts: Cow::Owned(moved),
                    sum: convert(*sum),
                }
            }
        }
    }
}

fn signed(level: i64, convert: impl Fn(u64) -> u64) -> i64 {
    let size = i64::try_from(convert(level.unsigned_abs())).unwrap_or(i64::MAX);
    if level < 0 {
        0_i64.saturating_sub(size)
    } else {
        size
    }
}

/// A value of one scale in another, rounded to the nearest.
fn rescaled(value: u64, from: u64, to: u64) -> u64 {
    if from == to {
        return value;
    }
    let (from, to) = (u128::from(from.max(1)), u128::from(to));
    let half = from / 2;
    let scaled = u128::from(value).saturating_mul(to).saturating_add(half);
    u64::try_from(scaled.checked_div(from).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_change_their_scale_to_the_nearest() {
        for (value, from, to, expected) in [
            (5, 7, 7, 5),
            (1_500, 1_000, 1, 2),
            (1_499, 1_000, 1, 1),
            (3, 1, 1_000_000_000, 3_000_000_000),
            (u64::MAX, 1, 1_000, u64::MAX),
            (u64::MAX, u64::MAX, 1, 1),
        ] {
            assert_eq!(
                rescaled(value, from, to),
                expected,
                "{value} from {from} to {to}"
            );
        }
    }

    fn histogram<'a>(scale: u64, bounds: &'a [u64], counts: &'a [u64], sum: u64) -> Measured<'a> {
        Measured {
            scale,
            bounds,
            value: SeriesValue::Histogram {
                counts: counts.into(),
                sum,
            },
        }
    }

    fn level(value: i64) -> Measured<'static> {
        Measured {
            scale: 1,
            bounds: &[],
            value: SeriesValue::Gauge(value),
        }
    }

    #[test]
    fn sums_are_in_the_left_sides_scale_and_buckets() {
        let mut sum = histogram(1_000, &[10, 20], &[1, 2, 4], 70);
        sum.add(&histogram(1, &[0, 1], &[8, 16, 32], 2));
        assert_eq!(sum, histogram(1_000, &[10, 20], &[9, 2, 52], 2_070));
        let mut sum = level(3);
        sum.add(&level(-5));
        assert_eq!(sum, level(-2));
        sum.add(&histogram(1, &[], &[1], 1));
        assert_eq!(sum, level(-2));
    }

    #[test]
    fn a_difference_and_the_earlier_state_make_up_the_later_one() {
        let earlier = histogram(1, &[10], &[1, 2], 30);
        let later = histogram(1, &[10], &[1, 5], 90);
        let mut sum = earlier.clone();
        sum.add(&later.since(&earlier).unwrap());
        assert_eq!(sum, later);
        assert_eq!(earlier.since(&later), None);
        assert_eq!(level(2).since(&level(9)), Some(level(2)));
    }
}
