//! A server that sends given bytes at given moments, then ends, closes, stalls or resets, and tells what it saw.
//!
//! Its stamps are [`Instant`]s of the test's own process, so they compare with those of the test client. A
//! request finds its script by the header `x-script`; requests without one take the scripts in turn; when
//! there is none left, the standing script serves.

mod http1;
mod http2;

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, oneshot},
    task::JoinHandle,
};

/// The request header that names a script.
pub const SCRIPT_HEADER: &str = "x-script";

/// Header or trailer lines.
pub type Lines = Vec<(String, String)>;

/// What one request is answered with.
#[derive(Clone, Debug)]
pub struct Script {
    /// How much of the request is read before the first step.
    pub read: ReadFirst,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What follows the last step.
    pub finish: Finish,
}

/// How much of a request is read before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFirst {
    /// All of it.
    WholeRequest,
    /// Its head only; the body is not read at all.
    HeadOnly,
}

/// One thing the server does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Waits.
    Wait(Duration),
    /// Waits until this long after the request was read.
    At(Duration),
    /// Waits until the test opens the gate.
    Gate(Gate),
    /// Sends the head of the answer.
    Head {
        /// The status.
        status: u16,
        /// The header lines; framing lines are added.
        headers: Lines,
        /// How the end of the body is told (HTTP/1 only).
        framing: AnswerFraming,
    },
    /// Sends one piece of the body.
    Data(Bytes),
    /// Sends trailer lines; nothing but the finish may follow.
    Trailers(Lines),
    /// Sends these bytes as they are (HTTP/1 only).
    Raw(Bytes),
}

/// How the end of an HTTP/1 answer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFraming {
    /// The status or the method says that there is no body.
    NoBody,
    /// By a length.
    Length(u64),
    /// By a last chunk.
    Chunked,
    /// By closing the connection.
    Close,
}

/// What follows the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The answer ends by its own framing; the connection serves on.
    Complete,
    /// The connection closes without any more bytes; HTTP/2: the stream is reset with `NO_ERROR`.
    Close,
    /// The connection, or the HTTP/2 stream, is reset.
    Reset,
    /// Nothing more is sent until the peer goes.
    Stall,
}

