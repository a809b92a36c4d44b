//! Any bytes in any cutting are the messages that a whole-body reading finds.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "cutting.rs"]
mod cutting;
#[path = "../../crates/grpc-frames/tests/bodies/oracle.rs"]
mod oracle;
#[path = "../../crates/grpc-frames/tests/bodies/recorder.rs"]
mod recorder;

fuzz_target!(|input: &[u8]| {
    if let Some((body, pieces)) = cutting::cut(input) {
        let expected = oracle::split_whole(body);
        assert_eq!(recorder::parse_pieces([body]), expected);
        assert_eq!(recorder::parse_pieces(pieces), expected);
        assert_eq!(recorder::parse_pieces(body.chunks(1)), expected);
    }
});
