//! One HTTP stream: each callback reads what it may, tells the observer, and lets the stream go on.
//!
//! Every callback returns `Continue`, with one exception: the scrape path is answered here.

use std::rc::Rc;

use hostcalls::{Body, HeaderPairs, Headers, HostError};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use request_observer::{Ending, RequestHead, RequestObserver, SkipReason, Stamp};

use crate::clock;
use crate::ending::{Facts, Wanted};
use crate::heads;
use crate::push::{Propagated, Recorded};
use crate::scrape;
use crate::settings::Settings;
use crate::worker::{Finished, InFlight, SharedWorker};

/// How long undoing the compression of one chunk may hold up what else its worker has to do.
const PATIENCE_NANOS: u64 = 10_000_000;

/// A stream's context.
pub(crate) struct Stream {
    worker: SharedWorker,
    settings: Option<Rc<Settings>>,
    part: Part,
}

/// What this module has to do with the stream.
enum Part {
    /// No callback has come yet.
    Unseen,
    /// It is of no interest, or is over.
    Idle,
    /// It is a request to a model.
    Watching(Box<Watched>),
}

struct Watched {
    observer: RequestObserver,
    propagated: Option<Box<Propagated>>,
    in_flight: Option<InFlight>,
}

impl Stream {
    /// A stream of which nothing is known yet.
    pub(crate) fn new(worker: SharedWorker, settings: Option<Rc<Settings>>) -> Stream {
        Stream {
            worker,
            settings,
            part: Part::Unseen,
        }
    }

    fn stamp(&self) -> Stamp {
        let reading = clock::read();
        if let Some(error) = reading.refused {
            self.note(error);
        }
        reading.stamp
    }

