//! However a stream is cut, it says what a naive reading of the whole says.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a test may panic"
)]

mod oracle;
mod recorder;

use oracle::{Said, read_whole};
use proptest::prelude::*;
use recorder::{cut, read_pieces};

fn check(stream: &[u8]) -> Vec<Said> {
    let expected = read_whole(stream);
    for cut in 0..=stream.len() {
        assert_eq!(
            read_pieces([&stream[..cut], &stream[cut..]]),
            expected,
            "cut at {cut}"
        );
    }
    assert_eq!(read_pieces(stream.chunks(1)), expected);
    expected
}

/// A message with headers as they are and right checksums.
fn message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(headers.len() + payload.len() + 16).unwrap();
    let header_bytes = u32::try_from(headers.len()).unwrap();
    let mut bytes = [total.to_be_bytes(), header_bytes.to_be_bytes()].concat();
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend(headers);
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

fn text_header(name: &str, value: &str) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap().to_be_bytes();
    [
        &[u8::try_from(name.len()).unwrap()][..],
        name.as_bytes(),
        &[7],
        &length,
        value.as_bytes(),
    ]
    .concat()
}

#[test]
fn messages_come_one_after_the_other() {
    let first = message(&text_header(":event-type", "messageStart"), b"{}");
    let second = message(&[], b"");
    let said = check(&[first, second].concat());
    assert_eq!(
        said,
        [
            Said::Header(b":event-type".to_vec(), b"messageStart".to_vec()),
            Said::Payload(b"{}".to_vec()),
            Said::End(true),
            Said::End(true),
        ]
    );
}

#[test]
fn headers_of_every_type_are_passed_over_but_texts() {
    let mut headers = Vec::new();
    for (kind, value) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 2),
        (4, 4),
        (5, 8),
        (8, 8),
        (9, 16),
    ] {
        headers.extend([1, b'n', kind]);
        headers.extend(vec![kind; value]);
    }
    headers.extend([1, b'b', 6, 0, 3, 1, 2, 3]);
    headers.extend(text_header("t", &"v".repeat(300)));
    headers.extend(text_header("empty", ""));
    let said = check(&message(&headers, b""));
    assert_eq!(
        said,
        [
            Said::Header(b"t".to_vec(), vec![b'v'; 128]),
            Said::Header(b"empty".to_vec(), Vec::new()),
            Said::End(true),
        ]
    );
}

#[test]
fn a_wrong_checksum_is_told_and_the_next_message_is_read() {
    let mut bad = message(&[], b"{\"a\":1}");
    bad[14] ^= 1;
    let said = check(&[bad, message(&[], b"{}")].concat());
    assert_eq!(said[1], Said::End(false));
    assert_eq!(said[3], Said::End(true));
}

#[test]
fn what_loses_the_borders_ends_the_reading() {
    let good = message(&[], b"{}");
    let mut bad_prelude = good.clone();
    bad_prelude[2] ^= 1;
    assert_eq!(
        check(&[bad_prelude, good.clone()].concat()),
        [Said::Broken("BadPrelude")]
    );
    for (total, headers) in [
        (0_u32, 0_u32),
        (15, 0),
        (20, u32::MAX),
        (17 + (24 << 20), 0),
        (17 + (128 << 10), (128 << 10) + 1),
        (16, 1),
        (u32::MAX, 0),
        (u32::MAX, u32::MAX),
        (200 << 10, 150 << 10),
    ] {
        let mut bytes = [total.to_be_bytes(), headers.to_be_bytes()].concat();
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.extend(&good);
        assert_eq!(
            check(&bytes),
            [Said::Broken("BadLength")],
            "{total} {headers}"
        );
    }
    assert_eq!(
        check(&message(&[1, b'n', 10, 0], b"")),
        [Said::Broken("BadHeaders")]
    );
    assert_eq!(
        check(&message(&[9, b'n'], b"")),
        [Said::Broken("BadHeaders")]
    );
}

