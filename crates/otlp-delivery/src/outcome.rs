//! How a call to a receiver ended.

/// How a call ended, in one bounded vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was taken.
    Success,
    /// Some of it was refused by a receiver that took the rest.
    PartialSuccess,
    /// The receiver has not answered in time.
    Timeout,
    /// The receiver, or the proxy in its place, says that it cannot now.
    Unavailable,
    /// Too much came in too short a time.
    RateLimited,
    /// The receiver does not know the sender, or allows it nothing.
    Unauthenticated,
    /// The request was larger than the receiver takes.
    TooLarge,
    /// The receiver refused the request as wrong, or failed at it.
    Refused,
    /// No answer came: no connection, or one that broke.
    Unreachable,
    /// The proxy has no cluster of that name.
    NoCluster,
    /// The answer was none of the protocol's.
    Unreadable,
}

impl Outcome {
    /// Every outcome, for tables and tests.
    pub const ALL: [Outcome; 11] = [
        Outcome::Success,
        Outcome::PartialSuccess,
        Outcome::Timeout,
        Outcome::Unavailable,
        Outcome::RateLimited,
        Outcome::Unauthenticated,
        Outcome::TooLarge,
        Outcome::Refused,
        Outcome::Unreachable,
        Outcome::NoCluster,
        Outcome::Unreadable,
    ];

    /// The outcome in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::PartialSuccess => "partial_success",
            Outcome::Timeout => "timeout",
            Outcome::Unavailable => "unavailable",
            Outcome::RateLimited => "rate_limited",
            Outcome::Unauthenticated => "unauthenticated",
            Outcome::TooLarge => "too_large",
            Outcome::Refused => "refused",
            Outcome::Unreachable => "unreachable",
            Outcome::NoCluster => "no_cluster",
            Outcome::Unreadable => "unreadable",
        }
    }
}

/// What an answer means for what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How the call ended.
    pub outcome: Outcome,
    fate: Fate,
    /// The pause that the receiver asks for.
    pub pause_nanos: Option<u64>,
    /// How many points, spans or records it refused of what it took.
    pub rejected: u64,
    /// What the receiver says, fit for a log.
    pub message: String,
}

/// What becomes of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The receiver has taken it, all or in part, so it is never sent again.
    Taken,
    /// The same may be sent again.
    Again,
    /// The receiver will not take it.
    Never,
}

/// The most bytes of a receiver's message.
const MESSAGE_BYTES: usize = 256;

impl Verdict {
    /// Nothing had to be sent, or all that was is taken.
    #[must_use]
    pub fn success() -> Verdict {
        Verdict::taken(Outcome::Success, 0, "")
    }

    /// The receiver has taken it.
    pub(crate) fn taken(outcome: Outcome, rejected: u64, message: &str) -> Verdict {
        Verdict {
            rejected,
            ..Verdict::new(outcome, Fate::Taken, message)
        }
    }

    /// The receiver has not taken it; the same may be sent again.
    #[must_use]
    pub fn again(outcome: Outcome, pause_nanos: Option<u64>, message: &str) -> Verdict {
        Verdict {
            pause_nanos,
            ..Verdict::new(outcome, Fate::Again, message)
        }
    }

    /// The receiver will not take it.
    pub(crate) fn never(outcome: Outcome, message: &str) -> Verdict {
        Verdict::new(outcome, Fate::Never, message)
    }

    fn new(outcome: Outcome, fate: Fate, message: &str) -> Verdict {
        Verdict {
            outcome,
            fate,
            pause_nanos: None,
            rejected: 0,
            message: readable(message),
        }
    }

    /// Whether the receiver has taken it, all or in part.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.fate == Fate::Taken
    }

    /// Whether the same may be sent again.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        self.fate == Fate::Again
    }
}

/// A stranger's text as a log can hold it.
fn readable(text: &str) -> String {
    let mut readable = String::new();
    for character in text.chars() {
        if readable.len().saturating_add(character.len_utf8()) > MESSAGE_BYTES {
            break;
        }
        readable.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    readable
}
