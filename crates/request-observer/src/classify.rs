//! Decides how a request ended, from what was seen of it and what the proxy says.

use grpc_frames::StatusCode;
use llm_payloads::{Api, EndRule, ErrorKind, FinishReason, Text};

use crate::answer::Answer;
use crate::body_reader::BodyReader;
use crate::ending::{Ending, flag, is_success};
use crate::{Outcome, UsageReason};

/// What was seen of a response.
pub(crate) struct Seen<'a> {
    pub(crate) status: Option<u16>,
    pub(crate) grpc_status: Option<StatusCode>,
    pub(crate) api: Api,
    pub(crate) body: &'a BodyReader,
    /// Whether the response's own end was seen.
    pub(crate) has_ended: bool,
    pub(crate) answer: &'a Answer,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) origin: Origin,
    /// The status of gRPC that says so.
    grpc_status: Option<StatusCode>,
}

/// Who made the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody.
    None,
    /// The proxy.
    Proxy,
    /// An upstream, with a status other than 2xx.
    UpstreamRefused(u16),
    /// An upstream, with 2xx.
    UpstreamAccepted,
}

impl Seen<'_> {
    /// The status with which a gRPC exchange failed.
    fn failed_grpc_status(&self) -> Option<StatusCode> {
        self.grpc_status
            .filter(|code| self.is_grpc() && *code != StatusCode::Ok)
    }

    fn is_grpc(&self) -> bool {
        self.api.dialect().rules.end == EndRule::GrpcStatus
    }
}

impl Verdict {
    pub(crate) fn of(seen: &Seen<'_>, ending: &Ending<'_>) -> Self {
        let Some(status) = seen.status else {
            return Self {
                outcome: unanswered(ending),
                origin: Origin::None,
                grpc_status: None,
            };
        };
        if ending.is_local(status) {
            return Self {
                outcome: proxy_answer(status, ending),
                origin: Origin::Proxy,
                grpc_status: None,
            };
        }
        if !is_success(status) {
            return Self {
                outcome: refusal(status, seen.answer),
                origin: Origin::UpstreamRefused(status),
                grpc_status: None,
            };
        }
        let outcome = accepted_answer(status, seen, ending);
        Self {
            outcome,
            origin: Origin::UpstreamAccepted,
            grpc_status: seen.failed_grpc_status(),
        }
    }

    /// What to call the error.
    pub(crate) fn error_type(self) -> Option<Text> {
        match (self.outcome, self.origin) {
            (Outcome::Success, _) => None,
            _ if self.grpc_status.is_some() => {
                self.grpc_status.map(|code| Text::from(code.as_str()))
            }
            (_, Origin::UpstreamRefused(status)) => Some(Text::from(status.to_string().as_str())),
            (outcome, _) => Some(Text::from(outcome.as_str())),
        }
    }

    /// Why usage is not fully stated, if it is not.
    pub(crate) fn usage_reason(self, seen: &Seen<'_>, was_requested: bool) -> UsageReason {
        if matches!(self.origin, Origin::None | Origin::Proxy) {
            return UsageReason::NoResponse;
        }
        let failed = self.outcome == Outcome::InStreamError
            || self.grpc_status.is_some()
            || seen.answer.error.is_some();
        if self.origin != Origin::UpstreamAccepted || failed {
            return UsageReason::Error;
        }
        if let BodyReader::Opaque(reason) = seen.body {
            return *reason;
        }
        let answer = seen.answer;
        if answer.has_unread_messages {
            return UsageReason::CompressedMessage;
        }
        if answer.usage.is_incomplete() {
            return UsageReason::TooManyChoices;
        }
        match self.outcome {
            Outcome::MalformedStream => UsageReason::Unparsable,
            Outcome::Success | Outcome::ContentFilter if !was_requested => {
                UsageReason::NoUsageRequested
            }
            Outcome::Success | Outcome::ContentFilter if answer.unreadable > 0 => {
                UsageReason::Unparsable
            }
            Outcome::Success | Outcome::ContentFilter => UsageReason::NotSent,
            _ => UsageReason::StreamAborted,
        }
    }
}

/// No response was begun. A proxy that fails by itself answers, and that answer is seen; so where nothing is known
/// it was the client that left.
fn unanswered(ending: &Ending<'_>) -> Outcome {
    let causes = [
        (flag::CLIENT, Outcome::ClientCancel),
        (flag::TIMEOUT, Outcome::Timeout),
        (flag::OVERLOAD, Outcome::Overloaded),
        (flag::RATE_LIMIT, Outcome::RateLimited),
        (flag::CONNECT, Outcome::Connect),
        (flag::UPSTREAM, Outcome::UpstreamReset),
    ];
    let told = causes
        .into_iter()
        .find(|(mask, _)| ending.has(*mask))
        .map(|(_, outcome)| outcome);
    let was_answered = ending.known && ending.code.unwrap_or_default() > 0;
    told.unwrap_or(if was_answered {
        Outcome::LocalReply
    } else {
        Outcome::ClientCancel
    })
}

