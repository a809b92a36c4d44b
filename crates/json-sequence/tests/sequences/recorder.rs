//! Writes down what a stream says.

use json_sequence::{JsonSequence, Shape, Sink};

#[derive(Default)]
struct Recorder {
    value: Vec<u8>,
    whole: Vec<Vec<u8>>,
}

impl Sink for Recorder {
    fn bytes(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "nothing is no piece");
        self.value.extend_from_slice(bytes);
    }

    fn value_end(&mut self) {
        self.whole.push(std::mem::take(&mut self.value));
    }
}

/// The values of a stream that comes in these pieces.
pub(crate) fn parse_pieces<'a>(
    shape: Shape,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Vec<u8>> {
    let mut sequence = JsonSequence::new(shape);
    let mut recorder = Recorder::default();
    for piece in pieces {
        sequence.push(piece, &mut recorder);
    }
    sequence.finish(&mut recorder);
    assert!(recorder.value.is_empty(), "bytes without a value's end");
    recorder.whole
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
