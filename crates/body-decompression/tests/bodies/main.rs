//! Bodies of every coding: in any pieces, flushed after each event, broken, and made to burst.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

use std::io::Write;

use body_decompression::{Budget, Coding, Decompressor, GivenUp, Limits};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

/// How a test compresses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sender {
    Gzip,
    Zlib,
    RawDeflate,
    Brotli,
}

const SENDERS: [Sender; 4] = [
    Sender::Gzip,
    Sender::Zlib,
    Sender::RawDeflate,
    Sender::Brotli,
];

impl Sender {
    fn coding(self) -> Coding {
        match self {
            Sender::Gzip => Coding::Gzip,
            Sender::Zlib | Sender::RawDeflate => Coding::Deflate,
            Sender::Brotli => Coding::Brotli,
        }
    }

    /// Compresses the events, flushing after each; gives the pieces.
    fn send(self, events: &[&[u8]]) -> Vec<Vec<u8>> {
        match self {
            Sender::Gzip => pieces(
                GzEncoder::new(Vec::new(), Compression::default()),
                events,
                GzEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::Zlib => pieces(
                ZlibEncoder::new(Vec::new(), Compression::default()),
                events,
                ZlibEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::RawDeflate => pieces(
                DeflateEncoder::new(Vec::new(), Compression::default()),
                events,
                DeflateEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::Brotli => pieces(
                brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20),
                events,
                brotli::CompressorWriter::get_mut,
                brotli::CompressorWriter::into_inner,
            ),
        }
    }
}

fn pieces<W: Write>(
    mut encoder: W,
    events: &[&[u8]],
    output: impl Fn(&mut W) -> &mut Vec<u8>,
    finish: impl FnOnce(W) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut pieces: Vec<_> = events
        .iter()
        .map(|event| {
            encoder.write_all(event).unwrap();
            encoder.flush().unwrap();
            std::mem::take(output(&mut encoder))
        })
        .collect();
    pieces.push(finish(encoder));
    pieces
}

fn decompress<'a>(
    coding: Coding,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<(), GivenUp>) {
    let mut decompressor =
        Decompressor::new(coding, Limits::default(), &Budget::default()).unwrap();
    let mut output = Vec::new();
    for piece in pieces {
        let verdict = decompressor.push(piece, &mut |part| output.extend_from_slice(part));
        if verdict.is_err() {
            return (output, verdict);
        }
    }
    (output, Ok(()))
}

#[test]
fn what_was_flushed_comes_out_of_the_push_that_brought_it() {
    let events: Vec<String> = (0..50)
        .map(|at| format!("data: {{\"token\":\"{at}\"}}\n\n"))
        .collect();
    let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
    for sender in SENDERS {
        let pieces = sender.send(&events);
        let mut decompressor =
            Decompressor::new(sender.coding(), Limits::default(), &Budget::default()).unwrap();
        for (piece, event) in pieces.iter().zip(&events) {
            let mut output = Vec::new();
            decompressor
                .push(piece, &mut |part| output.extend_from_slice(part))
                .unwrap();
            assert_eq!(&output, event, "{sender:?}");
        }
    }
}

#[test]
fn every_cut_gives_the_same_output() {
    let text = b"data: {\"a\":1}\n\ndata: {\"a\":22}\n\ndata: [DONE]\n\n".repeat(3);
    for sender in SENDERS {
        let body = sender.send(&[&text]).concat();
        for cut in 0..=body.len() {
            assert_eq!(
                decompress(sender.coding(), [&body[..cut], &body[cut..]]),
                (text.clone(), Ok(())),
                "{sender:?} {cut}"
            );
        }
    }
}

#[test]
fn several_members_of_gzip_are_one_body() {
    let body = [
        Sender::Gzip.send(&[b"one"]).concat(),
        Sender::Gzip.send(&[b"two"]).concat(),
    ]
    .concat();
    assert_eq!(decompress(Coding::Gzip, body.chunks(3)).0, b"onetwo");
}

#[test]
fn what_is_not_what_its_coding_says_is_corrupt() {
    for coding in Coding::ALL {
        let (_, verdict) = decompress(
            coding,
            [&b"{\"error\":{\"message\":\"not compressed at all, whatever the header says\"}}"[..];
                8],
        );
        assert!(verdict.is_err(), "{coding:?}");
    }
    let mut body = Sender::Gzip.send(&[&b"x".repeat(100)]).concat();
    body[12] ^= 0xff;
    assert_eq!(
        decompress(Coding::Gzip, [body.as_slice()]).1,
        Err(GivenUp::Corrupt)
    );
}

#[test]
fn a_body_that_bursts_is_given_up_within_its_bounds() {
    let zeros = vec![0; 64 << 20];
    for sender in SENDERS {
        let body = sender.send(&[&zeros]).concat();
        let limits = Limits {
            output_bytes: 8 << 20,
        };
        let mut decompressor =
            Decompressor::new(sender.coding(), limits, &Budget::default()).unwrap();
        let (mut total, mut largest) = (0, 0);
        let verdict = decompressor.push(&body, &mut |part| {
            total += part.len();
            largest = largest.max(part.len());
        });
        assert!(
            matches!(verdict, Err(GivenUp::TooLarge | GivenUp::TooDense)),
            "{sender:?} {verdict:?}"
        );
        assert!(
            total <= 10 << 20 && largest <= 1 << 20,
            "{sender:?}: {total} bytes, {largest} at once"
        );
        assert_eq!(decompressor.push(b"x", &mut |_| {}), verdict);
    }
}

#[test]
fn memory_is_taken_from_the_budget_and_given_back() {
    let budget = Budget::new(100 << 10);
    let body = Sender::Gzip.send(&[b"one"]).concat();
    let mut first = Decompressor::new(Coding::Gzip, Limits::default(), &budget).unwrap();
    first.push(&body, &mut |_| {}).unwrap();
    assert!(matches!(
        Decompressor::new(Coding::Gzip, Limits::default(), &budget),
        Err(GivenUp::BudgetSpent)
    ));
    drop(first);
    assert_eq!(budget.left(), 100 << 10);
    let mut brotli = Decompressor::new(Coding::Brotli, Limits::default(), &budget).unwrap();
    let body = Sender::Brotli.send(&[b"one"]).concat();
    assert_eq!(brotli.push(&body, &mut |_| {}), Err(GivenUp::BudgetSpent));
    assert_eq!(budget.left(), 100 << 10);
}

#[test]
fn a_window_of_br_beyond_the_limit_is_refused() {
    let mut decompressor =
        Decompressor::new(Coding::Brotli, Limits::default(), &Budget::default()).unwrap();
    // Window bits 24.
    assert_eq!(
        decompressor.push(&[0x0f, 0, 0], &mut |_| {}),
        Err(GivenUp::StateTooLarge)
    );
    let mut decompressor =
        Decompressor::new(Coding::Brotli, Limits::default(), &Budget::default()).unwrap();
    // The extension for large windows.
    assert_eq!(
        decompressor.push(&[0x11, 0, 0], &mut |_| {}),
        Err(GivenUp::StateTooLarge)
    );
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_one_output(
        text in proptest::collection::vec(any::<u8>(), 0..200),
        flip in proptest::option::of((0_usize..200, any::<u8>())),
        sender in 0_usize..4,
        size in 1_usize..40,
    ) {
        let sender = SENDERS[sender];
        let mut body = sender.send(&[&text]).concat();
        if let Some((at, byte)) = flip && let Some(place) = body.get_mut(at) {
            *place = byte;
        }
        let (whole, verdict) = decompress(sender.coding(), [body.as_slice()]);
        let (pieced, pieced_verdict) = decompress(sender.coding(), body.chunks(size));
        prop_assert_eq!(verdict.is_ok(), pieced_verdict.is_ok());
        if flip.is_none() {
            prop_assert_eq!(&whole, &text);
            prop_assert_eq!(&pieced, &text);
        }
    }
}
