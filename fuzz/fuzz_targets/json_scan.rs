//! Any bytes in any cutting get serde_json's verdict and the calls that its reading implies.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "the crate's tests share it and use more of it")]
#[path = "../../crates/json-scan/tests/documents/oracle.rs"]
mod oracle;
#[allow(dead_code, reason = "the crate's tests share it and use more of it")]
#[path = "../../crates/json-scan/tests/documents/recorder.rs"]
mod recorder;

// The first four bytes are two positions to cut at, the rest is the document.
fuzz_target!(|input: &[u8]| {
    if let [a, b, c, d, document @ ..] = input {
        let cuts = [[*a, *b], [*c, *d]].map(|bytes| usize::from(u16::from_le_bytes(bytes)));
        oracle::check(document, &cuts);
    }
});
