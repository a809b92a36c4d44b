//! Bodies as senders make them.

use body_decompression::{Budget, Coding, Decompressor, Limits};
use miniz_oxide::inflate::core::{self, DecompressorOxide, inflate_flags};
use proptest::prelude::*;

use crate::senders::{SENDERS, Sender, decompress, mixed_text};

#[test]
fn what_was_flushed_comes_out_of_the_push_that_brought_it() {
    let events: Vec<String> = (0..50)
        .map(|at| format!("data: {{\"token\":\"{at}\"}}\n\n"))
        .collect();
    // Some are longer than any buffer on the way.
    let long =
        (1..4).map(|at| String::from_utf8(vec![b'a' + at; usize::from(at) * 70_000]).unwrap());
    let events: Vec<String> = events.into_iter().chain(long).collect();
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
fn nothing_waits_where_the_window_of_deflate_ends() {
    // A copy of 258 bytes that runs over the end of the window of 32 KiB, cut at each byte around it.
    for before in [(32 << 10) - 200, (32 << 10) - 100, (32 << 10) - 1] {
        let mut text = mixed_text(before);
        text.extend_from_within(before - 900..before - 642);
        let piece = Sender::RawDeflate.send(&[&text]).remove(0);
        for length in piece.len() - 20..=piece.len() {
            let mut all_at_once = vec![0; text.len()];
            let flags = inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
                | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
            let (_, _, expected) = core::decompress(
                &mut DecompressorOxide::new(),
                &piece[..length],
                &mut all_at_once,
                0,
                flags,
            );
            let (output, _) = decompress(Coding::Deflate, [&piece[..length]]);
            assert_eq!(output.len(), expected);
        }
    }
}

#[test]
fn every_cut_gives_the_same_output() {
    let text = b"data: {\"a\":1}\n\ndata: {\"a\":22}\n\ndata: [DONE]\n\n".repeat(3);
    for sender in SENDERS {
        let body = sender.body(&text);
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
fn long_bodies_come_out_as_they_went_in() {
    let text = mixed_text(300 << 10);
    for sender in SENDERS {
        let body = sender.body(&text);
        for size in [7, 1000, body.len()] {
            let (output, verdict) = decompress(sender.coding(), body.chunks(size));
            assert_eq!(verdict, Ok(()), "{sender:?}");
            assert!(output == text, "{sender:?} in pieces of {size}");
        }
    }
}

#[test]
fn bodies_of_zstd_beyond_what_is_kept_come_out_as_they_went_in() {
    let text = mixed_text(9 << 20);
    for level in [-5, 1, 9] {
        // Once with the size of the whole in its head, and once without.
        for body in [
            zstd::bulk::compress(&text, level).unwrap(),
            Sender::Zstd { level }.body(&text),
        ] {
            let (output, verdict) = decompress(Coding::Zstd, body.chunks(10_000));
            assert_eq!(verdict, Ok(()), "level {level}");
            assert!(output == text, "level {level}");
        }
    }
}

#[test]
fn several_members_or_frames_are_one_body() {
    for sender in [Sender::Gzip, Sender::Zstd { level: 3 }] {
        let body = [sender.body(b"one"), sender.body(b""), sender.body(b"two")].concat();
        for size in 1..body.len() {
            assert_eq!(
                decompress(sender.coding(), body.chunks(size)),
                (b"onetwo".to_vec(), Ok(())),
                "{sender:?}"
            );
        }
    }
}

#[test]
fn a_frame_to_skip_is_skipped() {
    let skipped: &[u8] = b"\x5a\x2a\x4d\x18\x03\0\0\0abc\x50\x2a\x4d\x18\0\0\0\0";
    let frame = Sender::Zstd { level: 1 }.body(b"text");
    let body = [skipped, &frame, skipped, &frame].concat();
    for size in 1..body.len() {
        assert_eq!(decompress(Coding::Zstd, body.chunks(size)).0, b"texttext");
    }
}

#[test]
fn what_stands_after_the_end_is_passed_over() {
    for sender in SENDERS {
        for rest in [&b"\0\0\0\0\0\0\0\0"[..], b"{\"error\":1}", b"\r\n"] {
            let body = [&sender.body(b"text"), rest].concat();
            for size in [1, 3, body.len()] {
                assert_eq!(
                    decompress(sender.coding(), body.chunks(size)),
                    (b"text".to_vec(), Ok(())),
                    "{sender:?}"
                );
            }
        }
    }
}

#[test]
fn checksums_are_not_verified() {
    for sender in [Sender::Gzip, Sender::Zlib, Sender::Zstd { level: 3 }] {
        let mut body = sender.body(b"text");
        let last = body.len() - if sender == Sender::Gzip { 8 } else { 1 };
        body[last] ^= 0xff;
        assert_eq!(
            decompress(sender.coding(), [body.as_slice()]),
            (b"text".to_vec(), Ok(()))
        );
    }
}

proptest! {
    #[test]
    fn any_text_in_any_pieces_comes_out_as_it_went_in(
        text in proptest::collection::vec(proptest::collection::vec(0_u8..20, 0..60), 0..40),
        sender in 0_usize..SENDERS.len(),
        size in 1_usize..40,
    ) {
        let sender = SENDERS[sender];
        let events: Vec<&[u8]> = text.iter().map(Vec::as_slice).collect();
        let body = sender.send(&events).concat();
        let (output, verdict) = decompress(sender.coding(), body.chunks(size));
        prop_assert_eq!(verdict, Ok(()));
        prop_assert_eq!(output, text.concat());
    }
}
