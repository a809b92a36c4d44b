//! What one streamed chunk and one large body cost: `cargo bench -p json-scan`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    reason = "a program that measures reads a clock and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use json_scan::{Container, Node, Outcome, Scanner, Sink, Value};

#[derive(Debug, Clone, Copy)]
enum Place {
    Model,
    Content,
    Reasoning,
    Refusal,
    ToolCalls,
    Finish,
    Count,
    Error,
    Embedding,
}

static DELTA: [Node<Place>; 4] = [
    Node::leaf("content", Place::Content),
    Node::leaf("reasoning", Place::Reasoning),
    Node::leaf("refusal", Place::Refusal),
    Node::leaf("tool_calls", Place::ToolCalls),
];
static CHOICE: [Node<Place>; 2] = [
    Node::branch("delta", &DELTA),
    Node::leaf("finish_reason", Place::Finish),
];
static CHOICES: [Node<Place>; 1] = [Node::branch("[]", &CHOICE)];
static USAGE: [Node<Place>; 2] = [
    Node::leaf("prompt_tokens", Place::Count),
    Node::leaf("completion_tokens", Place::Count),
];
static DATA: [Node<Place>; 1] = [Node::leaf("[]", Place::Embedding)];
static ROOT: Node<Place> = Node::root(&[
    Node::branch("choices", &CHOICES),
    Node::leaf("model", Place::Model),
    Node::branch("usage", &USAGE),
    Node::leaf("error", Place::Error),
    Node::branch("data", &DATA),
]);

/// Keeps the compiler from dropping the work, as a counter would in use.
#[derive(Default)]
struct Counts {
    values: u64,
    bytes: u64,
    items: u64,
}

impl Sink<Place> for Counts {
    fn value(&mut self, tag: Place, value: Value<'_>) {
        black_box(tag);
        self.values += 1;
        self.bytes += match value {
            Value::Text(text) => text.len,
            Value::Number(text) => text.len() as u64,
            Value::Null | Value::Bool(_) => 0,
        };
    }

    fn open(&mut self, tag: Place, kind: Container) {
        black_box((tag, kind));
    }

    fn close(&mut self, tag: Place, kind: Container, items: u64) {
        black_box((tag, kind));
        self.items += items;
    }
}

fn measure(name: &str, document: &[u8], piece_bytes: usize, rounds: u32) {
    let mut scanner = Scanner::new(&ROOT);
    let mut counts = Counts::default();
    let mut best_nanos = f64::MAX;
    for _ in 0..7 {
        let begun = Instant::now();
        for _ in 0..rounds {
            scanner.reset();
            for piece in black_box(document).chunks(piece_bytes) {
                black_box(scanner.push(piece, &mut counts));
            }
            assert_eq!(scanner.finish(&mut counts), Outcome::Complete);
        }
        let nanos = begun.elapsed().as_secs_f64() * 1e9 / f64::from(rounds);
        best_nanos = best_nanos.min(nanos);
    }
    black_box(counts.values + counts.bytes + counts.items);
    let per_byte = best_nanos / document.len() as f64;
    println!(
        "{name:<40} {:>9} bytes {best_nanos:>12.0} ns {per_byte:>7.2} ns/byte",
        document.len()
    );
}

fn main() {
    let chat = br#"{"id":"chatcmpl-9xK2aQmT4","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}]}"#;
    let spaced = br#"{"id": "chatcmpl-9xK2aQmT4", "object": "chat.completion.chunk", "created": 1700000000, "model": "gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb", "choices": [{"index": 0, "delta": {"content": " a\n\"b\""}, "logprobs": null, "finish_reason": null}]}"#;
    let prose = "The quick brown fox\\njumps over the \\\"lazy\\\" dog. ".repeat(20_000);
    let request = format!(r#"{{"messages":[{{"role":"user","content":"{prose}"}}],"model":"m"}}"#);
    let plain = format!(
        r#"{{"image":"{}","model":"m"}}"#,
        "aGVsbG8+".repeat(125_000)
    );
    let numbers = vec!["-0.01234567"; 1536].join(",");
    let vectors = format!(r#"{{"data":[{{"embedding":[{numbers}]}}]}}"#);
    let pretty = String::from_utf8_lossy(chat).replace(':', " :\n      ");

    measure("chat chunk", chat, usize::MAX, 200_000);
    measure(
        "chat chunk with spaces and escapes",
        spaced,
        usize::MAX,
        200_000,
    );
    measure("chat chunk, pretty", pretty.as_bytes(), usize::MAX, 200_000);
    measure("chat chunk in pieces of 16", chat, 16, 200_000);
    measure("chat chunk byte by byte", chat, 1, 20_000);
    measure(
        "1 MB request with escapes, 16 KiB each",
        request.as_bytes(),
        16_384,
        100,
    );
    measure(
        "1 MB plain string, 16 KiB each",
        plain.as_bytes(),
        16_384,
        100,
    );
    measure(
        "embedding of 1536 numbers",
        vectors.as_bytes(),
        16_384,
        2_000,
    );
}
