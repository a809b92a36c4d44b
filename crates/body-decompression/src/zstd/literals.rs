//! The first part of a compressed block: the bytes that are not copied from before.

use super::{BLOCK_BYTES, bits::bits_at, huffman::Huffman, memory};
use crate::{GivenUp, budget::Share};

/// The literals of the block at hand and the tree that the next block may use again.
#[derive(Debug, Default)]
pub(super) struct Literals {
    pub(super) bytes: Vec<u8>,
    huffman: Huffman,
}

/// What the head of the part says.
struct Head {
    kind: u8,
    /// How many literals there are.
    count: usize,
    /// How many bytes they are told in.
    size: usize,
    is_one_stream: bool,
    length: usize,
}

impl Head {
    fn read(block: &[u8]) -> Option<Self> {
        let first = *block.first()?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        let number = |start: usize, bits: u32| {
            usize::try_from(bits_at(block, start, bits)).unwrap_or_default()
        };
        let head = if kind < 2 {
            let (start, bits, length) = match format {
                0 | 2 => (3, 5, 1),
                1 => (4, 12, 2),
                _ => (4, 20, 3),
            };
            let count = number(start, bits);
            Self {
                kind,
                count,
                size: if kind == 0 { count } else { 1 },
                is_one_stream: true,
                length,
            }
        } else {
            let (bits, length) = match format {
                0 | 1 => (10_u8, 3),
                2 => (14, 4),
                _ => (18, 5),
            };
            Self {
                kind,
                count: number(4, u32::from(bits)),
                size: number(usize::from(bits).checked_add(4)?, u32::from(bits)),
                is_one_stream: format == 0,
                length,
            }
        };
        (head.count <= BLOCK_BYTES).then_some(head)
    }
}

impl Literals {
    /// A new frame uses no tree of the one before.
    pub(super) fn reset(&mut self) {
        self.huffman = Huffman::default();
    }

    /// Reads the part; gives what follows it in the block.
    pub(super) fn read<'a>(
        &mut self,
        block: &'a [u8],
        share: &mut Share,
    ) -> Result<&'a [u8], GivenUp> {
        let head = Head::read(block).ok_or(GivenUp::Corrupt)?;
        self.bytes.clear();
        memory::reserve(&mut self.bytes, head.count, BLOCK_BYTES, share)?;
        self.decode(block, &head).ok_or(GivenUp::Corrupt)
    }

    fn decode<'a>(&mut self, block: &'a [u8], head: &Head) -> Option<&'a [u8]> {
        let (part, rest) = block.get(head.length..)?.split_at_checked(head.size)?;
        match head.kind {
            0 => self.bytes.extend_from_slice(part),
            1 => self.bytes.resize(head.count, *part.first()?),
            kind => {
                let used = if kind == 2 {
                    self.huffman.read(part)?
                } else {
                    0
                };
                if self.huffman.is_empty() {
                    return None;
                }
                let streams = part.get(used..)?;
                if head.is_one_stream {
                    self.huffman.decode(streams, head.count, &mut self.bytes)?;
                } else {
                    self.decode_four(streams, head.count)?;
                }
            }
        }
        Some(rest)
    }

    fn decode_four(&mut self, bytes: &[u8], count: usize) -> Option<()> {
        let (table, mut rest) = bytes.split_at_checked(6)?;
        let each = count.div_ceil(4);
        for size in table.chunks_exact(2) {
            let size = usize::from(u16::from_le_bytes(*size.first_chunk()?));
            let (stream, after) = rest.split_at_checked(size)?;
            self.huffman.decode(stream, each, &mut self.bytes)?;
            rest = after;
        }
        let last = count.checked_sub(each.checked_mul(3)?)?;
        self.huffman.decode(rest, last, &mut self.bytes)
    }
}
