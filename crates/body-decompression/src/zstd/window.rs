//! The output that later output may be copied from.

use super::{BLOCK_BYTES, memory};
use crate::{GivenUp, budget::Share, output::Output};

/// How far back a copy may reach. Encoders stay below it but for their highest levels.
const WINDOW_BYTES: usize = 4 << 20;
/// What is kept: a block more, so that a block is complete before it is handed on.
const KEPT_BYTES: usize = WINDOW_BYTES.saturating_add(BLOCK_BYTES);

/// Grows until it holds what is kept, then begins anew from its front.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// Where the next byte goes.
    at: usize,
    /// How many bytes of the frame were written, as far as that matters.
    written: usize,
    /// How many of the last bytes were not handed on.
    waiting: usize,
}

impl Window {
    /// Nothing of the frame before can be copied from.
    pub(super) fn reset(&mut self) {
        self.bytes.clear();
        (self.at, self.written, self.waiting) = (0, 0, 0);
    }

    /// How many bytes were not handed on.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// How much can be written without beginning anew.
    const fn room(&self) -> usize {
        KEPT_BYTES.saturating_sub(self.at)
    }

    fn wrote(&mut self, count: usize) {
        self.at = self.at.wrapping_add(count);
        if self.at >= KEPT_BYTES {
            self.at = 0;
        }
        self.written = self.written.saturating_add(count);
        self.waiting = self.waiting.saturating_add(count);
    }

    /// Makes room for what comes next where that is at the end; says whether it is.
    fn is_growing(&mut self, count: usize, share: &mut Share) -> Result<bool, GivenUp> {
        let is_growing = self.at == self.bytes.len();
        if is_growing {
            memory::reserve(
                &mut self.bytes,
                self.at.saturating_add(count),
                KEPT_BYTES,
                share,
            )?;
        }
        Ok(is_growing)
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, bytes: &[u8], share: &mut Share) -> Result<(), GivenUp> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at_checked(self.room()).unwrap_or((rest, &[]));
            if self.is_growing(now.len(), share)? {
                self.bytes.extend_from_slice(now);
            } else {
                let end = self.at.wrapping_add(now.len());
                let place = self.bytes.get_mut(self.at..end);
                place.ok_or(GivenUp::Corrupt)?.copy_from_slice(now);
            }
            self.wrote(now.len());
            rest = later;
        }
        Ok(())
    }

    /// Writes one byte so many times.
    pub(super) fn fill(
        &mut self,
        byte: u8,
        count: usize,
        share: &mut Share,
    ) -> Result<(), GivenUp> {
        if let Some(rest) = count.checked_sub(1) {
            self.write(&[byte], share)?;
            self.copy(1, rest, share)?;
        }
        Ok(())
    }

    /// Writes again what stands so far back.
    pub(super) fn copy(
        &mut self,
        distance: usize,
        length: usize,
        share: &mut Share,
    ) -> Result<(), GivenUp> {
        if distance == 0 || distance > self.written {
            return Err(GivenUp::Corrupt);
        }
        if distance > WINDOW_BYTES {
            return Err(GivenUp::StateTooLarge);
        }
        let (mut distance, mut left) = (distance, length);
        while left > 0 {
            let source = self.at.checked_sub(distance);
            let source =
                source.unwrap_or_else(|| self.at.wrapping_add(KEPT_BYTES).wrapping_sub(distance));
            let count = left
                .min(distance)
                .min(self.room())
                .min(KEPT_BYTES.saturating_sub(source));
            let end = source.wrapping_add(count);
            if self.is_growing(count, share)? {
                self.bytes.extend_from_within(source..end);
            } else {
                self.bytes.copy_within(source..end, self.at);
            }
            self.wrote(count);
            left = left.saturating_sub(count);
            // What was just written repeats what stood before it, so twice as much can follow at once.
            if count == distance && distance < BLOCK_BYTES {
                distance = distance.wrapping_mul(2);
            }
        }
        Ok(())
    }

    /// Hands on what was not.
    pub(super) fn hand_on(&mut self, output: &mut Output<'_>) -> Result<(), GivenUp> {
        let waiting = std::mem::take(&mut self.waiting);
        let wrapped = waiting.saturating_sub(self.at);
        let early = self.bytes.len().saturating_sub(wrapped);
        output.give(self.bytes.get(early..).unwrap_or_default())?;
        let late = self.at.saturating_sub(waiting);
        output.give(self.bytes.get(late..self.at).unwrap_or_default())
    }
}
