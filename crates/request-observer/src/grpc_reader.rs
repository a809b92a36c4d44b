//! Reads an answer that is a sequence of gRPC messages.

use grpc_frames::{FrameHead, GrpcFrames, Sink, WebTrailers};

use crate::AnomalyKind;
use crate::payload::{PayloadInProgress, Reading};

/// Cuts a body into its messages.
#[derive(Clone, Debug)]
pub(crate) struct GrpcReader {
    frames: GrpcFrames,
    message: MessageInProgress,
}

#[derive(Clone, Debug)]
struct MessageInProgress {
    payload: PayloadInProgress,
    head: FrameHead,
    trailers: WebTrailers,
}

impl GrpcReader {
    pub(crate) const fn new() -> Self {
        Self {
            frames: GrpcFrames::new(),
            message: MessageInProgress {
                payload: PayloadInProgress::NEW,
                head: FrameHead {
                    compressed: false,
                    trailers: false,
                    length: 0,
                },
                trailers: WebTrailers::new(),
            },
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        let message = &mut self.message;
        self.frames.push(bytes, &mut FrameSink { message, reading });
    }

    /// How many of the bytes to hand over at once so that a message's end is the end of what was handed over.
    pub(crate) fn step(&self, bytes: &[u8]) -> usize {
        self.frames.wants().min(bytes.len())
    }

    /// Ends the stream: a message that is not whole is dropped.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        if !self.frames.at_border() {
            self.message.payload.drop(reading);
        }
    }
}

struct FrameSink<'a, 'b> {
    message: &'a mut MessageInProgress,
    reading: &'a mut Reading<'b>,
}

impl Sink for FrameSink<'_, '_> {
    fn begin(&mut self, head: FrameHead) {
        self.message.head = head;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let head = self.message.head;
        if head.compressed {
            return;
        }
        if head.trailers {
            self.message.trailers.push(bytes);
        } else {
            self.message.payload.push(bytes, self.reading);
        }
    }

    fn end(&mut self) {
        let head = self.message.head;
        if head.trailers {
            let status = self.message.trailers.status();
            self.reading.answer.grpc_status = status.or(self.reading.answer.grpc_status);
            return;
        }
        if head.compressed && head.length > 0 {
            let answer = &mut *self.reading.answer;
            answer.anomalies.add(AnomalyKind::CompressedMessage, 1);
            answer.take_unread_message();
        } else {
            self.message.payload.end(self.reading, false);
        }
    }
}
