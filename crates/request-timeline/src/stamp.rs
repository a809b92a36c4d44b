//! A moment as the caller's clock gave it.

/// Monotonic nanoseconds from an origin that only the caller knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The nanoseconds from `earlier` to this stamp; zero where the clock ran backwards.
    #[must_use]
    pub const fn nanos_since(self, earlier: Stamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
