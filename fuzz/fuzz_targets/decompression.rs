//! Any bytes in any coding and any cutting have one output and one verdict, within the bounds.
#![no_main]

use body_decompression::{Coding, Limits};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/body-decompression/tests/bodies/oracle.rs"]
mod oracle;

/// Small, so that bounds are met often and little time goes into output.
const LIMITS: Limits = Limits {
    output_bytes: 3 << 20,
    ratio: 100,
};

// The first byte chooses the coding, four more are two positions to cut at, the rest is the body.
fuzz_target!(|input: &[u8]| {
    if let [choice, a, b, c, d, body @ ..] = input {
        let coding = Coding::ALL[usize::from(*choice) % Coding::ALL.len()];
        let cuts = [[*a, *b], [*c, *d]].map(|bytes| usize::from(u16::from_le_bytes(bytes)));
        oracle::check(coding, LIMITS, body, cuts);
    }
});
