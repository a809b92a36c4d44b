//! br: the library undoes it, its memory is counted here.

use std::{cell::Cell, mem::size_of, rc::Rc};

use brotli_decompressor::{
    Allocator, BrotliDecompressStream, BrotliResult, BrotliState, HuffmanCode, SliceWrapper,
    StandardAlloc,
};

use crate::budget::Share;
use crate::output::{Output, Progress};
use crate::{Budget, GivenUp};

/// How much output is handed on at once.
const PART_BYTES: usize = 16 << 10;
/// What a decoder takes besides its window, for ordinary text.
const TABLE_BYTES: usize = 64 << 10;
/// The most that a decoder may take: the largest window, and tables beyond what encoders make.
const MAX_STATE_BYTES: usize = 6 << 20;
/// The logarithm of the largest window that is followed, which is also the encoders' default.
const MAX_WINDOW_BITS: u32 = 22;

type State = BrotliState<Counting, Counting, Counting>;

/// Undoes one body.
pub(crate) struct Brotli {
    state: State,
    held: Rc<Cell<usize>>,
    part: Box<[u8]>,
    share: Share,
}

impl Brotli {
    /// At the beginning of a body whose first byte is this.
    pub(crate) fn new(first: u8, budget: &Budget) -> Result<Self, GivenUp> {
        let window = window_bits(first)
            .filter(|bits| *bits <= MAX_WINDOW_BITS)
            .and_then(|bits| 1_usize.checked_shl(bits))
            .ok_or(GivenUp::StateTooLarge)?;
        let share = budget.take(window.saturating_add(TABLE_BYTES))?;
        let held = Rc::new(Cell::new(size_of::<Self>().saturating_add(PART_BYTES)));
        let counting = || Counting { held: held.clone() };
        Ok(Self {
            state: State::new(counting(), counting(), counting()),
            part: vec![0; PART_BYTES].into_boxed_slice(),
            held,
            share,
        })
    }

    /// Takes the next bytes and gives what comes out of them.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        output: &mut Output<'_>,
    ) -> Result<Progress, GivenUp> {
        let (mut available_in, mut input_offset) = (bytes.len(), 0);
        loop {
            let (mut available_out, mut made, mut total) = (self.part.len(), 0, 0);
            let result = BrotliDecompressStream(
                &mut available_in,
                &mut input_offset,
                bytes,
                &mut available_out,
                &mut made,
                &mut self.part,
                &mut total,
                &mut self.state,
            );
            output.give(self.part.get(..made).unwrap_or_default())?;
            if self.held.get() > MAX_STATE_BYTES {
                return Err(GivenUp::StateTooLarge);
            }
            self.share.cover(self.held.get())?;
            match result {
                BrotliResult::ResultSuccess => return Ok(Progress::Over),
                // It says so even where more output waits than the part has room for.
                BrotliResult::NeedsMoreInput if available_out > 0 => return Ok(Progress::More),
                BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                BrotliResult::ResultFailure => {
                    self.give_the_last(output)?;
                    return Err(GivenUp::Corrupt);
                }
            }
        }
    }

    /// Gives what the library had decoded before it found the flaw, which it keeps to itself.
    fn give_the_last(&self, output: &mut Output<'_>) -> Result<(), GivenUp> {
        let unsigned = |number: i32| usize::try_from(number).unwrap_or_default();
        let size = unsigned(self.state.ringbuffer_size);
        let end = size
            .saturating_mul(self.state.rb_roundtrips)
            .saturating_add(unsigned(self.state.pos).min(size));
        let waiting = end.saturating_sub(self.state.partial_pos_out);
        let start = self.state.partial_pos_out & unsigned(self.state.ringbuffer_mask);
        let ring = self.state.ringbuffer.slice();
        output.give(
            ring.get(start..start.saturating_add(waiting))
                .unwrap_or_default(),
        )
    }
}

/// Allocates as the library would by itself, and counts.
#[derive(Clone, Debug)]
struct Counting {
    held: Rc<Cell<usize>>,
}

macro_rules! counting {
    ($($kind:ty)*) => {$(
        impl Allocator<$kind> for Counting {
            type AllocatedMemory = <StandardAlloc as Allocator<$kind>>::AllocatedMemory;

            fn alloc_cell(&mut self, length: usize) -> Self::AllocatedMemory {
                let bytes = length.saturating_mul(size_of::<$kind>());
                self.held.set(self.held.get().saturating_add(bytes));
                <StandardAlloc as Allocator<$kind>>::alloc_cell(&mut StandardAlloc::default(), length)
            }

            fn free_cell(&mut self, cell: Self::AllocatedMemory) {
                let bytes = cell.slice().len().saturating_mul(size_of::<$kind>());
                self.held.set(self.held.get().saturating_sub(bytes));
            }
        }
    )*};
}
counting!(u8 u32 HuffmanCode);

/// The logarithm of the window that the first byte of a body asks for; none where it asks for one beyond the standard.
fn window_bits(first: u8) -> Option<u32> {
    let field = |shift: u32| u32::from(first >> shift & 0b111);
    match (first & 1, field(1), field(4)) {
        (0, _, _) => Some(16),
        (_, 0, 0) => Some(17),
        (_, 0, 1) => None,
        (_, 0, small) => small.checked_add(8),
        (_, large, _) => large.checked_add(17),
    }
}
