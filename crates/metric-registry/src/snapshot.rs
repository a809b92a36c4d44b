//! An owned copy of all series with its own string table, and the views that read it.

use std::borrow::Cow;

use serde::Serialize;

use crate::OVERFLOW_LABEL;
use crate::family::Kind;
use crate::strings::{EMPTY, OVERFLOW_MARK, StringTable};

/// All series of one registry, or of several merged ones.
///
/// Two snapshots are equal when they say the same, in whatever order. [`Snapshot::default`] is the snapshot of
/// nothing: merged with another it gives the other.
#[derive(Clone)]
pub struct Snapshot {
    /// When counting began, in nanoseconds since 1970.
    pub start_unix_nanos: u64,
    pub(crate) strings: StringTable,
    pub(crate) families: Vec<FamilyData>,
}

/// One family with all its series back to back; text stands as ids of the snapshot's string table.
#[derive(Clone, Serialize)]
pub(crate) struct FamilyData {
    pub(crate) name: u32,
    pub(crate) unit: u32,
    pub(crate) kind: Kind,
    pub(crate) scale: u64,
    pub(crate) label_names: Vec<u32>,
    pub(crate) bounds: Vec<u64>,
    /// As many ids a series as there are label names.
    pub(crate) label_values: Vec<u32>,
    /// As many words a series as [`words_of`] says.
    pub(crate) values: Vec<u64>,
}

/// One family of a [`Snapshot`].
#[derive(Clone, Copy)]
pub struct Family<'a> {
    snapshot: &'a Snapshot,
    data: &'a FamilyData,
}

/// One series of a [`Snapshot`].
#[derive(Clone, Copy)]
pub struct Series<'a> {
    strings: &'a StringTable,
    data: &'a FamilyData,
    labels: &'a [u32],
    words: &'a [u64],
}

/// What one series holds, in integers of its family's scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesValue<'a> {
    /// The sum so far.
    Counter(u64),
    /// The level now.
    Gauge(i64),
    /// The level that was told.
    Reading {
        /// The level.
        level: i64,
        /// When it was told, in nanoseconds since 1970; zero where nothing was told yet.
        at_unix_nanos: u64,
    },
    /// How many values fell into each bucket, and their sum.
    Histogram {
        /// Counts per bucket, not cumulative; one more than there are bounds, `+Inf` last.
        counts: Cow<'a, [u64]>,
        /// Sum of the values.
        sum: u64,
    },
}

impl Snapshot {
    /// The families that have series, in no particular order.
    ///
    /// A name occurs more than once where its label names, unit or scale changed while counting went on.
    pub fn families(&self) -> impl Iterator<Item = Family<'_>> {
        self.families.iter().map(|data| Family {
            snapshot: self,
            data,
        })
    }

    /// How many series there are, a histogram counting as one.
    #[must_use]
    pub fn series_count(&self) -> usize {
        self.families
            .iter()
            .map(FamilyData::series_count)
            .fold(0, usize::saturating_add)
    }

    /// Drops all levels, as is right for a worker that is gone: they ended with it, its counts did not.
    pub fn drop_levels(&mut self) {
        self.families.retain(|family| !family.kind.is_level());
    }

    /// Makes gauges of the readings, without those told before `oldest_unix_nanos`: nobody knows how things stand now.
    pub fn settle_readings(&mut self, oldest_unix_nanos: u64) {
        for family in &mut self.families {
            if family.kind == Kind::Reading {
                family.settle(oldest_unix_nanos);
            }
        }
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Snapshot {
            start_unix_nanos: u64::MAX,
            strings: StringTable::default(),
            families: Vec::new(),
        }
    }
}

impl FamilyData {
    pub(crate) fn words(&self) -> usize {
        words_of(self.kind, &self.bounds)
    }

    pub(crate) fn series_count(&self) -> usize {
        self.values.len().checked_div(self.words()).unwrap_or(0)
    }

    fn settle(&mut self, oldest_unix_nanos: u64) {
        let mut kept = FamilyData {
            kind: Kind::Gauge,
            label_values: Vec::with_capacity(self.label_values.len()),
            values: Vec::with_capacity(self.series_count()),
            ..self.clone()
        };
        for (labels, words) in self.rows() {
            if let [at, level] = words
                && *at >= oldest_unix_nanos.max(1)
            {
                kept.label_values.extend_from_slice(labels);
                kept.values.push(*level);
            }
        }
        *self = kept;
    }

    /// Label value ids and value of each series.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[u32], &[u64])> {
        let width = self.label_names.len();
        self.values
            .chunks_exact(self.words().max(1))
            .enumerate()
            .map(move |(place, words)| {
                let start = place.saturating_mul(width);
                let labels = self.label_values.get(start..start.saturating_add(width));
                (labels.unwrap_or_default(), words)
            })
    }
}

