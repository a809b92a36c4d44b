//! gRPC's status codes, and what a status says besides its code.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::Message;

use crate::outcome::{Outcome, Verdict};

/// The longest pause that a receiver can ask for.
pub(crate) const LONGEST_PAUSE_NANOS: u64 = 300 * NANOS_PER_SECOND;
/// The longest status that is decoded.
const DETAILS_BYTES: usize = 16 * 1024;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
const RETRY_INFO: &str = "google.rpc.RetryInfo";

/// Whether a binary header ends in `=` is up to its sender.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `google.rpc.Status`, with the fields that are used.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Duration>,
}

#[derive(Clone, PartialEq, Message)]
struct Duration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// What a call means that failed with this code. OTLP says which codes may be tried again; of resource exhaustion only
/// where the receiver says when.
pub(crate) fn verdict(code: u32, message: &str, details: Option<&[u8]>) -> Verdict {
    let pause = details.and_then(retry_delay_nanos);
    let again = |outcome| Verdict::again(outcome, pause, message);
    match code {
        1 | 10 | 11 | 14 | 15 => again(Outcome::Unavailable),
        4 => again(Outcome::Timeout),
        8 if pause.is_some() => again(Outcome::RateLimited),
        8 => Verdict::never(Outcome::RateLimited, message),
        7 | 16 => Verdict::never(Outcome::Unauthenticated, message),
        _ => Verdict::never(Outcome::Refused, message),
    }
}

/// The code that gRPC assigns to an HTTP status that came without one of its own.
pub(crate) fn code_of_http(status: u16) -> u32 {
    match status {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502 | 503 | 504 => 14,
        _ => 2,
    }
}

/// The pause that `grpc-status-details-bin` asks for.
fn retry_delay_nanos(details: &[u8]) -> Option<u64> {
    let details = details.get(..DETAILS_BYTES).unwrap_or(details);
    let status = Status::decode(&*BASE64.decode(details).ok()?).ok()?;
    let info = status
        .details
        .iter()
        .find(|detail| detail.type_url.rsplit('/').next() == Some(RETRY_INFO))?;
    let delay = RetryInfo::decode(&*info.value).ok()?.retry_delay?;
    let seconds = u64::try_from(delay.seconds).ok()?;
    let nanos = u64::try_from(delay.nanos).ok()?;
    let pause = seconds
        .saturating_mul(NANOS_PER_SECOND)
        .saturating_add(nanos);
    Some(pause.min(LONGEST_PAUSE_NANOS))
}
