//! Tables of the finite-state entropy coding.

use super::bits::{BackwardBits, bits_at};

/// The most symbols that any table has.
const MAX_SYMBOLS: usize = 64;

/// What stands in one state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub(super) symbol: u8,
    /// How many bits tell the next state, from `base` on.
    bits: u8,
    base: u16,
}

/// A table; none while it is empty.
#[derive(Debug, Default)]
pub(super) struct Table {
    cells: Vec<Cell>,
    accuracy: u32,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// A table of one symbol, which costs no bits.
    pub(super) fn fill_single(&mut self, symbol: u8) {
        self.accuracy = 0;
        self.cells.clear();
        self.cells.push(Cell {
            symbol,
            ..Cell::default()
        });
    }

    /// Reads the description of a table; says how long it is.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        max_accuracy: u32,
        symbols: usize,
    ) -> Option<usize> {
        let accuracy = u32::try_from(bits_at(bytes, 0, 4)).ok()?.checked_add(5)?;
        if accuracy > max_accuracy {
            return None;
        }
        let mut counts = [0_i16; MAX_SYMBOLS];
        let mut places = counts.get_mut(..symbols)?.iter_mut();
        let mut left = 1_i64.checked_shl(accuracy)?;
        let mut at = 4_usize;
        while left > 0 {
            let place = places.next()?;
            // The next value is at most one more than what is left. Where not all bits are needed to tell it, the small
            // values take one less.
            let most = left.checked_add(1)?;
            let wide = most.checked_ilog2()?.checked_add(1)?;
            let narrow = wide.checked_sub(1)?;
            let half = 1_i64.checked_shl(narrow)?;
            let spare = half.checked_mul(2)?.checked_sub(1)?.checked_sub(most)?;
            let bits = i64::try_from(bits_at(bytes, at, wide)).ok()?;
            let low = bits & half.checked_sub(1)?;
            let (value, used) = if low < spare {
                (low, narrow)
            } else if bits >= half {
                (bits.checked_sub(spare)?, wide)
            } else {
                (bits, wide)
            };
            at = at.checked_add(usize::try_from(used).ok()?)?;
            let count = value.checked_sub(1)?;
            *place = i16::try_from(count).ok()?;
            left = left.checked_sub(count.abs())?;
            let mut repeats = if count == 0 { 3 } else { 0 };
            while repeats == 3 {
                repeats = bits_at(bytes, at, 2);
                at = at.checked_add(2)?;
                for _ in 0..repeats {
                    places.next()?;
                }
            }
        }
        let used = at.div_ceil(8);
        if left < 0 || used > bytes.len() {
            return None;
        }
        self.fill(&counts, accuracy)?;
        Some(used)
    }

    /// Makes the table of a distribution, in which -1 means less than one.
    pub(super) fn fill(&mut self, counts: &[i16], accuracy: u32) -> Option<()> {
        let size = 1_usize.checked_shl(accuracy)?;
        self.accuracy = accuracy;
        self.cells.clear();
        self.cells.resize(size, Cell::default());
        let mut next = [0_u16; MAX_SYMBOLS];
        let mut high = size;
        for (symbol, (count, next)) in (0_u8..).zip(counts.iter().zip(&mut next)) {
            *next = count.unsigned_abs();
            if *count < 0 {
                high = high.checked_sub(1)?;
                self.cells.get_mut(high)?.symbol = symbol;
            }
        }
        let step = (size >> 1).checked_add(size >> 3)?.checked_add(3)?;
        let mut at = 0_usize;
        for (symbol, count) in (0_u8..).zip(counts) {
            for _ in 0..(*count).max(0) {
                self.cells.get_mut(at)?.symbol = symbol;
                loop {
                    at = at.checked_add(step)? & size.checked_sub(1)?;
                    if at < high {
                        break;
                    }
                }
            }
        }
        for cell in &mut self.cells {
            let next = next.get_mut(usize::from(cell.symbol))?;
            let state = *next;
            *next = state.checked_add(1)?;
            let bits = accuracy.checked_sub(state.checked_ilog2()?)?;
            cell.bits = u8::try_from(bits).ok()?;
            let base = usize::from(state).checked_shl(bits)?.checked_sub(size)?;
            cell.base = u16::try_from(base).ok()?;
        }
        Some(())
    }

    /// The state that a stream begins in.
    pub(super) fn begin(&self, bits: &mut BackwardBits<'_>) -> State {
        State(bits.read(self.accuracy))
    }

    pub(super) fn cell(&self, state: &State) -> Cell {
        self.cells.get(state.0).copied().unwrap_or_default()
    }
}

/// Where in a table a stream is.
pub(super) struct State(usize);

impl State {
    pub(super) fn advance(&mut self, cell: Cell, bits: &mut BackwardBits<'_>) {
        self.0 = usize::from(cell.base).wrapping_add(bits.read(u32::from(cell.bits)));
    }
}
