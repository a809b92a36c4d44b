//! Measures what one ordinary chunk of a stream costs: `cargo run --release -p request-observer --example chunk_cost`.
#![allow(clippy::print_stdout, reason = "this program prints a measurement")]
#![allow(clippy::disallowed_methods, reason = "this program measures time")]
#![allow(
    clippy::arithmetic_side_effects,
    reason = "a program that only measures may stop"
)]

use std::time::Instant;

use request_observer::{RequestHead, RequestObserver, ResponseHead, Settings, SkipReason, Stamp};

/// The best of many rounds is taken, since whatever else the machine does can only make a round longer.
const ROUNDS: u64 = 200;
const CHUNKS_OF_A_ROUND: u64 = 5_000;

/// Chunks as the servers write them, of about 220 bytes each.
const CASES: [(&str, &str, &str); 4] = [
    (
        "vLLM chat",
        "/v1/chat/completions",
        "data: {\"id\":\"chatcmpl-8419f9fb559de917\",\"object\":\"chat.completion.chunk\",\"created\":1796070372,\
         \"model\":\"tiny-llama\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" 186\"},\"logprobs\":null,\
         \"finish_reason\":null,\"token_ids\":null}]}\n\n",
    ),
    (
        "llama.cpp chat",
        "/v1/chat/completions",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\" 37\"}}],\
         \"created\":1796071095,\"id\":\"chatcmpl-vkJvb2gPr3qY4Hpgfhjh2gLyUe1j7ued\",\"model\":\"mid-llama\",\
         \"system_fingerprint\":\"b0-unknown\",\"object\":\"chat.completion.chunk\"}\n\n",
    ),
    (
        "messages",
        "/v1/messages",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\
         \"text\":\" 7057\"},\"index\":0}\n\n",
    ),
    (
        "responses",
        "/v1/responses",
        "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\"67 1458\",\
         \"item_id\":\"msg_be5bdd45842f7896\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":5,\
         \"type\":\"response.output_text.delta\"}\n\n",
    ),
];

fn main() -> Result<(), SkipReason> {
    let settings = Settings {
        gap_bounds_nanos: (1..=20).map(|bound| bound * 1_000_000).collect(),
        ..Settings::default()
    };
    println!("{} bytes per observer", size_of::<RequestObserver>());
    for (name, path, chunk) in CASES {
        let head = RequestHead {
            method: b"POST",
            path: path.as_bytes(),
            ..RequestHead::default()
        };
        let mut observer = RequestObserver::begin(&head, &settings, Stamp(0))?;
        let head = ResponseHead {
            status: 200,
            content_type: b"text/event-stream",
            ..ResponseHead::default()
        };
        observer.response_headers(&head, false, Stamp(0), &settings);
        let mut round = |round: u64| {
            let begin = Instant::now();
            for number in 0..CHUNKS_OF_A_ROUND {
                let now = Stamp((round * CHUNKS_OF_A_ROUND + number) * 10_000_000);
                observer.response_body(chunk.as_bytes(), false, now, &settings);
            }
            u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX) / CHUNKS_OF_A_ROUND
        };
        let nanos = (0..ROUNDS).map(&mut round).min().unwrap_or_default();
        println!("{name}: {nanos} ns per chunk of {} bytes", chunk.len());
    }
    Ok(())
}
