//! A worker's sign of life, small enough to be renewed at each tick.

/// After so many missed beats a worker's gauges no longer count.
pub const MISSED_BEATS: u64 = 3;

/// After so long without a beat a worker counts as gone, and its slot is folded.
pub const DEAD_AFTER_NANOS: u64 = 60_000_000_000;

/// When a worker was last alive, and how often it means to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The monotonic clock at the beat.
    pub at_nanos: u64,
    /// The time between two beats.
    pub period_nanos: u64,
}

impl Heartbeat {
    /// The value of the heartbeat key.
    #[must_use]
    pub fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (at, period) = bytes.split_at_mut(8);
        at.copy_from_slice(&self.at_nanos.to_le_bytes());
        period.copy_from_slice(&self.period_nanos.to_le_bytes());
        bytes
    }

    /// Reads the value of a heartbeat key; nothing where it is not one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Heartbeat> {
        let (at, rest) = bytes.split_first_chunk()?;
        let (period, rest) = rest.split_first_chunk()?;
        rest.is_empty().then_some(Heartbeat {
            at_nanos: u64::from_le_bytes(*at),
            period_nanos: u64::from_le_bytes(*period),
        })
    }

    /// Whether the worker is known to be alive.
    #[must_use]
    pub fn is_fresh(self, now_nanos: u64) -> bool {
        self.age_nanos(now_nanos) <= self.period_nanos.saturating_mul(MISSED_BEATS)
    }

    /// Whether the worker is taken for gone. A slow worker's period raises the bar, so that it is
    /// never folded between two beats.
    #[must_use]
    pub fn is_dead(self, now_nanos: u64) -> bool {
        let patience = self.period_nanos.saturating_mul(MISSED_BEATS);
        self.age_nanos(now_nanos) > DEAD_AFTER_NANOS.max(patience)
    }

    fn age_nanos(self, now_nanos: u64) -> u64 {
        now_nanos.saturating_sub(self.at_nanos)
    }
}
