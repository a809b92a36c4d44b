//! The clocks of a host: what a module sees may step, the time that timers run by may not.

use std::time::Duration;

/// All times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// What has passed since the host began; timers run by it.
    elapsed: u64,
    /// What `clock_time_get(1)` answers.
    pub(super) monotonic: u64,
    /// What `clock_time_get(0)` and `proxy_get_current_time_nanoseconds` answer.
    pub(super) wall: u64,
}

impl Clock {
    pub(super) fn new(monotonic: u64, wall: u64) -> Clock {
        Clock {
            elapsed: 0,
            monotonic,
            wall,
        }
    }

    pub(super) fn elapsed(&self) -> u64 {
        self.elapsed
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        let nanos = nanos(duration);
        self.elapsed = self.elapsed.saturating_add(nanos);
        self.monotonic = self.monotonic.saturating_add(nanos);
        self.wall = self.wall.saturating_add(nanos);
    }
}

/// A duration in nanoseconds, saturating.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