/// The proxy answered by itself. That the client left during its answer tells less than why it answered.
fn proxy_answer(status: u16, ending: &Ending<'_>) -> Outcome {
    let causes = [
        (flag::TIMEOUT, Outcome::Timeout),
        (flag::OVERLOAD, Outcome::Overloaded),
        (flag::RATE_LIMIT, Outcome::RateLimited),
        (flag::CONNECT, Outcome::Connect),
        (flag::UPSTREAM, Outcome::UpstreamReset),
    ];
    let told = causes
        .into_iter()
        .find(|(mask, _)| ending.has(*mask))
        .map(|(_, outcome)| outcome);
    told.unwrap_or(if status == 429 {
        Outcome::RateLimited
    } else {
        Outcome::LocalReply
    })
}

/// An upstream answered with another status than 2xx.
fn refusal(status: u16, answer: &Answer) -> Outcome {
    let kind = answer.error.map(|error| error.kind).unwrap_or_default();
    match (status, kind) {
        (429, _) => Outcome::RateLimited,
        (503 | 529, _) | (500..=599, ErrorKind::Overloaded) => Outcome::Overloaded,
        (408 | 504, _) => Outcome::Timeout,
        (400..=499, ErrorKind::ContextLength) => Outcome::ContextLength,
        (400..=499, ErrorKind::ContentFilter) => Outcome::ContentFilter,
        // TGI's generation failed: the request was as it should be.
        (424, _) => Outcome::HttpError,
        (400..=499, _) => Outcome::InvalidRequest,
        _ => Outcome::HttpError,
    }
}

/// An upstream answered 2xx: an error in the answer beats all, then its terminal event, then what broke it off.
fn accepted_answer(status: u16, seen: &Seen<'_>, ending: &Ending<'_>) -> Outcome {
    let answer = seen.answer;
    if let Some(code) = seen.failed_grpc_status() {
        return grpc_failure(code, answer, ending);
    }
    if let Some(error) = answer.error {
        return if error.kind == ErrorKind::ContentFilter {
            Outcome::ContentFilter
        } else {
            Outcome::InStreamError
        };
    }
    let failed = matches!(
        answer.finish,
        Some(FinishReason::Abort | FinishReason::Error)
    );
    if answer.is_terminal {
        return match answer.finish {
            _ if failed => Outcome::InStreamError,
            Some(FinishReason::ContentFilter) => Outcome::ContentFilter,
            _ => Outcome::Success,
        };
    }
    // Once the response's own end has been seen, whatever happened to the connection came after it.
    if !seen.has_ended {
        let causes = [
            (flag::CLIENT, Outcome::ClientCancel),
            (flag::UPSTREAM, Outcome::UpstreamReset),
            (flag::TIMEOUT, Outcome::Timeout),
        ];
        if let Some((_, outcome)) = causes.into_iter().find(|(mask, _)| ending.has(*mask)) {
            return outcome;
        }
    }
    if failed {
        return Outcome::InStreamError;
    }
    match seen.body {
        _ if matches!(status, 204 | 205) => Outcome::Success,
        // Nothing can be said of such a body but whether it ended.
        BodyReader::Opaque(_) if seen.has_ended || ending.known => Outcome::Success,
        BodyReader::NotBegun | BodyReader::Opaque(_) => Outcome::TruncatedStream,
        _ if !answer.is_readable() => Outcome::MalformedStream,
        _ => Outcome::TruncatedStream,
    }
}

/// A gRPC exchange ended with another status than OK, which HTTP calls 200 all the same.
fn grpc_failure(code: StatusCode, answer: &Answer, ending: &Ending<'_>) -> Outcome {
    match code {
        StatusCode::Cancelled if ending.has(flag::CLIENT) => Outcome::ClientCancel,
        StatusCode::DeadlineExceeded => Outcome::Timeout,
        StatusCode::ResourceExhausted | StatusCode::Unavailable => Outcome::Overloaded,
        StatusCode::InvalidArgument
        | StatusCode::NotFound
        | StatusCode::PermissionDenied
        | StatusCode::FailedPrecondition
        | StatusCode::OutOfRange
        | StatusCode::Unimplemented
        | StatusCode::Unauthenticated => Outcome::InvalidRequest,
        StatusCode::Cancelled => Outcome::InStreamError,
        _ if answer.events > 0 => Outcome::InStreamError,
        _ => Outcome::HttpError,
    }
}
