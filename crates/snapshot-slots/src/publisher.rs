//! A worker's side: claiming a slot, writing it, and finding out that it was taken away.

use metric_registry::{Registry, Snapshot};

use crate::base::Base;
use crate::heartbeat::{Heartbeat, MISSED_BEATS};
use crate::slot::{Slot, State};
use crate::{
    BASE_KEY, CREATE_IF_ABSENT, SLOT_LIMIT, SharedData, UNCONDITIONAL, Written, heartbeat_key,
    slot_key,
};

/// How often a write is tried again when somebody else was faster.
const ATTEMPTS: usize = 4;

/// What became of a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// The registry's counts are in the worker's slot.
    Written,
    /// No slot was free, or others were faster each time; nothing is lost, the next publish has it.
    Postponed,
}

/// One worker's hold on its slot.
#[derive(Debug)]
pub struct Publisher {
    owned: Option<Owned>,
    /// What the last successful publish wrote, as long as those counts may be somebody else's to keep.
    published: Vec<u8>,
    /// The slot was sealed: what `published` holds now belongs to the base and has to leave the registry.
    handed_over: bool,
    /// The last publish did not come through, so the next is due even if nothing changes.
    owes: bool,
    period_nanos: u64,
    last_beat_nanos: u64,
}

#[derive(Clone, Copy, Debug)]
struct Owned {
    slot: u32,
    generation: u32,
}

enum Turn {
    Done,
    Again,
    Lost,
}

impl Publisher {
    /// A worker that owns no slot yet and means to beat once in `period_nanos`.
    #[must_use]
    pub fn new(period_nanos: u64) -> Publisher {
        Publisher {
            owned: None,
            published: Vec::new(),
            handed_over: false,
            owes: true,
            period_nanos,
            last_beat_nanos: 0,
        }
    }

    /// Changes the time between two beats.
    pub fn set_period(&mut self, period_nanos: u64) {
        self.period_nanos = period_nanos;
    }

    /// The number of the slot this worker owns.
    #[must_use]
    pub fn slot(&self) -> Option<u32> {
        self.owned.map(|owned| owned.slot)
    }

    /// How many bytes the last publish wrote.
    #[must_use]
    pub fn published_bytes(&self) -> usize {
        self.published.len()
    }

    /// Whether a publish is due even if the registry has not changed: there was none yet, or the
    /// last one did not come through.
    #[must_use]
    pub fn owes(&self) -> bool {
        self.owes
    }

    /// Whether others may have taken this worker for gone, so that its slot has to be looked at
    /// before its heartbeat is renewed.
    #[must_use]
    pub fn overslept(&self, now_nanos: u64) -> bool {
        now_nanos.saturating_sub(self.last_beat_nanos)
            > self.period_nanos.saturating_mul(MISSED_BEATS)
    }

    /// Writes the registry's counts into the worker's slot, claiming one where it has none.
    ///
    /// # Errors
    ///
    /// Those of the shared data; nothing is lost, the next publish has it.
    pub fn publish<D: SharedData>(
        &mut self,
        registry: &mut Registry,
        now_nanos: u64,
        data: &mut D,
    ) -> Result<Publication, D::Error> {
        self.write(registry, State::Live, now_nanos, data)
    }

    /// Writes the registry's counts for the last time and seals the slot, so that its gauges no
    /// longer count and it can be folded at once. What was written leaves the registry; a later
    /// publish claims a slot anew.
    ///
    /// # Errors
    ///
    /// Those of the shared data; the slot is then folded when its heartbeat has run out.
    pub fn retire<D: SharedData>(
        &mut self,
        registry: &mut Registry,
        now_nanos: u64,
        data: &mut D,
    ) -> Result<Publication, D::Error> {
        let publication = self.write(registry, State::Sealed, now_nanos, data)?;
        if publication == Publication::Written {
            if let Some(owned) = self.owned.take() {
                // Nobody is to wait for this worker to lead.
                let last = Heartbeat {
                    at_nanos: 0,
                    period_nanos: 0,
                };
                data.set(&heartbeat_key(owned.slot), &last.encode(), UNCONDITIONAL)?;
            }
            self.handed_over = true;
            self.owes = true;
            self.take_out_what_was_handed_over(registry);
        }
        Ok(publication)
    }