    fn note(&self, error: HostError) {
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            worker.note::<()>(Err(error));
        }
    }

    /// A header's bytes; empty where it is absent or the host refuses.
    fn header(&self, map: Headers, name: &str) -> Vec<u8> {
        match hostcalls::header(map, name) {
            Ok(value) => value.unwrap_or_default(),
            Err(error) => {
                self.note(error);
                Vec::new()
            }
        }
    }

    /// All headers of a map; none where the host refuses.
    fn headers(&self, map: Headers) -> HeaderPairs {
        match hostcalls::headers(map) {
            Ok(headers) => headers,
            Err(error) => {
                self.note(error);
                HeaderPairs::default()
            }
        }
    }

    /// Decides what the stream is. `now` is read only for streams that are watched.
    fn look(
        &self,
        settings: &Settings,
        method: &[u8],
        path: &[u8],
        now: impl FnOnce(&Stream) -> Stamp,
    ) -> Part {
        if !settings.config.observes() {
            return Part::Idle;
        }
        // Method and path alone settle most streams; the other headers are read for the rest.
        let known = RequestHead {
            method,
            path,
            ..RequestHead::default()
        };
        let mut propagated = None;
        let outcome = known.path_api(&settings.observer).and_then(|api| {
            let headers = self.headers(Headers::Request);
            let head = heads::request(known, &headers);
            head.readable()?;
            propagated = settings.recording.propagated(&headers);
            Ok(RequestObserver::watch(api, &head, now(self)))
        });
        match outcome {
            Ok(observer) => Part::Watching(Box::new(Watched {
                observer,
                propagated,
                in_flight: None,
            })),
            Err(reason) => {
                self.skip(reason);
                Part::Idle
            }
        }
    }

    fn skip(&self, reason: SkipReason) {
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            worker.skipped(reason);
        }
    }

    /// Answers a scrape; where the host takes no answer at all, the request goes its way.
    fn answer_scrape(&self) -> Action {
        let answered = match self.worker.try_borrow_mut() {
            Ok(mut worker) => scrape::answer(&mut worker),
            Err(_) => return Action::Continue,
        };
        let refused = match answered {
            Ok(()) => Ok(()),
            Err(error) => {
                self.note(error);
                scrape::refuse(error)
            }
        };
        match refused {
            Ok(()) => Action::Pause,
            Err(error) => {
                self.note(error);
                Action::Continue
            }
        }
    }

    /// Moves the stream's share of the in-flight gauges to where the observer now is.
    fn follow_phase(&mut self) {
        let Part::Watching(watched) = &mut self.part else {
            return;
        };
        let phase = watched.observer.phase();
        let unchanged = watched
            .in_flight
            .as_ref()
            .is_some_and(|in_flight| in_flight.phase == phase);
        if !unchanged && let Ok(mut worker) = self.worker.try_borrow_mut() {
            let provider = self
                .settings
                .as_ref()
                .and_then(|settings| settings.config.provider());
            worker.move_in_flight(&watched.observer, provider, &mut watched.in_flight);
        }
    }

    /// The request is all there: from now on it waits for its first token.
    fn end_request(&mut self) {
        if matches!(self.part, Part::Watching(_)) {
            let now = self.stamp();
            if let Part::Watching(watched) = &mut self.part {
                watched.observer.request_body(&[], true, now);
            }
            self.follow_phase();
        }
    }

    /// Closes the record, once.
    fn finish(&mut self, known: bool) {
        let Part::Watching(mut watched) = std::mem::replace(&mut self.part, Part::Idle) else {
            return;
        };
        let Some(settings) = self.settings.clone() else {
            return;
        };
        let now = self.stamp();
        watched.observer.end(now);
        let ended_ago_nanos = watched.observer.nanos_since_end(now);
        let facts = if known {
            let labels = settings.config.labels();
            let records = settings.recording.is_on();
            Facts::read(Wanted {
                cluster: labels.upstream_cluster(),
                endpoint: labels.upstream_endpoint() || labels.server_address() || records,
                route: labels.route(),
                request_headers: settings.shows_routing() || records,
            })
        } else {
            Facts::default()
        };
        let ending = Ending {
            flags: facts.flags,
            code: facts.code,
            code_details: &facts.code_details,
            attempts: facts.attempts,
            known,
        };
        let record = watched.observer.close(&ending, now);
        let in_flight = watched.in_flight.take();
        if let Ok(mut worker) = self.worker.try_borrow_mut() {
            worker.leave(in_flight);
            // After an internal redirect the request goes on as a stream of its own.
            if let Some(record) = record
                && facts.code_details != b"internal_redirect"
            {
                let model = worker.finished(&Finished {
                    record: &record,
                    facts: &facts,
                    settings: &settings,
                });
                settings.recording.record(
                    &Recorded {
                        record: &record,
                        facts: &facts,
                        model: &model,
                        early: watched.propagated.as_deref(),
                        ended_ago_nanos,
                    },
                    &mut worker,
                );
            }
            for error in &facts.errors {
                worker.note::<()>(Err(*error));
            }
        }
    }

    /// A stream that an earlier filter answered shows itself in the log callback only.
    fn look_back(&mut self) {
        let Some(settings) = self.settings.clone() else {
            return;
        };
        if !settings.config.observes() {
            return;
        }
        let method = self.header(Headers::Request, ":method");
        let path = self.header(Headers::Request, ":path");
        if method.is_empty() || settings.is_scrape_path(&path) {
            return;
        }
        self.part = self.look(&settings, &method, &path, |stream| {
            let duration = hostcalls::property_u64("request\0duration");
            let now = stream.stamp();
            Stamp(now.0.saturating_sub(duration.ok().flatten().unwrap_or(0)))
        });
    }
}

/// A chunk in pieces of bounded size. A filter that buffers may hand on hundreds of megabytes at once,
/// and the machine's memory would never shrink again after taking them in one piece.
fn pieces(size: usize) -> impl Iterator<Item = (usize, usize)> {
    const PIECE_BYTES: usize = 256 * 1024;
    (0..size)
        .step_by(PIECE_BYTES)
        .map(move |start| (start, size.saturating_sub(start).min(PIECE_BYTES)))
}