impl<'a> Family<'a> {
    /// OpenTelemetry name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.snapshot.strings.get(self.data.name)
    }

    /// Counter, gauge or histogram.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.data.kind
    }

    /// Unit, as `s` or `{token}`.
    #[must_use]
    pub fn unit(&self) -> &'a str {
        self.snapshot.strings.get(self.data.unit)
    }

    /// Integer units in 1.0 of the unit; at least one.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.data.scale
    }

    /// Upper bounds of the buckets, ascending, scaled, without `+Inf`; empty unless it is a histogram.
    #[must_use]
    pub fn bounds(&self) -> &'a [u64] {
        &self.data.bounds
    }

    /// Label names in the order of definition.
    pub fn label_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let strings = &self.snapshot.strings;
        self.data.label_names.iter().map(|name| strings.get(*name))
    }

    /// The series, in no particular order.
    pub fn series(&self) -> impl Iterator<Item = Series<'a>> + use<'a> {
        let Family { snapshot, data } = *self;
        data.rows().map(move |(labels, words)| Series {
            strings: &snapshot.strings,
            data,
            labels,
            words,
        })
    }
}

impl<'a> Series<'a> {
    /// Names and values of the labels that are present, in the order of definition.
    ///
    /// An overflow series has the one label [`OVERFLOW_LABEL`], with the value `true`.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        present_labels(self.strings, &self.data.label_names, self.labels)
    }

    /// What it holds.
    #[must_use]
    pub fn value(&self) -> SeriesValue<'a> {
        value_of(self.data.kind, self.words)
    }

    /// Whether it stands for the label sets past a limit.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.labels.first() == Some(&OVERFLOW_MARK)
    }

    pub(crate) fn label_ids(&self) -> &'a [u32] {
        self.labels
    }

    pub(crate) fn words(&self) -> &'a [u64] {
        self.words
    }

    pub(crate) fn label_ids_and_values(&self) -> impl Iterator<Item = (u32, &'a str)> + use<'a> {
        let strings = self.strings;
        self.labels.iter().map(|id| (*id, strings.get(*id)))
    }
}

impl SeriesValue<'_> {
    /// How many values a histogram holds; a counter's sum; zero for a gauge.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            SeriesValue::Counter(sum) => *sum,
            SeriesValue::Gauge(_) | SeriesValue::Reading { .. } => 0,
            SeriesValue::Histogram { counts, .. } => {
                counts.iter().copied().fold(0, u64::saturating_add)
            }
        }
    }

    /// Whether nothing was counted, or the level is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            SeriesValue::Counter(sum) => *sum == 0,
            SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } => *level == 0,
            SeriesValue::Histogram { counts, sum } => {
                *sum == 0 && counts.iter().all(|count| *count == 0)
            }
        }
    }
}

/// The later of two readings, by whatever order they come; of two of one moment the higher.
pub(crate) fn later_reading(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    let rank = |[at, level]: [u64; 2]| (at, level.cast_signed());
    if rank(other) > rank(one) { other } else { one }
}

/// Words that the value of one series takes: a histogram has a count for each bucket, and the sum; a reading its
/// moment, and the level.
pub(crate) fn words_of(kind: Kind, bounds: &[u64]) -> usize {
    match kind {
        Kind::Counter | Kind::Gauge => 1,
        Kind::Reading => 2,
        Kind::Histogram => bounds.len().saturating_add(2),
    }
}

pub(crate) fn value_of(kind: Kind, words: &[u64]) -> SeriesValue<'_> {
    let (last, counts) = words.split_last().unwrap_or((&0, &[]));
    match kind {
        Kind::Counter => SeriesValue::Counter(*last),
        Kind::Gauge => SeriesValue::Gauge(last.cast_signed()),
        Kind::Reading => SeriesValue::Reading {
            level: last.cast_signed(),
            at_unix_nanos: counts.first().copied().unwrap_or(0),
        },
        Kind::Histogram => SeriesValue::Histogram {
            counts: Cow::Borrowed(counts),
            sum: *last,
        },
    }
}

/// The labels that are present, or the mark of an overflow series.
pub(crate) fn present_labels<'a>(
    strings: &'a StringTable,
    names: &'a [u32],
    values: &'a [u32],
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let overflow = values.first() == Some(&OVERFLOW_MARK);
    let mark = overflow.then_some((OVERFLOW_LABEL, "true"));
    let present = names.iter().zip(values);
    let present = present
        .filter(move |(_, value)| !overflow && **value != EMPTY)
        .map(|(name, value)| (strings.get(*name), strings.get(*value)));
    mark.into_iter().chain(present)
}
