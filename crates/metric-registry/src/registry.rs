//! The registry of one worker: finds the series of a label set and moves it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::buckets::bucket_of;
use crate::family::{FamilyDef, FamilyId, Kind, Limits, MAX_LABELS, SeriesId};
use crate::label_value;
use crate::snapshot::{FamilyData, SeriesValue, Snapshot, present_labels, value_of, words_of};
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
    pub(crate) slots: Vec<Slot>,
    /// Slots that [`Registry::reshape`] left behind.
    pub(crate) free: Vec<u32>,
    /// Label value ids of all series, back to back.
    pub(crate) label_values: Vec<u32>,
    /// Values of all series, back to back: one word for a counter or gauge; bucket counts and sum for a histogram.
    pub(crate) values: Vec<u64>,
    /// Slots by family and label value ids.
    pub(crate) lookup: HashTable<u32>,
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) limits: Limits,
    pub(crate) start_unix_nanos: u64,
    /// Bytes of text that the names of families took, which the limit on label text leaves out.
    pub(crate) name_bytes: usize,
    /// Series other than overflow series.
    pub(crate) ordinary: usize,
    pub(crate) overflowed: u64,
    pub(crate) changed: bool,
    scratch: String,
}

/// A family with the ids of its names.
#[derive(Clone)]
pub(crate) struct FamilyEntry {
    pub(crate) def: FamilyDef,
    pub(crate) name: u32,
    pub(crate) unit: u32,
    pub(crate) label_names: Vec<u32>,
    /// Words that the value of one series takes.
    pub(crate) words: usize,
    overflow: Option<SeriesId>,
}

