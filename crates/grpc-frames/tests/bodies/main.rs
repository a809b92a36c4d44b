//! However a body is cut, its messages are those of a naive reading of the whole.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod oracle;
mod recorder;

use oracle::split_whole;
use proptest::prelude::*;
use recorder::{cut, parse_pieces};

fn check(body: &[u8]) {
    let expected = split_whole(body);
    assert_eq!(parse_pieces([body]), expected);
    assert_eq!(parse_pieces(body.chunks(1)), expected);
    for cut in 0..=body.len() {
        assert_eq!(
            parse_pieces([&body[..cut], &body[cut..]]),
            expected,
            "{cut}"
        );
    }
}

fn frame(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flags][..], &length, message].concat()
}

#[test]
fn several_messages_in_one_body() {
    check(b"");
    check(&frame(0, b""));
    check(
        &[
            frame(0, b"one"),
            frame(1, b""),
            frame(0x80, b"grpc-status: 0"),
            frame(0, b"two"),
        ]
        .concat(),
    );
}

#[test]
fn a_body_that_breaks_off_may_not_end_there() {
    let whole = [frame(0, b"one"), frame(0, b"two")].concat();
    for end in 0..whole.len() {
        check(&whole[..end]);
    }
    assert!(!parse_pieces([&whole[..9]]).1);
}

#[test]
fn the_largest_length_is_waited_for_and_holds_nothing() {
    check(&[&[0, 0xff, 0xff, 0xff, 0xff][..], &[7; 1000]].concat());
}

#[test]
fn what_is_wanted_ends_at_a_border() {
    let body = [frame(0, b"abc"), frame(0, b"")].concat();
    let mut frames = grpc_frames::GrpcFrames::new();
    struct Nothing;
    impl grpc_frames::Sink for Nothing {
        fn begin(&mut self, _: grpc_frames::FrameHead) {}
        fn bytes(&mut self, _: &[u8]) {}
        fn end(&mut self) {}
    }
    let mut steps = Vec::new();
    let mut rest = body.as_slice();
    while !rest.is_empty() {
        let step = frames.wants();
        steps.push(step);
        frames.push(&rest[..step], &mut Nothing);
        rest = &rest[step..];
    }
    assert_eq!(steps, [5, 3, 5]);
}

#[test]
fn flags_that_mean_nothing_are_passed_over() {
    let (messages, at_border) = parse_pieces([&frame(0b0111_1110, b"x")[..], &frame(0xff, b"")]);
    assert_eq!(messages, [(0, b"x".to_vec()), (0x81, Vec::new())]);
    assert!(at_border);
}

#[test]
fn empty_messages_without_end_are_each_told() {
    let body = vec![0; 5 * 10_000];
    assert_eq!(parse_pieces([&body[..]]).0.len(), 10_000);
    assert_eq!(parse_pieces(body.chunks(3)).0.len(), 10_000);
}

#[test]
fn it_is_small() {
    assert!(size_of::<grpc_frames::GrpcFrames>() <= 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_in_any_pieces(
        messages in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..6),
        tail in proptest::collection::vec(any::<u8>(), 0..12),
        flip in proptest::option::of((0_usize..200, any::<u8>())),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
    ) {
        let mut body: Vec<u8> = messages.iter().flat_map(|(flags, message)| frame(*flags, message)).collect();
        body.extend(tail);
        if let Some((at, byte)) = flip && let Some(place) = body.get_mut(at) {
            *place = byte;
        }
        let expected = split_whole(&body);
        prop_assert_eq!(&parse_pieces(cut(&body, &cuts)), &expected);
        prop_assert_eq!(&parse_pieces(body.chunks(1)), &expected);
    }
}
