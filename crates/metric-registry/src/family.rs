//! What a metric family is: its name, kind, unit, scale, labels and bucket bounds.

use serde::{Deserialize, Serialize};

/// Most labels a family may have; surplus label names are left out.
///
/// The bound lets a label set be looked up through an array on the stack.
pub const MAX_LABELS: usize = 16;

/// How the values of a family behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A sum that only grows.
    Counter,
    /// A level that goes up and down; those of several workers add up.
    Gauge,
    /// Counts per bucket, with the sum of all values.
    Histogram,
    /// A level that somebody else has told, with the moment of it; of several workers' the latest counts.
    Reading,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::Counter, Kind::Gauge, Kind::Histogram, Kind::Reading];

    /// The kind in one lower-case word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            // To those who read metrics both are the same.
            Kind::Gauge | Kind::Reading => "gauge",
            Kind::Histogram => "histogram",
        }
    }

    /// Whether its values are levels, which end with who reports them, and not counts, which never do.
    #[must_use]
    pub const fn is_level(self) -> bool {
        matches!(self, Kind::Gauge | Kind::Reading)
    }
}

/// One metric family, as the registry is told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyDef {
    /// OpenTelemetry name, as `inference.request.duration`.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Unit by the Unified Code for Units of Measure, as `s`, `By`, `1`, `{token}`.
    pub unit: &'static str,
    /// Integer units in 1.0 of the unit, as 1,000,000,000 where seconds are kept in nanoseconds; zero counts as one.
    pub scale: u64,
    /// Label names; the values given to [`Registry::series`](crate::Registry::series) stand in the same order.
    pub labels: Vec<&'static str>,
    /// Upper bounds of a histogram's buckets in scaled integers, each belonging to its bucket; `+Inf` is implied.
    pub bounds: Vec<u64>,
}

/// A family of a [`Registry`](crate::Registry): its place in the list that the registry was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(pub u16);

/// One label set of one family of one [`Registry`](crate::Registry).
///
/// It stays valid through [`Registry::reshape`](crate::Registry::reshape) while its family is kept; afterwards it is
/// ignored wherever it is used, so a request that outlives a change of settings does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// What a registry may grow to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most series, a histogram counting as one; each family may add its one overflow series.
    pub series: usize,
    /// Most bytes of a label value; a longer one is cut on a character border.
    pub label_value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            series: 20_000,
            label_value_bytes: 128,
        }
    }
}
