//! The second part of a compressed block: what is copied from before, between the literals.

use super::{
    BLOCK_BYTES,
    bits::BackwardBits,
    fse::{Cell, State, Table},
    window::Window,
};
use crate::{GivenUp, budget::Share};

/// The least literals for a code, and the bits that tell how many more.
const LITERAL_LENGTHS: [(u32, u32); 36] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 0),
    (12, 0),
    (13, 0),
    (14, 0),
    (15, 0),
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 9),
    (1024, 10),
    (2048, 11),
    (4096, 12),
    (8192, 13),
    (16384, 14),
    (32768, 15),
    (65536, 16),
];
/// The least that is copied for a code from 32 on, and the bits that tell how much more.
const COPY_LENGTHS: [(u32, u32); 21] = [
    (35, 1),
    (37, 1),
    (39, 1),
    (41, 1),
    (43, 2),
    (47, 2),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 5),
    (131, 7),
    (259, 8),
    (515, 9),
    (1027, 10),
    (2051, 11),
    (4099, 12),
    (8195, 13),
    (16387, 14),
    (32771, 15),
    (65539, 16),
];
const LITERAL_LENGTH_COUNTS: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
const COPY_LENGTH_COUNTS: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OFFSET_COUNTS: [i16; 29] = [
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];
const FIRST_DISTANCES: [usize; 3] = [1, 4, 8];

/// How one of the three tables may be told.
struct Kind {
    counts: &'static [i16],
    accuracy: u32,
    max_accuracy: u32,
    symbols: usize,
}

const LITERAL_LENGTH: Kind = Kind {
    counts: &LITERAL_LENGTH_COUNTS,
    accuracy: 6,
    max_accuracy: 9,
    symbols: 36,
};
const OFFSET: Kind = Kind {
    counts: &OFFSET_COUNTS,
    accuracy: 5,
    max_accuracy: 8,
    symbols: 32,
};
const COPY_LENGTH: Kind = Kind {
    counts: &COPY_LENGTH_COUNTS,
    accuracy: 6,
    max_accuracy: 9,
    symbols: 53,
};

impl Kind {
    /// Fills the table as its mode says; gives what follows its description.
    fn read<'a>(&self, mode: u8, table: &mut Table, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match mode {
            0 => table.fill(self.counts, self.accuracy).map(|()| bytes),
            1 => {
                let (symbol, rest) = bytes.split_first()?;
                table.fill_single(*symbol);
                (usize::from(*symbol) < self.symbols).then_some(rest)
            }
            2 => {
                let used = table.read(bytes, self.max_accuracy, self.symbols)?;
                bytes.get(used..)
            }
            _ => (!table.is_empty()).then_some(bytes),
        }
    }
}

/// The tables and distances that the next block may use again.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    literal_lengths: Table,
    offsets: Table,
    copy_lengths: Table,
    distances: [usize; 3],
}

/// Literals, and a copy after them.
struct Sequence {
    literals: usize,
    offset: usize,
    copy: usize,
}

impl Sequences {
    /// A new frame uses nothing of the one before.
    pub(super) fn reset(&mut self) {
        *self = Self {
            distances: FIRST_DISTANCES,
            ..Self::default()
        };
    }

    /// Writes what the part says, and the literals with it.
    pub(super) fn execute(
        &mut self,
        bytes: &[u8],
        literals: &[u8],
        window: &mut Window,
        share: &mut Share,
    ) -> Result<(), GivenUp> {
        let (count, rest) = count(bytes).ok_or(GivenUp::Corrupt)?;
        let mut literals = literals;
        if count > 0 {
            let stream = self.read_tables(rest).ok_or(GivenUp::Corrupt)?;
            self.execute_stream(count, stream, &mut literals, window, share)?;
        } else if !rest.is_empty() {
            return Err(GivenUp::Corrupt);
        }
        if window.waiting().saturating_add(literals.len()) > BLOCK_BYTES {
            return Err(GivenUp::Corrupt);
        }
        window.write(literals, share)
    }

