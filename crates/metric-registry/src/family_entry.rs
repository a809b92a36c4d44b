//! A family as the registry keeps it: its definition put right, with the ids of its names.

use crate::family::{FamilyDef, Kind, MAX_LABELS, SeriesId};
use crate::snapshot::{FamilyData, words_of};
use crate::strings::StringTable;

/// A family with the ids of its names.
#[derive(Clone)]
pub(crate) struct FamilyEntry {
    pub(crate) def: FamilyDef,
    name: u32,
    unit: u32,
    pub(crate) label_names: Vec<u32>,
    /// Words that the value of one series takes.
    pub(crate) words: usize,
    pub(crate) overflow: Option<SeriesId>,
}

impl FamilyEntry {
    pub(crate) fn new(mut def: FamilyDef, strings: &mut StringTable) -> FamilyEntry {
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

    /// The family in a snapshot, without series but with room for some.
    pub(crate) fn data_with_room_for(&self, series: usize) -> FamilyData {
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
