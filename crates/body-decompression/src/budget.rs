//! The memory that all decompressors may take together.

use std::{cell::Cell, rc::Rc};

use crate::GivenUp;

/// A bound on memory, shared by whoever holds a clone of it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Rc<Cell<usize>>,
}

impl Default for Budget {
    /// 64 MiB: some thousand answers in gzip at once.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

impl Budget {
    /// A bound of so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self {
            left: Rc::new(Cell::new(bytes)),
        }
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left.get()
    }

    /// Takes so many bytes, if they are left.
    pub(crate) fn take(&self, bytes: usize) -> Result<Share, GivenUp> {
        let mut share = Share {
            budget: self.clone(),
            bytes: 0,
        };
        share.cover(bytes)?;
        Ok(share)
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    /// Makes the part at least as large as this.
    pub(crate) fn cover(&mut self, bytes: usize) -> Result<(), GivenUp> {
        let more = bytes.saturating_sub(self.bytes);
        let left = self.budget.left.get().checked_sub(more);
        self.budget.left.set(left.ok_or(GivenUp::BudgetSpent)?);
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    /// Makes the part larger by this.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), GivenUp> {
        self.cover(self.bytes.saturating_add(bytes))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let left = self.budget.left.get();
        self.budget.left.set(left.saturating_add(self.bytes));
    }
}
