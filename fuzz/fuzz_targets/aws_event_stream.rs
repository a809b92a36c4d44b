//! Any bytes in any cutting say what a whole-stream reading says; also with the checksums made right, which no chance
//! would.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "the other targets use more of it")]
#[path = "cutting.rs"]
mod cutting;
#[path = "../../crates/aws-event-stream/tests/messages/oracle.rs"]
mod oracle;
#[path = "../../crates/aws-event-stream/tests/messages/recorder.rs"]
mod recorder;

fuzz_target!(|input: &[u8]| {
    let Some((positions, body)) = input.split_first_chunk() else {
        return;
    };
    for stream in [body.to_vec(), with_checksums(body.to_vec())] {
        let expected = oracle::read_whole(&stream);
        assert_eq!(recorder::read_pieces([stream.as_slice()]), expected);
        let pieces = cutting::pieces(*positions, &stream);
        assert_eq!(recorder::read_pieces(pieces), expected);
        assert_eq!(recorder::read_pieces(stream.chunks(1)), expected);
    }
});

/// Writes the right checksum wherever the lengths say that one stands, but for every third message.
fn with_checksums(mut stream: Vec<u8>) -> Vec<u8> {
    let mut start = 0;
    for message in 0_u32.. {
        let Some(rest) = stream.get_mut(start..).filter(|rest| rest.len() >= 12) else {
            break;
        };
        let prelude = crc32fast::hash(&rest[..8]);
        rest[8..12].copy_from_slice(&prelude.to_be_bytes());
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let Some(whole) = rest.get_mut(..length).filter(|whole| whole.len() >= 16) else {
            break;
        };
        if message % 3 != 2 {
            let sum = crc32fast::hash(&whole[..length - 4]);
            whole[length - 4..].copy_from_slice(&sum.to_be_bytes());
        }
        start += length;
    }
    stream
}
