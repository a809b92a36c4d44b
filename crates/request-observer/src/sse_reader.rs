//! Reads an answer that is a stream of server-sent events.

use sse_parser::{Field, Sink, SseParser};

use crate::payload::{PayloadInProgress, Reading};

/// Cuts a stream into events, and hands their data to the scan as it comes.
#[derive(Clone, Debug)]
pub(crate) struct SseReader {
    parser: SseParser,
    event: EventInProgress,
}

/// The event that the stream is in.
#[derive(Clone, Debug)]
struct EventInProgress {
    payload: PayloadInProgress,
    /// Whether a line of data has ended, so that the next one is joined to it by a line feed.
    has_whole_line: bool,
    name_has_ended: bool,
}

impl SseReader {
    pub(crate) const fn new() -> Self {
        Self {
            parser: SseParser::new(),
            event: EventInProgress {
                payload: PayloadInProgress::NEW,
                has_whole_line: false,
                name_has_ended: false,
            },
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        self.parser.push(
            bytes,
            &mut EventSink {
                event: &mut self.event,
                reading,
                stream_has_ended: false,
            },
        );
    }

    /// How many of the bytes to hand over at once so that an event's end is the end of what was handed over.
    ///
    /// An event is complete at the end of a line, or where the next one begins.
    pub(crate) fn step(&self, bytes: &[u8]) -> usize {
        if bytes
            .first()
            .is_some_and(|byte| self.parser.ends_event(*byte))
        {
            return 1;
        }
        bytes
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .map_or(bytes.len(), |end| end.saturating_add(1))
    }

    /// Ends the stream: an event whose blank line is missing counts if its data is whole.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        self.parser.finish(&mut EventSink {
            event: &mut self.event,
            reading,
            stream_has_ended: true,
        });
    }
}

struct EventSink<'a, 'b> {
    event: &'a mut EventInProgress,
    reading: &'a mut Reading<'b>,
    stream_has_ended: bool,
}

impl Sink for EventSink<'_, '_> {
    fn bytes(&mut self, field: Field, bytes: &[u8]) {
        match field {
            Field::Data | Field::Bare | Field::Error => {
                // llama.cpp once wrote its errors as a field of that name.
                if field == Field::Error {
                    self.reading.scan.name_exception(b"");
                }
                if self.event.has_whole_line {
                    self.event.has_whole_line = false;
                    self.event.payload.push(b"\n", self.reading);
                }
                self.event.payload.push(bytes, self.reading);
            }
            Field::Event => {
                if self.event.name_has_ended {
                    self.event.name_has_ended = false;
                    self.event.payload.clear_name();
                }
                self.event.payload.extend_name(bytes);
            }
            Field::Id | Field::Retry | Field::Comment | Field::Unknown => {}
        }
    }

    fn field_end(&mut self, field: Field) {
        match field {
            Field::Data | Field::Bare | Field::Error => self.event.has_whole_line = true,
            Field::Event => {
                if self.event.name_has_ended {
                    self.event.payload.clear_name();
                }
                self.event.name_has_ended = true;
            }
            Field::Id | Field::Retry | Field::Comment | Field::Unknown => {}
        }
    }

    fn dispatch(&mut self) {
        self.event.has_whole_line = false;
        self.event.name_has_ended = false;
        self.event.payload.end(self.reading, self.stream_has_ended);
    }
}
