//! However a message is cut, it says what a naive reading of the whole says.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod oracle;

use oracle::read_whole;
use proptest::prelude::*;
use prost::Message;
use protobuf_scan::{Field, Outcome, Scanner, Sink, Text};

static INNER: [Field<&str>; 3] = [
    Field::text(1, "text"),
    Field::numbers(2, "ids"),
    Field::message(3, &[]),
];
static OUTER: [Field<&str>; 3] = [
    Field::number(1, "number"),
    Field::tagged(2, "inner", &INNER),
    Field::text(4, "name"),
];

#[derive(Default)]
pub(crate) struct Said(Vec<String>);

impl Sink<&'static str> for Said {
    fn number(&mut self, tag: &'static str, value: u64) {
        self.0.push(format!("{tag}={value}"));
    }
    fn text(&mut self, tag: &'static str, text: Text<'_>) {
        self.0
            .push(format!("{tag}={:?} of {}", text.prefix, text.len));
    }
    fn open(&mut self, tag: &'static str) {
        self.0.push(format!("<{tag}"));
    }
    fn close(&mut self, tag: &'static str) {
        self.0.push(format!("{tag}>"));
    }
    fn elements(&mut self, tag: &'static str, count: u64) {
        self.0.push(format!("{count} {tag}"));
    }
}

fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Outcome) {
    let mut scanner = Scanner::new(&OUTER);
    let mut said = Said::default();
    for piece in pieces {
        scanner.push(piece, &mut said);
    }
    let outcome = scanner.finish(&mut said);
    (said.0, outcome)
}

fn check(bytes: &[u8]) -> (Vec<String>, Outcome) {
    let whole = scan([bytes]);
    for cut in 0..=bytes.len() {
        assert_eq!(scan([&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
    }
    assert_eq!(scan(bytes.chunks(1)), whole);
    if let Some(expected) = read_whole(&OUTER, bytes) {
        assert_eq!(
            whole,
            (
                expected,
                if bytes.is_empty() {
                    Outcome::Empty
                } else {
                    Outcome::Complete
                }
            )
        );
    } else {
        assert!(
            matches!(whole.1, Outcome::Truncated | Outcome::Malformed),
            "{bytes:?} {whole:?}"
        );
    }
    whole
}

/// What another library encodes.
#[derive(Clone, PartialEq, Message)]
struct Inner {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(int32, repeated, tag = "2")]
    ids: Vec<i32>,
    #[prost(bytes, tag = "7")]
    other: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Outer {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(message, repeated, tag = "2")]
    inner: Vec<Inner>,
    #[prost(double, tag = "3")]
    double: f64,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(fixed32, tag = "900")]
    fixed: u32,
}

#[test]
fn an_encoded_message_says_what_was_put_in() {
    let message = Outer {
        number: u64::MAX,
        inner: vec![
            Inner {
                text: "hi".to_owned(),
                ids: vec![1, -1, 300],
                other: vec![9; 300],
            },
            Inner::default(),
        ],
        double: 1.5,
        name: "n".repeat(300),
        fixed: 7,
    };
    let (said, outcome) = check(&message.encode_to_vec());
    assert_eq!(outcome, Outcome::Complete);
    assert_eq!(
        said[..6],
        [
            "number=18446744073709551615",
            "<inner",
            "text=[104, 105] of 2",
            "3 ids",
            "inner>",
            "<inner"
        ]
    );
    assert_eq!(said[6], "inner>");
    assert_eq!(said[7], format!("name={:?} of 300", [b'n'; 256]));
}

#[test]
fn numbers_that_are_not_packed_are_counted_one_by_one() {
    let (said, _) = check(&[0x12, 4, 0x10, 1, 0x10, 2]);
    assert_eq!(said, ["<inner", "1 ids", "1 ids", "inner>"]);
}

#[test]
fn what_is_no_message_is_told() {
    for bytes in [
        &[0x00_u8][..],
        &[0x0b],
        &[0x0e],
        &[0x12, 2, 0x0a, 5],
        &[0x12, 1, 0x08, 1],
        &[
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02,
        ],
        &[
            0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00,
        ],
        &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0x12, 3, 0x12, 1, 0x80],
    ] {
        assert_eq!(check(bytes).1, Outcome::Malformed, "{bytes:?}");
    }
    for bytes in [
        &[0x08_u8][..],
        &[0x12, 2],
        &[0x22, 4, 1],
        &[0x80],
        &[0x1d, 1],
    ] {
        assert_eq!(check(bytes).1, Outcome::Truncated, "{bytes:?}");
    }
}

#[test]
fn a_message_can_be_followed_by_another() {
    let mut scanner = Scanner::new(&OUTER);
    let mut said = Said::default();
    scanner.push(&[0x12, 9, 1], &mut said);
    scanner.reset();
    scanner.push(&[0x08, 5], &mut said);
    assert_eq!(scanner.finish(&mut said), Outcome::Complete);
    assert_eq!(said.0.last().unwrap(), "number=5");
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(prop_oneof![0_u8..40, any::<u8>()], 0..40)) {
        check(&bytes);
    }

    #[test]
    fn any_message(number in any::<u64>(), texts in proptest::collection::vec(("[a-z]{0,9}", proptest::collection::vec(any::<i32>(), 0..9)), 0..4)) {
        let inner = texts.into_iter().map(|(text, ids)| Inner { text, ids, other: Vec::new() }).collect();
        let message = Outer { number, inner, ..Outer::default() };
        prop_assert!(matches!(check(&message.encode_to_vec()).1, Outcome::Complete | Outcome::Empty));
    }
}