#[test]
fn a_stream_that_ends_inside_a_message_is_truncated() {
    let whole = message(&text_header(":event-type", "chunk"), b"{\"bytes\":\"\"}");
    for end in 1..whole.len() {
        assert_eq!(
            check(&whole[..end]).pop().unwrap(),
            Said::Broken("Truncated"),
            "{end}"
        );
    }
}

#[test]
fn what_is_just_within_the_limits_is_read() {
    let name = "n".repeat(255);
    let largest = message(&text_header(&name, &"v".repeat(65_535)), &[]);
    assert_eq!(
        read_pieces([&largest[..]]),
        [
            Said::Header(name.into_bytes(), vec![b'v'; 128]),
            Said::End(true)
        ]
    );

    // A flag with a name of 254 bytes is 256 bytes long.
    let flag = [&[254][..], &[b'n'; 254], &[0]].concat();
    let headers = flag.repeat((128 << 10) / flag.len());
    assert_eq!(headers.len(), 128 << 10);
    assert_eq!(
        read_pieces(message(&headers, b"").chunks(1000)),
        [Said::End(true)]
    );

    let payload = vec![7; 24 << 20];
    let said = read_pieces(message(&[], &payload).chunks(16_384));
    assert!(said == [Said::Payload(payload), Said::End(true)]);
}

#[test]
fn nothing_is_said_after_the_stream_is_broken() {
    let mut bad = message(&[], b"");
    bad[8] ^= 1;
    let good = message(&[], b"{}");
    let said = read_pieces([&bad[..], &good, b"", &good[..5]]);
    assert_eq!(said, [Said::Broken("BadPrelude")]);
}

#[test]
fn what_is_wanted_ends_at_a_border() {
    struct Ends(usize);
    impl aws_event_stream::Sink for Ends {
        fn header(&mut self, _: &[u8], _: &[u8]) {}
        fn payload(&mut self, _: &[u8]) {}
        fn message_end(&mut self, _: aws_event_stream::Integrity) {
            self.0 += 1;
        }
        fn broken(&mut self, flaw: aws_event_stream::Flaw) {
            panic!("{flaw:?}");
        }
    }
    let stream = [
        message(&text_header("n", "v"), b"{}"),
        message(&[], b""),
        message(&[], b"x"),
    ]
    .concat();
    let mut parser = aws_event_stream::EventStreamParser::new();
    let (mut ends, mut steps) = (Ends(0), Vec::new());
    let mut rest = stream.as_slice();
    while !rest.is_empty() {
        let step = parser.wants();
        steps.push(step);
        parser.push(&rest[..step], &mut ends);
        rest = &rest[step..];
    }
    assert_eq!(steps, [12, 6, 2, 4, 12, 4, 12, 1, 4]);
    assert_eq!(ends.0, 3);
}

#[test]
fn it_has_the_size_that_its_page_states() {
    assert!(size_of::<aws_event_stream::EventStreamParser>() <= 480);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_in_any_pieces(
        messages in proptest::collection::vec((
            proptest::collection::vec(any::<u8>(), 0..24),
            proptest::collection::vec(any::<u8>(), 0..24),
            any::<bool>(),
        ), 0..4),
        tail in proptest::collection::vec(any::<u8>(), 0..16),
        flip in proptest::option::of((0_usize..200, any::<u8>())),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
    ) {
        let mut stream = Vec::new();
        for (headers, payload, named) in messages {
            let headers = if named { text_header("n", &format!("{headers:?}")) } else { headers };
            stream.extend(message(&headers, &payload));
        }
        stream.extend(tail);
        if let Some((at, byte)) = flip && let Some(place) = stream.get_mut(at) {
            *place = byte;
        }
        let expected = read_whole(&stream);
        prop_assert_eq!(&read_pieces(cut(&stream, &cuts)), &expected);
        prop_assert_eq!(&read_pieces(stream.chunks(1)), &expected);
    }
}
