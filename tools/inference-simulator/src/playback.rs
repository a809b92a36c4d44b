//! Plays one script: the head and each piece of the body at its moment, and counts how it went.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, SERVER};
use tokio::time::{Instant, sleep, sleep_until};

use crate::script::{Script, Step};

/// Time for what was written to leave before the connection breaks.
const BREAK_DELAY: Duration = Duration::from_millis(2);

/// What the server itself saw of its generation requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests whose head and body came whole.
    pub received: u64,
    /// Answers sent to their end, early ends by intention among them.
    pub played: u64,
    /// Answers dropped because the client went away.
    pub abandoned: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    received: AtomicU64,
    played: AtomicU64,
    abandoned: AtomicU64,
}

impl Counters {
    /// The number, from 0, of the request that just came.
    pub(crate) fn count_received(&self) -> u64 {
        self.received.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            received: self.received.load(Ordering::Relaxed),
            played: self.played.load(Ordering::Relaxed),
            abandoned: self.abandoned.load(Ordering::Relaxed),
        }
    }
}

/// Counts an answer as abandoned unless it was played to its end.
struct Playing {
    counters: Arc<Counters>,
    played: bool,
}

impl Drop for Playing {
    fn drop(&mut self) {
        let counter = if self.played {
            &self.counters.played
        } else {
            &self.counters.abandoned
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The response to a script; its body runs by itself.
pub(crate) async fn play(script: Script, counters: Arc<Counters>) -> Response {
    let started = Instant::now();
    let playing = Playing {
        counters,
        played: false,
    };
    sleep_until(started + script.head_at).await;
    let mut response = Response::builder()
        .status(script.status)
        .header(SERVER, "inference-simulator")
        .header(
            CONTENT_TYPE,
            if script.is_stream {
                "text/event-stream; charset=utf-8"
            } else {
                "application/json"
            },
        );
    if !script.is_stream {
        let length: usize = script.steps.iter().map(|step| step.bytes.len()).sum();
        response = response.header(CONTENT_LENGTH, length);
    }
    let body = Body::from_stream(body(started, script.steps, script.breaks, playing));
    // Only an invalid header could fail, and these are fixed.
    response.body(body).unwrap_or_default()
}

/// The pieces of a body, each at its moment.
fn body(
    started: Instant,
    steps: Vec<Step>,
    breaks: bool,
    playing: Playing,
) -> impl Stream<Item = Result<Bytes, io::Error>> {
    stream::unfold(
        (steps.into_iter(), playing, false),
        move |(mut steps, mut playing, is_over)| async move {
            if is_over {
                return None;
            }
            while let Some(step) = steps.next() {
                sleep_until(started + step.at).await;
                if steps.as_slice().is_empty() && !breaks {
                    playing.played = true;
                }
                if !step.bytes.is_empty() {
                    return Some((Ok(step.bytes), (steps, playing, false)));
                }
            }
            playing.played = true;
            if !breaks {
                return None;
            }
            sleep(BREAK_DELAY).await;
            Some((
                Err(io::Error::other("broken as asked")),
                (steps, playing, true),
            ))
        },
    )
}
