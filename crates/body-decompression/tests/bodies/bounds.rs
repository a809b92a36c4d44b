//! Bodies that ask for more than they may have.

use body_decompression::{Budget, Coding, Decompressor, GivenUp, Limits};

use crate::senders::{SENDERS, Sender, mixed_text};

/// How much comes out, in what largest part, and the verdict.
fn measure(
    coding: Coding,
    limits: Limits,
    pieces: &mut dyn Iterator<Item = &[u8]>,
) -> (u64, usize, Result<(), GivenUp>) {
    let budget = Budget::default();
    let mut decompressor = Decompressor::new(coding, limits, &budget).unwrap();
    let (mut total, mut largest) = (0, 0);
    let mut verdict = Ok(());
    for piece in pieces {
        verdict = decompressor.push(piece, &mut |part| {
            total += part.len() as u64;
            largest = largest.max(part.len());
        });
        if verdict.is_err() {
            assert_eq!(
                decompressor.push(b"x", &mut |_| unreachable!("given up")),
                verdict
            );
            assert_eq!(budget.left(), Budget::default().left());
            break;
        }
    }
    (total, largest, verdict)
}

/// Ten gigabytes of zeros in gzip: a megabyte again and again.
fn ten_gigabytes() -> (Vec<u8>, Vec<u8>) {
    let megabyte = vec![0; 1 << 20];
    let mut pieces = Sender::Gzip.send(&[&megabyte, &megabyte, &megabyte]);
    assert_eq!(pieces[1], pieces[2]);
    (pieces.swap_remove(0), pieces.swap_remove(1))
}

#[test]
fn a_bomb_bursts_at_its_bound_however_it_is_cut() {
    let (head, megabyte) = ten_gigabytes();
    let body = [head, megabyte.repeat(10 << 10)].concat();
    let zeros = vec![0; 64 << 20];
    for (coding, body) in [
        (Coding::Gzip, body.clone()),
        // The inner bomb of two is only text.
        (Coding::Gzip, Sender::Gzip.body(&body)),
        (Coding::Brotli, SENDERS[3].body(&zeros)),
        (Coding::Zstd, SENDERS[6].body(&zeros)),
        (Coding::Deflate, Sender::Zlib.body(&zeros)),
    ] {
        for (limits, expected) in [
            (
                Limits {
                    output_bytes: 5 << 20,
                    ratio: u32::MAX,
                },
                GivenUp::TooLarge,
            ),
            (
                Limits {
                    output_bytes: u64::MAX,
                    ratio: 20,
                },
                GivenUp::TooDense,
            ),
        ] {
            let whole = measure(coding, limits, &mut [body.as_slice()].into_iter());
            assert_eq!(whole.2, Err(expected), "{coding:?}");
            assert!(
                whole.0 <= 5 << 20 && whole.0 >= 1 << 20,
                "{coding:?} {}",
                whole.0
            );
            assert!(whole.1 <= 128 << 10, "{coding:?}: {} at once", whole.1);
            for size in [1, 13, 1000, 70_000] {
                let pieced = measure(coding, limits, &mut body.chunks(size));
                assert_eq!(
                    (pieced.0, pieced.2),
                    (whole.0, whole.2),
                    "{coding:?} by {size}"
                );
            }
        }
    }
}

#[test]
fn ordinary_text_and_an_idle_stream_pass_the_default_bounds() {
    let comment: &[u8] =
        b": the model is still thinking, and the connection is kept open for it to answer on\n\n";
    let idle = vec![comment; 20_000];
    let text = mixed_text(3 << 20);
    for sender in [Sender::Gzip, SENDERS[3], SENDERS[6]] {
        for body in [sender.body(&text), sender.send(&idle).concat()] {
            let (_, _, verdict) =
                measure(sender.coding(), Limits::default(), &mut body.chunks(999));
            assert_eq!(verdict, Ok(()), "{sender:?}");
        }
    }
}

