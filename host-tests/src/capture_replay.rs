//! Plays a recorded connection again: its request bytes to a proxy, its answer bytes from behind it.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tokio::sync::watch;

use crate::{
    captures::{Capture, Recorded, RecordedEnd},
    scripted_upstream::{Finish, Gate, Report, Script, ScriptedUpstream, Served, Step},
    test_client::{Answer, Ask, Ending, Http1Client, Leave},
};

/// How long one exchange may take at the upstream.
const LIMIT: Duration = Duration::from_secs(20);

/// When the pieces of an answer are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As they came.
    Recorded,
    /// At once, but for a silence of this length before the piece with the first token and, once the client has it,
    /// after it, so that a time tells which piece it was.
    AroundFirstToken(Duration),
}

/// One exchange that was played again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the client got.
    pub answer: Answer,
    /// What the upstream saw and did.
    pub served: Served,
}

/// The script that answers as the recorded server did; `received` is opened when the client has the first token.
#[must_use]
pub fn script(recorded: &Recorded, pace: Pace, received: &Gate) -> Script {
    let first_token = recorded
        .expected
        .first_token_offset
        .and_then(|end| recorded.piece_with(end));
    let mut steps = Vec::new();
    for (index, piece) in recorded.pieces.iter().enumerate() {
        let send = Step::Raw(piece.bytes.clone());
        match pace {
            Pace::Recorded => steps.extend([Step::At(piece.at), send]),
            Pace::AroundFirstToken(silence) if first_token == Some(index) => {
                let received = Step::Gate(received.clone());
                steps.extend([Step::Wait(silence), send, received, Step::Wait(silence)]);
            }
            Pace::AroundFirstToken(_) => steps.push(send),
        }
    }
    let finish = match recorded.end {
        RecordedEnd::KeptAlive => Finish::Complete,
        RecordedEnd::ServerClosed => Finish::Close,
        RecordedEnd::ClientLeft => Finish::Stall,
    };
    Script::new(steps).finishing(finish)
}

/// Opens the gate when the client has the body up to the end of the piece with the first token.
async fn open_when_received(recorded: &Recorded, mut received: watch::Receiver<u64>, gate: &Gate) {
    let end = recorded
        .expected
        .first_token_offset
        .and_then(|end| recorded.piece_with(end));
    let bytes = end
        .and_then(|index| recorded.pieces.get(index))
        .map(|piece| piece.body_bytes);
    if let Some(bytes) = bytes {
        // The sender lives as long as the exchange, which opens the gate itself when it ends.
        let _ = received.wait_for(|received| *received >= bytes).await;
        gate.open();
    }
}

fn ask(recorded: &Recorded) -> Ask {
    let mut ask = Ask::raw(recorded.request.clone());
    if recorded.end == RecordedEnd::ClientLeft {
        ask.leave = Leave::AfterBody(recorded.body_bytes());
    }
    ask
}

/// A capture on its way through a proxy at `proxy`, behind which `upstream` serves.
#[derive(Debug)]
pub struct Replay<'a> {
    capture: &'a Capture,
    upstream: &'a ScriptedUpstream,
    client: Http1Client,
    pace: Pace,
    next: usize,
}

impl<'a> Replay<'a> {
    /// Connects; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When the proxy does not listen.
    pub async fn start(
        capture: &'a Capture,
        upstream: &'a ScriptedUpstream,
        proxy: SocketAddr,
        pace: Pace,
    ) -> Result<Replay<'a>> {
        let client = Http1Client::connect(proxy).await?;
        Ok(Replay {
            capture,
            upstream,
            client,
            pace,
            next: 0,
        })
    }

    /// Plays the next exchanges: one, or all of them where they were written at once. Empty at the end.
    ///
    /// # Errors
    ///
    /// When the client or the upstream saw something else than what was recorded.
    pub async fn step(&mut self) -> Result<Vec<(&'a Recorded, Replayed)>> {
        let count = if self.capture.pipelined {
            self.capture.exchanges.len()
        } else {
            1
        };
        let batch: Vec<&Recorded> = self
            .capture
            .exchanges
            .iter()
            .skip(self.next)
            .take(count)
            .collect();
        self.next += batch.len();
        let gates: Vec<Gate> = batch.iter().map(|_| Gate::closed()).collect();
        let scripted = batch.iter().zip(&gates);
        let reports: Vec<Report> = scripted
            .map(|(recorded, gate)| self.upstream.next(script(recorded, self.pace, gate)))
            .collect();
        let mut played = Vec::new();
        let exchanges = batch.iter().copied().zip(reports).zip(&gates);
        for (number, ((recorded, report), gate)) in exchanges.enumerate() {
            let mut asked = ask(recorded);
            if self.capture.pipelined {
                // The first write carries all requests; the later answers need no write.
                let all = batch.iter().map(|recorded| recorded.request.as_ref());
                let bytes = if number == 0 {
                    all.collect::<Vec<_>>().concat()
                } else {
                    Vec::new()
                };
                asked.upload = crate::test_client::Upload::Raw(Bytes::from(bytes));
            }
            let (sender, received) = watch::channel(0);
            asked.received = Some(sender);
            let answer = {
                let exchanging = self.client.exchange(&asked);
                tokio::pin!(exchanging);
                tokio::select! {
                    answer = &mut exchanging => answer,
                    () = open_when_received(recorded, received, gate) => exchanging.await,
                }
            };
            gate.open();
            if matches!(answer.ending, Ending::Left) {
                self.client.leave().await?;
            }
            let served = report.within(LIMIT).await;
            let served = served.with_context(|| format!("{}: {answer:?}", self.capture.name))?;
            check(recorded, &answer).with_context(|| self.capture.name.clone())?;
            played.push((recorded, Replayed { answer, served }));
        }
        Ok(played)
    }
}

/// The client must have got the recorded body, and the recorded status where there was one.
fn check(recorded: &Recorded, answer: &Answer) -> Result<()> {
    let expected = match recorded.end {
        RecordedEnd::ClientLeft => Ending::Left,
        _ => Ending::Complete,
    };
    if answer.ending != expected {
        bail!(
            "the exchange ended with {:?} instead of {expected:?}",
            answer.ending
        );
    }
    if let Some(status) = recorded.expected.status {
        if answer.status != status {
            bail!("status {} instead of {status}", answer.status);
        }
        if answer.body.len() as u64 != recorded.body_bytes() {
            bail!(
                "a body of {} bytes instead of {}",
                answer.body.len(),
                recorded.body_bytes()
            );
        }
    }
    Ok(())
}