/// Lets a script wait for the test.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn closed() -> Gate {
        Gate(Arc::new(Semaphore::new(0)))
    }

    /// Lets one waiter pass, now or later.
    pub fn open(&self) {
        self.0.add_permits(1);
    }

    /// Waits for [`Gate::open`].
    pub async fn pass(&self) {
        // A semaphore that nobody closes always gives its permit in the end.
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// What the server saw of one request and did with it.
#[derive(Clone, Debug)]
pub struct Served {
    /// The request line, or its like made of the pseudo headers.
    pub request_line: String,
    /// The header lines as they came; pseudo headers are left out.
    pub headers: Lines,
    /// The content of the body, framing removed.
    pub body: Vec<u8>,
    /// The trailer lines.
    pub trailers: Lines,
    /// When the head was there.
    pub head_at: Instant,
    /// When all that is read first was there.
    pub read_at: Instant,
    /// One stamp for each step that sent something, taken just before it was sent.
    pub sent_at: Vec<Instant>,
    /// Whether the peer went before the script was through, stalls included.
    pub peer_left: bool,
    /// When the server was through.
    pub ended_at: Instant,
}

impl Served {
    fn begin(request_line: String, headers: Lines) -> Served {
        let now = Instant::now();
        Served {
            request_line,
            headers,
            body: Vec::new(),
            trailers: Vec::new(),
            head_at: now,
            read_at: now,
            sent_at: Vec::new(),
            peer_left: false,
            ended_at: now,
        }
    }
}

impl Script {
    /// The whole request is read, the steps are done, the answer ends by its framing.
    #[must_use]
    pub fn new(steps: Vec<Step>) -> Script {
        Script {
            read: ReadFirst::WholeRequest,
            steps,
            finish: Finish::Complete,
        }
    }

    /// An answer of a status and a body with its length.
    #[must_use]
    pub fn reply(status: u16, content_type: &str, body: impl Into<Bytes>) -> Script {
        let body = body.into();
        Script::new(vec![
            Step::Head {
                status,
                headers: vec![("content-type".to_owned(), content_type.to_owned())],
                framing: AnswerFraming::Length(body.len() as u64),
            },
            Step::Data(body),
        ])
    }

    /// An event stream of these pieces, `gap` before each.
    #[must_use]
    pub fn stream<Piece: Into<Bytes>>(
        pieces: impl IntoIterator<Item = Piece>,
        gap: Duration,
    ) -> Script {
        let mut steps = vec![Step::event_stream()];
        for piece in pieces {
            steps.extend([Step::Wait(gap), Step::Data(piece.into())]);
        }
        Script::new(steps)
    }

    /// The same script with another finish.
    #[must_use]
    pub fn finishing(mut self, finish: Finish) -> Script {
        self.finish = finish;
        self
    }
}

impl Step {
    /// The head of an event stream.
    #[must_use]
    pub fn event_stream() -> Step {
        Step::Head {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            framing: AnswerFraming::Chunked,
        }
    }
}

/// The server; it ends when dropped.
#[derive(Debug)]
pub struct ScriptedUpstream {
    address: SocketAddr,
    scripts: Arc<Scripts>,
    accepting: JoinHandle<()>,
}

/// The scripts that wait for their requests.
#[derive(Debug, Default)]
struct Scripts {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    by_name: HashMap<String, Assigned>,
    in_turn: VecDeque<Assigned>,
    standing: Option<Script>,
    served: u64,
}

#[derive(Debug)]
struct Assigned {
    script: Script,
    report: Option<oneshot::Sender<Served>>,
}

/// The report on a script that was given out.
#[derive(Debug)]
pub struct Report(oneshot::Receiver<Served>);

impl Report {
    /// Waits until the script is through.
    ///
    /// # Errors
    ///
    /// When that takes longer than `limit`, or its connection broke before the request was whole.
    pub async fn within(self, limit: Duration) -> Result<Served> {
        tokio::time::timeout(limit, self.0)
            .await
            .context("the upstream is not through with its script")?
            .context("the upstream lost its request")
    }
}

impl ScriptedUpstream {
    /// An HTTP/1 server on a port of the kernel's choice.
    ///
    /// # Errors
    ///
    /// When no socket can be had.
    pub async fn http1() -> Result<ScriptedUpstream> {
        let (listener, address) = listen().await?;
        let scripts = Arc::new(Scripts::default());
        let accepting = tokio::spawn(http1::accept(listener, Arc::clone(&scripts)));
        Ok(ScriptedUpstream {
            address,
            scripts,
            accepting,
        })
    }

    /// An HTTP/2 server without TLS on a port of the kernel's choice.
    ///
    /// # Errors
    ///
    /// When no socket can be had.
    pub async fn http2() -> Result<ScriptedUpstream> {
        let (listener, address) = listen().await?;
        let scripts = Arc::new(Scripts::default());
        let accepting = tokio::spawn(http2::accept(listener, Arc::clone(&scripts)));
        Ok(ScriptedUpstream {
            address,
            scripts,
            accepting,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers the next request that names no script with this one.
    pub fn next(&self, script: Script) -> Report {
        let (assigned, report) = assigned(script);
        self.scripts.lock().in_turn.push_back(assigned);
        report
    }

    /// Answers the request whose `x-script` is `name` with this one.
    pub fn named(&self, name: &str, script: Script) -> Report {
        let (assigned, report) = assigned(script);
        self.scripts
            .lock()
            .by_name
            .insert(name.to_owned(), assigned);
        report
    }

    /// Answers every request that finds no other script with this one.
    pub fn standing(&self, script: Script) {
        self.scripts.lock().standing = Some(script);
    }

    /// How many requests found a script.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.scripts.lock().served
    }

    /// Takes back the scripts in turn that no request came for, and gives their number.
    pub fn forget_unused(&self) -> usize {
        self.scripts.lock().in_turn.drain(..).count()
    }
}

impl Drop for ScriptedUpstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Scripts {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // A test that panicked while holding the lock fails anyway.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script for a request with these header lines; a plain 500 where there is none.
    fn find(&self, headers: &Lines) -> Assigned {
        let name = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(SCRIPT_HEADER))
            .map(|(_, value)| value.as_str());
        let mut waiting = self.lock();
        let found = match name {
            Some(name) => waiting.by_name.remove(name),
            None => waiting.in_turn.pop_front(),
        };
        let standing = waiting.standing.clone();
        let found = found.or_else(|| {
            standing.map(|script| Assigned {
                script,
                report: None,
            })
        });
        if found.is_some() {
            waiting.served += 1;
        }
        found.unwrap_or_else(|| Assigned {
            script: Script::reply(500, "text/plain", "no script for this request"),
            report: None,
        })
    }
}

impl Assigned {
    fn report(self, mut served: Served) {
        served.ended_at = Instant::now();
        if let Some(report) = self.report {
            // A test that does not look at the report has dropped it.
            let _ = report.send(served);
        }
    }
}

fn assigned(script: Script) -> (Assigned, Report) {
    let (sender, receiver) = oneshot::channel();
    (
        Assigned {
            script,
            report: Some(sender),
        },
        Report(receiver),
    )
}

async fn listen() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .context("cannot listen")?;
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    Ok((listener, address))
}

/// Sleeps until `moment`, to a tenth of a millisecond or so.
///
/// Tokio's timer counts in whole milliseconds, which would merge the pieces of a recording that came closer
/// together, so the last stretch is slept on a thread of its own.
async fn sleep_until(moment: Instant) {
    const STRETCH: Duration = Duration::from_millis(3);
    if let Some(early) = moment.checked_sub(STRETCH) {
        tokio::time::sleep_until(tokio::time::Instant::from_std(early)).await;
    }
    let left = moment.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        // The sleeping thread cannot fail.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
    }
}
