//! How the workers of one proxy share their metrics: a slot each, a base for the dead, and readers
//! who add it all up.
//!
//! A proxy runs one virtual machine per worker thread, and all they have in common is a map of keys
//! with a compare-and-swap write ([`SharedData`]). Keys cannot be deleted or listed. On this map:
//!
//! - Each worker owns one *slot*, claimed by an atomic create-if-absent, and is its only writer. It
//!   writes its whole [`Snapshot`](metric_registry::Snapshot) there, each time under the compare-and-swap number it has just
//!   read ([`Publisher::publish`]), and renews a small heartbeat key beside it.
//! - The slot of a worker that is gone is folded in two steps ([`maintain`]): it is *sealed* by a
//!   compare-and-swap on the slot itself, then its snapshot is added to the *base* by one
//!   compare-and-swap that also notes slot and generation. Until the note is there, readers count
//!   the sealed slot; from then on, the base. At no moment is it counted twice or not at all.
//! - A worker that was only asleep finds its slot sealed at its next publish. It takes a slot of a
//!   new generation and goes on with what it has counted since its last successful publish.
//! - Readers ([`read`], or [`Reading`] a slot at a time) merge the base and every slot that the base has not taken in. Gauges count
//!   only while the heartbeat is fresh; counters and histograms always do.
//!
//! # What this crate does not do
//!
//! It reads no clock and makes no hostcall: the caller passes the monotonic time, which is one for
//! all threads of a process, and something that implements [`SharedData`].
//!
//! # Limits
//!
//! At most [`SLOT_LIMIT`] slots; a worker that finds none free keeps counting and tries again.

mod base;
mod census;
mod heartbeat;
mod publisher;
mod reader;
mod slot;

pub use base::Base;
pub use census::{Census, leads, maintain};
pub use heartbeat::{DEAD_AFTER_NANOS, Heartbeat, MISSED_BEATS};
pub use publisher::{Publication, Publisher};
pub use reader::{Reading, View, read};
pub use slot::{Slot, State};

/// The key that holds what the workers that are gone have counted.
pub const BASE_KEY: &str = "inferometer/1/base";

/// How many slots there can be; a proxy has as many workers as it has cores, and one slot more.
pub const SLOT_LIMIT: u32 = 512;

/// A compare-and-swap number no key ever has, which makes a write a create-if-absent.
pub const CREATE_IF_ABSENT: u32 = u32::MAX;

/// The compare-and-swap number that asks for no comparison.
const UNCONDITIONAL: u32 = 0;

/// The key of a slot.
#[must_use]
pub fn slot_key(slot: u32) -> String {
    format!("inferometer/1/slot/{slot}")
}

/// The key of a slot's heartbeat.
#[must_use]
pub fn heartbeat_key(slot: u32) -> String {
    format!("inferometer/1/heartbeat/{slot}")
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The value stands.
    Done,
    /// Somebody else has written the key since the number was read.
    Refused,
}

/// The map that all workers of one proxy see.
pub trait SharedData {
    /// What the map answers when it does not work at all.
    type Error;

    /// A key's value and its compare-and-swap number.
    ///
    /// # Errors
    ///
    /// When the map cannot be read; an absent key is no error.
    fn get(&mut self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Self::Error>;

    /// Writes a key if its number is still `cas`, or if the key is absent.
    ///
    /// # Errors
    ///
    /// When the map cannot be written; a number that has changed is no error.
    fn set(&mut self, key: &str, value: &[u8], cas: u32) -> Result<Written, Self::Error>;
}
