//! A registry less what it has published: what is left when a new generation of a slot begins.

use crate::buckets::rebin;
use crate::family::{FamilyId, MAX_LABELS, SeriesId};
use crate::registry::Registry;
use crate::snapshot::{Family, Series, SeriesValue, Snapshot};
use crate::strings::{EMPTY, OVERFLOW_MARK};

/// What [`Registry::subtract`] could not take off; all zero when the snapshot was this registry's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subtraction {
    /// Numbers that would have gone below zero and were set to zero.
    pub saturated: u64,
    /// Series of the snapshot, other than gauges and zeros, that the registry does not have.
    pub unmatched: u64,
}

impl Registry {
    /// Takes the counters and histograms of a snapshot off; levels stay.
    ///
    /// Merging the snapshot with a later one of the remainder gives what the whole would have been. Where the bounds
    /// changed since (see [`Registry::reshape`]), the snapshot's counts are moved to the new bounds first.
    pub fn subtract(&mut self, published: &Snapshot) -> Subtraction {
        let mut report = Subtraction::default();
        for family in published.families() {
            if family.kind().is_level() {
                continue;
            }
            let place = self.place_of(family);
            for series in family.series() {
                let value = series.value();
                if value.is_zero() {
                    continue;
                }
                match place.and_then(|place| self.find_as_in(place, series)) {
                    Some(mine) => self.take_off(mine, family.bounds(), &value, &mut report),
                    None => report.unmatched = report.unmatched.saturating_add(1),
                }
            }
        }
        self.changed = true;
        report
    }

    fn place_of(&self, family: Family<'_>) -> Option<FamilyId> {
        let place = self.families.iter().position(|entry| {
            entry.def.name == family.name()
                && entry.def.kind == family.kind()
                && entry.def.unit == family.unit()
                && entry.def.scale == family.scale()
                && family.label_names().eq(entry.def.labels.iter().copied())
        })?;
        u16::try_from(place).ok().map(FamilyId)
    }

    /// This registry's series with the label values of a snapshot's series.
    fn find_as_in(&self, family: FamilyId, series: Series<'_>) -> Option<SeriesId> {
        let mut ids = [EMPTY; MAX_LABELS];
        let ids = ids.get_mut(..series.label_ids().len())?;
        for (id, (their_id, text)) in ids.iter_mut().zip(series.label_ids_and_values()) {
            *id = match their_id {
                OVERFLOW_MARK => OVERFLOW_MARK,
                _ => self.strings.find(text)?,
            };
        }
        self.table.find(family, ids)
    }

    fn take_off(
        &mut self,
        series: SeriesId,
        their_bounds: &[u64],
        value: &SeriesValue<'_>,
        report: &mut Subtraction,
    ) {
        let Some((_, bounds, words)) = self.at(series) else {
            return;
        };
        let mut less = |word: Option<&mut u64>, amount: u64| {
            if let Some(word) = word {
                let below_zero = u64::from(*word < amount);
                report.saturated = report.saturated.saturating_add(below_zero);
                *word = word.saturating_sub(amount);
            }
        };
        match value {
            SeriesValue::Counter(amount) => less(words.first_mut(), *amount),
            SeriesValue::Gauge(_) | SeriesValue::Reading { .. } => {}
            SeriesValue::Histogram { counts, sum } => {
                rebin(their_bounds, counts, bounds, |bucket, count| {
                    less(words.get_mut(bucket), count);
                });
                less(words.last_mut(), *sum);
            }
        }
    }
}
