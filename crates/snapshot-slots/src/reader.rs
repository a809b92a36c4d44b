//! The readers' side: adding it all up, at once or one slot at a time.

use std::collections::VecDeque;

use metric_registry::{Gauges, Snapshot};

use crate::base::Base;
use crate::census::{Census, Condition, visit_slot};
use crate::slot::Slot;
use crate::{BASE_KEY, SLOT_LIMIT, SharedData};

/// How often a read starts again because a slot was folded meanwhile.
const ATTEMPTS: usize = 4;

/// All workers' counts in one.
#[derive(Debug)]
pub struct View {
    /// The merged snapshot.
    pub snapshot: Snapshot,
    /// What it was made of.
    pub census: Census,
}

/// Merges the base and all slots.
///
/// # Errors
///
/// Those of the shared data.
pub fn read<D: SharedData>(now_nanos: u64, data: &mut D) -> Result<View, D::Error> {
    let mut reading = Reading::begin(now_nanos, data)?;
    loop {
        if let Some(view) = reading.step(data)? {
            return Ok(view);
        }
    }
}

/// A read that takes in one slot at a time, for callers that may not be held up for as long as all of them take.
///
/// Slots may be written and folded between two steps: what is read is what each slot held when it was its turn, and
/// nothing is counted twice or not at all.
#[derive(Debug)]
pub struct Reading {
    now_nanos: u64,
    attempts_left: usize,
    attempt: Attempt,
}

#[derive(Debug)]
struct Attempt {
    base: Base,
    base_cas: Option<u32>,
    census: Census,
    snapshot: Snapshot,
    /// What is merged first decides the buckets, so those who count now come before the rest.
    of_the_past: VecDeque<Snapshot>,
    next_slot: u32,
}

impl Reading {
    /// Begins; `now_nanos` decides for the whole read whose gauges still count.
    ///
    /// # Errors
    ///
    /// Those of the shared data.
    pub fn begin<D: SharedData>(now_nanos: u64, data: &mut D) -> Result<Reading, D::Error> {
        Ok(Reading {
            now_nanos,
            attempts_left: ATTEMPTS,
            attempt: Attempt::begin(data)?,
        })
    }

    /// Takes in one thing more; gives the view when that was the last.
    ///
    /// # Errors
    ///
    /// Those of the shared data; the read is then over.
    pub fn step<D: SharedData>(&mut self, data: &mut D) -> Result<Option<View>, D::Error> {
        if self.attempt.next_slot < SLOT_LIMIT {
            self.attempt.take_slot(self.now_nanos, data)?;
            return Ok(None);
        }
        if let Some(other) = self.attempt.of_the_past.pop_front() {
            self.attempt.snapshot.merge(&other, Gauges::Ignore);
            return Ok(None);
        }
        // A slot folded since the base was read, and claimed anew, would be missing from both sides: the base that was
        // read is then no longer the one that stands.
        let unchanged = data.get(BASE_KEY)?.map(|(_, cas)| cas) == self.attempt.base_cas;
        self.attempts_left = self.attempts_left.saturating_sub(1);
        if !unchanged && self.attempts_left > 0 {
            self.attempt = Attempt::begin(data)?;
            return Ok(None);
        }
        let attempt = &mut self.attempt;
        let mut snapshot = std::mem::take(&mut attempt.snapshot);
        snapshot.merge(attempt.base.snapshot(), Gauges::Ignore);
        Ok(Some(View {
            snapshot,
            census: attempt.census,
        }))
    }
}

impl Attempt {
    fn begin<D: SharedData>(data: &mut D) -> Result<Attempt, D::Error> {
        let stored = data.get(BASE_KEY)?;
        let base = stored.as_ref().map(|(bytes, _)| Base::decode(bytes));
        let mut census = Census::default();
        if matches!(base, Some(None)) {
            census.unreadable = 1;
        }
        Ok(Attempt {
            base: base.flatten().unwrap_or_default(),
            base_cas: stored.map(|(_, cas)| cas),
            census,
            snapshot: Snapshot::default(),
            of_the_past: VecDeque::new(),
            next_slot: 0,
        })
    }

    /// Takes in the next slot; behind the last one there are only absent ones.
    fn take_slot<D: SharedData>(&mut self, now_nanos: u64, data: &mut D) -> Result<(), D::Error> {
        let slot = self.next_slot;
        let there = visit_slot(slot, now_nanos, data, |visit| {
            if !self.census.count(visit, &self.base) {
                return;
            }
            match visit.value.as_ref().and_then(Slot::read_snapshot) {
                Some(other) if visit.condition == Condition::Fresh => {
                    self.snapshot.merge(&other, Gauges::Add);
                }
                Some(other) => self.of_the_past.push_back(other),
                None => self.census.unreadable = self.census.unreadable.saturating_add(1),
            }
        })?;
        self.next_slot = if there {
            slot.saturating_add(1)
        } else {
            SLOT_LIMIT
        };
        Ok(())
    }
}
