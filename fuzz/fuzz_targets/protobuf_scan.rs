//! Any bytes in any cutting say what a reading of the whole message says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protobuf_scan::{Field, Outcome, Scanner, Sink, Text};

#[path = "cutting.rs"]
mod cutting;
#[path = "../../crates/protobuf-scan/tests/messages/oracle.rs"]
mod oracle;

static LEAVES: [Field<&str>; 4] = [
    Field::text(1, "text"),
    Field::numbers(2, "numbers"),
    Field::number(3, "number"),
    Field::text(16, "far"),
];
static BRANCHES: [Field<&str>; 4] = [
    Field::message(1, &LEAVES),
    Field::tagged(2, "leaves", &LEAVES),
    Field::number(3, "middle"),
    Field::message(4, &[]),
];
static ROOT: [Field<&str>; 4] = [
    Field::tagged(1, "first", &BRANCHES),
    Field::message(2, &BRANCHES),
    Field::number(3, "outer"),
    Field::text(4, "name"),
];

#[derive(Default)]
struct Recorder(Vec<String>);

impl Sink<&'static str> for Recorder {
    fn number(&mut self, tag: &'static str, value: u64) {
        self.0.push(format!("{tag}={value}"));
    }

    fn text(&mut self, tag: &'static str, text: Text<'_>) {
        self.0
            .push(format!("{tag}={:?} of {}", text.prefix, text.len));
    }

    fn open(&mut self, tag: &'static str) {
        self.0.push(format!("<{tag}"));
    }

    fn close(&mut self, tag: &'static str) {
        self.0.push(format!("{tag}>"));
    }

    fn elements(&mut self, tag: &'static str, count: u64) {
        self.0.push(format!("{count} {tag}"));
    }
}

fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Outcome) {
    let mut scanner = Scanner::new(&ROOT);
    let mut recorder = Recorder::default();
    for piece in pieces {
        scanner.push(piece, &mut recorder);
    }
    let outcome = scanner.finish(&mut recorder);
    (recorder.0, outcome)
}

fuzz_target!(|input: &[u8]| {
    let Some((message, pieces)) = cutting::cut(input) else {
        return;
    };
    let whole = scan([message]);
    assert_eq!(scan(pieces), whole);
    assert_eq!(scan(message.chunks(1)), whole);
    match oracle::read_whole(&ROOT, message) {
        Some(_) if message.is_empty() => assert_eq!(whole, (Vec::new(), Outcome::Empty)),
        Some(expected) => assert_eq!(whole, (expected, Outcome::Complete)),
        None => assert!(matches!(whole.1, Outcome::Truncated | Outcome::Malformed)),
    }
});
