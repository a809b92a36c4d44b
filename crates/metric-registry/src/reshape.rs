//! A registry under new settings: kept families keep their series, dropped ones go.

use crate::buckets::rebin;
use crate::family::{FamilyDef, FamilyId, Kind, MAX_LABELS, SeriesId};
use crate::family_entry::FamilyEntry;
use crate::registry::Registry;
use crate::series_table::Slot;
use crate::snapshot::Snapshot;
use crate::strings::{EMPTY, OVERFLOW_MARK};

impl Registry {
    /// The same registry under a new list of families.
    ///
    /// A family is kept where name, kind, unit, scale and label names are the same; its series keep their
    /// [`SeriesId`]s and values. Counts move to the new bounds where those changed: each goes to the smallest bound
    /// that is not below its old one, so count and sum stay exact. What [`Registry::dropped_by`] gives beforehand
    /// goes.
    #[must_use]
    pub fn reshape(self, families: Vec<FamilyDef>) -> Registry {
        let new_place: Vec<Option<FamilyId>> = self
            .families
            .iter()
            .map(|entry| place_in(&families, entry))
            .collect();
        let mut reshaped = Registry::new(families, self.limits, self.start_unix_nanos);
        reshaped.overflowed = self.overflowed;
        for (index, slot) in self.table.numbered() {
            reshaped.table.push_empty(slot);
            let family = new_place.get(usize::from(slot.family)).copied().flatten();
            let family = family.filter(|_| slot.is_live());
            let moved = family.and_then(|family| reshaped.take_over(&self, index, slot, family));
            if moved.is_none() {
                reshaped.table.free(index);
            }
        }
        reshaped
    }

    /// The counters and histograms that [`Registry::reshape`] with this list would drop, for the caller to keep.
    #[must_use]
    pub fn dropped_by(&self, families: &[FamilyDef]) -> Snapshot {
        self.copy_of(|entry| !entry.def.kind.is_level() && place_in(families, entry).is_none())
    }

    /// Brings one series of the old registry to the slot of the same number.
    fn take_over(
        &mut self,
        old: &Registry,
        index: u32,
        slot: &Slot,
        family: FamilyId,
    ) -> Option<SeriesId> {
        let (old_entry, old_ids, old_words) = old.parts_of(slot)?;
        let words = self.families.get(usize::from(family.0))?.words;
        let mut ids = [EMPTY; MAX_LABELS];
        let ids = ids.get_mut(..old_ids.len())?;
        for (id, old_id) in ids.iter_mut().zip(old_ids) {
            *id = match *old_id {
                OVERFLOW_MARK => OVERFLOW_MARK,
                known => self.strings.intern(old.strings.get(known)),
            };
        }
        let series = self.table.fill(index, family, ids, words)?;
        if ids.first() == Some(&OVERFLOW_MARK) {
            self.remember_overflow(family, series);
        } else {
            self.ordinary = self.ordinary.saturating_add(1);
        }
        let (kind, bounds, values) = self.at(series)?;
        if kind == Kind::Histogram {
            let (sum, counts) = values.split_last_mut()?;
            let (old_sum, old_counts) = old_words.split_last()?;
            *sum = *old_sum;
            rebin(&old_entry.def.bounds, old_counts, bounds, |bucket, more| {
                if let Some(count) = counts.get_mut(bucket) {
                    *count = count.saturating_add(more);
                }
            });
        } else {
            values
                .iter_mut()
                .zip(old_words)
                .for_each(|(new, old)| *new = *old);
        }
        Some(series)
    }
}

fn place_in(families: &[FamilyDef], entry: &FamilyEntry) -> Option<FamilyId> {
    let place = families.iter().position(|def| entry.is_same_family(def))?;
    u16::try_from(place).ok().map(FamilyId)
}
