//! How every target cuts its input.

/// The first four bytes are two positions to cut at, the rest is the body: the body in three pieces.
pub(crate) fn cut(input: &[u8]) -> Option<(&[u8], [&[u8]; 3])> {
    let (positions, body) = input.split_first_chunk()?;
    Some((body, pieces(*positions, body)))
}

/// The body, cut at two positions.
pub(crate) fn pieces([a, b, c, d]: [u8; 4], body: &[u8]) -> [&[u8]; 3] {
    let [first, second] =
        [[a, b], [c, d]].map(|bytes| usize::from(u16::from_le_bytes(bytes)) % (body.len() + 1));
    let (left, right) = body.split_at(first.max(second));
    let (left, middle) = left.split_at(first.min(second));
    [left, middle, right]
}