    /// Renews the heartbeat.
    ///
    /// # Errors
    ///
    /// Those of the shared data.
    pub fn beat<D: SharedData>(&mut self, now_nanos: u64, data: &mut D) -> Result<(), D::Error> {
        if let Some(owned) = self.owned {
            let beat = Heartbeat {
                at_nanos: now_nanos,
                period_nanos: self.period_nanos,
            };
            data.set(&heartbeat_key(owned.slot), &beat.encode(), UNCONDITIONAL)?;
            self.last_beat_nanos = now_nanos;
        }
        Ok(())
    }

    fn write<D: SharedData>(
        &mut self,
        registry: &mut Registry,
        state: State,
        now_nanos: u64,
        data: &mut D,
    ) -> Result<Publication, D::Error> {
        self.owes = true;
        for _ in 0..ATTEMPTS {
            self.take_out_what_was_handed_over(registry);
            let turn = match self.owned {
                Some(owned) => self.write_own(owned, registry, state, now_nanos, data)?,
                None => {
                    if !self.claim(registry, state, now_nanos, data)? {
                        return Ok(Publication::Postponed);
                    }
                    Turn::Done
                }
            };
            match turn {
                Turn::Done => {
                    self.owes = false;
                    if state == State::Live {
                        self.beat(now_nanos, data)?;
                    }
                    return Ok(Publication::Written);
                }
                Turn::Again => {}
                Turn::Lost => {
                    self.owned = None;
                    self.handed_over = true;
                }
            }
        }
        Ok(Publication::Postponed)
    }

    fn take_out_what_was_handed_over(&mut self, registry: &mut Registry) {
        if self.handed_over {
            if let Ok(published) = Snapshot::decode(&self.published) {
                registry.subtract(&published);
            }
            self.published = Vec::new();
            self.handed_over = false;
        }
    }

    fn write_own<D: SharedData>(
        &mut self,
        owned: Owned,
        registry: &mut Registry,
        state: State,
        now_nanos: u64,
        data: &mut D,
    ) -> Result<Turn, D::Error> {
        let key = slot_key(owned.slot);
        let current = data.get(&key)?;
        let cas = match &current {
            // The whole map was erased, which only a proxy does whose last machine ended.
            None => CREATE_IF_ABSENT,
            Some((bytes, cas)) => match Slot::decode(bytes) {
                Some(slot) if slot.state == State::Live && slot.generation == owned.generation => {
                    *cas
                }
                Some(_) => return Ok(Turn::Lost),
                None => {
                    // Not ours and not readable: leave it alone, and keep all counts.
                    self.owned = None;
                    return Ok(Turn::Again);
                }
            },
        };
        drop(current);
        let snapshot = registry.snapshot().encode();
        let value = Slot {
            state,
            generation: owned.generation,
            written_at_nanos: now_nanos,
            snapshot: &snapshot,
        };
        Ok(match data.set(&key, &value.encode(), cas)? {
            Written::Done => {
                self.published = snapshot;
                Turn::Done
            }
            Written::Refused => Turn::Again,
        })
    }

    /// Claims the first slot that is absent, or folded and free.
    fn claim<D: SharedData>(
        &mut self,
        registry: &mut Registry,
        state: State,
        now_nanos: u64,
        data: &mut D,
    ) -> Result<bool, D::Error> {
        let base = match data.get(BASE_KEY)? {
            Some((bytes, _)) => Base::decode(&bytes),
            None => Some(Base::default()),
        };
        let snapshot = registry.snapshot().encode();
        for slot in 0..SLOT_LIMIT {
            let key = slot_key(slot);
            let (generation, cas) = match data.get(&key)? {
                None => (1, CREATE_IF_ABSENT),
                Some((bytes, cas)) => match (Slot::decode(&bytes), &base) {
                    (Some(free), Some(base))
                        if free.state == State::Sealed && base.holds(slot, free.generation) =>
                    {
                        (free.generation.saturating_add(1), cas)
                    }
                    _ => continue,
                },
            };
            let value = Slot {
                state,
                generation,
                written_at_nanos: now_nanos,
                snapshot: &snapshot,
            };
            if data.set(&key, &value.encode(), cas)? == Written::Done {
                self.owned = Some(Owned { slot, generation });
                self.published = snapshot;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
