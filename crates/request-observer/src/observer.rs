//! The state machine of one request: one method a callback, one record at the end.

use llm_payloads::{AnswerScan, Api, PayloadState, RequestFacts, RequestScan, Usage};
use request_timeline::{Moment, Stamp, Timeline};

use crate::answer::Answer;
use crate::classify::{Origin, Seen, Verdict};
use crate::ending::{Ending, is_success};
use crate::route::{is_encoded, is_media_type};
use crate::stream_reader::{Reading, StreamReader};
use crate::{
    AnomalyKind, RequestHead, RequestRecord, Settings, SkipReason, UsageReason, UsageStatus,
};

/// What is read of a response's head. A header that is absent is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: u16,
    /// `content-type`.
    pub content_type: &'a [u8],
    /// `content-encoding`.
    pub content_encoding: &'a [u8],
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No token has come; an answer that is not streamed stays here until it ends.
    Prefill,
    /// Tokens are coming.
    Decode,
    /// The exchange has ended.
    Ended,
}

impl Phase {
    /// Every phase, for tables and tests.
    pub const ALL: [Self; 3] = [Self::Prefill, Self::Decode, Self::Ended];

    /// The phase in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Ended => "ended",
        }
    }
}

/// How the response body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyMode {
    /// No response headers have come.
    NotBegun,
    /// As server-sent events.
    Stream,
    /// As one JSON document.
    Whole,
    /// Not at all, for a reason.
    Opaque(UsageReason),
}

/// Watches one request.
#[derive(Clone, Debug)]
pub struct RequestObserver {
    api: Api,
    timeline: Timeline,
    request: RequestScan,
    request_has_ended: bool,
    status: Option<u16>,
    is_stream: bool,
    mode: BodyMode,
    reader: StreamReader,
    scan: AnswerScan,
    answer: Answer,
    chunks: u32,
    body_bytes: u64,
    inspected_bytes: u64,
    first_token_chunk: Option<u32>,
    first_token_offset: Option<u64>,
    /// Whether the response's own end was seen.
    response_has_ended: bool,
    body_is_finished: bool,
    is_closed: bool,
}

impl RequestObserver {
    /// Begins to watch a request whose headers came at `now`.
    ///
    /// # Errors
    ///
    /// Why the request is not to be watched.
    pub fn begin(
        head: &RequestHead<'_>,
        settings: &Settings,
        now: Stamp,
    ) -> Result<Self, SkipReason> {
        let api = head.api(settings)?;
        Ok(Self {
            api,
            timeline: Timeline::new(now),
            request: RequestScan::new(api),
            request_has_ended: false,
            status: None,
            is_stream: false,
            mode: BodyMode::NotBegun,
            reader: StreamReader::new(),
            scan: AnswerScan::new(api),
            answer: Answer::default(),
            chunks: 0,
            body_bytes: 0,
            inspected_bytes: 0,
            first_token_chunk: None,
            first_token_offset: None,
            response_has_ended: false,
            body_is_finished: false,
            is_closed: false,
        })
    }

    /// Whether the next bytes of the request body can still tell something. Where not, they need not be given.
    #[must_use]
    pub fn wants_request_body(&self) -> bool {
        !self.is_closed && !self.request_has_ended && self.request.wants_more()
    }

    /// Takes a chunk of the request body; `end` is whether it is the last.
    pub fn request_body(&mut self, bytes: &[u8], end: bool, now: Stamp) {
        if self.is_closed || self.request_has_ended {
            return;
        }
        self.request.push(bytes);
        self.inspected_bytes = self.inspected_bytes.saturating_add(length(bytes.len()));
        if end {
            self.request_has_ended = true;
            self.timeline.mark(Moment::RequestEnd, now);
        }
    }

    /// Takes the response headers; `end` is whether no body follows. Only the first call counts.
    pub fn response_headers(&mut self, head: &ResponseHead<'_>, end: bool, now: Stamp) {
        if self.is_closed || self.status.is_some() {
            return;
        }
        self.timeline.mark(Moment::ResponseHeaders, now);
        self.status = Some(head.status);
        self.is_stream = is_media_type(head.content_type, b"text/event-stream");
        self.mode = if is_encoded(head.content_encoding) {
            BodyMode::Opaque(UsageReason::Compressed)
        } else if self.is_stream {
            BodyMode::Stream
        } else if is_media_type(head.content_type, b"application/json") {
            BodyMode::Whole
        } else {
            BodyMode::Opaque(UsageReason::UnknownType)
        };
        let facts = self.request.facts();
        if facts.echo && self.api == Api::ChatCompletions && !facts.echoed_text.is_empty() {
            self.scan.expect_echo(facts.echoed_text, facts.choices);
        }
        if end {
            self.end_response(now, None);
        }
    }

