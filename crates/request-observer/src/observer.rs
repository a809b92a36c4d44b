//! The state machine of one request: one method a callback, one record at the end.

use body_decompression::Decompressor;
use json_sequence::Shape;
use llm_payloads::{AnswerScan, Api, EndRule, RequestScan, Text};
use request_timeline::{Moment, Stamp, Timeline};
use response_telemetry::Telemetry;

use crate::answer::Answer;
use crate::body_reader::BodyReader;
use crate::decoding::{self, DecodingFailure};
use crate::ending::is_success;
use crate::event_stream_reader::EventStreamReader;
use crate::grpc_reader::GrpcReader;
use crate::payload::Reading;
use crate::route::{is_media_type, is_odd, starts_with_ignoring_case};
use crate::{
    AnomalyKind, Ending, Purpose, RequestHead, RequestRecord, Settings, SkipReason, UsageReason,
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
    /// `grpc-status`, which stands here where nothing but trailers follows.
    pub grpc_status: &'a [u8],
    /// What the headers tell of the inference.
    pub telemetry: Option<&'a Telemetry>,
}

/// What is read of a response's trailers. A trailer that is absent is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTrailers<'a> {
    /// `grpc-status`.
    pub grpc_status: &'a [u8],
    /// What the trailers tell of the inference.
    pub telemetry: Option<&'a Telemetry>,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No token has come; an answer that is not streamed stays here until it ends.
    Prefill,
    /// Tokens are coming.
    Decode,
    /// The exchange has ended, or is none of a client's.
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

