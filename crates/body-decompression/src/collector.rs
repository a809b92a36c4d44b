//! Takes what a decoder writes until it is handed on, and no more than that.

use std::io;

/// The most output that is held at once.
pub(crate) const HELD_BYTES: usize = 1 << 20;

/// A writer that refuses to hold more than it may.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    held: Vec<u8>,
    is_full: bool,
}

impl Collector {
    /// Whether more was written than is held.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Hands on what is held.
    pub(crate) fn hand_on(&mut self, give: &mut impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            give(&self.held);
            self.held.clear();
        }
    }
}

impl io::Write for Collector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = HELD_BYTES.saturating_sub(self.held.len());
        if bytes.len() > room {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
