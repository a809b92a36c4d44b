//! However a stream is cut, its values are those of a naive reading of the whole, and those that `serde_json` finds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod oracle;
mod recorder;

use json_sequence::{JsonSequence, Shape, Sink};
use oracle::split_whole;
use proptest::prelude::*;
use recorder::{cut, parse_pieces};

const SHAPES: [Shape; 3] = [Shape::Lines, Shape::Concatenated, Shape::Array];

fn check(shape: Shape, stream: &str, expected: &[&str]) {
    let bytes = stream.as_bytes();
    let expected: Vec<_> = expected
        .iter()
        .map(|value| value.as_bytes().to_vec())
        .collect();
    assert_eq!(split_whole(shape, bytes), expected, "the oracle: {stream}");
    for cut in 0..=bytes.len() {
        let pieces = [&bytes[..cut], &bytes[cut..]];
        assert_eq!(
            parse_pieces(shape, pieces),
            expected,
            "{shape:?} {stream} cut at {cut}"
        );
    }
    assert_eq!(parse_pieces(shape, bytes.chunks(1)), expected);
}

#[test]
fn each_line_is_a_value_whatever_it_holds() {
    check(Shape::Lines, "", &[]);
    check(Shape::Lines, "\n\r\n \n", &[]);
    check(
        Shape::Lines,
        "{\"a\":1}\n{\"b\":2}",
        &["{\"a\":1}", "{\"b\":2}"],
    );
    check(
        Shape::Lines,
        "  {\"a\":\r\n{\"b\":2}\r\n",
        &["{\"a\":", "{\"b\":2}"],
    );
    check(Shape::Lines, "}{ ,\nnull", &["}{ ,", "null"]);
}

#[test]
fn concatenated_values_need_no_border() {
    let pretty = "{\n  \"streamContent\": {\n    \"text\": \"}{ \\\" \"\n  }\n}\n";
    let twice = format!("{pretty}{pretty}");
    let value = pretty.trim_end();
    check(Shape::Concatenated, &twice, &[value, value]);
    check(
        Shape::Concatenated,
        "{}[]{\"a\":[{}]}",
        &["{}", "[]", "{\"a\":[{}]}"],
    );
    check(
        Shape::Concatenated,
        "1 true\"a\\\\\"null[2]3",
        &["1", "true", "\"a\\\\\"", "null", "[2]", "3"],
    );
    check(Shape::Concatenated, "}},{]1", &["{]", "1"]);
}

#[test]
fn the_elements_of_an_array_are_the_values() {
    check(
        Shape::Array,
        " [{\"a\":[1,2]}\n,\n{\"b\":\"]\"}]\n",
        &["{\"a\":[1,2]}", "{\"b\":\"]\"}"],
    );
    check(Shape::Array, "[]", &[]);
    check(Shape::Array, "[[1],[2]]", &["[1]", "[2]"]);
    check(
        Shape::Array,
        "{\"error\":{\"code\":404}}",
        &["{\"error\":{\"code\":404}}"],
    );
    check(Shape::Array, "[{\"a\":", &["{\"a\":"]);
}

#[test]
fn the_end_of_a_container_is_told_with_its_last_byte() {
    struct Ends(u32);
    impl Sink for Ends {
        fn bytes(&mut self, _: &[u8]) {}
        fn value_end(&mut self) {
            self.0 += 1;
        }
    }
    for shape in [Shape::Concatenated, Shape::Array] {
        let mut ends = Ends(0);
        let mut sequence = JsonSequence::new(shape);
        let stream: &[u8] = if shape == Shape::Array {
            b"[{\"a\":\"b\"}"
        } else {
            b"{\"a\":\"b\"}"
        };
        sequence.push(&stream[..stream.len() - 1], &mut ends);
        assert_eq!(ends.0, 0);
        sequence.push(b"}", &mut ends);
        assert_eq!(ends.0, 1);
        sequence.finish(&mut ends);
        assert_eq!(ends.0, 1);
    }
}

#[test]
fn a_broken_escape_or_an_open_string_holds_up_nothing_but_its_own_value() {
    check(Shape::Concatenated, r#""\"#, &[r#""\"#]);
    check(Shape::Concatenated, r#"{"a":"\"}{}"#, &[r#"{"a":"\"}{}"#]);
    check(Shape::Lines, "{\"a\":\"\\\n{}\n", &["{\"a\":\"\\", "{}"]);
    check(Shape::Array, r#"["a\\","b"]"#, &[r#""a\\""#, r#""b""#]);
}

#[test]
fn a_depth_of_a_hundred_thousand_is_counted_and_not_held() {
    let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
    let stream = format!("{deep}{{}}");
    for size in [1, 7, usize::MAX] {
        let values = parse_pieces(Shape::Concatenated, stream.as_bytes().chunks(size));
        assert_eq!(values, [deep.as_bytes(), b"{}"]);
    }
}

#[test]
fn it_is_small() {
    assert!(size_of::<JsonSequence>() <= 16);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "[ -~é\\[\\]{}\"\\\\]{0,8}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map("[a-c\"{]{0,3}", inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Values whole, cut short and run together, and bytes that are none.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let grammar = "[\\[\\]{},:\" \n\r\\\\a1\\x00é]{0,40}".prop_map(String::into_bytes);
    let value = (json(), any::<bool>(), any::<proptest::sample::Index>()).prop_map(
        |(value, is_broken, end)| {
            let mut written = value.to_string().into_bytes();
            if is_broken {
                written.truncate(end.index(written.len()));
            }
            written
        },
    );
    let border = proptest::sample::select(vec![&b"\n"[..], b"\r\n", b",", b" ", b"", b"[", b"]"]);
    let values = proptest::collection::vec((value, border), 0..5).prop_map(|values| {
        let with_border = |(value, border): (Vec<u8>, &[u8])| [&value[..], border].concat();
        values.into_iter().flat_map(with_border).collect()
    });
    let noise = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![3 => grammar, 3 => values, 1 => noise]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_in_any_pieces(
        stream in stream(),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
        shape in 0_usize..3,
    ) {
        let shape = SHAPES[shape];
        let expected = split_whole(shape, &stream);
        prop_assert_eq!(&parse_pieces(shape, cut(&stream, &cuts)), &expected);
        prop_assert_eq!(&parse_pieces(shape, stream.chunks(1)), &expected);
    }
}

proptest! {
    #[test]
    fn valid_values_come_out_whole(
        values in proptest::collection::vec(json(), 0..5),
        size in 1_usize..12,
        pretty in any::<bool>(),
        shape in 0_usize..3,
    ) {
        let shape = SHAPES[shape];
        let write = |value: &serde_json::Value| if pretty && shape != Shape::Lines {
            serde_json::to_string_pretty(value).unwrap()
        } else {
            value.to_string()
        };
        let written: Vec<_> = values.iter().map(write).collect();
        let stream = match shape {
            Shape::Array => format!("[{}]", written.join(",\n")),
            Shape::Lines | Shape::Concatenated => written.join("\n"),
        };
        let read: Vec<serde_json::Value> = parse_pieces(shape, stream.as_bytes().chunks(size))
            .iter()
            .map(|value| serde_json::from_slice(value).unwrap())
            .collect();
        prop_assert_eq!(read, values);
    }
}
