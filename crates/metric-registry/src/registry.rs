//! The registry of one worker: finds the series of a label set and moves it.

use crate::buckets::bucket_of;
use crate::family::{FamilyDef, FamilyId, Kind, Limits, MAX_LABELS, SeriesId};
use crate::family_entry::FamilyEntry;
use crate::label_value;
use crate::series_table::{SeriesTable, Slot};
use crate::snapshot::{FamilyData, SeriesValue, Snapshot, later_reading, present_labels, value_of};
use crate::strings::{EMPTY, OVERFLOW_MARK, StringTable};

/// Bytes of label text that any registry may hold, however few series it may have.
const LEAST_TEXT_BYTES: usize = 64 * 1024;

/// Bytes of label text that a registry may hold for each series it may have.
const TEXT_BYTES_PER_SERIES: usize = 32;

/// All series of one worker.
///
/// Values are integers in their family's scale and saturate at their type's ends. A series that belongs to another
/// registry, or was dropped by [`Registry::reshape`], is ignored wherever it is used; so is a call that does not
/// suit the series' kind.
#[derive(Clone)]
pub struct Registry {
    pub(crate) families: Vec<FamilyEntry>,
    pub(crate) strings: StringTable,
    pub(crate) table: SeriesTable,
    pub(crate) limits: Limits,
    pub(crate) start_unix_nanos: u64,
    /// Bytes of text that the names of families took, which the limit on label text leaves out.
    name_bytes: usize,
    /// Series other than overflow series.
    pub(crate) ordinary: usize,
    pub(crate) overflowed: u64,
    pub(crate) changed: bool,
    scratch: String,
}

impl Registry {
    /// An empty registry of these families.
    ///
    /// Bounds are sorted and freed of duplicates; labels past [`MAX_LABELS`] and families past 65,535 are left out.
    #[must_use]
    pub fn new(families: Vec<FamilyDef>, limits: Limits, start_unix_nanos: u64) -> Registry {
        let mut strings = StringTable::indexed();
        let families = families
            .into_iter()
            .take(usize::from(u16::MAX))
            .map(|def| FamilyEntry::new(def, &mut strings))
            .collect();
        Registry {
            families,
            name_bytes: strings.text_bytes(),
            strings,
            table: SeriesTable::default(),
            limits,
            start_unix_nanos,
            ordinary: 0,
            overflowed: 0,
            changed: true,
            // Room for every value, so that replacing control characters never allocates either.
            scratch: String::with_capacity(limits.label_value_bytes.min(4096)),
        }
    }

    /// The series of a label set; values stand in the order of the family's labels, an empty one is an absent label.
    ///
    /// Missing values count as empty, surplus ones are ignored. A known label set is found without an allocation.
    /// Where a new one would pass a limit, the family's overflow series is returned, which carries only the label
    /// [`OVERFLOW_LABEL`](crate::OVERFLOW_LABEL). A family without labels has its one series at any time.
    pub fn series(&mut self, family: FamilyId, values: &[&str]) -> SeriesId {
        let Some(entry) = self.families.get(usize::from(family.0)) else {
            return SeriesId::NONE;
        };
        let mut ids = [EMPTY; MAX_LABELS];
        let Some(ids) = ids.get_mut(..entry.label_names.len()) else {
            return SeriesId::NONE;
        };
        let most_bytes = self.limits.label_value_bytes;
        let mut all_known = true;
        for (id, value) in ids.iter_mut().zip(values) {
            let kept = label_value::clean(value, most_bytes, &mut self.scratch);
            match self.strings.find(kept) {
                Some(known) => *id = known,
                None => all_known = false,
            }
        }
        if all_known && let Some(found) = self.table.find(family, ids) {
            return found;
        }
        if !ids.is_empty() && (self.is_full() || !self.intern_values(ids, values)) {
            return self.overflow(family);
        }
        self.ordinary = self.ordinary.saturating_add(1);
        self.add_series(family, ids).unwrap_or(SeriesId::NONE)
    }

    /// Adds to a counter.
    pub fn add(&mut self, series: SeriesId, amount: u64) {
        if let Some((Kind::Counter, _, [value])) = self.at(series) {
            *value = value.saturating_add(amount);
            self.changed = true;
        }
    }