    fn read_tables<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (modes, rest) = bytes.split_first()?;
        if modes & 3 != 0 {
            return None;
        }
        let rest = LITERAL_LENGTH.read(modes >> 6, &mut self.literal_lengths, rest)?;
        let rest = OFFSET.read(modes >> 4 & 3, &mut self.offsets, rest)?;
        COPY_LENGTH.read(modes >> 2 & 3, &mut self.copy_lengths, rest)
    }

    fn execute_stream(
        &mut self,
        count: usize,
        stream: &[u8],
        literals: &mut &[u8],
        window: &mut Window,
        share: &mut Share,
    ) -> Result<(), GivenUp> {
        let mut bits = BackwardBits::new(stream).ok_or(GivenUp::Corrupt)?;
        let mut literal_length = self.literal_lengths.begin(&mut bits);
        let mut offset = self.offsets.begin(&mut bits);
        let mut copy_length = self.copy_lengths.begin(&mut bits);
        for left in (0..count).rev() {
            let cells = [
                self.literal_lengths.cell(&literal_length),
                self.offsets.cell(&offset),
                self.copy_lengths.cell(&copy_length),
            ];
            let sequence = read(&cells, &mut bits).ok_or(GivenUp::Corrupt)?;
            if left > 0 {
                let [literal_cell, offset_cell, copy_cell] = cells;
                State::advance(&mut literal_length, literal_cell, &mut bits);
                State::advance(&mut copy_length, copy_cell, &mut bits);
                State::advance(&mut offset, offset_cell, &mut bits);
            }
            if bits.is_short() {
                return Err(GivenUp::Corrupt);
            }
            self.execute_one(&sequence, literals, window, share)?;
        }
        if bits.is_spent() {
            Ok(())
        } else {
            Err(GivenUp::Corrupt)
        }
    }

    fn execute_one(
        &mut self,
        sequence: &Sequence,
        literals: &mut &[u8],
        window: &mut Window,
        share: &mut Share,
    ) -> Result<(), GivenUp> {
        let split = literals.split_at_checked(sequence.literals);
        let (now, later) = split.ok_or(GivenUp::Corrupt)?;
        let block = window
            .waiting()
            .saturating_add(now.len())
            .saturating_add(sequence.copy);
        if block > BLOCK_BYTES {
            return Err(GivenUp::Corrupt);
        }
        *literals = later;
        window.write(now, share)?;
        let distance = self.distance(sequence).ok_or(GivenUp::Corrupt)?;
        window.copy(distance, sequence.copy, share)
    }

    /// How far back the copy is: a new distance, or one of the last three.
    fn distance(&mut self, sequence: &Sequence) -> Option<usize> {
        let [first, second, third] = self.distances;
        if let Some(distance) = sequence.offset.checked_sub(3).filter(|new| *new > 0) {
            self.distances = [distance, first, second];
            return Some(distance);
        }
        // Right after another copy the last distance would only lengthen that one, so the others move up.
        let which = sequence
            .offset
            .checked_add(usize::from(sequence.literals == 0))?;
        match which {
            1 => Some(first),
            2 => {
                self.distances = [second, first, third];
                Some(second)
            }
            _ => {
                let distance = if which == 3 {
                    third
                } else {
                    first.checked_sub(1)?
                };
                self.distances = [distance, first, second];
                Some(distance)
            }
        }
    }
}

/// How many sequences there are, and what follows that.
fn count(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match first {
        0..128 => Some((usize::from(*first), rest)),
        128..=254 => {
            let (second, rest) = rest.split_first()?;
            let high = usize::from(first & 0x7f).checked_mul(256)?;
            Some((high.checked_add(usize::from(*second))?, rest))
        }
        _ => {
            let (number, rest) = rest.split_first_chunk()?;
            let number = usize::from(u16::from_le_bytes(*number));
            Some((number.checked_add(0x7f00)?, rest))
        }
    }
}

fn read(cells: &[Cell; 3], bits: &mut BackwardBits<'_>) -> Option<Sequence> {
    let [literal_length, offset, copy_length] = cells;
    let offset_bits = u32::from(offset.symbol);
    let offset = 1_usize
        .checked_shl(offset_bits)?
        .checked_add(bits.read(offset_bits))?;
    let symbol = usize::from(copy_length.symbol);
    let (least, more) = match symbol.checked_sub(32) {
        None => (symbol.checked_add(3)?, 0),
        Some(at) => widened(*COPY_LENGTHS.get(at)?)?,
    };
    let copy = least.checked_add(bits.read(more))?;
    let (least, more) = widened(*LITERAL_LENGTHS.get(usize::from(literal_length.symbol))?)?;
    Some(Sequence {
        offset,
        copy,
        literals: least.checked_add(bits.read(more))?,
    })
}

fn widened((least, more): (u32, u32)) -> Option<(usize, u32)> {
    Some((usize::try_from(least).ok()?, more))
}
