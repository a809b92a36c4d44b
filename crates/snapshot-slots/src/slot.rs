//! One worker's slot: who owns it, whether it is still written, and its snapshot.

use metric_registry::Snapshot;

const FORMAT: u8 = 1;
const LIVE: u8 = 1;
const SEALED: u8 = 2;

/// Whether a slot is still written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its owner writes it.
    Live,
    /// Nobody writes it any more; it waits to be folded, or is folded and may be claimed again.
    Sealed,
}

/// A slot's value, with its snapshot still encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot<'a> {
    /// Whether it is still written.
    pub state: State,
    /// Grows by one with each owner; slot and generation together name one owner for ever.
    pub generation: u32,
    /// The owner's heartbeat at the time of writing, for the moment before its own key is there.
    pub written_at_nanos: u64,
    /// The encoded snapshot.
    pub snapshot: &'a [u8],
}

impl<'a> Slot<'a> {
    /// The value of the slot's key.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.snapshot.len().saturating_add(14));
        bytes.push(FORMAT);
        bytes.push(match self.state {
            State::Live => LIVE,
            State::Sealed => SEALED,
        });
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.written_at_nanos.to_le_bytes());
        bytes.extend(self.snapshot);
        bytes
    }

    /// Reads the value of a slot's key; nothing where another version or somebody else wrote it.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Slot<'a>> {
        let (format, rest) = bytes.split_first()?;
        let (state, rest) = rest.split_first()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (written_at, snapshot) = rest.split_first_chunk()?;
        let state = match (*format, *state) {
            (FORMAT, LIVE) => State::Live,
            (FORMAT, SEALED) => State::Sealed,
            _ => return None,
        };
        Some(Slot {
            state,
            generation: u32::from_le_bytes(*generation),
            written_at_nanos: u64::from_le_bytes(*written_at),
            snapshot,
        })
    }

    /// The snapshot, where it can be read.
    #[must_use]
    pub fn read_snapshot(&self) -> Option<Snapshot> {
        Snapshot::decode(self.snapshot).ok()
    }
}
