//! Looking over the slots: in which condition each is, and folding those of workers that are gone.

use crate::base::Base;
use crate::heartbeat::Heartbeat;
use crate::slot::{Slot, State};
use crate::{BASE_KEY, CREATE_IF_ABSENT, SLOT_LIMIT, SharedData, Written, heartbeat_key, slot_key};

/// How many slots are in which condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Their workers are alive.
    pub live: u64,
    /// Their workers have missed beats.
    pub stale: u64,
    /// Nobody writes them any more, and they are not folded yet.
    pub sealed: u64,
    /// Folded into the base and free to be claimed.
    pub free: u64,
    /// Written by another version, or broken.
    pub unreadable: u64,
}

/// Whether this slot's worker is the one to do what only one should do: the lowest slot with a
/// fresh heartbeat. Two may think so for a moment after one has died; none for at most three beats.
///
/// # Errors
///
/// Those of the shared data.
pub fn leads<D: SharedData>(own: u32, now_nanos: u64, data: &mut D) -> Result<bool, D::Error> {
    for slot in 0..own {
        let beat = data.get(&heartbeat_key(slot))?;
        let beat = beat.and_then(|(bytes, _)| Heartbeat::decode(&bytes));
        if beat.is_some_and(|beat| beat.is_fresh(now_nanos)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks over all slots; seals those whose workers are gone and folds what is sealed. Any worker
/// may do it at any time, several at once too; it is enough if one does.
///
/// # Errors
///
/// Those of the shared data.
pub fn maintain<D: SharedData>(now_nanos: u64, data: &mut D) -> Result<Census, D::Error> {
    let mut base = match data.get(BASE_KEY)? {
        None => Some((Base::default(), CREATE_IF_ABSENT)),
        Some((bytes, cas)) => Base::decode(&bytes).map(|base| (base, cas)),
    };
    let mut census = Census::default();
    let mut to_seal = Vec::new();
    let mut to_fold = Vec::new();
    let none = Base::default();
    each_slot(now_nanos, data, |visit| {
        let known = base.as_ref().map_or(&none, |(base, _)| base);
        let counts = census.count(visit, known);
        match visit.condition {
            Condition::Dead => to_seal.push(visit.slot),
            Condition::Sealed if counts => to_fold.push(visit.slot),
            _ => {}
        }
    })?;
    for slot in to_seal {
        if seal(slot, now_nanos, data)? {
            to_fold.push(slot);
        }
    }
    if let Some((base, cas)) = &mut base {
        fold(base, *cas, &to_fold, data)?;
    }
    Ok(census)
}

/// Seals one slot, unless its owner has come back; true where it is sealed now.
fn seal<D: SharedData>(slot: u32, now_nanos: u64, data: &mut D) -> Result<bool, D::Error> {
    let Some((bytes, cas)) = data.get(&slot_key(slot))? else {
        return Ok(false);
    };
    let Some(value) = Slot::decode(&bytes) else {
        return Ok(false);
    };
    if value.state == State::Sealed {
        return Ok(true);
    }
    let beat = data.get(&heartbeat_key(slot))?;
    if !beat_of(&value, beat.as_ref().map(|(bytes, _)| bytes.as_slice())).is_dead(now_nanos) {
        return Ok(false);
    }
    let sealed = Slot {
        state: State::Sealed,
        ..value
    };
    Ok(data.set(&slot_key(slot), &sealed.encode(), cas)? == Written::Done)
}

/// Adds sealed slots to the base by one write; if others were faster, a later call does it.
fn fold<D: SharedData>(
    base: &mut Base,
    cas: u32,
    slots: &[u32],
    data: &mut D,
) -> Result<(), D::Error> {
    let mut changed = false;
    for &slot in slots {
        if let Some((bytes, _)) = data.get(&slot_key(slot))?
            && let Some(value) = Slot::decode(&bytes)
            && value.state == State::Sealed
            && !base.holds(slot, value.generation)
        {
            changed |= base.fold(slot, &value);
        }
    }
    if changed && let Some(bytes) = base.encode() {
        data.set(BASE_KEY, &bytes, cas)?;
    }
    Ok(())
}

impl Census {
    /// Counts a slot; false where nothing is to be read there, or the base has it already.
    pub(crate) fn count(&mut self, visit: &Visit<'_>, base: &Base) -> bool {
        let is_folded = visit
            .value
            .is_some_and(|value| base.holds(visit.slot, value.generation));
        let (counter, counts) = match visit.condition {
            Condition::Fresh => (&mut self.live, true),
            Condition::Silent | Condition::Dead => (&mut self.stale, true),
            Condition::Sealed if is_folded => (&mut self.free, false),
            Condition::Sealed => (&mut self.sealed, true),
            Condition::Unreadable => (&mut self.unreadable, false),
        };
        *counter = counter.saturating_add(1);
        counts
    }
}

/// How a slot was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Its worker is alive.
    Fresh,
    /// Its worker has missed beats.
    Silent,
    /// Its worker counts as gone.
    Dead,
    /// Nobody writes it any more.
    Sealed,
    /// Written by another version, or broken.
    Unreadable,
}

/// A slot as it was found.
pub(crate) struct Visit<'a> {
    slot: u32,
    /// Nothing where it cannot be read.
    pub(crate) value: Option<Slot<'a>>,
    pub(crate) condition: Condition,
}

/// Visits slots in order up to the first absent one: slots are claimed in order and never deleted.
fn each_slot<D: SharedData>(
    now_nanos: u64,
    data: &mut D,
    mut visit: impl FnMut(&Visit<'_>),
) -> Result<(), D::Error> {
    for slot in 0..SLOT_LIMIT {
        if !visit_slot(slot, now_nanos, data, &mut visit)? {
            break;
        }
    }
    Ok(())
}

/// Visits one slot; false where it is absent, and so are all behind it.
pub(crate) fn visit_slot<D: SharedData>(
    slot: u32,
    now_nanos: u64,
    data: &mut D,
    visit: impl FnOnce(&Visit<'_>),
) -> Result<bool, D::Error> {
    let Some((bytes, _)) = data.get(&slot_key(slot))? else {
        return Ok(false);
    };
    let value = Slot::decode(&bytes);
    let condition = match &value {
        None => Condition::Unreadable,
        Some(value) if value.state == State::Sealed => Condition::Sealed,
        Some(value) => {
            let beat = data.get(&heartbeat_key(slot))?;
            let beat = beat_of(value, beat.as_ref().map(|(bytes, _)| bytes.as_slice()));
            if beat.is_fresh(now_nanos) {
                Condition::Fresh
            } else if beat.is_dead(now_nanos) {
                Condition::Dead
            } else {
                Condition::Silent
            }
        }
    };
    visit(&Visit {
        slot,
        value,
        condition,
    });
    Ok(true)
}

/// The later of the heartbeat key and the time of the slot's own writing, because a worker that
/// has just claimed a slot has not beaten there yet.
fn beat_of(value: &Slot<'_>, beat: Option<&[u8]>) -> Heartbeat {
    let beat = beat.and_then(Heartbeat::decode).unwrap_or(Heartbeat {
        at_nanos: 0,
        period_nanos: 1_000_000_000,
    });
    Heartbeat {
        at_nanos: beat.at_nanos.max(value.written_at_nanos),
        ..beat
    }
}