    /// Whether the bytes of the response body are wanted. Where not, their number is enough.
    #[must_use]
    pub fn wants_response_body(&self) -> bool {
        !self.body_is_finished && matches!(self.mode, BodyMode::Stream | BodyMode::Whole)
    }

    /// Takes a chunk of the response body; `end` is whether it is the last.
    pub fn response_body(&mut self, bytes: &[u8], end: bool, now: Stamp, settings: &Settings) {
        if !self.begin_chunk(bytes.len(), now) {
            return;
        }
        let bounds = settings.gap_bounds_nanos.as_slice();
        match self.mode {
            BodyMode::Stream => self.stream_bytes(bytes, now, bounds),
            BodyMode::Whole => self.scan.push(bytes),
            BodyMode::NotBegun | BodyMode::Opaque(_) => {}
        }
        if self.wants_response_body() {
            self.inspected_bytes = self.inspected_bytes.saturating_add(length(bytes.len()));
        }
        self.body_bytes = self.body_bytes.saturating_add(length(bytes.len()));
        if end {
            self.end_response(now, Some(bounds));
        }
    }

    /// Takes the size of a chunk whose bytes are not wanted, or could not be had; `end` is whether it is the last.
    ///
    /// If bytes were wanted, what follows cannot be understood without them, so nothing further is read.
    pub fn response_body_size_only(&mut self, size: usize, end: bool, now: Stamp) {
        if !self.begin_chunk(size, now) {
            return;
        }
        self.body_bytes = self.body_bytes.saturating_add(length(size));
        if size > 0 && self.wants_response_body() {
            self.answer.anomalies.add(AnomalyKind::BytesNotSeen, 1);
            self.mode = BodyMode::Opaque(UsageReason::BytesNotSeen);
        }
        if end {
            self.end_response(now, None);
        }
    }

    /// Takes the response trailers, which end the response.
    pub fn response_trailers(&mut self, now: Stamp) {
        if !self.is_closed && !self.response_has_ended {
            self.end_response(now, None);
        }
    }

