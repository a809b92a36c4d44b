//! A client under full control: it sends what it is told, leaves when it is told, and stamps all it receives.

mod http1;
mod http2;

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

pub use http1::Http1Client;
pub use http2::Http2Client;

use crate::{
    http1_message::Head,
    scripted_upstream::{Gate, Lines},
};

/// One request and how the client behaves.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// HTTP/1.0 instead of HTTP/1.1; HTTP/2 ignores it.
    pub http10: bool,
    /// The header lines besides the framing; with HTTP/1 `host` is added where it is missing.
    pub headers: Lines,
    /// The body.
    pub upload: Upload,
    /// When the client leaves before the answer is whole.
    pub leave: Leave,
    /// The longest that the whole exchange may take.
    pub limit: Duration,
    /// Told the number of body bytes received so far.
    pub received: Option<watch::Sender<u64>>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum Upload {
    /// None at all.
    Nothing,
    /// With its length told before.
    Whole(Bytes),
    /// In pieces; with HTTP/1, chunked.
    Pieces(Vec<Bytes>),
    /// In pieces with trailers behind them.
    PiecesAndTrailers(Vec<Bytes>, Lines),
    /// The head and body of an HTTP/1 request as they are: nothing is added.
    Raw(Bytes),
}

/// When the client leaves.
#[derive(Clone, Debug)]
pub enum Leave {
    /// After the whole answer.
    Never,
    /// As soon as the head of the answer is there.
    AfterHead,
    /// As soon as this many bytes of the body are there.
    AfterBody(u64),
    /// When the test opens the gate.
    When(Gate),
}

impl Ask {
    /// A request without a body.
    #[must_use]
    pub fn new(method: &str, path: &str) -> Ask {
        Ask {
            method: method.to_owned(),
            path: path.to_owned(),
            http10: false,
            headers: Lines::new(),
            upload: Upload::Nothing,
            leave: Leave::Never,
            limit: Duration::from_secs(30),
            received: None,
        }
    }

    /// A `POST` of JSON.
    #[must_use]
    pub fn post(path: &str, body: impl Into<Bytes>) -> Ask {
        let mut ask = Ask::new("POST", path).header("content-type", "application/json");
        ask.upload = Upload::Whole(body.into());
        ask
    }

    /// An HTTP/1 request as recorded.
    #[must_use]
    pub fn raw(request: impl Into<Bytes>) -> Ask {
        let request = request.into();
        let head = Head::parse(&request).unwrap_or_default();
        let mut ask = Ask::new(head.method(), "");
        ask.http10 = head.start_line.ends_with("HTTP/1.0");
        ask.headers = head.headers;
        ask.upload = Upload::Raw(request);
        ask
    }

    /// The same request with one more header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request from a client that leaves.
    #[must_use]
    pub fn leaving(mut self, leave: Leave) -> Ask {
        self.leave = leave;
        self
    }

    fn has_header(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(name))
    }
}

/// What came back, and when.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The statuses of interim answers, such as 100.
    pub interim: Vec<u16>,
    /// The status; 0 where no head came.
    pub status: u16,
    /// The header lines as they came.
    pub headers: Lines,
    /// The bytes of an HTTP/1 head.
    pub raw_head: Vec<u8>,
    /// The content of the body, framing removed.
    pub body: Vec<u8>,
    /// The trailer lines.
    pub trailers: Lines,
    /// One entry for each time that bytes came.
    pub reads: Vec<Read>,
    /// When the first byte of the request was about to be sent.
    pub started: Instant,
    /// When the head was there.
    pub head_at: Option<Instant>,
    /// When it was over.
    pub ended: Instant,
    /// How it was over.
    pub ending: Ending,
}

/// One arrival of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// When they were there.
    pub at: Instant,
    /// How long the body then was.
    pub body_bytes: u64,
}

/// How an exchange was over for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The answer was whole.
    Complete,
    /// The client left as told.
    Left,
    /// The connection or stream ended early, with the reason where there is one.
    CutOff(String),
    /// Nothing more came within the limit.
    TimedOut,
}

impl Answer {
    fn begin() -> Answer {
        let now = Instant::now();
        Answer {
            interim: Vec::new(),
            status: 0,
            headers: Lines::new(),
            raw_head: Vec::new(),
            body: Vec::new(),
            trailers: Lines::new(),
            reads: Vec::new(),
            started: now,
            head_at: None,
            ended: now,
            ending: Ending::TimedOut,
        }
    }

    /// When the body had this many bytes.
    #[must_use]
    pub fn body_at(&self, bytes: u64) -> Option<Instant> {
        self.reads
            .iter()
            .find(|read| read.body_bytes >= bytes)
            .map(|read| read.at)
    }

    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Notes that bytes came; gives whether the client is now to leave.
    fn note(&mut self, ask: &Ask) -> bool {
        let body_bytes = self.body.len() as u64;
        self.reads.push(Read {
            at: Instant::now(),
            body_bytes,
        });
        if let Some(received) = &ask.received {
            received.send_replace(body_bytes);
        }
        match &ask.leave {
            Leave::Never | Leave::When(_) => false,
            Leave::AfterHead => self.head_at.is_some(),
            Leave::AfterBody(bytes) => body_bytes >= *bytes,
        }
    }
}

/// Ends when the client is to leave by the test's word; else never.
async fn told_to_leave(leave: &Leave) {
    match leave {
        Leave::When(gate) => gate.pass().await,
        _ => std::future::pending().await,
    }
}
