//! gzip, zlib and raw deflate: the library undoes the deflate, what stands around it is passed over here.
//!
//! The library's own reader of gzip verifies a checksum, for which it brings tables of 16 KiB; an observer that changes
//! nothing has no use for it.

use miniz_oxide::inflate::{
    TINFLStatus,
    core::{
        DecompressorOxide, decompress,
        inflate_flags::{
            TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_IGNORE_ADLER32, TINFL_FLAG_PARSE_ZLIB_HEADER,
        },
    },
};

use crate::budget::Share;
use crate::output::{Output, Progress};
use crate::{Budget, GivenUp};

/// How far back deflate refers, and how much output is handed on at once.
const WINDOW_BYTES: usize = 32 << 10;
/// What a decoder takes: its window and its tables.
const STATE_BYTES: usize = 48 << 10;

/// What stands around the deflate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Gzip,
    Zlib,
    Raw,
}

/// Where in the body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the ten bytes that every member of gzip begins with.
    Head(u8),
    /// In the two bytes that tell how long the extra field is.
    ExtraLength(u8),
    Extra(u16),
    Name,
    Comment,
    HeadChecksum(u8),
    Body,
    /// In the eight bytes after a member.
    Tail(u8),
    /// After a member, where another may begin.
    Between,
    /// After the end, where nothing means anything.
    Over,
}

const HAS_HEAD_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;

/// Undoes one body.
pub(crate) struct Inflate {
    decompressor: Box<DecompressorOxide>,
    window: Box<[u8]>,
    /// Where in the window the next byte of output goes.
    at: usize,
    container: Container,
    place: Place,
    flags: u8,
    extra: u16,
    _share: Share,
}

impl Inflate {
    pub(crate) fn new(container: Container, budget: &Budget) -> Result<Self, GivenUp> {
        Ok(Self {
            _share: budget.take(STATE_BYTES)?,
            decompressor: Box::default(),
            window: vec![0; WINDOW_BYTES].into_boxed_slice(),
            at: 0,
            container,
            place: if container == Container::Gzip {
                Place::Head(0)
            } else {
                Place::Body
            },
            flags: 0,
            extra: 0,
        })
    }

    /// Takes the next bytes and gives what comes out of them.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        output: &mut Output<'_>,
    ) -> Result<Progress, GivenUp> {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            match self.place {
                Place::Body => rest = self.body(rest, output)?,
                Place::Over => break,
                _ => {
                    self.around(*first)?;
                    rest = after;
                }
            }
        }
        Ok(if self.place == Place::Over {
            Progress::Over
        } else {
            Progress::More
        })
    }

    /// Takes bytes of the deflate and gives those that follow it.
    fn body<'a>(&mut self, bytes: &'a [u8], output: &mut Output<'_>) -> Result<&'a [u8], GivenUp> {
        let flags = TINFL_FLAG_HAS_MORE_INPUT
            | TINFL_FLAG_IGNORE_ADLER32
            | if self.container == Container::Zlib {
                TINFL_FLAG_PARSE_ZLIB_HEADER
            } else {
                0
            };
        let mut rest = bytes;
        loop {
            let (status, used, made) = decompress(
                &mut self.decompressor,
                rest,
                &mut self.window,
                self.at,
                flags,
            );
            rest = rest.get(used..).unwrap_or_default();
            let end = self.at.saturating_add(made);
            output.give(self.window.get(self.at..end).unwrap_or_default())?;
            self.at = end % WINDOW_BYTES;
            match status {
                TINFLStatus::Done => {
                    self.place = match self.container {
                        Container::Gzip => Place::Tail(0),
                        Container::Zlib | Container::Raw => Place::Over,
                    };
                    return Ok(rest);
                }
                TINFLStatus::NeedsMoreInput => return Ok(&[]),
                // The window is full and begins anew.
                TINFLStatus::HasMoreOutput if used > 0 || made > 0 => {}
                _ => return Err(GivenUp::Corrupt),
            }
        }
    }

    /// Takes a byte of what stands around a member of gzip.
    fn around(&mut self, byte: u8) -> Result<(), GivenUp> {
        self.place = match self.place {
            Place::Head(at) => {
                let is_wrong = match at {
                    0 => byte != 0x1f,
                    1 => byte != 0x8b,
                    2 => byte != 8,
                    _ => false,
                };
                if is_wrong {
                    return Err(GivenUp::Corrupt);
                }
                if at == 3 {
                    self.flags = byte;
                }
                if at == 9 {
                    self.next(HAS_EXTRA)
                } else {
                    Place::Head(at.saturating_add(1))
                }
            }
            Place::ExtraLength(0) => {
                self.extra = u16::from(byte);
                Place::ExtraLength(1)
            }
            Place::ExtraLength(_) => {
                match u16::from_le_bytes([self.extra.to_le_bytes()[0], byte]) {
                    0 => self.next(HAS_NAME),
                    length => Place::Extra(length),
                }
            }
            Place::Extra(1) => self.next(HAS_NAME),
            Place::Extra(left) => Place::Extra(left.saturating_sub(1)),
            Place::Name if byte == 0 => self.next(HAS_COMMENT),
            Place::Comment if byte == 0 => self.next(HAS_HEAD_CHECKSUM),
            Place::HeadChecksum(0) => Place::HeadChecksum(1),
            Place::HeadChecksum(_) => Place::Body,
            Place::Tail(7) => {
                self.decompressor.init();
                self.at = 0;
                Place::Between
            }
            // Padding and whatever else may stand there is passed over, as clients do.
            Place::Between if byte != 0x1f => Place::Over,
            Place::Between => Place::Head(1),
            Place::Tail(at) => Place::Tail(at.saturating_add(1)),
            place => place,
        };
        Ok(())
    }

    /// The first part of the head, from `flag` on in their order, that the member has.
    fn next(&self, flag: u8) -> Place {
        let order = [
            (HAS_EXTRA, Place::ExtraLength(0)),
            (HAS_NAME, Place::Name),
            (HAS_COMMENT, Place::Comment),
            (HAS_HEAD_CHECKSUM, Place::HeadChecksum(0)),
        ];
        order
            .into_iter()
            .skip_while(|(own, _)| *own != flag)
            .find(|(own, _)| self.flags & own != 0)
            .map_or(Place::Body, |(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn every_part_that_a_head_may_have_is_passed_over() {
        // "hi" in a stored block.
        let deflate = [1, 2, 0, 0xfd, 0xff, b'h', b'i'];
        for flags in 0..32_u8 {
            let mut body = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
            if flags & HAS_EXTRA != 0 {
                body.extend([2, 0, 9, 9]);
            }
            if flags & HAS_NAME != 0 {
                body.extend(b"name\0");
            }
            if flags & HAS_COMMENT != 0 {
                body.extend(b"\0");
            }
            if flags & HAS_HEAD_CHECKSUM != 0 {
                body.extend([7, 7]);
            }
            body.extend(deflate);
            body.extend([0; 8]);
            let member = body.clone();
            body.extend(&member);
            for size in 1..body.len() {
                let mut inflate = Inflate::new(Container::Gzip, &Budget::default()).unwrap();
                let mut text = Vec::new();
                let mut give = |part: &[u8]| text.extend_from_slice(part);
                let mut output = Output::new(&mut give, &Limits::default(), 0, 0);
                for piece in body.chunks(size) {
                    inflate.push(piece, &mut output).unwrap();
                }
                assert_eq!(text, b"hihi", "{flags:b} by {size}");
            }
        }
    }
}
