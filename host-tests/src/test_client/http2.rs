//! The HTTP/2 side of the test client: one connection without TLS, a stream a request.

use std::{net::SocketAddr, time::Instant};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, client::SendRequest};
use http::{HeaderValue, Request};
use tokio::{net::TcpStream, task::JoinHandle};

use super::{Answer, Ask, Ending, Leave, Upload, told_to_leave};
use crate::http2_lines::{header_map, lines};

/// One connection; it ends when dropped.
#[derive(Debug)]
pub struct Http2Client {
    requests: SendRequest<Bytes>,
    connection: JoinHandle<()>,
}

impl Drop for Http2Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Http2Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nothing listens there, or it does not speak HTTP/2.
    pub async fn connect(address: SocketAddr) -> Result<Http2Client> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream
            .set_nodelay(true)
            .context("cannot set up the socket")?;
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(1 << 20)
            .initial_connection_window_size(1 << 22)
            .handshake(stream)
            .await
            .context("no HTTP/2 there")?;
        let connection = tokio::spawn(async move {
            // Its error shows in the streams.
            let _ = connection.await;
        });
        Ok(Http2Client {
            requests,
            connection,
        })
    }

    /// One exchange over a connection of its own.
    ///
    /// # Errors
    ///
    /// When nothing listens there; whatever goes wrong later is in the answer.
    pub async fn once(address: SocketAddr, ask: &Ask) -> Result<Answer> {
        Http2Client::connect(address).await?.exchange(ask).await
    }

    /// Sends a request and receives its answer.
    ///
    /// # Errors
    ///
    /// When the request is none that HTTP/2 can say.
    pub async fn exchange(&self, ask: &Ask) -> Result<Answer> {
        let mut answer = Answer::begin();
        let request = request(ask)?;
        let ends = matches!(ask.upload, Upload::Nothing);
        let mut requests = self
            .requests
            .clone()
            .ready()
            .await
            .context("the connection is gone")?;
        answer.started = Instant::now();
        let (response, mut sender) = requests.send_request(request, ends)?;
        let ending = {
            let receiving = receive(response, ask, &mut answer);
            let sending = async {
                // An upload that the peer refuses is told by the answer.
                let _ = send(&mut sender, &ask.upload).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                ending = receiving => ending.unwrap_or_else(|error| Ending::CutOff(format!("{error:#}"))),
                () = sending => Ending::TimedOut,
                () = told_to_leave(&ask.leave) => Ending::Left,
                () = tokio::time::sleep(ask.limit) => Ending::TimedOut,
            }
        };
        if ending == Ending::Left {
            sender.send_reset(Reason::CANCEL);
            // The reset must reach the wire before the connection may be dropped.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        answer.ending = ending;
        answer.ended = Instant::now();
        Ok(answer)
    }
}

fn request(ask: &Ask) -> Result<Request<()>> {
    let authority = ask
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map_or("inference.test", |(_, value)| value.as_str());
    let mut request = Request::builder()
        .method(ask.method.as_str())
        .uri(format!("http://{authority}{}", ask.path))
        .version(http::Version::HTTP_2)
        .body(())?;
    *request.headers_mut() = header_map(&ask.headers)?;
    request.headers_mut().remove("host");
    if let Upload::Whole(body) = &ask.upload {
        request
            .headers_mut()
            .insert("content-length", HeaderValue::from(body.len()));
    }
    Ok(request)
}

async fn send(stream: &mut SendStream<Bytes>, upload: &Upload) -> Result<()> {
    match upload {
        Upload::Nothing | Upload::Raw(_) => Ok(()),
        Upload::Whole(body) => send_pieces(stream, std::slice::from_ref(body), true).await,
        Upload::Pieces(pieces) => send_pieces(stream, pieces, true).await,
        Upload::PiecesAndTrailers(pieces, trailers) => {
            send_pieces(stream, pieces, false).await?;
            stream.send_trailers(header_map(trailers)?)?;
            Ok(())
        }
    }
}

async fn send_pieces(stream: &mut SendStream<Bytes>, pieces: &[Bytes], ends: bool) -> Result<()> {
    for piece in pieces {
        let mut left = piece.clone();
        while !left.is_empty() {
            stream.reserve_capacity(left.len());
            let granted = std::future::poll_fn(|context| stream.poll_capacity(context)).await;
            let granted = granted.context("the peer takes no more")??;
            let part = left.split_to(granted.min(left.len()));
            stream.send_data(part, false)?;
        }
        tokio::task::yield_now().await;
    }
    if ends {
        stream.send_data(Bytes::new(), true)?;
    }
    Ok(())
}

async fn receive(
    response: h2::client::ResponseFuture,
    ask: &Ask,
    answer: &mut Answer,
) -> Result<Ending> {
    let (parts, mut body): (_, RecvStream) = response.await?.into_parts();
    answer.status = parts.status.as_u16();
    answer.headers = lines(&parts.headers);
    answer.head_at = Some(Instant::now());
    if matches!(ask.leave, Leave::AfterHead) {
        return Ok(Ending::Left);
    }
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        answer.body.extend_from_slice(&piece);
        if answer.note(ask) {
            return Ok(Ending::Left);
        }
    }
    if let Some(trailers) = body.trailers().await? {
        answer.trailers = lines(&trailers);
    }
    Ok(Ending::Complete)
}
