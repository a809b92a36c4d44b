//! Any bytes in any cutting say what the whole-body splitter says.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sse-parser/tests/streams/oracle.rs"]
mod oracle;
#[path = "../../crates/sse-parser/tests/streams/recorder.rs"]
mod recorder;

// The first four bytes are two positions to cut at, the rest is the stream.
fuzz_target!(|input: &[u8]| {
    if let [a, b, c, d, stream @ ..] = input {
        let cuts = [[*a, *b], [*c, *d]].map(|bytes| usize::from(u16::from_le_bytes(bytes)));
        let expected = oracle::split_whole(stream);
        assert_eq!(
            recorder::parse_pieces(recorder::cut(stream, &cuts)),
            expected
        );
        assert_eq!(recorder::parse_pieces(stream.chunks(1)), expected);
    }
});
