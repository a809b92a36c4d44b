//! What the workers that are gone have counted, and which of them are in it.

use metric_registry::{Gauges, Snapshot};
use serde::{Deserialize, Serialize};

use crate::slot::Slot;

const FORMAT: u8 = 1;

/// How many series the base may hold; beyond, what is folded goes to overflow series, so that the
/// base does not grow with every generation of workers.
const SERIES_LIMIT: usize = 20_000;

/// The sum of all folded slots.
#[derive(Clone, Debug, Default)]
pub struct Base {
    folded: Vec<Folded>,
    snapshot: Snapshot,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Folded {
    slot: u32,
    generation: u32,
}

#[derive(Serialize, Deserialize)]
struct Parts<'a> {
    folded: Vec<Folded>,
    #[serde(borrow)]
    snapshot: &'a [u8],
}

impl Base {
    /// The value of the base key; nothing in the case, not known to happen, that it has no encoding.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        let parts = Parts {
            folded: self.folded.clone(),
            snapshot: &self.snapshot.encode(),
        };
        let mut bytes = vec![FORMAT];
        bytes.extend(postcard::to_allocvec(&parts).ok()?);
        Some(bytes)
    }

    /// Reads the value of the base key; nothing where another version wrote it.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Base> {
        let (&FORMAT, rest) = bytes.split_first()? else {
            return None;
        };
        let parts: Parts<'_> = postcard::from_bytes(rest).ok()?;
        Some(Base {
            folded: parts.folded,
            snapshot: Snapshot::decode(parts.snapshot).ok()?,
        })
    }

    /// Whether this owner's counts are in the base already.
    #[must_use]
    pub fn holds(&self, slot: u32, generation: u32) -> bool {
        self.folded
            .iter()
            .any(|folded| folded.slot == slot && folded.generation >= generation)
    }

    /// Adds a sealed slot and notes its owner; false where its snapshot cannot be read.
    pub fn fold(&mut self, slot: u32, value: &Slot<'_>) -> bool {
        let Some(mut snapshot) = value.read_snapshot() else {
            return false;
        };
        // The side merged into keeps its buckets, and the slot's are the newer ones.
        snapshot.drop_levels();
        snapshot.merge_within(&self.snapshot, Gauges::Ignore, SERIES_LIMIT);
        self.snapshot = snapshot;
        match self.folded.iter_mut().find(|folded| folded.slot == slot) {
            Some(folded) => folded.generation = value.generation,
            None => self.folded.push(Folded {
                slot,
                generation: value.generation,
            }),
        }
        true
    }

    /// What the workers that are gone have counted.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
