//! Numbers of a few bits, read forwards and backwards.

/// Up to 56 bits that begin at this bit of the bytes; what lies beyond them is zero.
pub(super) fn bits_at(bytes: &[u8], start: usize, count: u32) -> u64 {
    let rest = bytes.get(start.wrapping_shr(3)..).unwrap_or_default();
    let word = rest.first_chunk().map_or_else(
        || {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_le_bytes(word)
        },
        |word| u64::from_le_bytes(*word),
    );
    let shift = u32::try_from(start & 7).unwrap_or_default();
    word.wrapping_shr(shift) & mask(count)
}

fn mask(count: u32) -> u64 {
    1_u64.wrapping_shl(count).wrapping_sub(1)
}

/// Bits that are read from the end of the bytes to their beginning.
pub(super) struct BackwardBits<'a> {
    bytes: &'a [u8],
    left: usize,
    is_short: bool,
}

impl<'a> BackwardBits<'a> {
    /// The highest bit that is set in the last byte marks the end; there must be one.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let (last, before) = bytes.split_last()?;
        let mark = usize::try_from(last.checked_ilog2()?).ok()?;
        Some(Self {
            bytes,
            left: before.len().checked_mul(8)?.checked_add(mark)?,
            is_short: false,
        })
    }

    /// The next bits; zeros follow the last.
    pub(super) fn peek(&self, count: u32) -> usize {
        let wide = usize::try_from(count).unwrap_or_default();
        let bits = if let Some(start) = self.left.checked_sub(wide) {
            bits_at(self.bytes, start, count)
        } else {
            let left = u32::try_from(self.left).unwrap_or_default();
            bits_at(self.bytes, 0, left).wrapping_shl(count.wrapping_sub(left))
        };
        usize::try_from(bits).unwrap_or_default()
    }

    pub(super) fn skip(&mut self, count: u32) {
        let left = self
            .left
            .checked_sub(usize::try_from(count).unwrap_or_default());
        self.is_short |= left.is_none();
        self.left = left.unwrap_or_default();
    }

    pub(super) fn read(&mut self, count: u32) -> usize {
        let bits = self.peek(count);
        self.skip(count);
        bits
    }

    /// Whether more was read than there is.
    pub(super) const fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether everything was read and no more.
    pub(super) const fn is_spent(&self) -> bool {
        self.left == 0 && !self.is_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_from_the_mark_backwards() {
        let mut bits = BackwardBits::new(&[0b1100_1010, 0b0001_0110]).unwrap();
        assert_eq!(bits.read(4), 0b0110);
        assert_eq!(bits.read(0), 0);
        assert_eq!(bits.read(5), 0b11001);
        assert!(!bits.is_spent());
        assert_eq!(bits.peek(5), 0b01000);
        assert_eq!(bits.read(3), 0b010);
        assert!(bits.is_spent());
        bits.skip(1);
        assert!(bits.is_short() && !bits.is_spent());
    }

    #[test]
    fn bytes_without_a_mark_are_none() {
        assert!(BackwardBits::new(&[]).is_none());
        assert!(BackwardBits::new(&[1, 0]).is_none());
    }
}
