//! What waits to be sent, bounded.

use std::collections::VecDeque;

/// Items that wait to be sent, in the order of their making. When there are too many, the oldest go.
///
/// A batch of the oldest can be lent out. It goes on counting against the bounds, and is either taken by a receiver
/// ([`Ring::delivered`]), to be sent again ([`Ring::returned`]) or given up ([`Ring::abandoned`]).
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    /// How many of the oldest are lent out.
    lent: usize,
    holds: Extent,
    lends: Extent,
    /// How many items are lent out where nothing was ever too large.
    lends_at_best: usize,
    /// How many batches were taken since one was too large.
    taken: u8,
}

/// After so many batches that were taken, larger ones are tried again.
const TAKEN_BEFORE_LARGER: u8 = 16;

/// How much is held, or lent out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many items.
    pub items: usize,
    /// How many bytes.
    pub bytes: usize,
}

impl<T> Ring<T> {
    /// An empty ring that holds so much at most, and lends out so much at once.
    #[must_use]
    pub fn new(holds: Extent, lends: Extent) -> Ring<T> {
        Ring {
            items: VecDeque::new(),
            bytes: 0,
            lent: 0,
            holds,
            lends,
            lends_at_best: lends.items,
            taken: 0,
        }
    }

    /// Whether nothing waits and nothing is lent out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether as much waits as is lent out at once, if that is so many bytes at most.
    #[must_use]
    pub fn has_batch(&self, most_bytes: usize) -> bool {
        self.items.len() >= self.lends.items || self.bytes >= self.lends.bytes.min(most_bytes)
    }

    /// Adds an item of so many bytes; gives how many had to go for it, of those that are not lent out, and itself if it
    /// cannot be held at all.
    #[must_use]
    pub fn push(&mut self, item: T, bytes: usize) -> u64 {
        if bytes > self.holds.bytes {
            return 1;
        }
        let mut dropped = 0_u64;
        while self.items.len() >= self.holds.items
            || self.bytes.saturating_add(bytes) > self.holds.bytes
        {
            dropped = dropped.saturating_add(1);
            let Some((_, freed)) = self.items.remove(self.lent) else {
                return dropped;
            };
            self.bytes = self.bytes.saturating_sub(freed);
        }
        self.items.push_back((item, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        dropped
    }

    /// Lends out a batch of the oldest, of so many bytes at most: one item at least, if there is one. What was lent before
    /// comes back first.
    pub fn lend(&mut self, most_bytes: usize) -> impl Iterator<Item = &T> {
        self.lent = 0;
        let most_bytes = most_bytes.min(self.lends.bytes);
        let mut bytes = 0_usize;
        for (_, size) in self.items.iter().take(self.lends.items.max(1)) {
            bytes = bytes.saturating_add(*size);
            if self.lent > 0 && bytes > most_bytes {
                break;
            }
            self.lent = self.lent.saturating_add(1);
        }
        self.items.iter().take(self.lent).map(|(item, _)| item)
    }

    /// The batch was taken.
    pub fn delivered(&mut self) {
        self.remove(self.lent);
        self.taken = self.taken.saturating_add(1);
        if self.taken >= TAKEN_BEFORE_LARGER {
            self.taken = 0;
            self.lends.items = self.lends.items.saturating_mul(2).min(self.lends_at_best);
        }
    }

    /// The batch was not taken and is to be sent again.
    pub fn returned(&mut self) {
        self.lent = 0;
    }

    /// The batch is larger than its receiver takes: the next ones are half as large. Gives how many items are given up,
    /// which is the one that was the whole batch.
    #[must_use]
    pub fn too_large(&mut self) -> u64 {
        self.taken = 0;
        if self.lent <= 1 {
            return self.abandoned();
        }
        self.lends.items = self.lent / 2;
        self.returned();
        0
    }

    /// The batch is not taken and never will be; gives how many items it had.
    #[must_use]
    pub fn abandoned(&mut self) -> u64 {
        self.remove(self.lent)
    }

    /// Nobody is left to send to; gives how many items are given up.
    #[must_use]
    pub fn clear(&mut self) -> u64 {
        self.remove(self.items.len())
    }

    fn remove(&mut self, count: usize) -> u64 {
        let removed = self.items.drain(..count.min(self.items.len()));
        let (mut count, mut bytes) = (0_u64, 0_usize);
        for (_, size) in removed {
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(size);
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        self.lent = 0;
        count
    }
}
