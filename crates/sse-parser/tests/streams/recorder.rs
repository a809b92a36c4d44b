//! A sink that writes down what a stream said, with the pieces of a value joined.

use sse_parser::{Field, Sink, SseParser};

/// What a stream says, apart from how its values were cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A field and its whole value.
    Line(Field, Vec<u8>),
    /// The end of an event.
    Dispatch,
}

/// Joins the pieces and checks what the sink is promised.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) said: Vec<Said>,
    unfinished: Option<(Field, Vec<u8>)>,
}

impl Sink for Recorder {
    fn bytes(&mut self, field: Field, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "an empty piece");
        let (of, value) = self.unfinished.get_or_insert((field, Vec::new()));
        assert_eq!(*of, field, "pieces of two fields in one line");
        value.extend_from_slice(bytes);
    }

    fn field_end(&mut self, field: Field) {
        let (of, value) = self.unfinished.take().unwrap_or((field, Vec::new()));
        assert_eq!(of, field, "the end of another field");
        self.said.push(Said::Line(field, value));
    }

    fn dispatch(&mut self) {
        assert_eq!(self.unfinished, None, "an event ended inside a line");
        self.said.push(Said::Dispatch);
    }
}

/// Feeds a stream in the given pieces.
pub(crate) fn parse_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
    let mut parser = SseParser::new();
    let mut recorder = Recorder::default();
    for piece in pieces {
        parser.push(piece, &mut recorder);
    }
    parser.finish(&mut recorder);
    recorder.said
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
