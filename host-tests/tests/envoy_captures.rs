//! Replays every recording of a real server through the built module in real Envoy, and compares what the scrape
//! says with an independent decoder, and each time to first token with the stamps of both ends.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use host_tests::{
    capture_facts::{FIRST_TOKEN, Moved, differences},
    capture_replay::{Pace, Replay, Replayed},
    captures::{Capture, GROUPS, Recorded, load},
    envoy_rig::{EnvoyRig, RigPlan, say},
    metric_assert::Exposition,
    scripted_upstream::ScriptedUpstream,
};
use serde_json::json;

/// How many Envoys replay at once.
const RIGS: usize = 3;
/// The silence around the first token where a time is to tell which piece held it.
const SILENCE: Duration = Duration::from_millis(25);
/// A time to first token may be this much shorter than the upstream's stamps say.
const EARLY: Duration = Duration::from_millis(1);
/// And this much longer than the client's.
const LATE: Duration = Duration::from_millis(3);

/// Held by each test while it runs: their times would suffer from one another.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What one replayed exchange showed.
struct Seen {
    name: String,
    differences: Vec<String>,
    first_token: Option<FirstToken>,
}

/// The time to first token of one exchange, and what both ends' stamps allow.
struct FirstToken {
    measured: f64,
    lowest: f64,
    highest: f64,
    /// When the piece after it left the upstream, counted from the client's start.
    next_piece: Option<f64>,
}

impl FirstToken {
    fn is_within(&self) -> bool {
        self.measured >= self.lowest - EARLY.as_secs_f64()
            && self.measured <= self.highest + LATE.as_secs_f64()
    }

    fn is_the_right_piece(&self) -> bool {
        self.is_within() && self.next_piece.is_none_or(|next| self.measured < next)
    }
}

impl std::fmt::Display for FirstToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [measured, lowest, highest] =
            [self.measured, self.lowest, self.highest].map(|seconds| seconds * 1e3);
        write!(
            formatter,
            "{measured:.2} ms, allowed {lowest:.2} to {highest:.2} ms"
        )?;
        match self.next_piece {
            Some(next) => write!(formatter, ", the next piece left at {:.2} ms", next * 1e3),
            None => Ok(()),
        }
    }
}

fn first_token(recorded: &Recorded, replayed: &Replayed, moved: &Moved<'_>) -> Option<FirstToken> {
    let offset = recorded.expected.first_token_offset?;
    let piece = recorded.piece_with(offset)?;
    let sent_at = &replayed.served.sent_at;
    let started = replayed.answer.started;
    let received = replayed
        .answer
        .body_at(recorded.pieces.get(piece)?.body_bytes)?;
    Some(FirstToken {
        measured: moved.total(&format!("{FIRST_TOKEN}_sum"), &[]),
        lowest: (*sent_at.get(piece)? - replayed.served.read_at).as_secs_f64(),
        highest: (received - started).as_secs_f64(),
        next_piece: sent_at
            .get(piece + 1)
            .map(|sent| (*sent - started).as_secs_f64()),
    })
}

/// Replays one capture and compares the scrapes around each of its exchanges.
async fn replay(
    rig: &EnvoyRig,
    upstream: &ScriptedUpstream,
    capture: &Capture,
    pace: Pace,
    before: &mut Exposition,
) -> Result<Vec<Seen>> {
    let mut seen = Vec::new();
    let mut replay = Replay::start(capture, upstream, rig.observe, pace).await?;
    loop {
        let batch = replay.step().await?;
        if batch.is_empty() {
            return Ok(seen);
        }
        let expected: Vec<_> = batch
            .iter()
            .map(|(recorded, _)| &recorded.expected)
            .collect();
        let settled = |scrape: &Exposition| {
            let handled = |scrape: &Exposition| {
                scrape.total_or_zero("inference_requests_total", &[])
                    + scrape.total_or_zero("inferometer_skipped_total", &[])
            };
            handled(scrape) - handled(before) >= expected.len() as f64
        };
        let after = rig.scrape_until(&capture.name, settled).await?;
        let moved = Moved {
            before,
            after: &after,
        };
        let first_token = batch
            .iter()
            .find_map(|(recorded, replayed)| first_token(recorded, replayed, &moved));
        seen.push(Seen {
            name: capture.name.clone(),
            differences: differences(moved, &expected),
            first_token,
        });
        *before = after;
    }
}