impl Context for Stream {
    fn on_done(&mut self) -> bool {
        // HTTP/3 and some matchers skip the log callback.
        self.finish(false);
        true
    }
}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        let Some(settings) = self.settings.clone() else {
            self.part = Part::Idle;
            return Action::Continue;
        };
        let method = self.header(Headers::Request, ":method");
        let path = self.header(Headers::Request, ":path");
        if settings.is_scrape_path(&path) && (method == b"GET" || method == b"HEAD") {
            self.part = Part::Idle;
            return self.answer_scrape();
        }
        self.part = self.look(&settings, &method, &path, Stream::stamp);
        if end_of_stream {
            self.end_request();
        }
        Action::Continue
    }

    fn on_http_request_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        let Part::Watching(watched) = &mut self.part else {
            return Action::Continue;
        };
        let mut refused = None;
        for (start, length) in pieces(size) {
            if !watched.observer.wants_request_body() {
                break;
            }
            match hostcalls::body(Body::Request, start, length) {
                // Only the end of the request is a moment, so no clock is read here.
                Ok(bytes) => {
                    let bytes = bytes.unwrap_or_default();
                    watched.observer.request_body(&bytes, false, Stamp(0));
                }
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused {
            self.note(error);
        }
        if end_of_stream {
            self.end_request();
        }
        Action::Continue
    }

    fn on_http_request_trailers(&mut self, _count: usize) -> Action {
        self.end_request();
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        let (Part::Watching(_), Some(settings)) = (&self.part, self.settings.clone()) else {
            return Action::Continue;
        };
        let now = self.stamp();
        let headers = self.headers(Headers::Response);
        let (mut head, telemetry) = heads::response(&headers, settings.config.telemetry_headers());
        head.telemetry = Some(&telemetry);
        if let Part::Watching(watched) = &mut self.part {
            let observer = &mut watched.observer;
            observer.response_headers(&head, end_of_stream, now, &settings.observer);
        }
        self.follow_phase();
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        let Part::Watching(watched) = &mut self.part else {
            return Action::Continue;
        };
        if size == 0 && !end_of_stream {
            return Action::Continue;
        }
        let reading = clock::read();
        let now = reading.stamp;
        let observer = &mut watched.observer;
        let mut refused = reading.refused;
        if size == 0 || !observer.wants_response_body() {
            observer.response_body_size_only(size, end_of_stream, now);
        } else if let Some(settings) = &self.settings {
            for (start, length) in pieces(size) {
                let last = end_of_stream && start.saturating_add(length) >= size;
                match hostcalls::body(Body::Response, start, length) {
                    Ok(Some(bytes)) => {
                        let observing = &settings.observer;
                        observer.response_body_while(&bytes, last, now, observing, &mut || {
                            clock::read().stamp.nanos_since(now) < PATIENCE_NANOS
                        });
                    }
                    Ok(None) => observer.response_body_size_only(length, last, now),
                    Err(error) => {
                        refused = Some(error);
                        observer.response_body_size_only(length, last, now);
                    }
                }
            }
        }
        if let Some(error) = refused {
            self.note(error);
        }
        self.follow_phase();
        Action::Continue
    }

    fn on_http_response_trailers(&mut self, _count: usize) -> Action {
        let (Part::Watching(_), Some(settings)) = (&self.part, self.settings.clone()) else {
            return Action::Continue;
        };
        let now = self.stamp();
        let headers = self.headers(Headers::ResponseTrailers);
        let (mut trailers, telemetry) =
            heads::trailers(&headers, settings.config.telemetry_headers());
        trailers.telemetry = Some(&telemetry);
        if let Part::Watching(watched) = &mut self.part {
            watched.observer.response_trailers(&trailers, now);
        }
        self.follow_phase();
        Action::Continue
    }

    fn on_log(&mut self) {
        if matches!(self.part, Part::Unseen) {
            self.look_back();
        }
        self.finish(true);
    }
}
