//! The Huffman coding of literals.

use super::{bits::BackwardBits, fse::Table};

/// The longest code.
const MAX_BITS: u32 = 11;
/// The largest table that the weights of a tree may be coded with.
const MAX_WEIGHT_ACCURACY: u32 = 6;
/// The weights run from 0 to the longest code.
const WEIGHTS: usize = 12;

/// The tree that was read last; none while it is empty.
#[derive(Debug, Default)]
pub(super) struct Huffman {
    /// The symbol that begins with these bits and how many bits it takes.
    cells: Vec<(u8, u8)>,
    max_bits: u32,
    weight_table: Table,
}

impl Huffman {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Reads the description of a tree; says how long it is.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        let (head, rest) = bytes.split_first()?;
        let mut weights = [0_u8; 256];
        let (count, used) = if *head < 128 {
            let used = usize::from(*head);
            (self.read_coded(rest.get(..used)?, &mut weights)?, used)
        } else {
            let count = usize::from(*head).checked_sub(127)?;
            let used = count.div_ceil(2);
            for (pair, byte) in weights.chunks_exact_mut(2).zip(rest.get(..used)?) {
                if let [first, second] = pair {
                    (*first, *second) = (byte >> 4, byte & 0xf);
                }
            }
            (count, used)
        };
        self.fill(&mut weights, count)?;
        used.checked_add(1)
    }

    /// Reads weights from two streams that take turns; says how many there are.
    fn read_coded(&mut self, bytes: &[u8], weights: &mut [u8; 256]) -> Option<usize> {
        let table = &mut self.weight_table;
        let used = table.read(bytes, MAX_WEIGHT_ACCURACY, WEIGHTS)?;
        let mut bits = BackwardBits::new(bytes.get(used..)?)?;
        let (mut state, mut other) = (table.begin(&mut bits), table.begin(&mut bits));
        // The last of 256 is never told.
        for count in 0..254_usize {
            let cell = table.cell(&state);
            *weights.get_mut(count)? = cell.symbol;
            state.advance(cell, &mut bits);
            if bits.is_short() {
                let last = count.checked_add(1)?;
                *weights.get_mut(last)? = table.cell(&other).symbol;
                return last.checked_add(1);
            }
            std::mem::swap(&mut state, &mut other);
        }
        None
    }

    /// Makes the tree in which so many symbols have these weights, and one more has what is missing.
    fn fill(&mut self, weights: &mut [u8; 256], count: usize) -> Option<()> {
        let share = |weight: u8| match weight {
            0 => Some(0),
            _ => 1_usize.checked_shl(u32::from(weight.wrapping_sub(1))),
        };
        let mut sum = 0_usize;
        for weight in weights.get(..count)? {
            sum = sum.checked_add(share(*weight)?)?;
        }
        let max_bits = sum.checked_ilog2()?.checked_add(1)?;
        let size = 1_usize.checked_shl(max_bits)?;
        let missing = size.checked_sub(sum)?;
        if max_bits > MAX_BITS || !missing.is_power_of_two() {
            return None;
        }
        *weights.get_mut(count)? = u8::try_from(missing.ilog2()).ok()?.checked_add(1)?;
        self.max_bits = max_bits;
        self.cells.clear();
        for weight in 1..=u8::try_from(max_bits).ok()? {
            let bits = u8::try_from(max_bits)
                .ok()?
                .checked_add(1)?
                .checked_sub(weight)?;
            let wanted = share(weight)?;
            for (symbol, _) in (0_u8..=u8::MAX)
                .zip(weights.iter())
                .filter(|(_, own)| **own == weight)
            {
                self.cells
                    .resize(self.cells.len().checked_add(wanted)?, (symbol, bits));
            }
        }
        (self.cells.len() == size).then_some(())
    }

    /// Decodes a stream of so many symbols.
    pub(super) fn decode(&self, bytes: &[u8], count: usize, literals: &mut Vec<u8>) -> Option<()> {
        let mut bits = BackwardBits::new(bytes)?;
        for _ in 0..count {
            let (symbol, length) = *self.cells.get(bits.peek(self.max_bits))?;
            bits.skip(u32::from(length));
            literals.push(symbol);
        }
        bits.is_spent().then_some(())
    }
}
