//! Reads an answer that is an AWS event stream.

use aws_event_stream::{EventStreamParser, Flaw, Integrity, Sink};

use crate::AnomalyKind;
use crate::payload::{PayloadInProgress, Reading};

/// Cuts an event stream into its messages.
#[derive(Clone, Debug)]
pub(crate) struct EventStreamReader {
    parser: EventStreamParser,
    message: MessageInProgress,
}

#[derive(Clone, Debug)]
struct MessageInProgress {
    payload: PayloadInProgress,
    is_exception: bool,
}

impl EventStreamReader {
    pub(crate) const fn new() -> Self {
        Self {
            parser: EventStreamParser::new(),
            message: MessageInProgress {
                payload: PayloadInProgress::NEW,
                is_exception: false,
            },
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        let message = &mut self.message;
        self.parser
            .push(bytes, &mut MessageSink { message, reading });
    }

    /// How many of the bytes to hand over at once so that a message's end is the end of what was handed over.
    pub(crate) fn step(&self, bytes: &[u8]) -> usize {
        self.parser.wants().min(bytes.len())
    }

    /// Ends the stream.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        let message = &mut self.message;
        self.parser.finish(&mut MessageSink { message, reading });
    }
}

struct MessageSink<'a, 'b> {
    message: &'a mut MessageInProgress,
    reading: &'a mut Reading<'b>,
}

impl Sink for MessageSink<'_, '_> {
    fn header(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":message-type" => {
                self.message.is_exception = matches!(value, b"exception" | b"error");
            }
            b":event-type" | b":exception-type" | b":error-code" => {
                self.message.payload.clear_name();
                self.message.payload.extend_name(value);
            }
            _ => {}
        }
    }

    fn payload(&mut self, bytes: &[u8]) {
        self.message.payload.push(bytes, self.reading);
    }

    fn message_end(&mut self, integrity: Integrity) {
        let is_exception = std::mem::take(&mut self.message.is_exception);
        match integrity {
            Integrity::Intact => {
                if is_exception {
                    let name = self.message.payload.name().unwrap_or_default();
                    self.reading.scan.name_exception(name);
                    self.message.payload.clear_name();
                }
                self.message.payload.end(self.reading, false);
            }
            Integrity::Corrupt => {
                self.message.payload.drop(self.reading);
                let anomalies = &mut self.reading.answer.anomalies;
                anomalies.add(AnomalyKind::CorruptMessage, 1);
            }
        }
    }

    fn broken(&mut self, flaw: Flaw) {
        self.message.payload.drop(self.reading);
        let answer = &mut *self.reading.answer;
        match flaw {
            Flaw::Truncated => {}
            _ => answer.lose_framing(),
        }
    }
}
