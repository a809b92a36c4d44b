//! Writes down what a body says.

use grpc_frames::{FrameHead, GrpcFrames, Sink};

use crate::oracle::Message;

#[derive(Default)]
struct Recorder {
    flags: u8,
    length: u32,
    message: Vec<u8>,
    whole: Vec<Message>,
}

impl Sink for Recorder {
    fn begin(&mut self, head: FrameHead) {
        self.flags = u8::from(head.compressed) | u8::from(head.trailers) << 7;
        self.length = head.length;
        self.message.clear();
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.message.extend_from_slice(bytes);
    }

    fn end(&mut self) {
        assert_eq!(self.message.len(), self.length as usize);
        self.whole
            .push((self.flags, std::mem::take(&mut self.message)));
    }
}

/// The whole messages of a body that comes in these pieces, and whether it may end there.
pub(crate) fn parse_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Message>, bool) {
    let mut frames = GrpcFrames::new();
    let mut recorder = Recorder::default();
    for piece in pieces {
        frames.push(piece, &mut recorder);
    }
    (recorder.whole, frames.at_border())
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