#[test]
fn memory_is_taken_from_the_budget_and_given_back() {
    let budget = Budget::new(90 << 10);
    let new = |coding| Decompressor::new(coding, Limits::default(), &budget).unwrap();
    let body = Sender::Gzip.body(b"one");
    let mut first = new(Coding::Gzip);
    first.push(&body, &mut |_| {}).unwrap();
    assert_eq!(budget.left(), 42 << 10);
    let mut second = new(Coding::Gzip);
    assert_eq!(second.push(&body, &mut |_| {}), Err(GivenUp::BudgetSpent));
    drop(first);
    assert_eq!(budget.left(), 90 << 10);
    let mut brotli = new(Coding::Brotli);
    assert_eq!(
        brotli.push(&SENDERS[3].body(b"one"), &mut |_| {}),
        Err(GivenUp::BudgetSpent)
    );
    // Zstandard takes what it needs when it needs it.
    let mut zstd = new(Coding::Zstd);
    zstd.push(&SENDERS[5].body(b"one"), &mut |_| {}).unwrap();
    assert!(budget.left() > 60 << 10);
    let mut zstd = new(Coding::Zstd);
    let long = SENDERS[5].body(&mixed_text(1 << 20));
    assert_eq!(zstd.push(&long, &mut |_| {}), Err(GivenUp::BudgetSpent));
    drop(zstd);
    let spent = Budget::new(0);
    let refused = Decompressor::new(Coding::Gzip, Limits::default(), &spent);
    assert!(matches!(refused, Err(GivenUp::BudgetSpent)));
}

#[test]
fn memory_is_given_back_at_the_end_of_the_body() {
    for sender in [Sender::Zlib, Sender::RawDeflate, SENDERS[3]] {
        let budget = Budget::default();
        let mut decompressor =
            Decompressor::new(sender.coding(), Limits::default(), &budget).unwrap();
        decompressor
            .push(&sender.body(b"text"), &mut |_| {})
            .unwrap();
        assert_eq!(budget.left(), Budget::default().left(), "{sender:?}");
    }
}

#[test]
fn a_window_beyond_the_limit_is_refused() {
    let verdict =
        |coding, head: &[u8]| measure(coding, Limits::default(), &mut [head].into_iter()).2;
    let refused = Err(GivenUp::StateTooLarge);
    // 24 bits, and the extension for large windows.
    assert_eq!(verdict(Coding::Brotli, &[0x0f, 0, 0]), refused);
    assert_eq!(verdict(Coding::Brotli, &[0x11, 0, 0]), refused);
    // 16 MiB, and 8 MiB.
    assert_eq!(verdict(Coding::Zstd, b"\x28\xb5\x2f\xfd\0\x70"), refused);
    assert_eq!(verdict(Coding::Zstd, b"\x28\xb5\x2f\xfd\0\x68"), Ok(()));
}

#[test]
fn a_copy_from_further_back_than_is_kept_is_refused() {
    // Four megabytes that do not compress, between two texts that are the same.
    let noise: Vec<u8> = (0_u64..5 << 17)
        .flat_map(|at| {
            at.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                .to_le_bytes()
        })
        .collect();
    let text = mixed_text(20_000);
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 15).unwrap();
    encoder
        .set_parameter(zstd::stream::raw::CParameter::WindowLog(23))
        .unwrap();
    encoder
        .set_parameter(zstd::stream::raw::CParameter::EnableLongDistanceMatching(
            true,
        ))
        .unwrap();
    for part in [&text, &noise, &text] {
        std::io::Write::write_all(&mut encoder, part).unwrap();
    }
    let body = encoder.finish().unwrap();
    let (total, _, verdict) = measure(Coding::Zstd, Limits::default(), &mut body.chunks(5000));
    assert_eq!(verdict, Err(GivenUp::StateTooLarge));
    assert!(total > noise.len() as u64);
}

#[test]
fn a_block_that_becomes_more_than_a_block_is_corrupt() {
    // One literal, then 2000 sequences of the longest copy, each told in no bits but those of its length.
    let mut block = vec![1 << 3, b'x', 0x80 | 7, 0xd0, 0b0101_0100, 0, 0, 52];
    block.extend(vec![0xff; 4000]);
    block.push(1);
    let head = u32::try_from(block.len() << 3 | 2 << 1 | 1)
        .unwrap()
        .to_le_bytes();
    let body = [b"\x28\xb5\x2f\xfd\0\x38", &head[..3], &block].concat();
    let (total, _, verdict) = measure(
        Coding::Zstd,
        Limits::default(),
        &mut [body.as_slice()].into_iter(),
    );
    assert_eq!(verdict, Err(GivenUp::Corrupt));
    assert!(total <= 128 << 10);
}

#[test]
fn the_tables_of_br_are_counted() {
    let budget = Budget::default();
    let mut decompressor = Decompressor::new(Coding::Brotli, Limits::default(), &budget).unwrap();
    let text = mixed_text(2 << 20);
    let body = SENDERS[3].body(&text);
    decompressor
        .push(&body[..body.len() / 2], &mut |_| {})
        .unwrap();
    let taken = Budget::default().left() - budget.left();
    assert!(taken > 4 << 20 && taken < 6 << 20, "{taken}");
}