/// Watches one request.
#[derive(Debug)]
pub struct RequestObserver {
    /// The API that the path leads to.
    pub(crate) path_api: Api,
    /// The API as it is known by now: where several share a path, the request body tells.
    pub(crate) api: Api,
    pub(crate) path_model: Option<Text>,
    pub(crate) timeline: Timeline,
    pub(crate) request: RequestScan,
    pub(crate) request_has_ended: bool,
    pub(crate) status: Option<u16>,
    pub(crate) is_stream: bool,
    /// Undoes the compression of the answer, where there is one.
    decompressor: Option<Box<Decompressor>>,
    pub(crate) body: BodyReader,
    pub(crate) scan: AnswerScan,
    pub(crate) answer: Answer,
    pub(crate) telemetry: Telemetry,
    chunks: u32,
    /// Bytes of the body after its compression was undone.
    decoded_bytes: u64,
    pub(crate) inspected_bytes: u64,
    pub(crate) first_token_chunk: Option<u32>,
    pub(crate) first_token_offset: Option<u64>,
    /// Whether the response's own end was seen.
    pub(crate) response_has_ended: bool,
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
        Ok(Self::watch(api, head, now))
    }

    /// The same where the caller knows already that the request is to be watched, and the API that
    /// [`RequestHead::path_api`] gave.
    #[must_use]
    pub fn watch(api: Api, head: &RequestHead<'_>, now: Stamp) -> Self {
        let mut answer = Answer::default();
        let odd_headers = [head.path, head.content_type, head.content_encoding]
            .into_iter()
            .filter(|value| is_odd(value))
            .count();
        answer.anomalies.add(
            AnomalyKind::OddHeader,
            u32::try_from(odd_headers).unwrap_or(u32::MAX),
        );
        Self {
            path_api: api,
            api,
            path_model: api.model_in_path(head.path),
            timeline: Timeline::new(now),
            request: RequestScan::new(api),
            request_has_ended: false,
            status: None,
            is_stream: false,
            decompressor: None,
            body: BodyReader::NotBegun,
            scan: AnswerScan::new(api),
            answer,
            telemetry: Telemetry::default(),
            chunks: 0,
            decoded_bytes: 0,
            inspected_bytes: 0,
            first_token_chunk: None,
            first_token_offset: None,
            response_has_ended: false,
            body_is_finished: false,
            is_closed: false,
        }
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
            self.settle_api();
        }
    }

    /// Takes the response headers; `end` is whether no body follows. Only the first call counts.
    pub fn response_headers(
        &mut self,
        head: &ResponseHead<'_>,
        end: bool,
        now: Stamp,
        settings: &Settings,
    ) {
        if self.is_closed || self.status.is_some() {
            return;
        }
        self.timeline.mark(Moment::ResponseHeaders, now);
        self.settle_api();
        self.status = Some(head.status);
        self.take_fields(head.grpc_status, head.telemetry);
        if is_odd(head.content_type) || is_odd(head.content_encoding) {
            self.answer.anomalies.add(AnomalyKind::OddHeader, 1);
        }
        self.body = self.framing(head);
        if self.body.wants_bytes() {
            match decoding::decompressor(head.content_encoding, settings) {
                Ok(decompressor) => self.decompressor = decompressor,
                Err(failure) => self.give_up_decoding(failure),
            }
        }
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
        !self.body_is_finished && self.body.wants_bytes()
    }

    /// Takes a chunk of the response body; `end` is whether it is the last.
    pub fn response_body(&mut self, bytes: &[u8], end: bool, now: Stamp, settings: &Settings) {
        self.response_body_while(bytes, end, now, settings, &mut || true);
    }

    /// As [`response_body`](RequestObserver::response_body), for a caller who may not be held up: compressed bytes can
    /// be made to cost a thousand times what others do, so after every few of them `may_go_on` is asked. When it says no,
    /// the answer is decompressed no further.
    pub fn response_body_while(
        &mut self,
        bytes: &[u8],
        end: bool,
        now: Stamp,
        settings: &Settings,
        may_go_on: &mut dyn FnMut() -> bool,
    ) {
        if !self.begin_chunk(bytes.len(), now) {
            return;
        }
        let bounds = settings.gap_bounds_nanos.as_slice();
        if self.wants_response_body() {
            self.inspected_bytes = self.inspected_bytes.saturating_add(length(bytes.len()));
            self.decode(bytes, now, bounds, may_go_on);
        }
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
        if size > 0 && self.wants_response_body() {
            self.answer.anomalies.add(AnomalyKind::BytesNotSeen, 1);
            self.stop_reading(UsageReason::BytesNotSeen);
        }
        if end {
            self.end_response(now, None);
        }
    }

    /// Takes the response trailers, which end the response.
    pub fn response_trailers(&mut self, trailers: &ResponseTrailers<'_>, now: Stamp) {
        if !self.is_closed && !self.response_has_ended {
            self.take_fields(trailers.grpc_status, trailers.telemetry);
            self.end_response(now, None);
        }
    }

    /// Where the request is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.is_closed || self.timeline.has_ended() || self.purpose() != Purpose::Client {
            Phase::Ended
        } else if self.timeline.has_first_token() {
            Phase::Decode
        } else {
            Phase::Prefill
        }
    }

    /// What the request is for, as far as it is known: until its body has told, it is not taken for a client's where
    /// the path alone does not say that a model is asked.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        let facts = self.request.facts();
        if self.path_api.dialect().rules.needs_marker && facts.speaks.is_none() {
            Purpose::UnrecognisedBody
        } else if facts.prefill_leg {
            Purpose::PrefillLeg
        } else if facts.health_probe {
            Purpose::HealthProbe
        } else {
            Purpose::Client
        }
    }

    /// The model that the client asks for, as soon as it is known.
    #[must_use]
    pub fn request_model(&self) -> Option<&str> {
        let in_body = || self.request.facts().model.as_ref();
        self.path_model
            .as_ref()
            .or_else(in_body)
            .map(llm_payloads::Text::as_str)
    }

    /// The API that is spoken, as far as it is known.
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

    /// How long ago the request ended; nothing where it has not yet.
    #[must_use]
    pub const fn nanos_since_end(&self, now: Stamp) -> u64 {
        self.timeline.nanos_since_end(now)
    }

    /// Closes the request and gives its record: once; every later call gives `None`.
    pub fn close(&mut self, ending: &Ending<'_>, now: Stamp) -> Option<RequestRecord> {
        if self.is_closed {
            return None;
        }
        self.finish_body(now, None);
        self.timeline.mark(Moment::End, now);
        self.is_closed = true;
        self.settle_api();
        Some(self.record(ending))
    }

    /// Takes the API that the request body tells, before the answer is read.
    fn settle_api(&mut self) {
        if let Some(api) = self.request.facts().speaks
            && self.path_api.dialect().rules.needs_marker
            && api != self.api
        {
            self.api = api;
            if self.status.is_none() {
                self.scan = AnswerScan::new(api);
            }
        }
    }

    /// Takes what stands in headers and trailers alike.
    fn take_fields(&mut self, grpc_status: &[u8], telemetry: Option<&Telemetry>) {
        if let Some(code) = grpc_frames::StatusCode::from_header(grpc_status) {
            self.answer.grpc_status = Some(code);
        }
        if let Some(telemetry) = telemetry {
            self.telemetry.update(telemetry);
        }
    }

    /// How the body is to be read, and whether it is a stream: its content type decides, and for JSON the API.
    fn framing(&mut self, head: &ResponseHead<'_>) -> BodyReader {
        let is_type = |media_type: &[u8]| is_media_type(head.content_type, media_type);
        let rules = &self.api.dialect().rules;
        let (body, is_stream) = if is_type(b"text/event-stream") {
            (BodyReader::LabelledSse, true)
        } else if is_type(b"application/json") {
            if rules.answer_is_sequence && is_success(head.status) {
                (BodyReader::sequence(Shape::Array), true)
            } else {
                (BodyReader::Whole, false)
            }
        } else if is_type(b"application/x-ndjson")
            || is_type(b"application/jsonl")
            || is_type(b"application/stream+json")
        {
            (BodyReader::sequence(Shape::Lines), true)
        } else if is_type(b"application/vnd.amazon.eventstream") {
            (
                BodyReader::EventStream(Box::new(EventStreamReader::new())),
                true,
            )
        } else if starts_with_ignoring_case(head.content_type, b"application/grpc") {
            (
                BodyReader::Grpc(GrpcReader::new()),
                rules.streams_by_default,
            )
        } else {
            (BodyReader::Opaque(UsageReason::UnknownType), false)
        };
        self.is_stream = is_stream;
        body
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

    /// Reads a chunk, its compression undone.
    fn decode(
        &mut self,
        bytes: &[u8],
        now: Stamp,
        bounds: &[u64],
        may_go_on: &mut dyn FnMut() -> bool,
    ) {
        let Some(mut decompressor) = self.decompressor.take() else {
            self.read(bytes, now, bounds);
            return;
        };
        for piece in bytes.chunks(decoding::PIECE_BYTES) {
            let verdict = decompressor.push(piece, &mut |part| self.read(part, now, bounds));
            let verdict = verdict.map_err(DecodingFailure::GivenUp);
            let is_late = || (!may_go_on()).then_some(DecodingFailure::TooSlow);
            if let Some(failure) = verdict.err().or_else(is_late) {
                self.give_up_decoding(failure);
                return;
            }
        }
        self.decompressor = Some(decompressor);
    }

    fn read(&mut self, bytes: &[u8], now: Stamp, bounds: &[u64]) {
        let (body, mut reading) = self.reading(now, Some(bounds));
        if let Some(consumed) = body.push(bytes, &mut reading) {
            self.first_token_chunk = Some(self.chunks.saturating_sub(1));
            self.first_token_offset = Some(self.decoded_bytes.saturating_add(length(consumed)));
        }
        self.decoded_bytes = self.decoded_bytes.saturating_add(length(bytes.len()));
    }

    /// The reader of the body, and what it reads into.
    fn reading<'a>(
        &'a mut self,
        now: Stamp,
        gap_bounds: Option<&'a [u64]>,
    ) -> (&'a mut BodyReader, Reading<'a>) {
        let reading = Reading {
            api: self.api,
            scan: &mut self.scan,
            answer: &mut self.answer,
            timeline: &mut self.timeline,
            now,
            is_timed: self.is_stream,
            gap_bounds,
        };
        (&mut self.body, reading)
    }

    fn give_up_decoding(&mut self, failure: DecodingFailure) {
        let reason = match failure {
            DecodingFailure::UnknownCoding => UsageReason::Compressed,
            DecodingFailure::GivenUp(given_up) => {
                self.answer.anomalies.add(decoding::anomaly(given_up), 1);
                UsageReason::DecompressionGivenUp
            }
            DecodingFailure::TooSlow => {
                let anomalies = &mut self.answer.anomalies;
                anomalies.add(AnomalyKind::CompressionLimit, 1);
                UsageReason::DecompressionGivenUp
            }
        };
        self.stop_reading(reason);
    }

    fn stop_reading(&mut self, reason: UsageReason) {
        self.decompressor = None;
        self.body = BodyReader::Opaque(reason);
    }

    fn end_response(&mut self, now: Stamp, bounds: Option<&[u64]>) {
        self.finish_body(now, bounds);
        self.response_has_ended = true;
        let is_over = match self.api.dialect().rules.end {
            // Nothing but the stream's own end tells that it is whole.
            EndRule::Close => self.is_stream && self.answer.is_readable(),
            EndRule::GrpcStatus => self.answer.grpc_status == Some(grpc_frames::StatusCode::Ok),
            EndRule::Marker | EndRule::Finish => false,
        };
        if is_over && !self.answer.is_terminal {
            self.answer.is_terminal = true;
            self.timeline.mark(Moment::Terminal, now);
        }
        self.timeline.mark(Moment::End, now);
    }

    fn finish_body(&mut self, now: Stamp, gap_bounds: Option<&[u64]>) {
        if self.body_is_finished {
            return;
        }
        self.decompressor = None;
        if let BodyReader::Whole = self.body {
            let body = self.scan.finish();
            self.answer.take_body(self.api, &body);
            if self.answer.is_terminal {
                self.timeline.mark(Moment::Terminal, now);
            }
        } else {
            let had_first_token = self.timeline.has_first_token();
            let (body, mut reading) = self.reading(now, gap_bounds);
            body.finish(&mut reading);
            if !had_first_token && self.timeline.has_first_token() {
                self.first_token_chunk = Some(self.chunks.saturating_sub(1));
                self.first_token_offset = Some(self.decoded_bytes);
            }
        }
        self.body_is_finished = true;
    }
}

fn length(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
