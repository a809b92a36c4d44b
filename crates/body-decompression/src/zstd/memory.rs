//! Memory that grows with what a body needs, and is taken from the budget as it does.

use crate::{GivenUp, budget::Share};

/// The least that is taken at once.
const LEAST_BYTES: usize = 4 << 10;

/// Makes room for `length` bytes in all, of which there are never more than `most`.
pub(super) fn reserve(
    bytes: &mut Vec<u8>,
    length: usize,
    most: usize,
    share: &mut Share,
) -> Result<(), GivenUp> {
    if length <= bytes.capacity() {
        return Ok(());
    }
    let wanted = bytes
        .capacity()
        .saturating_mul(2)
        .max(LEAST_BYTES)
        .min(most)
        .max(length);
    share.grow(wanted.saturating_sub(bytes.capacity()))?;
    bytes.reserve_exact(wanted.saturating_sub(bytes.len()));
    Ok(())
}
