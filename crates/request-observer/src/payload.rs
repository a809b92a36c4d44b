//! One payload of an answer on its way: its size is bounded, its name is held, and at its end it is judged.

use llm_payloads::{AnswerScan, Api, EndRule, PayloadState};
use request_timeline::{Moment, OutputEvent, Stamp, Timeline};

use crate::AnomalyKind;
use crate::answer::Answer;

/// The most bytes of data that one payload of a stream may have; a larger one is given up.
pub(crate) const MAX_EVENT_BYTES: u64 = 1 << 20;

/// The longest name of an event that is told apart.
const NAME_BYTES: usize = 64;

/// What a piece of an answer is read into.
pub(crate) struct Reading<'a> {
    pub(crate) api: Api,
    pub(crate) scan: &'a mut AnswerScan,
    pub(crate) answer: &'a mut Answer,
    pub(crate) timeline: &'a mut Timeline,
    pub(crate) now: Stamp,
    /// Whether the answer is a stream, whose events have times; one message alone has none.
    pub(crate) is_timed: bool,
    /// The bounds of the gap histogram, where they are at hand.
    pub(crate) gap_bounds: Option<&'a [u64]>,
}

impl Reading<'_> {
    /// Judges the payload that the scan holds.
    fn take(&mut self, is_given_up: bool, stream_has_ended: bool) {
        let payload = self.scan.finish();
        let says_nothing =
            payload.state == PayloadState::Empty && payload.error.is_none() && !payload.terminal;
        let broke_off = payload.state == PayloadState::Truncated && stream_has_ended;
        if (says_nothing && !is_given_up) || broke_off {
            return;
        }
        if self.answer.is_terminal && payload.output.any() {
            self.answer.anomalies.add(AnomalyKind::OutputAfterEnd, 1);
        }
        self.answer.take_event(self.api, &payload);
        if payload.output.any() && self.is_timed {
            let tokens = self.answer.usage.tokens_of(&payload);
            let event = OutputEvent {
                choice: payload.choice,
                tokens,
                visible: payload.output.visible,
            };
            self.timeline.output(event, self.now, self.gap_bounds);
        }
        let ends_by_reason = self.api.dialect().rules.end == EndRule::Finish;
        if payload.terminal || (ends_by_reason && payload.finish.is_some()) {
            self.answer.is_terminal = true;
            self.timeline.mark(Moment::Terminal, self.now);
        }
    }
}

/// The payload that a stream is in.
#[derive(Clone, Debug)]
pub(crate) struct PayloadInProgress {
    bytes: u64,
    is_given_up: bool,
    name: [u8; NAME_BYTES],
    /// The length of the name so far, also where it is longer than what is held.
    name_len: usize,
}

impl PayloadInProgress {
    pub(crate) const NEW: Self = Self {
        bytes: 0,
        is_given_up: false,
        name: [0; NAME_BYTES],
        name_len: 0,
    };

    /// Takes bytes of the payload.
    pub(crate) fn push(&mut self, bytes: &[u8], reading: &mut Reading<'_>) {
        if self.is_given_up {
            return;
        }
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.bytes > MAX_EVENT_BYTES {
            self.is_given_up = true;
            reading.scan.reset();
            reading.answer.anomalies.add(AnomalyKind::OversizedEvent, 1);
            return;
        }
        reading.scan.push(bytes);
    }

    /// Forgets the name, for another one follows.
    pub(crate) const fn clear_name(&mut self) {
        self.name_len = 0;
    }

    /// Takes bytes of the event's name.
    pub(crate) fn extend_name(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.name.get_mut(self.name_len) {
                *place = *byte;
            }
            self.name_len = self.name_len.saturating_add(1);
        }
    }

    /// The name; `None` where there is none, or none that could mean anything.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.name
            .get(..self.name_len)
            .filter(|name| !name.is_empty())
    }

    /// Ends the payload and judges it.
    pub(crate) fn end(&mut self, reading: &mut Reading<'_>, stream_has_ended: bool) {
        if let Some(name) = self.name() {
            reading.scan.name_event(name);
        }
        let is_given_up = self.is_given_up;
        self.clear();
        reading.take(is_given_up, stream_has_ended);
    }

    /// Drops the payload, which is not to be believed.
    pub(crate) fn drop(&mut self, reading: &mut Reading<'_>) {
        reading.scan.reset();
        self.clear();
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.is_given_up = false;
        self.name_len = 0;
    }
}
