//! gzip, zlib and raw deflate: the library undoes the deflate, what stands around it is passed over here.
//!
//! The library's own reader of gzip verifies a checksum, for which it brings tables of 16 KiB; an observer that changes
//! nothing has no use for it.

use flate2::{Decompress, FlushDecompress, Status};

/// How much output is handed on at once.
const PART_BYTES: usize = 16 << 10;

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
    /// After the end, where nothing means anything.
    Over,
}

const HAS_HEAD_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;

/// Undoes one body.
pub(crate) struct Inflate {
    decompress: Decompress,
    container: Container,
    place: Place,
    flags: u8,
    extra: u16,
    part: Box<[u8]>,
}

/// A body that is not what it ought to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt;

impl Inflate {
    pub(crate) fn new(container: Container) -> Self {
        Self {
            decompress: Decompress::new(container == Container::Zlib),
            container,
            place: if container == Container::Gzip {
                Place::Head(0)
            } else {
                Place::Body
            },
            flags: 0,
            extra: 0,
            part: vec![0; PART_BYTES].into_boxed_slice(),
        }
    }

    /// Takes the next bytes and gives what comes out of them.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        give: &mut impl FnMut(&[u8]),
    ) -> Result<(), Corrupt> {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            match self.place {
                Place::Body => rest = self.body(rest, give)?,
                Place::Over => break,
                _ => {
                    self.around(*first)?;
                    rest = after;
                }
            }
        }
        Ok(())
    }

    /// Takes bytes of the deflate and gives those that follow it.
    fn body<'a>(
        &mut self,
        bytes: &'a [u8],
        give: &mut impl FnMut(&[u8]),
    ) -> Result<&'a [u8], Corrupt> {
        let mut rest = bytes;
        loop {
            let (input_before, output_before) =
                (self.decompress.total_in(), self.decompress.total_out());
            let status = self
                .decompress
                .decompress(rest, &mut self.part, FlushDecompress::None)
                .map_err(|_| Corrupt)?;
            let used = difference(self.decompress.total_in(), input_before);
            let made = difference(self.decompress.total_out(), output_before);
            rest = rest.get(used..).unwrap_or_default();
            if made > 0 {
                give(self.part.get(..made).unwrap_or_default());
            }
            if status == Status::StreamEnd {
                self.place = match self.container {
                    Container::Gzip => Place::Tail(0),
                    Container::Zlib | Container::Raw => Place::Over,
                };
                return Ok(rest);
            }
            // A part that is not full shows that nothing waits inside.
            if rest.is_empty() && made < self.part.len() {
                return Ok(rest);
            }
            if used == 0 && made == 0 {
                return Err(Corrupt);
            }
        }
    }

    /// Takes a byte of what stands around a member of gzip.
    fn around(&mut self, byte: u8) -> Result<(), Corrupt> {
        self.place = match self.place {
            Place::Head(at) => {
                let is_wrong = match at {
                    0 => byte != 0x1f,
                    1 => byte != 0x8b,
                    2 => byte != 8,
                    _ => false,
                };
                if is_wrong {
                    return Err(Corrupt);
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
                self.decompress.reset(false);
                Place::Head(0)
            }
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

fn difference(later: u64, earlier: u64) -> usize {
    usize::try_from(later.saturating_sub(earlier)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let mut inflate = Inflate::new(Container::Gzip);
                let mut text = Vec::new();
                for piece in body.chunks(size) {
                    inflate
                        .push(piece, &mut |part| text.extend_from_slice(part))
                        .unwrap();
                }
                assert_eq!(text, b"hihi", "{flags:b} by {size}");
            }
        }
    }
}
