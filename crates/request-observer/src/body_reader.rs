//! Reads the body of an answer by its framing.

use json_sequence::Shape;

use crate::UsageReason;
use crate::event_stream_reader::EventStreamReader;
use crate::grpc_reader::GrpcReader;
use crate::payload::Reading;
use crate::sequence_reader::SequenceReader;
use crate::sse_reader::SseReader;

/// How a response body is read.
#[derive(Clone, Debug)]
pub(crate) enum BodyReader {
    /// No response headers have come.
    NotBegun,
    /// Labelled as server-sent events; its first byte will show whether it is, or plain JSON (JetStream).
    LabelledSse,
    /// As server-sent events.
    Sse(SseReader),
    /// As a sequence of JSON values.
    Sequence(SequenceReader),
    /// As an AWS event stream.
    EventStream(Box<EventStreamReader>),
    /// As gRPC messages.
    Grpc(GrpcReader),
    /// As one JSON document.
    Whole,
    /// Not at all, for a reason.
    Opaque(UsageReason),
}

impl BodyReader {
    pub(crate) const fn sequence(shape: Shape) -> Self {
        Self::Sequence(SequenceReader::new(shape))
    }

    /// Whether bytes tell anything.
    pub(crate) const fn wants_bytes(&self) -> bool {
        !matches!(self, Self::NotBegun | Self::Opaque(_))
    }

    /// Takes the next bytes. If they complete the first event with output, says how many of them that took.
    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) -> Option<usize> {
        let mut rest = bytes;
        if matches!(self, Self::LabelledSse) {
            rest = self.sniff(bytes)?;
        }
        if !reading.is_timed || reading.timeline.has_first_token() {
            self.push_part(rest, reading);
            return None;
        }
        // Until the first token, bytes are handed over in steps at whose ends events end: any cutting gives the same
        // events, and so the place where the event ended is known.
        while !rest.is_empty() {
            let (step, after) = rest
                .split_at_checked(self.step(rest))
                .unwrap_or((rest, &[]));
            self.push_part(step, reading);
            rest = after;
            if reading.timeline.has_first_token() {
                self.push_part(rest, reading);
                return Some(bytes.len().saturating_sub(rest.len()));
            }
        }
        None
    }

    /// Ends the body: what is whole although its end mark is missing counts.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        match self {
            Self::Sse(reader) => reader.finish(reading),
            Self::Sequence(reader) => reader.finish(reading),
            Self::EventStream(reader) => reader.finish(reading),
            Self::Grpc(reader) => reader.finish(reading),
            Self::NotBegun | Self::LabelledSse | Self::Whole | Self::Opaque(_) => {}
        }
    }

    /// Decides by the first byte that is no white space; gives what is to be read, from there on. White space before
    /// says nothing in either format.
    fn sniff<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = bytes.get(start..)?;
        *self = if matches!(rest.first(), Some(b'{' | b'[')) {
            Self::sequence(Shape::Concatenated)
        } else {
            Self::Sse(SseReader::new())
        };
        Some(rest)
    }

    /// How many of the bytes to hand over at once, at least one.
    fn step(&self, bytes: &[u8]) -> usize {
        let step = match self {
            Self::Sse(reader) => reader.step(bytes),
            Self::Sequence(_) => SequenceReader::step(bytes),
            Self::EventStream(reader) => reader.step(bytes),
            Self::Grpc(reader) => reader.step(bytes),
            Self::NotBegun | Self::LabelledSse | Self::Whole | Self::Opaque(_) => bytes.len(),
        };
        step.max(1)
    }

    fn push_part(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        match self {
            Self::Sse(reader) => reader.push(bytes, reading),
            Self::Sequence(reader) => reader.push(bytes, reading),
            Self::EventStream(reader) => reader.push(bytes, reading),
            Self::Grpc(reader) => reader.push(bytes, reading),
            Self::Whole => reading.scan.push(bytes),
            Self::NotBegun | Self::LabelledSse | Self::Opaque(_) => {}
        }
    }
}
