//! Snapshots read by people and tests: one number, equality, and a listing.

use std::borrow::Cow;
use std::fmt;

use crate::measured::Measured;
use crate::snapshot::{Family, Series, SeriesValue, Snapshot};

impl Snapshot {
    /// The sum over every series of this name that carries all these labels; `None` where there is none.
    ///
    /// A label given with an empty value must be absent. Counts of other bounds are moved to those of the first
    /// series found; series of another kind or scale than the first are left out.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<SeriesValue<'static>> {
        let mut total: Option<Measured<'_>> = None;
        for family in self.families_named(name) {
            for series in family.series().filter(|series| carries(*series, labels)) {
                let measured = Measured::of(family, series);
                match &mut total {
                    None => total = Some(measured),
                    Some(total) if total.scale == measured.scale => total.add(&measured),
                    Some(_) => {}
                }
            }
        }
        total.map(|total| owned(total.value))
    }

    /// The families named so, in no particular order.
    pub fn families_named(&self, name: &str) -> impl Iterator<Item = Family<'_>> {
        self.families().filter(move |family| family.name() == name)
    }
}

fn carries(series: Series<'_>, labels: &[(&str, &str)]) -> bool {
    labels.iter().all(|(name, value)| {
        let found = series.labels().find(|(label, _)| label == name);
        found.map_or("", |(_, value)| value) == *value
    })
}

fn owned(value: SeriesValue<'_>) -> SeriesValue<'static> {
    match value {
        SeriesValue::Counter(sum) => SeriesValue::Counter(sum),
        SeriesValue::Gauge(level) => SeriesValue::Gauge(level),
        SeriesValue::Reading {
            level,
            at_unix_nanos,
        } => SeriesValue::Reading {
            level,
            at_unix_nanos,
        },
        SeriesValue::Histogram { counts, sum } => SeriesValue::Histogram {
            counts: Cow::Owned(counts.into_owned()),
            sum,
        },
    }
}

/// All that a family says, in an order that does not depend on how it came about.
type Canonical<'a> = (
    (&'a str, &'static str, &'a str, u64, Vec<&'a str>, &'a [u64]),
    Vec<(Vec<(&'a str, &'a str)>, &'a [u64])>,
);

impl Snapshot {
    fn canonical(&self) -> Vec<Canonical<'_>> {
        let mut families: Vec<Canonical<'_>> = self
            .families()
            .map(|family| {
                let mut series: Vec<_> = family
                    .series()
                    .map(|series| (series.labels().collect(), series.words()))
                    .collect();
                series.sort_unstable();
                let head = (
                    family.name(),
                    family.kind().as_str(),
                    family.unit(),
                    family.scale(),
                    family.label_names().collect(),
                    family.bounds(),
                );
                (head, series)
            })
            .collect();
        families.sort_unstable();
        families
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.start_unix_nanos == other.start_unix_nanos && self.canonical() == other.canonical()
    }
}

impl Eq for Snapshot {}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Snapshot since {}", self.start_unix_nanos)?;
        let mut lines: Vec<String> = self
            .families()
            .flat_map(|family| family.series().map(move |series| (family, series)))
            .map(|(family, series)| format!("{family:?} {series:?}"))
            .collect();
        lines.sort_unstable();
        lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl fmt::Debug for Family<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, kind, unit) = (self.name(), self.kind().as_str(), self.unit());
        write!(f, "{name} [{kind} {unit:?}/{}]", self.scale())
    }
}

impl fmt::Debug for Series<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.labels().collect();
        write!(f, "{labels:?} = {:?}", self.value())
    }
}
