//! One client: a connection, one exchange at a time, and what it saw of it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::answer::Answer;
use crate::case::{Case, Leave};
use crate::sse_lines::EventReader;
use crate::truth::{Outcome, RequestTruth};

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// A connection; it closes when this is dropped, in the middle of an answer too.
pub(crate) struct Connection {
    sender: Sender,
    driving: JoinHandle<()>,
    authority: String,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl Connection {
    pub(crate) async fn open(target: SocketAddr, http2: bool) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(target)
            .await
            .with_context(|| format!("connecting to {target}"))?;
        socket.set_nodelay(true)?;
        let socket = TokioIo::new(socket);
        // A connection's end is seen by its exchange, so nothing is lost with the driver's own result.
        let (sender, driving) = if http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), socket).await?;
            (
                Sender::Http2(sender),
                tokio::spawn(async move { drop(connection.await) }),
            )
        } else {
            let (sender, connection) = http1::handshake(socket).await?;
            (
                Sender::Http1(sender),
                tokio::spawn(async move { drop(connection.await) }),
            )
        };
        Ok(Self {
            sender,
            driving,
            authority: target.to_string(),
        })
    }

    /// Whether another request may be sent.
    pub(crate) async fn is_ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    async fn send(&mut self, path: &str, body: Bytes) -> anyhow::Result<Response<Incoming>> {
        let request = Request::builder()
            .method(Method::POST)
            .header(CONTENT_TYPE, "application/json");
        match &mut self.sender {
            Sender::Http1(sender) => {
                let request = request
                    .uri(path)
                    .header(HOST, &self.authority)
                    .body(Full::new(body))?;
                Ok(sender.send_request(request).await?)
            }
            Sender::Http2(sender) => {
                let uri = format!("http://{}{path}", self.authority);
                Ok(sender
                    .send_request(request.uri(uri).body(Full::new(body))?)
                    .await?)
            }
        }
    }

    /// One exchange; false beside its truth when the connection is of no further use.
    pub(crate) async fn exchange(
        &mut self,
        case: &Case,
        model: &str,
        number: u64,
    ) -> (RequestTruth, bool) {
        let body = Bytes::from(case.body(model, number).to_string());
        let mut seen = Seen::new(case, Instant::now());
        let end = {
            let reading = read(self, case, body, &mut seen);
            match case.leave {
                Some(Leave::After(wait)) => {
                    let deadline = Instant::now() + wait;
                    tokio::select! {
                        end = reading => end,
                        () = sleep_until(deadline) => End::Left,
                    }
                }
                _ => reading.await,
            }
        };
        let is_usable = matches!(end, End::Complete);
        (seen.truth(case, model, &end), is_usable)
    }
}

/// How the reading of an answer ended.
enum End {
    Complete,
    Left,
    Broken,
    NoAnswer,
}

/// What a client has seen of an exchange.
struct Seen {
    sent: Instant,
    status: Option<u16>,
    stream: bool,
    answer: Answer,
    document: Vec<u8>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    gaps: Vec<Duration>,
    ended: Instant,
}

async fn read(connection: &mut Connection, case: &Case, body: Bytes, seen: &mut Seen) -> End {
    seen.sent = Instant::now();
    let Ok(response) = connection.send(case.api.path(), body).await else {
        seen.ended = Instant::now();
        return End::NoAnswer;
    };
    seen.status = Some(response.status().as_u16());
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .map(|value| value.as_bytes());
    seen.stream = content_type.is_some_and(|value| value.starts_with(b"text/event-stream"));
    let mut body = response.into_body();
    let mut events = EventReader::default();
    loop {
        let frame = body.frame().await;
        let now = Instant::now();
        seen.ended = now;
        let bytes = match frame {
            None => return End::Complete,
            Some(Err(_)) => return End::Broken,
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        if !seen.stream {
            seen.document.extend_from_slice(&bytes);
            continue;
        }
        for payload in events.push(&bytes) {
            if seen.answer.event(case.api, &payload) {
                seen.token(now);
            }
        }
        if matches!(case.leave, Some(Leave::AfterEvents(count)) if seen.answer.output_events >= u64::from(count))
        {
            return End::Left;
        }
    }
}

impl Seen {
    fn new(case: &Case, now: Instant) -> Self {
        Self {
            sent: now,
            status: None,
            stream: case.stream,
            answer: Answer::default(),
            document: Vec::new(),
            first_token: None,
            last_token: None,
            gaps: Vec::new(),
            ended: now,
        }
    }

    fn token(&mut self, now: Instant) {
        self.first_token.get_or_insert(now);
        if let Some(last) = self.last_token.replace(now) {
            self.gaps.push(now.saturating_duration_since(last));
        }
    }

    fn truth(mut self, case: &Case, model: &str, end: &End) -> RequestTruth {
        if !self.stream {
            self.answer.document(case.api, &self.document);
        }
        let ended = if matches!(end, End::Left) {
            Instant::now()
        } else {
            self.ended
        };
        RequestTruth {
            case: case.name,
            model: model.to_owned(),
            outcome: self.outcome(end),
            status: self.status,
            stream: self.stream,
            usage: self.answer.usage,
            output_events: self.answer.output_events,
            time_to_first_token: self
                .first_token
                .map(|first| first.saturating_duration_since(self.sent)),
            gaps: self.gaps,
            duration: ended.saturating_duration_since(self.sent),
        }
    }

    fn outcome(&self, end: &End) -> Outcome {
        if self.answer.error_seen {
            return Outcome::InStreamError;
        }
        match (end, self.status) {
            (End::NoAnswer, _) => Outcome::NoAnswer,
            (_, _) if self.answer.terminal_seen => Outcome::Success,
            (End::Left, _) => Outcome::ClientCancel,
            (End::Broken, _) => Outcome::UpstreamReset,
            (End::Complete, Some(200..=299)) if self.stream => Outcome::TruncatedStream,
            (End::Complete, Some(200..=299)) => Outcome::Success,
            (End::Complete, Some(429)) => Outcome::RateLimited,
            (End::Complete, Some(503 | 529)) => Outcome::Overloaded,
            (End::Complete, Some(408 | 504)) => Outcome::Timeout,
            (End::Complete, Some(400..=499)) if self.speaks_of_the_context() => {
                Outcome::ContextLength
            }
            (End::Complete, Some(400..=499)) => Outcome::InvalidRequest,
            (End::Complete, _) => Outcome::HttpError,
        }
    }

    fn speaks_of_the_context(&self) -> bool {
        String::from_utf8_lossy(&self.document).contains("context length")
    }
}
