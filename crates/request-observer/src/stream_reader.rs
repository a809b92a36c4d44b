//! Reads an answer that is a stream of server-sent events.

use llm_payloads::{AnswerScan, Api, PayloadState};
use request_timeline::{Moment, OutputEvent, Stamp, Timeline};
use sse_parser::{Field, Sink, SseParser};

use crate::AnomalyKind;
use crate::answer::Answer;

/// The most bytes of data that one event may have; a larger one is given up.
pub(crate) const MAX_EVENT_BYTES: u64 = 1 << 20;

/// The longest event name that is told apart.
const NAME_BYTES: usize = 64;

/// What a piece of the stream is read into.
pub(crate) struct Reading<'a> {
    pub(crate) api: Api,
    pub(crate) scan: &'a mut AnswerScan,
    pub(crate) answer: &'a mut Answer,
    pub(crate) timeline: &'a mut Timeline,
    pub(crate) now: Stamp,
    /// The bounds of the gap histogram, where they are at hand.
    pub(crate) gap_bounds: Option<&'a [u64]>,
}

/// Cuts a stream into events, and hands their data to the scan as it comes.
#[derive(Clone, Debug)]
pub(crate) struct StreamReader {
    parser: SseParser,
    event: EventInProgress,
}

/// The event that the stream is in.
#[derive(Clone, Debug)]
struct EventInProgress {
    data_bytes: u64,
    /// Whether a line of data has ended, so that the next one is joined to it by a line feed.
    has_whole_line: bool,
    is_given_up: bool,
    name: [u8; NAME_BYTES],
    /// The length of the name so far, also where it is longer than what is held.
    name_len: usize,
    name_has_ended: bool,
}

impl EventInProgress {
    const NEW: Self = Self {
        data_bytes: 0,
        has_whole_line: false,
        is_given_up: false,
        name: [0; NAME_BYTES],
        name_len: 0,
        name_has_ended: false,
    };

    fn extend_name(&mut self, bytes: &[u8]) {
        if self.name_has_ended {
            self.name_has_ended = false;
            self.name_len = 0;
        }
        for byte in bytes {
            if let Some(place) = self.name.get_mut(self.name_len) {
                *place = *byte;
            }
            self.name_len = self.name_len.saturating_add(1);
        }
    }

    /// The name; `None` where there is none, or none that could mean anything.
    fn name(&self) -> Option<&[u8]> {
        self.name
            .get(..self.name_len)
            .filter(|name| !name.is_empty())
    }

    fn clear(&mut self) {
        self.data_bytes = 0;
        self.has_whole_line = false;
        self.is_given_up = false;
        self.name_len = 0;
        self.name_has_ended = false;
    }
}

impl StreamReader {
    pub(crate) const fn new() -> Self {
        Self {
            parser: SseParser::new(),
            event: EventInProgress::NEW,
        }
    }

    /// Takes the next bytes. If they complete the first event with output, says how many of them that took.
    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) -> Option<usize> {
        if reading.timeline.has_first_token() {
            self.push_part(bytes, reading);
            return None;
        }
        // An event is complete at the end of a line. Until the first token, bytes are handed over line by line: any
        // cutting gives the same events, and so the place where the event ended is known.
        let mut consumed = 0_usize;
        for line in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push_part(line, reading);
            consumed = consumed.saturating_add(line.len());
            if reading.timeline.has_first_token() {
                self.push_part(bytes.get(consumed..).unwrap_or_default(), reading);
                return Some(consumed);
            }
        }
        None
    }

    /// Ends the stream: an event whose blank line is missing counts if its data is whole.
    pub(crate) fn finish(&mut self, reading: &mut Reading<'_>) {
        self.parser.finish(&mut EventSink {
            event: &mut self.event,
            reading,
            stream_has_ended: true,
        });
    }

    fn push_part(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        self.parser.push(
            bytes,
            &mut EventSink {
                event: &mut self.event,
                reading,
                stream_has_ended: false,
            },
        );
    }
}

struct EventSink<'a, 'b> {
    event: &'a mut EventInProgress,
    reading: &'a mut Reading<'b>,
    stream_has_ended: bool,
}

impl EventSink<'_, '_> {
    fn data(&mut self, bytes: &[u8]) {
        let event = &mut *self.event;
        if event.is_given_up {
            return;
        }
        event.data_bytes = event
            .data_bytes
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if event.data_bytes > MAX_EVENT_BYTES {
            event.is_given_up = true;
            self.reading.scan.reset();
            self.reading
                .answer
                .anomalies
                .add(AnomalyKind::OversizedEvent, 1);
            return;
        }
        if event.has_whole_line {
            event.has_whole_line = false;
            self.reading.scan.push(b"\n");
        }
        self.reading.scan.push(bytes);
    }
}

impl Sink for EventSink<'_, '_> {
    fn bytes(&mut self, field: Field, bytes: &[u8]) {
        match field {
            Field::Data => self.data(bytes),
            Field::Event => self.event.extend_name(bytes),
            Field::Id | Field::Retry | Field::Comment | Field::Unknown => {}
        }
    }

    fn field_end(&mut self, field: Field) {
        match field {
            Field::Data => self.event.has_whole_line = true,
            Field::Event => {
                self.event.extend_name(&[]);
                self.event.name_has_ended = true;
            }
            Field::Id | Field::Retry | Field::Comment | Field::Unknown => {}
        }
    }

    fn dispatch(&mut self) {
        let reading = &mut *self.reading;
        if let Some(name) = self.event.name() {
            reading.scan.name_event(name);
        }
        let payload = reading.scan.finish();
        let is_given_up = self.event.is_given_up;
        self.event.clear();
        let says_nothing =
            payload.state == PayloadState::Empty && payload.error.is_none() && !payload.terminal;
        let broke_off = payload.state == PayloadState::Truncated && self.stream_has_ended;
        if (says_nothing && !is_given_up) || broke_off {
            return;
        }
        reading.answer.take_event(reading.api, &payload);
        if payload.output.any() {
            let tokens = reading.answer.usage.tokens_of(&payload);
            let event = OutputEvent {
                choice: payload.choice,
                tokens,
                visible: payload.output.visible,
            };
            reading
                .timeline
                .output(event, reading.now, reading.gap_bounds);
        }
        if payload.terminal {
            reading.timeline.mark(Moment::Terminal, reading.now);
        }
    }
}
