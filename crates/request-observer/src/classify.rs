//! Decides how a request ended, from what was seen of it and what the proxy says.

use llm_payloads::{ErrorKind, FinishReason, Text};

use crate::answer::Answer;
use crate::ending::{Ending, flag, is_success};
use crate::observer::BodyMode;
use crate::{Outcome, UsageReason};

/// What was seen of a response.
pub(crate) struct Seen<'a> {
    pub(crate) status: Option<u16>,
    pub(crate) mode: BodyMode,
    /// Whether the response's own end was seen.
    pub(crate) has_ended: bool,
    pub(crate) answer: &'a Answer,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) origin: Origin,
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

impl Verdict {
    pub(crate) fn of(seen: &Seen<'_>, ending: &Ending<'_>) -> Self {
        let Some(status) = seen.status else {
            return Self {
                outcome: unanswered(ending),
                origin: Origin::None,
            };
        };
        if ending.is_local(status) {
            return Self {
                outcome: proxy_answer(status, ending),
                origin: Origin::Proxy,
            };
        }
        if !is_success(status) {
            return Self {
                outcome: refusal(status, seen.answer),
                origin: Origin::UpstreamRefused(status),
            };
        }
        Self {
            outcome: accepted_answer(status, seen, ending),
            origin: Origin::UpstreamAccepted,
        }
    }

    /// What to call the error.
    pub(crate) fn error_type(self) -> Option<Text> {
        match (self.outcome, self.origin) {
            (Outcome::Success, _) => None,
            (_, Origin::UpstreamRefused(status)) => Some(Text::from(status.to_string().as_str())),
            (outcome, _) => Some(Text::from(outcome.as_str())),
        }
    }

    /// Why usage is not fully stated, if it is not.
    pub(crate) fn usage_reason(self, seen: &Seen<'_>, was_requested: bool) -> UsageReason {
        if self.origin == Origin::None {
            return UsageReason::NoResponse;
        }
        let failed = self.outcome == Outcome::InStreamError || seen.answer.error.is_some();
        if self.origin != Origin::UpstreamAccepted || failed {
            return UsageReason::Error;
        }
        if let BodyMode::Opaque(reason) = seen.mode {
            return reason;
        }
        let answer = seen.answer;
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
        (400..=499, _) => Outcome::InvalidRequest,
        _ => Outcome::HttpError,
    }
}

/// An upstream answered 2xx: an error in the answer beats all, then its terminal event, then what broke it off.
fn accepted_answer(status: u16, seen: &Seen<'_>, ending: &Ending<'_>) -> Outcome {
    let answer = seen.answer;
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
    match seen.mode {
        _ if matches!(status, 204 | 205) => Outcome::Success,
        // Nothing can be said of such a body but whether it ended.
        BodyMode::Opaque(_) if seen.has_ended || ending.known => Outcome::Success,
        BodyMode::Stream | BodyMode::Whole if answer.is_mostly_malformed() => {
            Outcome::MalformedStream
        }
        BodyMode::NotBegun | BodyMode::Opaque(_) | BodyMode::Stream | BodyMode::Whole => {
            Outcome::TruncatedStream
        }
    }
}