/// Where one series lies.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// Counts the slot's owners, so that a handle of an earlier one is known.
    pub(crate) generation: u32,
    pub(crate) family: u16,
    pub(crate) live: bool,
    pub(crate) labels_at: u32,
    pub(crate) values_at: u32,
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
            slots: Vec::new(),
            free: Vec::new(),
            label_values: Vec::new(),
            values: Vec::new(),
            lookup: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
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
        if all_known && let Some(found) = self.find(family, ids) {
            return found;
        }
        if !ids.is_empty() && (self.is_full() || !self.intern_values(ids, values)) {
            return self.overflow(family);
        }
        self.ordinary = self.ordinary.saturating_add(1);
        self.push_series(family, ids).unwrap_or(SeriesId::NONE)
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
        self.slot(series).map(|slot| FamilyId(slot.family))
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
        self.slots.len().saturating_sub(self.free.len())
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
        for slot in self.slots.iter().filter(|slot| slot.live) {
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
        for slot in self.slots.iter().filter(|slot| slot.live) {
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

    /// The series of these label value ids.
    pub(crate) fn find(&self, family: FamilyId, ids: &[u32]) -> Option<SeriesId> {
        let hash = self.hasher.hash_one((family.0, ids));
        let index = *self.lookup.find(hash, |index| {
            self.slots.get(*index as usize).is_some_and(|slot| {
                slot.family == family.0 && labels_of(&self.label_values, slot, ids.len()) == ids
            })
        })?;
        let generation = self.slots.get(index as usize)?.generation;
        Some(SeriesId { index, generation })
    }

    /// Adds a series that is not there yet, with zero values.
    pub(crate) fn push_series(&mut self, family: FamilyId, ids: &[u32]) -> Option<SeriesId> {
        let words = self.families.get(usize::from(family.0))?.words;
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot::EMPTY);
                place
            }
        };
        self.fill_slot(place, family, ids, words)
    }

    /// Makes a slot the home of a series.
    pub(crate) fn fill_slot(
        &mut self,
        index: u32,
        family: FamilyId,
        ids: &[u32],
        words: usize,
    ) -> Option<SeriesId> {
        let slot = self.slots.get_mut(index as usize)?;
        let generation = slot.generation;
        *slot = Slot {
            generation,
            family: family.0,
            live: true,
            labels_at: u32::try_from(self.label_values.len()).ok()?,
            values_at: u32::try_from(self.values.len()).ok()?,
        };
        grow(&mut self.label_values, ids.len());
        self.label_values.extend_from_slice(ids);
        grow(&mut self.values, words);
        self.values
            .resize(self.values.len().saturating_add(words), 0);
        self.index_slot(index, family, ids);
        self.changed = true;
        Some(SeriesId { index, generation })
    }

    fn index_slot(&mut self, index: u32, family: FamilyId, ids: &[u32]) {
        let Registry {
            lookup,
            hasher,
            slots,
            families,
            label_values,
            ..
        } = self;
        lookup.insert_unique(hasher.hash_one((family.0, ids)), index, |other| {
            let Some(slot) = slots.get(*other as usize) else {
                return 0;
            };
            let count = families
                .get(usize::from(slot.family))
                .map_or(0, |entry| entry.label_names.len());
            hasher.hash_one((slot.family, labels_of(label_values, slot, count)))
        });
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
        let Some(overflow) = self.push_series(family, marks) else {
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

    pub(crate) fn slot(&self, series: SeriesId) -> Option<&Slot> {
        self.slots
            .get(series.index as usize)
            .filter(|slot| slot.live && slot.generation == series.generation)
    }

    /// Kind, bounds and value of a series, to be changed.
    pub(crate) fn at(&mut self, series: SeriesId) -> Option<(Kind, &[u64], &mut [u64])> {
        let slot = *self.slot(series)?;
        let entry = self.families.get(usize::from(slot.family))?;
        let start = slot.values_at as usize;
        let words = self
            .values
            .get_mut(start..start.saturating_add(entry.words))?;
        Some((entry.def.kind, &entry.def.bounds, words))
    }

    fn parts(&self, series: SeriesId) -> Option<(&FamilyEntry, &[u32], &[u64])> {
        self.parts_of(self.slot(series)?)
    }

    /// Family, label value ids and value of a slot.
    pub(crate) fn parts_of(&self, slot: &Slot) -> Option<(&FamilyEntry, &[u32], &[u64])> {
        let entry = self.families.get(usize::from(slot.family))?;
        let ids = labels_of(&self.label_values, slot, entry.label_names.len());
        let start = slot.values_at as usize;
        let words = self.values.get(start..start.saturating_add(entry.words))?;
        Some((entry, ids, words))
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

impl Slot {
    const EMPTY: Slot = Slot {
        generation: 0,
        family: 0,
        live: false,
        labels_at: 0,
        values_at: 0,
    };
}

impl FamilyEntry {
    fn new(mut def: FamilyDef, strings: &mut StringTable) -> FamilyEntry {
        def.scale = def.scale.max(1);
        def.labels.truncate(MAX_LABELS);
        if def.kind == Kind::Histogram {
            def.bounds.sort_unstable();
            def.bounds.dedup();
        } else {
            def.bounds.clear();
        }
        FamilyEntry {
            name: strings.intern(def.name),
            unit: strings.intern(def.unit),
            label_names: def.labels.iter().map(|name| strings.intern(name)).collect(),
            words: words_of(def.kind, &def.bounds),
            overflow: None,
            def,
        }
    }

    /// Whether both are the same family, whatever their bounds.
    pub(crate) fn is_same_family(&self, other: &FamilyDef) -> bool {
        let FamilyDef {
            name,
            kind,
            unit,
            scale,
            labels,
            bounds: _,
        } = &self.def;
        *name == other.name
            && *kind == other.kind
            && *unit == other.unit
            && *scale == other.scale.max(1)
            && labels.iter().eq(other.labels.iter().take(MAX_LABELS))
    }

    fn data_with_room_for(&self, series: usize) -> FamilyData {
        FamilyData {
            name: self.name,
            unit: self.unit,
            kind: self.def.kind,
            scale: self.def.scale,
            label_names: self.label_names.clone(),
            bounds: self.def.bounds.clone(),
            label_values: Vec::with_capacity(series.saturating_mul(self.label_names.len())),
            values: Vec::with_capacity(series.saturating_mul(self.words)),
        }
    }
}

fn labels_of<'a>(label_values: &'a [u32], slot: &Slot, count: usize) -> &'a [u32] {
    let start = slot.labels_at as usize;
    label_values
        .get(start..start.saturating_add(count))
        .unwrap_or_default()
}

/// Makes room by a quarter where there is none, since doubling would leave up to half of the arena unused.
fn grow<T>(arena: &mut Vec<T>, more: usize) {
    if arena.capacity().saturating_sub(arena.len()) < more {
        let quarter = arena.len() / 4;
        arena.reserve_exact(more.max(quarter).max(256));
    }
}