/// Replays captures in several Envoys at once, the longest first; each Envoy replays one at a time, so that what its
/// scrape moves by belongs to one exchange.
async fn replay_all(
    captures: Vec<Capture>,
    pace: Pace,
    observe: serde_json::Value,
    rigs: usize,
) -> Vec<Seen> {
    let mut captures = captures;
    if captures.is_empty() {
        return Vec::new();
    }
    captures.sort_by_key(|capture| {
        let last = capture.exchanges.iter().filter_map(|one| one.pieces.last());
        last.map(|piece| piece.at).sum::<Duration>()
    });
    let queue = Arc::new(Mutex::new(VecDeque::from(captures)));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..rigs {
        let queue = Arc::clone(&queue);
        let observe = observe.clone();
        workers.spawn(async move {
            let upstream = ScriptedUpstream::http1().await?;
            let plan = RigPlan {
                observe,
                ..RigPlan::default()
            };
            let rig = plan.start(upstream.address()).await?;
            let mut before = rig.scrape().await?;
            let mut seen = Vec::new();
            loop {
                let Some(capture) = queue.lock().unwrap().pop_back() else {
                    break;
                };
                let result = replay(&rig, &upstream, &capture, pace, &mut before).await;
                seen.extend(result.with_context(|| format!("replaying {}", capture.name))?);
            }
            nothing_moves_later(&rig, &before).await?;
            rig.stop().await?;
            anyhow::Ok(seen)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = workers.join_next().await {
        all.extend(done.unwrap().unwrap());
    }
    all
}

/// After the last exchange no request may still be counted, and none be in flight.
async fn nothing_moves_later(rig: &EnvoyRig, before: &Exposition) -> Result<()> {
    let after = rig.scrape_settled().await?;
    let late = differences(
        Moved {
            before,
            after: &after,
        },
        &[],
    );
    anyhow::ensure!(late.is_empty(), "something was counted twice: {late:?}");
    let in_flight = after.total_or_zero("inference_requests_in_flight", &[]);
    anyhow::ensure!(in_flight == 0.0, "{in_flight} requests are still in flight");
    anyhow::ensure!(
        after.total_or_zero("inferometer_host_errors_total", &[]) == 0.0,
        "host errors"
    );
    Ok(())
}

fn refuse_differences(seen: &[Seen]) {
    let bad: Vec<String> = seen
        .iter()
        .filter(|one| !one.differences.is_empty())
        .map(|one| format!("{}:\n  {}", one.name, one.differences.join("\n  ")))
        .collect();
    assert!(
        bad.is_empty(),
        "{} of {} exchanges differ:\n{}",
        bad.len(),
        seen.len(),
        bad.join("\n")
    );
}

/// All models that the captures name, so that a name of a refused request is itself and not `other`.
fn allow_all_models(captures: &[Capture]) -> serde_json::Value {
    let exchanges = captures.iter().flat_map(|capture| &capture.exchanges);
    let models: BTreeSet<String> = exchanges
        .flat_map(|one| [&one.expected.request_model, &one.expected.response_model])
        .flatten()
        .cloned()
        .collect();
    json!({"models": {"allow": models}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_capture_gives_what_the_independent_decoder_says() {
    let _alone = ALONE.lock().await;
    let captures = load(&GROUPS).unwrap();
    let count = captures.len();
    let started = Instant::now();
    let configuration = allow_all_models(&captures);
    let seen = replay_all(
        captures.clone(),
        Pace::Recorded,
        configuration.clone(),
        RIGS,
    )
    .await;
    refuse_differences(&seen);
    let timed: Vec<&Seen> = seen
        .iter()
        .filter(|one| one.first_token.is_some())
        .collect();
    let outside: BTreeSet<String> = timed
        .iter()
        .filter(|one| {
            one.first_token
                .as_ref()
                .is_some_and(|token| !token.is_within())
        })
        .map(|one| one.name.clone())
        .collect();
    say(&format!(
        "{count} captures with {} exchanges replayed in {:.1} s, none differs; {} times to first token, {} outside: {outside:?}",
        seen.len(),
        started.elapsed().as_secs_f64(),
        timed.len(),
        outside.len()
    ));
    print_slack(&timed);
    assert!(
        outside.len() <= timed.len().div_ceil(100),
        "more than 1 % outside"
    );
    let again = captures
        .into_iter()
        .filter(|capture| outside.contains(&capture.name))
        .collect();
    for one in replay_all(again, Pace::Recorded, configuration, 1).await {
        let token = one.first_token.unwrap();
        assert!(
            token.is_within(),
            "{} is outside when alone: {token}",
            one.name
        );
    }
}

/// Shows how near the stamps of both ends come to the measured times.
fn print_slack(timed: &[&Seen]) {
    let tokens = || timed.iter().filter_map(|one| one.first_token.as_ref());
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default() * 1e3
    };
    say(&format!(
        "measured minus upstream's stamps: median {:.2} ms; client's stamps minus measured: median {:.2} ms",
        median(
            tokens()
                .map(|token| token.measured - token.lowest)
                .collect()
        ),
        median(
            tokens()
                .map(|token| token.highest - token.measured)
                .collect()
        )
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silence_around_the_first_token_tells_the_piece_that_held_it() {
    let _alone = ALONE.lock().await;
    let mut captures = load(&GROUPS).unwrap();
    captures.retain(|capture| {
        !capture.pipelined
            && capture
                .exchanges
                .iter()
                .any(|one| one.expected.first_token_offset.is_some())
    });
    let count = captures.len();
    let seen = replay_all(captures, Pace::AroundFirstToken(SILENCE), json!({}), RIGS).await;
    refuse_differences(&seen);
    let tokens = seen
        .iter()
        .filter_map(|one| Some((one, one.first_token.as_ref()?)));
    let wrong: Vec<String> = tokens
        .clone()
        .filter(|(_, token)| !token.is_the_right_piece())
        .map(|(one, token)| format!("{}: {token}", one.name))
        .collect();
    say(&format!(
        "{count} captures replayed with a silence around the first token, {} pieces told",
        tokens.count()
    ));
    assert!(
        wrong.is_empty(),
        "not the piece with the first token:\n{}",
        wrong.join("\n")
    );
}
