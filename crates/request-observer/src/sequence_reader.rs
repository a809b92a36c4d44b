//! Reads an answer that is a sequence of JSON values.

use json_sequence::{JsonSequence, Shape, Sink};

use crate::payload::{PayloadInProgress, Reading};

/// Cuts a sequence into its values.
#[derive(Clone, Debug)]
pub(crate) struct SequenceReader {
    sequence: JsonSequence,
    payload: PayloadInProgress,
}

impl SequenceReader {
    pub(crate) const fn new(shape: Shape) -> Self {
        Self {
            sequence: JsonSequence::new(shape),
            payload: PayloadInProgress::NEW,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        self.sequence.push(
            bytes,
            &mut ValueSink {
                payload: &mut self.payload,
                reading,
                stream_has_ended: false,
            },
        );
    }

    /// How many of the bytes to hand over at once so that a value's end is the end of what was handed over.
    pub(crate) fn step(bytes: &[u8]) -> usize {
        bytes
            .iter()
            .position(|byte| matches!(byte, b'}' | b']' | b'\n' | b'\r'))
            .map_or(bytes.len(), |end| end.saturating_add(1))
    }

    /// Ends the stream: a last value counts if it is whole.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        self.sequence.finish(&mut ValueSink {
            payload: &mut self.payload,
            reading,
            stream_has_ended: true,
        });
    }
}

struct ValueSink<'a, 'b> {
    payload: &'a mut PayloadInProgress,
    reading: &'a mut Reading<'b>,
    stream_has_ended: bool,
}

impl Sink for ValueSink<'_, '_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.payload.push(bytes, self.reading);
    }

    fn value_end(&mut self) {
        self.payload.end(self.reading, self.stream_has_ended);
    }
}
