//! A scenario as the callbacks that a proxy would make of it, for runners without a network.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    scenario::{Ending, Scenario},
    scripted_upstream::Lines,
};

/// One callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callback {
    /// The whole body of the request.
    RequestBody(Bytes),
    /// The head of the answer, with whether the answer ends there.
    ResponseHeaders(u16, Lines, bool),
    /// A piece of the answer, with whether the answer ends there.
    ResponseBody(Bytes, bool),
    /// The trailers of the answer.
    ResponseTrailers(Lines),
}

/// What a proxy knows of the ending when it logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `response.flags`.
    pub flags: u64,
    /// `response.code`.
    pub code: u64,
    /// `response.code_details`.
    pub details: String,
    /// `upstream.request_attempt_count`.
    pub attempts: u64,
}

/// The callbacks of a scenario after its request headers, with their times, and what is known at the end.
#[derive(Clone, Debug)]
pub struct Callbacks {
    /// The request never reaches the module: only its end does.
    pub never_seen: bool,
    /// Each with the time since the request headers.
    pub calls: Vec<(Duration, Callback)>,
    /// When the log callback comes.
    pub end: Duration,
    /// What it knows.
    pub facts: Facts,
}

/// Response flags by their bits.
mod flag {
    pub(super) const UPSTREAM_REQUEST_TIMEOUT: u64 = 1 << 2;
    pub(super) const UPSTREAM_REMOTE_RESET: u64 = 1 << 4;
    pub(super) const UPSTREAM_CONNECTION_FAILURE: u64 = 1 << 5;
    pub(super) const UPSTREAM_CONNECTION_TERMINATION: u64 = 1 << 6;
    pub(super) const DOWNSTREAM_CONNECTION_TERMINATION: u64 = 1 << 14;
}

/// The time between what follows at once.
const STEP: Duration = Duration::from_millis(1);

impl Scenario {
    /// The callbacks that a proxy would make.
    #[must_use]
    pub fn callbacks(&self) -> Callbacks {
        let mut made = Callbacks {
            never_seen: self.ending == Ending::LocalReply,
            calls: Vec::new(),
            end: Duration::ZERO,
            facts: Facts {
                attempts: 1,
                ..Facts::default()
            },
        };
        if made.never_seen {
            let details = "lua_response".to_owned();
            made.facts = Facts {
                code: 403,
                details,
                ..Facts::default()
            };
            return made;
        }
        made.calls
            .push((Duration::ZERO, Callback::RequestBody(self.request.body())));
        if let Some(answer) = &self.answer {
            let head = Duration::from_millis(answer.wait);
            let pieces = answer.pieces();
            let complete = self.ending == Ending::Complete;
            let ends_at_head = complete && pieces.is_empty() && answer.trailers().is_none();
            let headers = Callback::ResponseHeaders(answer.status, answer.lines(), ends_at_head);
            made.calls.push((head, headers));
            for (at, bytes) in pieces {
                made.calls
                    .push((head + at, Callback::ResponseBody(bytes, false)));
            }
        }
        made.end = made.calls.last().map_or(Duration::ZERO, |(at, _)| *at) + STEP;
        match &self.answer {
            Some(answer) => {
                made.facts.code = u64::from(answer.status);
                self.end_answered(&mut made, answer.trailers());
            }
            None => self.end_unanswered(&mut made),
        }
        made
    }

    fn end_answered(&self, made: &mut Callbacks, trailers: Option<Lines>) {
        let facts = &mut made.facts;
        let (flags, details) = match self.ending {
            Ending::ClientLeaves => (
                flag::DOWNSTREAM_CONNECTION_TERMINATION,
                "downstream_remote_disconnect",
            ),
            Ending::UpstreamResets => (
                flag::UPSTREAM_REMOTE_RESET,
                "upstream_reset_after_response_started{remote_reset}",
            ),
            Ending::UpstreamCloses => (
                flag::UPSTREAM_CONNECTION_TERMINATION,
                "upstream_reset_after_response_started{connection_termination}",
            ),
            Ending::RouteTimeout => (flag::UPSTREAM_REQUEST_TIMEOUT, "response_timeout"),
            _ => (0, "via_upstream"),
        };
        facts.flags = flags;
        details.clone_into(&mut facts.details);
        if self.ending == Ending::Complete {
            match (trailers, made.calls.last()) {
                (Some(lines), _) => {
                    made.calls
                        .push((made.end, Callback::ResponseTrailers(lines)));
                }
                (None, Some((_, Callback::ResponseHeaders(_, _, true)))) => {}
                (None, _) => {
                    made.calls
                        .push((made.end, Callback::ResponseBody(Bytes::new(), true)));
                }
            }
        }
    }

    /// Where no upstream answered, the proxy does, except to a client that left.
    fn end_unanswered(&self, made: &mut Callbacks) {
        let (flags, code, details) = match self.ending {
            Ending::ClientLeaves => {
                let details = "downstream_remote_disconnect".to_owned();
                let flags = flag::DOWNSTREAM_CONNECTION_TERMINATION;
                made.facts = Facts {
                    flags,
                    code: 0,
                    details,
                    attempts: 1,
                };
                return;
            }
            Ending::RouteTimeout => (flag::UPSTREAM_REQUEST_TIMEOUT, 504, "response_timeout"),
            Ending::NoConnection => (
                flag::UPSTREAM_CONNECTION_FAILURE,
                503,
                "upstream_reset_before_response_started{remote_connection_failure}",
            ),
            _ => (
                flag::UPSTREAM_CONNECTION_TERMINATION,
                503,
                "upstream_reset_before_response_started{connection_termination}",
            ),
        };
        made.facts = Facts {
            flags,
            code,
            details: details.to_owned(),
            attempts: 1,
        };
        let head = vec![("content-type".to_owned(), "text/plain".to_owned())];
        let status = u16::try_from(code).unwrap_or(503);
        made.calls
            .push((made.end, Callback::ResponseHeaders(status, head, false)));
        let body = Bytes::from_static(b"upstream connect error or disconnect/reset before headers");
        made.calls
            .push((made.end, Callback::ResponseBody(body, true)));
    }
}
