//! Any bytes in any cutting are the values that a whole-stream reading finds, in every shape.
#![no_main]

use json_sequence::Shape;
use libfuzzer_sys::fuzz_target;

#[path = "cutting.rs"]
mod cutting;
#[path = "../../crates/json-sequence/tests/sequences/oracle.rs"]
mod oracle;
#[path = "../../crates/json-sequence/tests/sequences/recorder.rs"]
mod recorder;

fuzz_target!(|input: &[u8]| {
    let Some((stream, pieces)) = cutting::cut(input) else {
        return;
    };
    for shape in [Shape::Lines, Shape::Concatenated, Shape::Array] {
        let expected = oracle::split_whole(shape, stream);
        assert_eq!(recorder::parse_pieces(shape, [stream]), expected);
        assert_eq!(recorder::parse_pieces(shape, pieces), expected);
        assert_eq!(recorder::parse_pieces(shape, stream.chunks(1)), expected);
    }
});
