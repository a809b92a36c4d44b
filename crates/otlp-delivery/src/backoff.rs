//! When the next call is due.

use crate::outcome::Verdict;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE_NANOS: u64 = NANOS_PER_SECOND;
/// The longest pause that failures alone bring.
const LONGEST_PAUSE_NANOS: u64 = 30 * NANOS_PER_SECOND;

/// The longest pause that a receiver can ask for.
pub(crate) const LONGEST_ASKED_NANOS: u64 = 300 * NANOS_PER_SECOND;

/// The pace of one kind of call: regular while it works, slower and slower while it does not.
///
/// Random numbers are passed in; all their bits count. They keep many proxies from calling at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval_nanos: u64,
    /// Nothing before the first look at the clock.
    due_nanos: Option<u64>,
    failures: u32,
}

impl Pace {
    /// A pace with this interval.
    #[must_use]
    pub fn new(interval_nanos: u64) -> Pace {
        Pace {
            interval_nanos,
            due_nanos: None,
            failures: 0,
        }
    }

    /// Changes the interval from the next call on.
    pub fn set_interval(&mut self, interval_nanos: u64) {
        self.interval_nanos = interval_nanos;
    }

    /// Whether a call is due. The first one comes somewhere within the first interval.
    pub fn is_due(&mut self, now_nanos: u64, random: impl FnOnce() -> u64) -> bool {
        let interval = self.interval_nanos;
        let due = *self
            .due_nanos
            .get_or_insert_with(|| now_nanos.saturating_add(part_of(interval, random())));
        // A clock that was set back must not silence the sender until it has caught up.
        let longest = interval.max(LONGEST_ASKED_NANOS).saturating_mul(2);
        now_nanos >= due || due.saturating_sub(now_nanos) > longest
    }

    /// Takes the end of a call; what the receiver has not taken comes with the next.
    pub fn ended(&mut self, now_nanos: u64, verdict: &Verdict, random: u64) {
        let pause = if verdict.is_taken() {
            self.failures = 0;
            self.interval_nanos
        } else {
            let doublings = self.failures.min(16);
            self.failures = self.failures.saturating_add(1);
            let longest = LONGEST_PAUSE_NANOS.max(self.interval_nanos);
            let pause = FIRST_PAUSE_NANOS
                .saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX))
                .min(longest);
            // At least half of it, so that a pause is one.
            let half = pause / 2;
            half.saturating_add(part_of(half, random))
        };
        let asked_for = verdict.pause_nanos.unwrap_or(0);
        let jitter = part_of(self.interval_nanos / 20, random);
        // Counted from the end, so that calls that are late do not bunch up.
        let pause = pause.max(asked_for).saturating_add(jitter);
        self.due_nanos = Some(now_nanos.saturating_add(pause));
    }

    /// How many calls have failed since one worked.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// A random part of a time.
fn part_of(nanos: u64, random: u64) -> u64 {
    let product = u128::from(nanos).saturating_mul(u128::from(random));
    u64::try_from(product >> 64).unwrap_or(0)
}
