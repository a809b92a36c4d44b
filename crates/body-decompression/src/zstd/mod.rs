//! Zstandard, block by block: what a sender flushes is a whole block.
//!
//! Written here because the library for it keeps output back until its window is full and does not bound what a block
//! becomes.

mod bits;
mod fse;
mod huffman;
mod literals;
mod memory;
mod sequences;
mod window;

use literals::Literals;
use sequences::Sequences;
use window::Window;

use crate::budget::Share;
use crate::output::{Output, Progress};
use crate::{Budget, GivenUp};

/// The most that a block becomes.
const BLOCK_BYTES: usize = 128 << 10;
/// What a decoder takes before it has seen a block: its tables.
const TABLE_BYTES: usize = 16 << 10;
/// The largest window that a sender may announce, which is what the standard for bodies allows. Less is kept.
const MAX_WINDOW_BYTES: u64 = 8 << 20;
const MAGIC: u32 = 0xfd2f_b528;
/// What frames begin with that hold no output: this and the fifteen numbers after it.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;

/// Where in the body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Magic,
    /// In the first byte of a frame's head, which tells how long the rest is.
    Descriptor,
    Head {
        descriptor: u8,
        length: usize,
    },
    SkipLength,
    Skip(u32),
    BlockHead,
    Raw(usize),
    Repeated(usize),
    Compressed(usize),
    Checksum,
    Over,
}

/// Undoes one body.
pub(crate) struct Zstd {
    place: Place,
    /// The bytes of what is read whole, so far.
    held: Vec<u8>,
    is_first_frame: bool,
    has_checksum: bool,
    is_last_block: bool,
    literals: Literals,
    sequences: Sequences,
    window: Window,
    share: Share,
}

impl Zstd {
    pub(crate) fn new(budget: &Budget) -> Result<Self, GivenUp> {
        Ok(Self {
            share: budget.take(TABLE_BYTES)?,
            place: Place::Magic,
            held: Vec::new(),
            is_first_frame: true,
            has_checksum: false,
            is_last_block: false,
            literals: Literals::default(),
            sequences: Sequences::default(),
            window: Window::default(),
        })
    }

