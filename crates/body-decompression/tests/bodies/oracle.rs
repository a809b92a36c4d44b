//! Whatever the bytes, every cutting of them has one output and one verdict, within the bounds.

use body_decompression::{Budget, Coding, Decompressor, GivenUp, Limits};

/// What comes out of the body in these pieces, and the verdict.
pub(crate) fn run<'a>(
    coding: Coding,
    limits: Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<(), GivenUp>) {
    let budget = Budget::default();
    let mut decompressor = Decompressor::new(coding, limits, &budget).unwrap();
    let mut output = Vec::new();
    let mut verdict = Ok(());
    for piece in pieces {
        verdict = decompressor.push(piece, &mut |part| output.extend_from_slice(part));
        assert!(output.len() as u64 <= limits.output_bytes);
        if verdict.is_err() {
            assert_eq!(
                decompressor.push(b"x", &mut |_| unreachable!("given up")),
                verdict
            );
            assert_eq!(budget.left(), Budget::default().left());
            break;
        }
    }
    drop(decompressor);
    assert_eq!(budget.left(), Budget::default().left());
    (output, verdict)
}

/// Panics where two cuttings disagree.
pub(crate) fn check(coding: Coding, limits: Limits, body: &[u8], cuts: [usize; 2]) {
    let (whole, verdict) = run(coding, limits, [body]);
    let [first, second] = cuts.map(|cut| cut % (body.len() + 1));
    let (first, second) = (first.min(second), first.max(second));
    let three = [&body[..first], &body[first..second], &body[second..]];
    for (pieced, pieced_verdict) in [
        run(coding, limits, three),
        run(coding, limits, body.chunks(1)),
    ] {
        // The library for br finds some flaws only where the input ends for a moment.
        if coding == Coding::Brotli && verdict.and(pieced_verdict) == Err(GivenUp::Corrupt) {
            assert!(whole.starts_with(&pieced) || pieced.starts_with(&whole));
        } else {
            assert_eq!(verdict, pieced_verdict);
            assert!(
                whole == pieced,
                "{} and {} bytes",
                whole.len(),
                pieced.len()
            );
        }
    }
}
