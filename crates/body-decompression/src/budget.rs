//! The memory that all decompressors may take together.

use std::{cell::Cell, rc::Rc};

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
    pub(crate) fn take(&self, bytes: usize) -> Option<Share> {
        let left = self.left.get().checked_sub(bytes)?;
        self.left.set(left);
        Some(Share {
            budget: self.clone(),
            bytes,
        })
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        let left = self.budget.left.get();
        self.budget.left.set(left.saturating_add(self.bytes));
    }
}
