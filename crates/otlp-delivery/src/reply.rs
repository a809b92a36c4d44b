//! What an answer means.

use std::borrow::Cow;

use body_decompression::{Budget, Coding, Decompressor, Limits};

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
        Some(0) => match reply.grpc_message() {
            Some(message) => partial_success::verdict(&message),
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
        200..300 => match decompressed(reply.body, reply.value("content-encoding")) {
            Some(message) => partial_success::verdict(&message),
            None => partial_success::unreadable(),
        },
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

/// A body without the coding that a header names, or nothing where that is none that is known.
///
/// Receivers answer what came compressed in kind, even if the answer is empty.
fn decompressed<'a>(body: &'a [u8], coding: Option<&[u8]>) -> Option<Cow<'a, [u8]>> {
    const MOST_BYTES: u64 = 64 << 10;
    /// More than any coding takes for as little as that.
    const MEMORY_BYTES: usize = 8 << 20;
    let Some(coding) = Coding::from_header(coding.unwrap_or_default()).ok()? else {
        return Some(Cow::Borrowed(body));
    };
    let limits = Limits {
        output_bytes: MOST_BYTES,
        ..Limits::default()
    };
    let mut message = Vec::new();
    Decompressor::new(coding, limits, &Budget::new(MEMORY_BYTES))
        .ok()?
        .push(body, &mut |part| message.extend_from_slice(part))
        .ok()?;
    Some(Cow::Owned(message))
}

impl<'a> Reply<'a> {
    /// The one message of a gRPC body. None at all is an empty one.
    fn grpc_message(&self) -> Option<Cow<'a, [u8]>> {
        if self.body.is_empty() {
            return Some(Cow::Borrowed(self.body));
        }
        let (flags, rest) = self.body.split_first()?;
        let (length, message) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        if message.len() != length {
            return None;
        }
        match flags {
            0 => Some(Cow::Borrowed(message)),
            1 => decompressed(message, Some(self.value("grpc-encoding")?)),
            _ => None,
        }
    }

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
