//! Snapshots of several workers into one.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::buckets::rebin;
use crate::family::{Kind, MAX_LABELS};
use crate::snapshot::{FamilyData, Snapshot, later_reading};
use crate::strings::{EMPTY, OVERFLOW_MARK, StringTable};

/// What becomes of the other side's gauges and readings in a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauges {
    /// Gauges are added, and later readings kept, as is right for levels of workers that are alive.
    Add,
    /// They are left out, as is right for a worker that may be gone.
    Ignore,
}

impl Snapshot {
    /// Adds another snapshot: nothing is lost, nothing counted twice, and the start time is the earlier one.
    ///
    /// Families are the same where name, kind, unit, scale and label names are. Their order and that of their
    /// series does not matter. Where the bounds differ, this side's stay and the other's counts are moved to them.
    pub fn merge(&mut self, other: &Snapshot, gauges: Gauges) {
        self.merge_within(other, gauges, usize::MAX);
    }

    /// As [`Snapshot::merge`], but a new series that would make more than `most_series` adds to its family's overflow
    /// series instead; gives how many did.
    ///
    /// This bounds a snapshot that outlives its workers and is merged into again and again.
    pub fn merge_within(&mut self, other: &Snapshot, gauges: Gauges, most_series: usize) -> u64 {
        self.start_unix_nanos = self.start_unix_nanos.min(other.start_unix_nanos);
        let mut room = most_series.saturating_sub(self.series_count());
        let mut overflowed: u64 = 0;
        self.strings.build_index();
        let mut ids = Ids::new(&other.strings);
        for theirs in &other.families {
            if theirs.kind.is_level() && gauges == Gauges::Ignore {
                continue;
            }
            let head = FamilyData {
                name: ids.intern(theirs.name, &mut self.strings),
                unit: ids.intern(theirs.unit, &mut self.strings),
                kind: theirs.kind,
                scale: theirs.scale,
                label_names: theirs
                    .label_names
                    .iter()
                    .map(|name| ids.intern(*name, &mut self.strings))
                    .collect(),
                bounds: Vec::new(),
                label_values: Vec::new(),
                values: Vec::new(),
            };
            let place = place_of_family(&mut self.families, head, theirs);
            if let Some(mine) = self.families.get_mut(place) {
                let more = merge_family(mine, theirs, &mut ids, &mut self.strings, &mut room);
                overflowed = overflowed.saturating_add(more);
            }
        }
        overflowed
    }
}

/// The ids that the other side's strings have on this side, as far as they are known yet.
struct Ids<'a> {
    theirs: &'a StringTable,
    mine: Vec<Option<u32>>,
}

