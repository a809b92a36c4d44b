//! A sink that writes down every call, and the ways to feed a document.

use json_scan::{Container, Node, Outcome, Progress, Scanner, Sink, Value};

/// Tags are the paths themselves, so that a failed comparison reads well.
pub(crate) type Tag = &'static str;

/// One call to the sink.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Null(Tag),
    Bool(Tag, bool),
    Number(Tag, String),
    /// The held prefix and the whole length.
    Text(Tag, Vec<u8>, u64),
    Open(Tag, Container),
    Close(Tag, Container, u64),
}

pub(crate) fn text(tag: Tag, text: impl AsRef<[u8]>) -> Call {
    let bytes = text.as_ref();
    Call::Text(
        tag,
        bytes[..bytes.len().min(256)].to_vec(),
        bytes.len() as u64,
    )
}

pub(crate) fn number(tag: Tag, text: &str) -> Call {
    Call::Number(tag, text.to_owned())
}

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) calls: Vec<Call>,
}

impl Sink<Tag> for Recorder {
    fn value(&mut self, tag: Tag, value: Value<'_>) {
        self.calls.push(match value {
            Value::Null => Call::Null(tag),
            Value::Bool(value) => Call::Bool(tag, value),
            Value::Number(text) => Call::Number(tag, String::from_utf8(text.to_vec()).unwrap()),
            Value::Text(text) => Call::Text(tag, text.prefix.to_vec(), text.len),
        });
    }

    fn open(&mut self, tag: Tag, kind: Container) {
        self.calls.push(Call::Open(tag, kind));
    }

    fn close(&mut self, tag: Tag, kind: Container, items: u64) {
        self.calls.push(Call::Close(tag, kind, items));
    }
}

/// Everything that a scanner said of one document.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) calls: Vec<Call>,
    pub(crate) progress: Progress,
    pub(crate) outcome: Outcome,
}

/// Feeds a document in the given pieces.
pub(crate) fn scan_pieces<'a>(
    root: &'static Node<Tag>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Report {
    let mut scanner = Scanner::new(root);
    let mut recorder = Recorder::default();
    let mut progress = Progress::More;
    for piece in pieces {
        progress = scanner.push(piece, &mut recorder);
    }
    let outcome = scanner.finish(&mut recorder);
    Report {
        calls: recorder.calls,
        progress,
        outcome,
    }
}

pub(crate) fn scan(root: &'static Node<Tag>, document: &[u8]) -> Report {
    scan_pieces(root, [document])
}

/// Cuts a document at the given positions, which need not be sorted nor inside it.
pub(crate) fn cut<'a>(document: &'a [u8], positions: &[usize]) -> Vec<&'a [u8]> {
    let mut positions: Vec<usize> = positions
        .iter()
        .map(|at| at % (document.len() + 1))
        .collect();
    positions.extend([0, document.len()]);
    positions.sort_unstable();
    positions
        .windows(2)
        .map(|pair| &document[pair[0]..pair[1]])
        .collect()
}
