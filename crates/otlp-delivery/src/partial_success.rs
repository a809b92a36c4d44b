//! What a receiver says of a request that it took. The answers of all three signals have one shape.

use prost::Message;

use crate::outcome::{Outcome, Verdict};

#[derive(Clone, PartialEq, Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// What the answer says. It is never a reason to send again: the receiver has taken what it wants.
pub(crate) fn verdict(message: &[u8]) -> Verdict {
    match ExportResponse::decode(message) {
        Err(_) => unreadable(),
        Ok(response) => {
            let partial = response.partial_success.unwrap_or_default();
            let rejected = u64::try_from(partial.rejected).unwrap_or(0);
            // Without a number the message is a warning about a request that was taken.
            let outcome = match rejected {
                0 => Outcome::Success,
                _ => Outcome::PartialSuccess,
            };
            Verdict::taken(outcome, rejected, &partial.error_message)
        }
    }
}

pub(crate) fn unreadable() -> Verdict {
    const MESSAGE: &str = "the receiver says that it worked, but its answer cannot be read";
    Verdict::taken(Outcome::Unreadable, 0, MESSAGE)
}
