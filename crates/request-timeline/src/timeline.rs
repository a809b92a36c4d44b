//! Collects the stamps of one request.

use crate::{Durations, GapHistogram, Stamp};

/// The most choices of one answer whose gaps are measured apart.
///
/// Choices (`n` above one, or a batch of prompts) interleave in a stream, and the silence that one choice's reader
/// sees is between that choice's own events. Events of choices past this number still mark first and last token,
/// and give no gap.
pub const MAX_CHOICES: usize = 64;

/// A moment of a request that is marked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The last byte of the request body.
    RequestEnd,
    /// The response headers.
    ResponseHeaders,
    /// The first non-empty response body chunk.
    FirstByte,
    /// The protocol's terminal event.
    Terminal,
    /// The end of the exchange.
    End,
}

/// One event that carried generated output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEvent {
    /// Which of the answer's choices it belongs to.
    pub choice: u32,
    /// The tokens it brought, as far as is known; one where it is not.
    pub tokens: u32,
    /// Whether any of it is other than reasoning.
    pub visible: bool,
}

/// The stamps of one request, from its headers to its end.
#[derive(Clone, Debug)]
pub struct Timeline {
    request_headers: Stamp,
    latest: Stamp,
    request_end: Option<Stamp>,
    response_headers: Option<Stamp>,
    first_byte: Option<Stamp>,
    first_token: Option<Stamp>,
    first_visible_token: Option<Stamp>,
    last_token: Option<Stamp>,
    terminal: Option<Stamp>,
    end: Option<Stamp>,
    output_events: u64,
    longest_gap: u64,
    gaps: GapHistogram,
    backwards: u32,
    /// The last event of choice 0 is held apart, so that an answer of one choice never allocates.
    first_choice: Option<Stamp>,
    other_choices: Vec<(u32, Stamp)>,
}

impl Timeline {
    /// A timeline whose zero is the stamp of the request headers.
    #[must_use]
    pub const fn new(request_headers: Stamp) -> Self {
        Self {
            request_headers,
            latest: request_headers,
            request_end: None,
            response_headers: None,
            first_byte: None,
            first_token: None,
            first_visible_token: None,
            last_token: None,
            terminal: None,
            end: None,
            output_events: 0,
            longest_gap: 0,
            gaps: GapHistogram::new(),
            backwards: 0,
            first_choice: None,
            other_choices: Vec::new(),
        }
    }

    /// Marks a moment; a moment that is marked already stays as it is.
    pub fn mark(&mut self, moment: Moment, now: Stamp) {
        let slot = match moment {
            Moment::RequestEnd => &mut self.request_end,
            Moment::ResponseHeaders => &mut self.response_headers,
            Moment::FirstByte => &mut self.first_byte,
            Moment::Terminal => &mut self.terminal,
            Moment::End => &mut self.end,
        };
        if slot.is_none() {
            *slot = Some(now);
            self.watch_clock(now);
        }
    }

    /// Takes an event that carried output. `bounds` are those of the gap histogram; without them (`None`) the gap
    /// before this event is left out of the histogram, and counts for the longest gap alone.
    pub fn output(&mut self, event: OutputEvent, now: Stamp, bounds: Option<&[u64]>) {
        self.watch_clock(now);
        self.output_events = self.output_events.saturating_add(1);
        if self.first_token.is_none() {
            self.first_token = Some(now);
        }
        if event.visible && self.first_visible_token.is_none() {
            self.first_visible_token = Some(now);
        }
        if let Some(previous) = self.last_token {
            self.longest_gap = self.longest_gap.max(now.nanos_since(previous));
        }
        self.last_token = Some(now);
        let previous = self.replace_choice_stamp(event.choice, now);
        if let (Some(previous), Some(bounds)) = (previous, bounds) {
            self.gaps.add(previous, now, event.tokens, bounds);
        }
    }

    /// How long ago the end was; nothing where there was none yet.
    #[must_use]
    pub const fn nanos_since_end(&self, now: Stamp) -> u64 {
        match self.end {
            Some(end) => now.nanos_since(end),
            None => 0,
        }
    }

    /// What came of the stamps so far.
    #[must_use]
    pub fn durations(&self) -> Durations {
        let since_headers =
            |stamp: Option<Stamp>| stamp.map(|stamp| stamp.nanos_since(self.request_headers));
        let decode = self
            .first_token
            .zip(self.last_token)
            .map(|(first, last)| last.nanos_since(first));
        let tail = self
            .last_token
            .zip(self.terminal.or(self.end))
            .map_or(0, |(last, end)| end.nanos_since(last));
        Durations {
            request: since_headers(self.end),
            time_to_request_end: since_headers(self.request_end),
            time_to_response_headers: since_headers(self.response_headers),
            time_to_first_byte: since_headers(self.first_byte),
            time_to_first_token: since_headers(self.first_token),
            time_to_first_visible_token: since_headers(self.first_visible_token),
            decode,
            max_gap: self.first_token.map(|_| self.longest_gap.max(tail)),
        }
    }

    /// The gaps between output events, each choice by itself.
    #[must_use]
    pub const fn gaps(&self) -> &GapHistogram {
        &self.gaps
    }

    /// How many output events there were.
    #[must_use]
    pub const fn output_events(&self) -> u64 {
        self.output_events
    }

    /// How many stamps lay before an earlier one.
    #[must_use]
    pub const fn backwards(&self) -> u32 {
        self.backwards
    }

    /// Whether the first token has come.
    #[must_use]
    pub const fn has_first_token(&self) -> bool {
        self.first_token.is_some()
    }

    /// Whether the end of the exchange is marked.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn watch_clock(&mut self, now: Stamp) {
        if now < self.latest {
            self.backwards = self.backwards.saturating_add(1);
        } else {
            self.latest = now;
        }
    }

    fn replace_choice_stamp(&mut self, choice: u32, now: Stamp) -> Option<Stamp> {
        if choice == 0 {
            return self.first_choice.replace(now);
        }
        if let Some((_, stamp)) = self
            .other_choices
            .iter_mut()
            .find(|(known, _)| *known == choice)
        {
            return Some(std::mem::replace(stamp, now));
        }
        if self.other_choices.len() < MAX_CHOICES.saturating_sub(1) {
            self.other_choices.push((choice, now));
        }
        None
    }
}