    /// Takes the next bytes and gives what comes out of them.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        output: &mut Output<'_>,
    ) -> Result<Progress, GivenUp> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.place {
                Place::Over => return Ok(Progress::Over),
                Place::Skip(left) => {
                    let (now, later) = take(rest, usize::try_from(left).unwrap_or(usize::MAX));
                    let left = left.saturating_sub(u32::try_from(now.len()).unwrap_or(u32::MAX));
                    self.place = if left == 0 {
                        Place::Magic
                    } else {
                        Place::Skip(left)
                    };
                    later
                }
                Place::Raw(left) => {
                    let (now, later) = take(rest, left);
                    self.window.write(now, &mut self.share)?;
                    self.window.hand_on(output)?;
                    match left.saturating_sub(now.len()) {
                        0 => self.end_block(),
                        left => self.place = Place::Raw(left),
                    }
                    later
                }
                _ => self.whole(rest, output)?,
            };
        }
        Ok(if self.place == Place::Over {
            Progress::Over
        } else {
            Progress::More
        })
    }

    /// How long the part is that is read whole.
    fn length(&self) -> usize {
        match self.place {
            Place::Magic | Place::SkipLength | Place::Checksum => 4,
            Place::BlockHead => 3,
            Place::Compressed(length) | Place::Head { length, .. } => length,
            _ => 1,
        }
    }

    /// Takes bytes of a part that is read whole, and reads it when it is.
    fn whole<'a>(&mut self, bytes: &'a [u8], output: &mut Output<'_>) -> Result<&'a [u8], GivenUp> {
        let length = self.length();
        let (now, later) = take(bytes, length.saturating_sub(self.held.len()));
        if now.len() == length {
            self.read(now, output)?;
            return Ok(later);
        }
        memory::reserve(&mut self.held, length, BLOCK_BYTES, &mut self.share)?;
        self.held.extend_from_slice(now);
        if self.held.len() == length {
            let mut held = std::mem::take(&mut self.held);
            self.read(&held, output)?;
            held.clear();
            self.held = held;
        }
        Ok(later)
    }

    fn read(&mut self, part: &[u8], output: &mut Output<'_>) -> Result<(), GivenUp> {
        let number = number(part);
        let short = u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        match self.place {
            Place::Magic if short == MAGIC => {
                self.is_first_frame = false;
                self.place = Place::Descriptor;
            }
            Place::Magic if short & !0xf == SKIPPABLE_MAGIC => {
                self.is_first_frame = false;
                self.place = Place::SkipLength;
            }
            Place::Magic if self.is_first_frame => return Err(GivenUp::Corrupt),
            // Whatever stands after the end is passed over, as clients do.
            Place::Magic => self.place = Place::Over,
            Place::SkipLength if short == 0 => self.place = Place::Magic,
            Place::SkipLength => self.place = Place::Skip(short),
            Place::Descriptor => self.read_descriptor(part.first().copied().unwrap_or_default())?,
            Place::Head { descriptor, .. } => self.read_head(descriptor, part)?,
            Place::BlockHead => self.read_block_head(short)?,
            Place::Repeated(count) => {
                let byte = part.first().copied().unwrap_or_default();
                self.window.fill(byte, count, &mut self.share)?;
                self.window.hand_on(output)?;
                self.end_block();
            }
            Place::Compressed(_) => {
                let block = self.read_block(part);
                // Before a flaw there may be output, however the body is cut.
                self.window.hand_on(output)?;
                block?;
                self.end_block();
            }
            Place::Checksum => self.place = Place::Magic,
            Place::Skip(_) | Place::Raw(_) | Place::Over => {}
        }
        Ok(())
    }

    fn read_descriptor(&mut self, descriptor: u8) -> Result<(), GivenUp> {
        if descriptor & 8 != 0 {
            return Err(GivenUp::Corrupt);
        }
        let is_single = is_single(descriptor);
        let size = match descriptor >> 6 {
            0 => usize::from(is_single),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let length = usize::from(!is_single)
            .saturating_add(dictionary_bytes(descriptor))
            .saturating_add(size);
        self.has_checksum = descriptor & 4 != 0;
        self.literals.reset();
        self.sequences.reset();
        self.window.reset();
        self.place = Place::Head { descriptor, length };
        Ok(())
    }

    fn read_head(&mut self, descriptor: u8, head: &[u8]) -> Result<(), GivenUp> {
        let mut rest = head;
        if !is_single(descriptor) {
            let (window, after) = rest.split_first().unwrap_or((&0, &[]));
            let base = 1_u64
                .checked_shl(u32::from(window >> 3).saturating_add(10))
                .unwrap_or(u64::MAX);
            let more = (base >> 3).saturating_mul(u64::from(window & 7));
            if base.saturating_add(more) > MAX_WINDOW_BYTES {
                return Err(GivenUp::StateTooLarge);
            }
            rest = after;
        }
        let dictionary = rest.get(..dictionary_bytes(descriptor)).unwrap_or_default();
        if number(dictionary) != 0 {
            return Err(GivenUp::Corrupt);
        }
        self.place = Place::BlockHead;
        Ok(())
    }

    fn read_block_head(&mut self, head: u32) -> Result<(), GivenUp> {
        self.is_last_block = head & 1 != 0;
        let size = usize::try_from(head >> 3).unwrap_or(usize::MAX);
        if size > BLOCK_BYTES {
            return Err(GivenUp::Corrupt);
        }
        match head >> 1 & 3 {
            0 if size == 0 => self.end_block(),
            0 => self.place = Place::Raw(size),
            1 => self.place = Place::Repeated(size),
            2 if size > 0 => self.place = Place::Compressed(size),
            _ => return Err(GivenUp::Corrupt),
        }
        Ok(())
    }

    fn read_block(&mut self, block: &[u8]) -> Result<(), GivenUp> {
        let rest = self.literals.read(block, &mut self.share)?;
        self.sequences.execute(
            rest,
            &self.literals.bytes,
            &mut self.window,
            &mut self.share,
        )
    }

    fn end_block(&mut self) {
        self.place = match (self.is_last_block, self.has_checksum) {
            (false, _) => Place::BlockHead,
            (true, true) => Place::Checksum,
            (true, false) => Place::Magic,
        };
    }
}

const fn is_single(descriptor: u8) -> bool {
    descriptor >> 5 & 1 != 0
}

fn dictionary_bytes(descriptor: u8) -> usize {
    match descriptor & 3 {
        3 => 4,
        length => usize::from(length),
    }
}

/// At most so many of the bytes, and those after them.
fn take(bytes: &[u8], most: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(most).unwrap_or((bytes, &[]))
}

/// The first eight bytes as a number, the lowest first.
fn number(bytes: &[u8]) -> u64 {
    bits::bits_at(bytes, 0, 56)
}