    /// Sets a gauge.
    pub fn set_gauge(&mut self, series: SeriesId, value: i64) {
        if let Some((Kind::Gauge, _, [word])) = self.at(series) {
            let before = word.cast_signed();
            *word = value.cast_unsigned();
            self.changed |= before != value;
        }
    }

    /// Moves a gauge up or down.
    pub fn shift_gauge(&mut self, series: SeriesId, by: i64) {
        if let Some((Kind::Gauge, _, [word])) = self.at(series) {
            *word = word.cast_signed().saturating_add(by).cast_unsigned();
            self.changed = true;
        }
    }

    /// Takes in what somebody has told, unless something later is known.
    pub fn set_reading(&mut self, series: SeriesId, level: i64, at_unix_nanos: u64) {
        if let Some((Kind::Reading, _, words)) = self.at(series)
            && let Some(told) = words.first_chunk_mut()
        {
            let later = later_reading(*told, [at_unix_nanos, level.cast_unsigned()]);
            let is_news = *told != later;
            *told = later;
            self.changed |= is_news;
        }
    }

    /// Puts one value into a histogram.
    pub fn observe(&mut self, series: SeriesId, value_scaled: u64) {
        if let Some((Kind::Histogram, bounds, words)) = self.at(series)
            && let Some((sum, counts)) = words.split_last_mut()
            && let Some(count) = counts.get_mut(bucket_of(bounds, value_scaled))
        {
            *count = count.saturating_add(1);
            *sum = sum.saturating_add(value_scaled);
            self.changed = true;
        }
    }

    /// Adds counts that were put into the family's own buckets already; surplus counts go to `+Inf`.
    pub fn observe_many(&mut self, series: SeriesId, counts_per_bucket: &[u64], sum_scaled: u64) {
        if let Some((Kind::Histogram, bounds, words)) = self.at(series)
            && let Some((sum, counts)) = words.split_last_mut()
        {
            for (place, more) in counts_per_bucket.iter().enumerate() {
                if let Some(count) = counts.get_mut(place.min(bounds.len())) {
                    *count = count.saturating_add(*more);
                }
            }
            *sum = sum.saturating_add(sum_scaled);
            self.changed = true;
        }
    }

    /// The definition of a family.
    #[must_use]
    pub fn family(&self, family: FamilyId) -> Option<&FamilyDef> {
        self.families
            .get(usize::from(family.0))
            .map(|entry| &entry.def)
    }

    /// The family that a series belongs to.
    #[must_use]
    pub fn family_of(&self, series: SeriesId) -> Option<FamilyId> {
        self.table.slot(series).map(|slot| FamilyId(slot.family))
    }

    /// The label values of a series in the order of its family's labels, as they are kept; absent ones are empty.
    pub fn label_values(&self, series: SeriesId) -> impl Iterator<Item = &str> {
        self.parts(series)
            .into_iter()
            .flat_map(|(_, ids, _)| ids.iter().map(|id| self.strings.get(*id)))
    }

    /// The labels of a series that are present, the overflow mark included.
    pub fn labels(&self, series: SeriesId) -> impl Iterator<Item = (&str, &str)> {
        self.parts(series)
            .into_iter()
            .flat_map(|(entry, ids, _)| present_labels(&self.strings, &entry.label_names, ids))
    }

