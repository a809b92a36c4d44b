//! How a receiver answers.

use std::future;
use std::time::Duration;

use crate::signal::Export;

/// How one call is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It is taken.
    Take,
    /// It is taken, after a while.
    TakeAfter(Duration),
    /// It is taken, but for so many items.
    TakePartly(i64),
    /// It is refused by a status of gRPC, with a `RetryInfo` if there is a pause. Over HTTP this is a 500.
    Status {
        /// The code.
        code: i32,
        /// The pause asked for.
        retry_after: Option<Duration>,
    },
    /// It is refused by a status of HTTP, with a `Retry-After` if there is a pause. Over gRPC this is `INTERNAL`.
    Http {
        /// The status.
        status: u16,
        /// The seconds asked for.
        retry_after: Option<u64>,
    },
    /// It is never answered.
    Hang,
}

impl Behaviour {
    /// The answer to a call that is taken, when it is time for it; nothing where the call is refused.
    pub(crate) async fn taken<E: Export>(&self) -> Option<E::Response> {
        match self {
            Behaviour::Take => {}
            Behaviour::TakeAfter(pause) => tokio::time::sleep(*pause).await,
            Behaviour::TakePartly(rejected) => return Some(E::partly(*rejected)),
            Behaviour::Hang => future::pending().await,
            Behaviour::Status { .. } | Behaviour::Http { .. } => return None,
        }
        Some(E::Response::default())
    }
}