impl<'a> Ids<'a> {
    fn new(theirs: &'a StringTable) -> Ids<'a> {
        let mut mine = vec![None; theirs.len()];
        if let Some(first) = mine.first_mut() {
            *first = Some(EMPTY);
        }
        Ids { theirs, mine }
    }

    fn intern(&mut self, id: u32, strings: &mut StringTable) -> u32 {
        if id == OVERFLOW_MARK {
            return OVERFLOW_MARK;
        }
        if let Some(Some(known)) = self.mine.get(id as usize) {
            return *known;
        }
        let known = strings.intern(self.theirs.get(id));
        if let Some(place) = self.mine.get_mut(id as usize) {
            *place = Some(known);
        }
        known
    }

    /// As [`Ids::intern`], but adds no string.
    fn find(&mut self, id: u32, strings: &StringTable) -> Option<u32> {
        if id == OVERFLOW_MARK {
            return Some(OVERFLOW_MARK);
        }
        let place = self.mine.get_mut(id as usize)?;
        if place.is_none() {
            *place = strings.find(self.theirs.get(id));
        }
        *place
    }
}

/// The place of this side's family, which is added with the other side's bounds where it is missing.
fn place_of_family(families: &mut Vec<FamilyData>, head: FamilyData, theirs: &FamilyData) -> usize {
    let found = families.iter().position(|mine| {
        mine.name == head.name
            && mine.kind == head.kind
            && mine.unit == head.unit
            && mine.scale == head.scale
            && mine.label_names == head.label_names
    });
    let place = found.unwrap_or(families.len());
    if found.is_none() {
        families.push(FamilyData {
            bounds: theirs.bounds.clone(),
            label_values: Vec::with_capacity(theirs.label_values.len()),
            values: Vec::with_capacity(theirs.values.len()),
            ..head
        });
    }
    place
}

fn merge_family(
    mine: &mut FamilyData,
    theirs: &FamilyData,
    ids: &mut Ids<'_>,
    strings: &mut StringTable,
    room: &mut usize,
) -> u64 {
    let mut overflowed: u64 = 0;
    let mut rows = Rows::of(mine);
    for (their_labels, words) in theirs.rows() {
        let mut labels = [EMPTY; MAX_LABELS];
        let Some(labels) = labels.get_mut(..their_labels.len()) else {
            continue;
        };
        let all_known = labels.iter_mut().zip(their_labels).all(|(label, id)| {
            ids.find(*id, strings)
                .inspect(|known| *label = *known)
                .is_some()
        });
        let mut row = all_known.then(|| rows.find(mine, labels)).flatten();
        if row.is_none() && *room == 0 && !labels.is_empty() && !is_marked(their_labels) {
            overflowed = overflowed.saturating_add(1);
            labels.fill(OVERFLOW_MARK);
            row = rows.find(mine, labels);
        } else if row.is_none() {
            for (label, id) in labels.iter_mut().zip(their_labels) {
                *label = ids.intern(*id, strings);
            }
            *room = room.saturating_sub(1);
        }
        let row = row.unwrap_or_else(|| rows.push(mine, labels));
        add_words(mine, row, &theirs.bounds, words);
    }
    overflowed
}

fn is_marked(labels: &[u32]) -> bool {
    labels.first() == Some(&OVERFLOW_MARK)
}

fn add_words(mine: &mut FamilyData, row: usize, their_bounds: &[u64], words: &[u64]) {
    let width = mine.words();
    let start = row.saturating_mul(width);
    let FamilyData {
        kind,
        bounds,
        values,
        ..
    } = mine;
    let Some(into) = values.get_mut(start..start.saturating_add(width)) else {
        return;
    };
    match kind {
        Kind::Gauge => into.iter_mut().zip(words).for_each(|(into, more)| {
            let sum = into.cast_signed().saturating_add(more.cast_signed());
            *into = sum.cast_unsigned();
        }),
        Kind::Reading => {
            if let (Some(told), Some(other)) = (into.first_chunk_mut(), words.first_chunk()) {
                *told = later_reading(*told, *other);
            }
        }
        Kind::Counter => add_each(into, words),
        Kind::Histogram if bounds == their_bounds => add_each(into, words),
        Kind::Histogram => {
            let (more_sum, counts) = words.split_last().unwrap_or((&0, &[]));
            rebin(their_bounds, counts, bounds, |bucket, more| {
                if let Some(count) = into.get_mut(bucket) {
                    *count = count.saturating_add(more);
                }
            });
            if let Some(sum) = into.last_mut() {
                *sum = sum.saturating_add(*more_sum);
            }
        }
    }
}

fn add_each(into: &mut [u64], more: &[u64]) {
    for (into, more) in into.iter_mut().zip(more) {
        *into = into.saturating_add(*more);
    }
}

/// The rows of one family by their label value ids.
struct Rows {
    index: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl Rows {
    fn of(family: &FamilyData) -> Rows {
        let mut rows = Rows {
            index: HashTable::with_capacity(family.series_count()),
            hasher: DefaultHashBuilder::default(),
        };
        for (place, (labels, _)) in family.rows().enumerate() {
            rows.insert(family, place, labels);
        }
        rows
    }

    fn find(&self, family: &FamilyData, labels: &[u32]) -> Option<usize> {
        let hash = self.hasher.hash_one(labels);
        let found = self
            .index
            .find(hash, |row| labels_at(family, *row) == labels);
        found.copied()
    }

    /// Adds a row of zeros and gives its place.
    fn push(&mut self, family: &mut FamilyData, labels: &[u32]) -> usize {
        let place = family.series_count();
        family.label_values.extend_from_slice(labels);
        let more = family.words();
        family
            .values
            .resize(family.values.len().saturating_add(more), 0);
        self.insert(family, place, labels);
        place
    }

    fn insert(&mut self, family: &FamilyData, place: usize, labels: &[u32]) {
        let Rows { index, hasher } = self;
        index.insert_unique(hasher.hash_one(labels), place, |row| {
            hasher.hash_one(labels_at(family, *row))
        });
    }
}

fn labels_at(family: &FamilyData, row: usize) -> &[u32] {
    let width = family.label_names.len();
    let start = row.saturating_mul(width);
    family
        .label_values
        .get(start..start.saturating_add(width))
        .unwrap_or_default()
}
