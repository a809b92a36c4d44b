//! The closed loop: so many clients, each sending its next request when the last has ended.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::case::Case;
use crate::client::Connection;
use crate::truth::{RequestTruth, Truth};

/// When no further request is begun; those in flight still end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After so much time.
    Elapsed(Duration),
    /// After so many requests.
    Requests(u64),
}

/// What to do, to whom, and how much of it.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the requests go.
    pub target: SocketAddr,
    /// Speak HTTP/2 without TLS instead of HTTP/1.1.
    pub http2: bool,
    /// Clients at the same time, each with a connection of its own.
    pub concurrency: usize,
    /// When it ends.
    pub until: Until,
    /// The cases; each comes in every round as often as its weight says.
    pub cases: Vec<Case>,
    /// The models, in turn.
    pub models: Vec<String>,
    /// Decides the order within a round.
    pub seed: u64,
}

/// The wait before a new try when a connection was refused.
const RECONNECT_WAIT: Duration = Duration::from_millis(50);

impl Load {
    /// Runs the load to its end and leaves what the clients saw in `truth`.
    pub async fn run(&self, truth: &Arc<Truth>) {
        let deck = Arc::new(Deck::new(self));
        let mut clients = JoinSet::new();
        for _ in 0..self.concurrency {
            let (load, deck, truth) = (self.clone(), Arc::clone(&deck), Arc::clone(truth));
            clients.spawn(async move { load.run_client(&deck, &truth).await });
        }
        while let Some(ended) = clients.join_next().await {
            if let Err(error) = ended {
                truth.fault(format!("a client ended early: {error}"));
            }
        }
    }

    async fn run_client(&self, deck: &Deck, truth: &Truth) {
        let mut connection = None;
        while let Some(turn) = deck.next() {
            let mut open = match self.connect(connection.take()).await {
                Ok(open) => open,
                Err(error) => {
                    truth.fault(format!("{error:#}"));
                    sleep(RECONNECT_WAIT).await;
                    continue;
                }
            };
            let (Some(case), Some(model)) =
                (self.cases.get(turn.case), self.models.get(turn.model))
            else {
                return;
            };
            truth.begin(model);
            let (request, is_usable) = open.exchange(case, model, turn.number).await;
            connection = is_usable.then_some(open);
            truth.finish(&request);
        }
    }

    async fn connect(&self, kept: Option<Connection>) -> anyhow::Result<Connection> {
        if let Some(mut kept) = kept
            && kept.is_ready().await
        {
            return Ok(kept);
        }
        let mut opened = Connection::open(self.target, self.http2).await?;
        opened.is_ready().await;
        Ok(opened)
    }
}

/// Sends one request on a connection of its own.
///
/// # Errors
/// When the target cannot be reached.
pub async fn send_one(
    target: SocketAddr,
    http2: bool,
    case: &Case,
    model: &str,
    number: u64,
) -> anyhow::Result<RequestTruth> {
    let mut connection = Connection::open(target, http2).await?;
    Ok(connection.exchange(case, model, number).await.0)
}

/// One request to send.
struct Turn {
    number: u64,
    case: usize,
    model: usize,
}

/// Deals out the requests, so that every case comes at its share even in a short run.
struct Deck {
    cards: Vec<usize>,
    models: usize,
    next: AtomicU64,
    deadline: Option<Instant>,
    limit: u64,
}

impl Deck {
    fn new(load: &Load) -> Self {
        let mut cards = Vec::new();
        for (index, case) in load.cases.iter().enumerate() {
            cards.extend((0..case.weight).map(|_| index));
        }
        cards.shuffle(&mut SmallRng::seed_from_u64(load.seed));
        let (deadline, limit) = match load.until {
            Until::Elapsed(time) => (Some(Instant::now() + time), u64::MAX),
            Until::Requests(limit) => (None, limit),
        };
        Self {
            cards,
            models: load.models.len(),
            next: AtomicU64::new(0),
            deadline,
            limit,
        }
    }

    fn next(&self) -> Option<Turn> {
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.limit {
            return None;
        }
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let (round, card) = (
            place.checked_div(self.cards.len())?,
            place.checked_rem(self.cards.len())?,
        );
        // Models come in turn, and move on by one each round, so that every model meets every case.
        let model = card.wrapping_add(round).checked_rem(self.models)?;
        Some(Turn {
            number,
            case: self.cards.get(card).copied()?,
            model,
        })
    }
}
