//! Writes down what a stream says.

use aws_event_stream::{EventStreamParser, Flaw, Integrity, Sink};

use crate::oracle::Said;

#[derive(Default)]
struct Recorder(Vec<Said>);

impl Sink for Recorder {
    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.0.push(Said::Header(name.to_vec(), value.to_vec()));
    }

    fn payload(&mut self, bytes: &[u8]) {
        if let Some(Said::Payload(payload)) = self.0.last_mut() {
            payload.extend_from_slice(bytes);
        } else {
            self.0.push(Said::Payload(bytes.to_vec()));
        }
    }

    fn message_end(&mut self, integrity: Integrity) {
        self.0.push(Said::End(integrity == Integrity::Intact));
    }

    fn broken(&mut self, flaw: Flaw) {
        self.0.push(Said::Broken(match flaw {
            Flaw::BadPrelude => "BadPrelude",
            Flaw::BadLength => "BadLength",
            Flaw::BadHeaders => "BadHeaders",
            Flaw::Truncated => "Truncated",
        }));
    }
}

/// What a stream says that comes in these pieces.
pub(crate) fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
    let mut parser = EventStreamParser::new();
    let mut recorder = Recorder::default();
    for piece in pieces {
        parser.push(piece, &mut recorder);
    }
    parser.finish(&mut recorder);
    recorder.0
}

/// Cuts a stream at the given positions, which need not be sorted nor inside it.
pub(crate) fn cut<'a>(stream: &'a [u8], positions: &[usize]) -> Vec<&'a [u8]> {
    let within = |at: &usize| at % (stream.len() + 1);
    let mut positions: Vec<usize> = positions.iter().map(within).collect();
    positions.extend([0, stream.len()]);
    positions.sort_unstable();
    let piece = |pair: &[usize]| &stream[pair[0]..pair[1]];
    positions.windows(2).map(piece).collect()
}