    /// What a series holds now.
    #[must_use]
    pub fn value(&self, series: SeriesId) -> Option<SeriesValue<'_>> {
        self.parts(series)
            .map(|(entry, _, words)| value_of(entry.def.kind, words))
    }

    /// Whether a series is its family's overflow series.
    #[must_use]
    pub fn is_overflow(&self, series: SeriesId) -> bool {
        self.parts(series)
            .is_some_and(|(_, ids, _)| ids.first() == Some(&OVERFLOW_MARK))
    }

    /// How many series there are, overflow series included.
    #[must_use]
    pub fn series_count(&self) -> usize {
        self.table.len()
    }

    /// How many look-ups ended in an overflow series.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Whether anything changed since the last snapshot was taken; true before the first one.
    #[must_use]
    pub fn changed_since_snapshot(&self) -> bool {
        self.changed
    }

    /// What the registry may grow to from now on; series that are there stay.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// An owned copy of all series.
    pub fn snapshot(&mut self) -> Snapshot {
        self.changed = false;
        self.copy_of(|_| true)
    }

    /// An owned copy of the series of the chosen families.
    pub(crate) fn copy_of(&self, chosen: impl Fn(&FamilyEntry) -> bool) -> Snapshot {
        let mut counts = vec![0_usize; self.families.len()];
        for slot in self.table.live() {
            if let Some(count) = counts.get_mut(usize::from(slot.family)) {
                *count = count.saturating_add(1);
            }
        }
        let mut parts: Vec<Option<FamilyData>> = self
            .families
            .iter()
            .zip(&counts)
            .map(|(entry, count)| {
                (*count > 0 && chosen(entry)).then(|| entry.data_with_room_for(*count))
            })
            .collect();
        for slot in self.table.live() {
            if let Some(Some(part)) = parts.get_mut(usize::from(slot.family))
                && let Some((_, ids, words)) = self.parts_of(slot)
            {
                part.label_values.extend_from_slice(ids);
                part.values.extend_from_slice(words);
            }
        }
        Snapshot {
            start_unix_nanos: self.start_unix_nanos,
            strings: self.strings.plain_copy(),
            families: parts.into_iter().flatten().collect(),
        }
    }

    /// Adds a series that is not there yet, with zero values.
    fn add_series(&mut self, family: FamilyId, ids: &[u32]) -> Option<SeriesId> {
        let words = self.families.get(usize::from(family.0))?.words;
        self.changed = true;
        self.table.add(family, ids, words)
    }

    fn is_full(&self) -> bool {
        let most_text = self
            .limits
            .series
            .saturating_mul(TEXT_BYTES_PER_SERIES)
            .max(LEAST_TEXT_BYTES)
            .saturating_add(self.name_bytes);
        self.ordinary >= self.limits.series || self.strings.text_bytes() >= most_text
    }

    /// Fills in the ids of all values, adding those that are new; false where the table can take no more.
    fn intern_values(&mut self, ids: &mut [u32], values: &[&str]) -> bool {
        let most_bytes = self.limits.label_value_bytes;
        for (id, value) in ids.iter_mut().zip(values) {
            let kept = label_value::clean(value, most_bytes, &mut self.scratch);
            *id = self.strings.intern(kept);
            if *id == EMPTY && !kept.is_empty() {
                return false;
            }
        }
        true
    }

    fn overflow(&mut self, family: FamilyId) -> SeriesId {
        self.overflowed = self.overflowed.saturating_add(1);
        self.changed = true;
        let Some(entry) = self.families.get(usize::from(family.0)) else {
            return SeriesId::NONE;
        };
        if let Some(overflow) = entry.overflow {
            return overflow;
        }
        let marks = [OVERFLOW_MARK; MAX_LABELS];
        let marks = marks.get(..entry.label_names.len()).unwrap_or_default();
        let Some(overflow) = self.add_series(family, marks) else {
            return SeriesId::NONE;
        };
        self.remember_overflow(family, overflow);
        overflow
    }

    pub(crate) fn remember_overflow(&mut self, family: FamilyId, overflow: SeriesId) {
        if let Some(entry) = self.families.get_mut(usize::from(family.0)) {
            entry.overflow = Some(overflow);
        }
    }

    /// Kind, bounds and value of a series, to be changed.
    pub(crate) fn at(&mut self, series: SeriesId) -> Option<(Kind, &[u64], &mut [u64])> {
        let slot = *self.table.slot(series)?;
        let entry = self.families.get(usize::from(slot.family))?;
        let words = self.table.words_mut(&slot);
        Some((entry.def.kind, &entry.def.bounds, words))
    }

    fn parts(&self, series: SeriesId) -> Option<(&FamilyEntry, &[u32], &[u64])> {
        self.parts_of(self.table.slot(series)?)
    }

    /// Family, label value ids and value of a slot.
    pub(crate) fn parts_of(&self, slot: &Slot) -> Option<(&FamilyEntry, &[u32], &[u64])> {
        let entry = self.families.get(usize::from(slot.family))?;
        Some((entry, self.table.labels(slot), self.table.words(slot)))
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("limits", &self.limits)
            .field("overflowed", &self.overflowed)
            .field("series", &self.copy_of(|_| true))
            .finish_non_exhaustive()
    }
}

impl SeriesId {
    /// No series of any registry.
    pub(crate) const NONE: SeriesId = SeriesId {
        index: u32::MAX,
        generation: 0,
    };
}
