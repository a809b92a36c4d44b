//! Bodies that are not what their coding says.

use body_decompression::{Coding, GivenUp, Limits};
use proptest::prelude::*;

use crate::oracle;
use crate::senders::{SENDERS, decompress, mixed_text};

#[test]
fn what_is_not_compressed_at_all_is_corrupt() {
    let text =
        b"{\"error\":{\"message\":\"not compressed at all, whatever the header says\"}}".repeat(8);
    for coding in Coding::ALL {
        for size in [1, 5, text.len()] {
            let (_, verdict) = decompress(coding, text.chunks(size));
            assert_eq!(verdict, Err(GivenUp::Corrupt), "{coding:?}");
        }
    }
}

#[test]
fn a_truncated_body_gives_what_came_and_is_not_corrupt() {
    let text = mixed_text(3000);
    for sender in SENDERS {
        let body = sender.body(&text);
        for length in 0..body.len() {
            let (output, verdict) = decompress(sender.coding(), [&body[..length]]);
            assert_eq!(verdict, Ok(()), "{sender:?} {length}");
            assert!(text.starts_with(&output), "{sender:?} {length}");
        }
    }
}

#[test]
fn a_flaw_is_told_whatever_the_cut() {
    let text = mixed_text(100_000);
    for sender in SENDERS {
        let body = sender.body(&text);
        let mut told = 0;
        for at in (20..body.len()).step_by(body.len() / 50) {
            let mut body = body.clone();
            body[at..].iter_mut().for_each(|byte| *byte = !*byte);
            let (_, verdict) = decompress(sender.coding(), [body.as_slice()]);
            told += usize::from(verdict == Err(GivenUp::Corrupt));
            oracle::check(sender.coding(), Limits::default(), &body, [at, at + 9]);
        }
        assert!(told > 20, "{sender:?} {told}");
    }
}

#[test]
fn a_dictionary_that_nobody_has_is_corrupt() {
    // A frame of one segment, with the dictionary 7 and one byte.
    let body = b"\x28\xb5\x2f\xfd\x21\x07\x01\x09\0\0x";
    assert_eq!(
        decompress(Coding::Zstd, [&body[..]]),
        (Vec::new(), Err(GivenUp::Corrupt))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_changed_body_gets_the_same_verdict_in_any_pieces(
        text in proptest::collection::vec(0_u8..30, 0..400),
        changes in proptest::collection::vec((0_usize..300, any::<u8>()), 1..4),
        sender in 0_usize..SENDERS.len(),
        cuts in any::<[usize; 2]>(),
    ) {
        let sender = SENDERS[sender];
        let mut body = sender.body(&text);
        for (at, byte) in changes {
            if let Some(place) = body.get_mut(at) {
                *place = byte;
            }
        }
        oracle::check(sender.coding(), Limits::default(), &body, cuts);
    }

    #[test]
    fn any_bytes_get_the_same_verdict_in_any_pieces(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        coding in 0_usize..4,
        cuts in any::<[usize; 2]>(),
    ) {
        oracle::check(Coding::ALL[coding], Limits::default(), &body, cuts);
    }
}