    /// Where the request is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.is_closed || self.timeline.has_ended() {
            Phase::Ended
        } else if self.timeline.has_first_token() {
            Phase::Decode
        } else {
            Phase::Prefill
        }
    }

    /// The model that the client asks for, as soon as it is known.
    #[must_use]
    pub fn request_model(&self) -> Option<&str> {
        self.request
            .facts()
            .model
            .as_ref()
            .map(llm_payloads::Text::as_str)
    }

    /// The API that is spoken.
    #[must_use]
    pub const fn api(&self) -> Api {
        self.api
    }

    /// Whether a response with 2xx has begun. Whether it was an upstream's is known only in the record.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.status.is_some_and(is_success)
    }

    /// Marks the end of the exchange, if nothing has yet.
    pub fn end(&mut self, now: Stamp) {
        if !self.is_closed {
            self.timeline.mark(Moment::End, now);
        }
    }

    /// Closes the request and gives its record: once; every later call gives `None`.
    pub fn close(&mut self, ending: &Ending<'_>, now: Stamp) -> Option<RequestRecord> {
        if self.is_closed {
            return None;
        }
        self.finish_body(now, None);
        self.timeline.mark(Moment::End, now);
        self.is_closed = true;
        Some(self.record(ending))
    }

    /// Notes a chunk; whether it is to be read on.
    fn begin_chunk(&mut self, size: usize, now: Stamp) -> bool {
        if self.is_closed {
            return false;
        }
        if self.response_has_ended {
            if size > 0 {
                self.answer.anomalies.add(AnomalyKind::BodyAfterEnd, 1);
            }
            return false;
        }
        if size > 0 {
            self.timeline.mark(Moment::FirstByte, now);
            self.chunks = self.chunks.saturating_add(1);
        }
        true
    }

    fn stream_bytes(&mut self, bytes: &[u8], now: Stamp, bounds: &[u64]) {
        let mut reading = Reading {
            api: self.api,
            scan: &mut self.scan,
            answer: &mut self.answer,
            timeline: &mut self.timeline,
            now,
            gap_bounds: Some(bounds),
        };
        if let Some(consumed) = self.reader.push(bytes, &mut reading) {
            self.first_token_chunk = Some(self.chunks.saturating_sub(1));
            self.first_token_offset = Some(self.body_bytes.saturating_add(length(consumed)));
        }
    }

    fn end_response(&mut self, now: Stamp, bounds: Option<&[u64]>) {
        self.finish_body(now, bounds);
        self.response_has_ended = true;
        self.timeline.mark(Moment::End, now);
    }

    fn finish_body(&mut self, now: Stamp, gap_bounds: Option<&[u64]>) {
        if self.body_is_finished {
            return;
        }
        match self.mode {
            BodyMode::Stream => {
                let had_first_token = self.timeline.has_first_token();
                self.reader.finish(&mut Reading {
                    api: self.api,
                    scan: &mut self.scan,
                    answer: &mut self.answer,
                    timeline: &mut self.timeline,
                    now,
                    gap_bounds,
                });
                if !had_first_token && self.timeline.has_first_token() {
                    self.first_token_chunk = Some(self.chunks.saturating_sub(1));
                    self.first_token_offset = Some(self.body_bytes);
                }
            }
            BodyMode::Whole => {
                let body = self.scan.finish();
                self.answer.take_body(self.api, &body);
                if self.answer.is_terminal {
                    self.timeline.mark(Moment::Terminal, now);
                }
            }
            BodyMode::NotBegun | BodyMode::Opaque(_) => {}
        }
        self.body_is_finished = true;
    }

    fn record(&mut self, ending: &Ending<'_>) -> RequestRecord {
        let facts = self.request.finish();
        let seen = Seen {
            status: self.status,
            mode: self.mode,
            has_ended: self.response_has_ended,
            answer: &self.answer,
        };
        let verdict = Verdict::of(&seen, ending);
        let usage = self.answer.usage.usage(facts.prompts, facts.choices);
        let estimated_output = Some(self.timeline.output_events())
            .filter(|events| *events > 0 && usage.output.is_none());
        let was_requested =
            !self.is_stream || facts.include_usage == Some(true) || !self.usage_is_asked_for();
        let reason = verdict.usage_reason(&seen, was_requested);
        let (usage_status, usage_reason) = self.usage_status(&usage, reason);
        let attempts = ending
            .attempts
            .filter(|_| ending.known)
            .unwrap_or(match verdict.origin {
                Origin::UpstreamAccepted | Origin::UpstreamRefused(_) => 1,
                Origin::None | Origin::Proxy => 0,
            });
        self.note_anomalies(&facts);
        RequestRecord {
            api: self.api,
            request_model: facts.model,
            response_model: self.answer.model,
            accepted: verdict.origin == Origin::UpstreamAccepted,
            stream: if self.status.is_some() {
                self.is_stream
            } else {
                facts.stream.unwrap_or_default()
            },
            status: self.status.or_else(|| code(ending)),
            outcome: verdict.outcome,
            error_type: verdict.error_type(),
            finish_reason: self.answer.finish,
            attempts,
            choices: facts.choices.saturating_mul(facts.prompts),
            usage,
            usage_status,
            usage_reason,
            estimated_output,
            durations: self.timeline.durations(),
            gaps: self.timeline.gaps().clone(),
            anomalies: self.answer.anomalies,
            events: self.answer.events,
            inspected_bytes: self.inspected_bytes,
            first_token_chunk: self.first_token_chunk,
            first_token_offset: self.first_token_offset,
        }
    }

    /// Whether a stream of this API states its usage only if it is asked to.
    const fn usage_is_asked_for(&self) -> bool {
        matches!(self.api, Api::ChatCompletions | Api::Completions)
    }

    fn usage_status(&self, usage: &Usage, reason: UsageReason) -> (UsageStatus, UsageReason) {
        let output_is_known = usage.output.is_some() || self.api == Api::Embeddings;
        let has_holes = matches!(
            reason,
            UsageReason::TooManyChoices | UsageReason::BytesNotSeen
        );
        match (usage.input.is_some(), output_is_known) {
            (true, true) if !has_holes => (UsageStatus::Reported, UsageReason::None),
            _ if usage.input.is_some() || usage.output.is_some() => (UsageStatus::Partial, reason),
            _ if self.timeline.output_events() > 0 => (UsageStatus::Estimated, reason),
            _ => (UsageStatus::Missing, reason),
        }
    }

    fn note_anomalies(&mut self, facts: &RequestFacts) {
        let broke_off = facts.state == PayloadState::Truncated && self.request_has_ended;
        let is_not_json = matches!(facts.state, PayloadState::Malformed | PayloadState::TooDeep);
        let cut_texts = [facts.model, self.answer.model]
            .iter()
            .flatten()
            .filter(|text| text.is_cut())
            .count();
        let counts = [
            (
                AnomalyKind::RequestNotJson,
                u32::from(broke_off || is_not_json),
            ),
            (AnomalyKind::BadRequestNumber, facts.bad_numbers),
            (
                AnomalyKind::CutText,
                u32::try_from(cut_texts).unwrap_or(u32::MAX),
            ),
            (AnomalyKind::ClockBackwards, self.timeline.backwards()),
            (
                AnomalyKind::TooManyChoices,
                u32::from(self.answer.usage.is_incomplete()),
            ),
        ];
        for (kind, times) in counts {
            self.answer.anomalies.add(kind, times);
        }
    }
}

/// The proxy's code, where it is one that a response can have.
fn code(ending: &Ending<'_>) -> Option<u16> {
    let code = ending.code.filter(|_| ending.known)?;
    u16::try_from(code)
        .ok()
        .filter(|code| (100..=599).contains(code))
}

fn length(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
