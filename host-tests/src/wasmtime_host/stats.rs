//! The proxy's own stats: one object per name for the whole process.

use std::collections::BTreeMap;

use super::status;

/// What the ABI's numbers for kinds mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatKind {
    /// Only grows.
    Counter,
    /// Is set or shifted.
    Gauge,
    /// Takes samples.
    Histogram,
}

/// What a stat holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// A counter's or gauge's value; a histogram's sum of samples.
    pub value: u64,
    /// How many samples a histogram took.
    pub samples: u64,
}

/// All stats of the process, and each definition that a virtual machine has made.
#[derive(Debug, Default)]
pub(super) struct Stats {
    stats: BTreeMap<(StatKind, String), Stat>,
}

/// Which stat an id of a virtual machine stands for.
pub(super) type StatKey = (StatKind, String);

impl Stats {
    pub(super) fn define(&mut self, kind: u32, name: String) -> Option<StatKey> {
        let kind = match kind {
            0 => StatKind::Counter,
            1 => StatKind::Gauge,
            2 => StatKind::Histogram,
            _ => return None,
        };
        let key = (kind, name);
        self.stats.entry(key.clone()).or_default();
        Some(key)
    }

    /// Moves a counter or gauge. A counter takes only a positive offset; a gauge below zero wraps.
    pub(super) fn increment(&mut self, key: &StatKey, offset: i64) -> u32 {
        let Some(stat) = self.stats.get_mut(key) else {
            return status::NOT_FOUND;
        };
        match key.0 {
            StatKind::Counter if offset > 0 => {
                stat.value = stat.value.wrapping_add(offset.unsigned_abs());
            }
            StatKind::Gauge => stat.value = stat.value.wrapping_add_signed(offset),
            _ => return status::BAD_ARGUMENT,
        }
        status::OK
    }

    /// Adds to a counter, sets a gauge, or gives a histogram a sample.
    pub(super) fn record(&mut self, key: &StatKey, value: u64) -> u32 {
        let Some(stat) = self.stats.get_mut(key) else {
            return status::NOT_FOUND;
        };
        match key.0 {
            StatKind::Counter => stat.value = stat.value.wrapping_add(value),
            StatKind::Gauge => stat.value = value,
            StatKind::Histogram => {
                stat.value = stat.value.wrapping_add(value);
                stat.samples += 1;
            }
        }
        status::OK
    }

    /// A counter's or gauge's value; histograms cannot be read.
    pub(super) fn read(&self, key: &StatKey) -> Result<u64, u32> {
        match key.0 {
            StatKind::Histogram => Err(status::BAD_ARGUMENT),
            _ => self
                .stats
                .get(key)
                .map(|stat| stat.value)
                .ok_or(status::NOT_FOUND),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&StatKey, &Stat)> {
        self.stats.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_refuses_offsets_that_do_not_grow_it_and_a_gauge_takes_them() {
        let mut stats = Stats::default();
        let counter = stats.define(0, "requests".to_owned()).unwrap();
        let gauge = stats.define(1, "in_flight".to_owned()).unwrap();
        assert_eq!(stats.increment(&counter, 3), status::OK);
        assert_eq!(stats.increment(&counter, 0), status::BAD_ARGUMENT);
        assert_eq!(stats.increment(&counter, -1), status::BAD_ARGUMENT);
        assert_eq!(stats.read(&counter), Ok(3));
        assert_eq!(stats.increment(&gauge, -1), status::OK);
        assert_eq!(stats.read(&gauge), Ok(u64::MAX));
    }

    #[test]
    fn one_name_is_one_stat_and_histograms_cannot_be_read() {
        let mut stats = Stats::default();
        let first = stats.define(2, "ms".to_owned()).unwrap();
        let second = stats.define(2, "ms".to_owned()).unwrap();
        assert_eq!(first, second);
        stats.record(&first, 5);
        stats.record(&second, 7);
        assert_eq!(stats.read(&first), Err(status::BAD_ARGUMENT));
        let expected = Stat {
            value: 12,
            samples: 2,
        };
        assert_eq!(stats.all().next().unwrap().1, &expected);
        assert!(stats.define(3, "none".to_owned()).is_none());
    }
}
