//! What an answer means.

use crate::grpc_status::{self, LONGEST_PAUSE_NANOS, code_of_http};
use crate::outcome::{Outcome, Verdict};
use crate::partial_success;
use crate::protocol::Protocol;

/// What came back. A proxy tells of a call that broke by an answer without any headers.
#[derive(Clone, Debug, Default)]
pub struct Reply<'a> {
    /// The headers, `:status` among them.
    pub headers: Vec<(&'a [u8], &'a [u8])>,
    /// The body.
    pub body: &'a [u8],
    /// The trailers.
    pub trailers: Vec<(&'a [u8], &'a [u8])>,
}

/// What an answer means for what was sent.
#[must_use]
pub fn judge(protocol: Protocol, reply: &Reply<'_>) -> Verdict {
    let Some(status) = reply.status() else {
        return Verdict::again(Outcome::Unreachable, None, "no answer came");
    };
    match protocol {
        Protocol::Grpc => judge_grpc(status, reply),
        Protocol::HttpProtobuf => judge_http(status, reply),
    }
}

fn judge_grpc(status: u16, reply: &Reply<'_>) -> Verdict {
    let code = reply.number("grpc-status");
    let message = reply.text("grpc-message");
    match code {
        Some(0) => match unframed(reply.body) {
            Some(message) => partial_success::verdict(message),
            None => partial_success::unreadable(),
        },
        Some(code) => {
            let details = reply.value("grpc-status-details-bin");
            let code = u32::try_from(code).unwrap_or(u32::MAX);
            grpc_status::verdict(code, &message, details)
        }
        None if status == 504 => Verdict::again(Outcome::Timeout, None, &describe(status, reply)),
        // Whoever answers 200 without a status of gRPC speaks something else.
        None if (200..300).contains(&status) => {
            Verdict::never(Outcome::Unreadable, "the answer has no grpc-status")
        }
        None => {
            let mut verdict =
                grpc_status::verdict(code_of_http(status), &describe(status, reply), None);
            if status == 413 {
                verdict.outcome = Outcome::TooLarge;
            }
            if status == 429 {
                verdict.outcome = Outcome::RateLimited;
            }
            verdict
        }
    }
}

fn judge_http(status: u16, reply: &Reply<'_>) -> Verdict {
    let message = describe(status, reply);
    match status {
        200..300 => partial_success::verdict(reply.body),
        429 => Verdict::again(Outcome::RateLimited, reply.pause_nanos(), &message),
        502 | 503 => Verdict::again(Outcome::Unavailable, reply.pause_nanos(), &message),
        504 => Verdict::again(Outcome::Timeout, reply.pause_nanos(), &message),
        401 | 403 => Verdict::never(Outcome::Unauthenticated, &message),
        413 => Verdict::never(Outcome::TooLarge, &message),
        _ => Verdict::never(Outcome::Refused, &message),
    }
}

/// A status for a log; the body only where it is text, as proxies write it.
fn describe(status: u16, reply: &Reply<'_>) -> String {
    let kind = reply.text("content-type");
    let body = match kind.starts_with("text/plain") {
        true => String::from_utf8_lossy(reply.body),
        false => "".into(),
    };
    format!("HTTP status {status} {body}").trim_end().to_owned()
}

/// The one message of a gRPC body. None at all is an empty one.
fn unframed(body: &[u8]) -> Option<&[u8]> {
    if body.is_empty() {
        return Some(body);
    }
    let (compressed, rest) = body.split_first()?;
    let (length, message) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    (*compressed == 0 && message.len() == length).then_some(message)
}

impl<'a> Reply<'a> {
    /// A header's first value, from the trailers if it stands there.
    fn value(&self, name: &str) -> Option<&'a [u8]> {
        let all = self.trailers.iter().chain(&self.headers);
        let mut named = all.filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()));
        named.next().map(|(_, value)| *value)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.value(name).unwrap_or_default()).into_owned()
    }

    fn number(&self, name: &str) -> Option<u64> {
        std::str::from_utf8(self.value(name)?)
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    fn status(&self) -> Option<u16> {
        u16::try_from(self.number(":status")?).ok()
    }

    /// The pause that `Retry-After` asks for, in seconds; a date is not read, as no clock is at hand that its sender
    /// goes by.
    fn pause_nanos(&self) -> Option<u64> {
        const NANOS_PER_SECOND: u64 = 1_000_000_000;
        let seconds = self.number("retry-after")?;
        Some(
            seconds
                .saturating_mul(NANOS_PER_SECOND)
                .min(LONGEST_PAUSE_NANOS),
        )
    }
}
