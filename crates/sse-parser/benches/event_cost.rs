//! What one streamed event costs: `cargo bench -p sse-parser`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    reason = "a program that measures reads a clock and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use sse_parser::{Field, Sink, SseParser};

/// Keeps the compiler from dropping the work, as a counter would in use.
#[derive(Default)]
struct Counts {
    bytes: usize,
    fields: u64,
    events: u64,
}

impl Sink for Counts {
    fn bytes(&mut self, field: Field, bytes: &[u8]) {
        black_box(field);
        self.bytes += bytes.len();
    }

    fn field_end(&mut self, field: Field) {
        black_box(field);
        self.fields += 1;
    }

    fn dispatch(&mut self) {
        self.events += 1;
    }
}

fn measure(name: &str, stream: &[u8], piece_bytes: usize, rounds: u32) {
    let mut parser = SseParser::new();
    let mut counts = Counts::default();
    let mut best_nanos = f64::MAX;
    for _ in 0..7 {
        let begun = Instant::now();
        for _ in 0..rounds {
            for piece in black_box(stream).chunks(piece_bytes) {
                parser.push(piece, &mut counts);
            }
        }
        let nanos = begun.elapsed().as_secs_f64() * 1e9 / f64::from(rounds);
        best_nanos = best_nanos.min(nanos);
    }
    black_box((counts.bytes, counts.fields, counts.events));
    println!("{name:<40} {:>9} bytes {best_nanos:>12.0} ns", stream.len());
}

fn main() {
    let payload = r#"{"id":"chatcmpl-9xK2aQmT4","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}]}"#;
    let data_only = format!("data: {payload}\n\n");
    let named = format!("event: content_block_delta\r\ndata: {payload}\r\n\r\n");
    let long = format!("data: {}\n\n", "x".repeat(1_000_000));

    measure("data-only event", data_only.as_bytes(), usize::MAX, 200_000);
    measure("named event", named.as_bytes(), usize::MAX, 200_000);
    measure(
        "data-only event byte by byte",
        data_only.as_bytes(),
        1,
        20_000,
    );
    measure("1 MB line, 16 KiB each", long.as_bytes(), 16_384, 200);
}
