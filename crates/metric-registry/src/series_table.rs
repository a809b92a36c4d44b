//! Where the series of a registry lie: slots found by label set, and flat arenas for labels and values.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::family::{FamilyId, SeriesId};

/// Series by handle and by label set.
#[derive(Clone, Default)]
pub(crate) struct SeriesTable {
    slots: Vec<Slot>,
    /// Slots without a series.
    free: Vec<u32>,
    /// Label value ids of all series, back to back.
    label_values: Vec<u32>,
    /// Values of all series, back to back: one word for a counter or gauge; bucket counts and sum for a histogram.
    values: Vec<u64>,
    /// Slots by family and label value ids.
    lookup: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Where one series lies.
#[derive(Clone, Copy, Default)]
pub(crate) struct Slot {
    /// Counts the series that lay here, so that a handle of an earlier one is known.
    generation: u32,
    labels_at: u32,
    values_at: u32,
    words: u32,
    pub(crate) family: u16,
    labels: u8,
    live: bool,
}

impl SeriesTable {
    /// How many series there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// The slots that hold a series.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.live)
    }

    /// All slots with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0_u32..).zip(&self.slots)
    }

    /// The slot of a series, if the series is still there.
    pub(crate) fn slot(&self, series: SeriesId) -> Option<&Slot> {
        self.slots
            .get(series.index as usize)
            .filter(|slot| slot.live && slot.generation == series.generation)
    }

    /// The label value ids of a slot.
    pub(crate) fn labels(&self, slot: &Slot) -> &[u32] {
        labels_of(&self.label_values, slot)
    }

    /// The value of a slot.
    pub(crate) fn words(&self, slot: &Slot) -> &[u64] {
        let start = slot.values_at as usize;
        self.values
            .get(start..start.saturating_add(slot.words as usize))
            .unwrap_or_default()
    }

    /// The value of a slot, to be changed.
    pub(crate) fn words_mut(&mut self, slot: &Slot) -> &mut [u64] {
        let start = slot.values_at as usize;
        self.values
            .get_mut(start..start.saturating_add(slot.words as usize))
            .unwrap_or_default()
    }

    /// The series of these label value ids.
    pub(crate) fn find(&self, family: FamilyId, ids: &[u32]) -> Option<SeriesId> {
        let hash = self.hasher.hash_one((family.0, ids));
        let index = *self.lookup.find(hash, |index| {
            self.slots
                .get(*index as usize)
                .is_some_and(|slot| slot.family == family.0 && self.labels(slot) == ids)
        })?;
        let generation = self.slots.get(index as usize)?.generation;
        Some(SeriesId { index, generation })
    }

    /// Adds a series that is not there yet, with this many words of zero.
    pub(crate) fn add(&mut self, family: FamilyId, ids: &[u32], words: usize) -> Option<SeriesId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot::default());
                index
            }
        };
        self.fill(index, family, ids, words)
    }

    /// Adds an empty slot of the same generation as one of another table, to be filled or freed.
    pub(crate) fn push_empty(&mut self, like: &Slot) {
        self.slots.push(Slot {
            generation: like.generation,
            ..Slot::default()
        });
    }

    /// Frees an empty slot; whoever still holds its series is ignored from now on.
    pub(crate) fn free(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.live = false;
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(index);
        }
    }

    /// Makes an empty slot the home of a series.
    pub(crate) fn fill(
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
            labels_at: u32::try_from(self.label_values.len()).ok()?,
            values_at: u32::try_from(self.values.len()).ok()?,
            words: u32::try_from(words).ok()?,
            family: family.0,
            labels: u8::try_from(ids.len()).ok()?,
            live: true,
        };
        make_room(&mut self.label_values, ids.len());
        self.label_values.extend_from_slice(ids);
        make_room(&mut self.values, words);
        let end = self.values.len().saturating_add(words);
        self.values.resize(end, 0);
        let SeriesTable {
            lookup,
            hasher,
            slots,
            label_values,
            ..
        } = self;
        lookup.insert_unique(hasher.hash_one((family.0, ids)), index, |other| {
            let Some(slot) = slots.get(*other as usize) else {
                return 0;
            };
            hasher.hash_one((slot.family, labels_of(label_values, slot)))
        });
        Some(SeriesId { index, generation })
    }
}

impl Slot {
    /// Whether a series lies here.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }
}

fn labels_of<'a>(label_values: &'a [u32], slot: &Slot) -> &'a [u32] {
    let start = slot.labels_at as usize;
    label_values
        .get(start..start.saturating_add(usize::from(slot.labels)))
        .unwrap_or_default()
}

/// Makes room by a quarter where there is none, since doubling would leave up to half of an arena unused.
fn make_room<T>(arena: &mut Vec<T>, more: usize) {
    if arena.capacity().saturating_sub(arena.len()) < more {
        let quarter = arena.len() / 4;
        arena.reserve_exact(more.max(quarter).max(256));
    }
}
