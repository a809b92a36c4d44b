//! The HTTP/1 side of the test client: one raw socket, kept for the next request where the answer allows.

use std::{io, net::SocketAddr, time::Instant};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::Notify,
};

use super::{Answer, Ask, Ending, Upload, told_to_leave};
use crate::{
    http1_message::{BodyDecoder, Head},
    scripted_upstream::Lines,
};

/// One connection.
#[derive(Debug)]
pub struct Http1Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Http1Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nothing listens there.
    pub async fn connect(address: SocketAddr) -> Result<Http1Client> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream
            .set_nodelay(true)
            .context("cannot set up the socket")?;
        Ok(Http1Client {
            stream,
            unread: Vec::new(),
        })
    }

    /// One exchange over a connection of its own.
    ///
    /// # Errors
    ///
    /// When nothing listens there; whatever goes wrong later is in the answer.
    pub async fn once(address: SocketAddr, ask: &Ask) -> Result<Answer> {
        let mut client = Http1Client::connect(address).await?;
        Ok(client.exchange(ask).await)
    }

    /// Sends a request and receives its answer. After a client that left, drop the connection.
    pub async fn exchange(&mut self, ask: &Ask) -> Answer {
        let mut answer = Answer::begin();
        let unread = &mut self.unread;
        let (mut read_half, mut write_half) = self.stream.split();
        let may_send_body = Notify::new();
        let ending = {
            let mut receiver = Receiver {
                stream: &mut read_half,
                unread,
                ask,
                may_send_body: &may_send_body,
            };
            let receiving = receiver.receive(&mut answer);
            let sending = async {
                // An upload that the peer refuses is told by the answer.
                let _ = send(&mut write_half, ask, &may_send_body).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                ending = receiving => ending,
                () = sending => Ending::TimedOut,
                () = told_to_leave(&ask.leave) => Ending::Left,
                () = tokio::time::sleep(ask.limit) => Ending::TimedOut,
            }
        };
        answer.ending = ending;
        answer.ended = Instant::now();
        answer
    }

    /// Closes the connection, as a client that left does, and opens another to the same peer.
    ///
    /// # Errors
    ///
    /// When the peer no longer listens.
    pub async fn leave(&mut self) -> Result<()> {
        let peer = self
            .stream
            .peer_addr()
            .context("the connection has no peer")?;
        *self = Http1Client::connect(peer).await?;
        Ok(())
    }

    /// Resets the connection instead of closing it.
    ///
    /// # Errors
    ///
    /// When the socket refuses.
    pub fn reset(self) -> Result<()> {
        self.stream.set_zero_linger().context("cannot reset")
    }
}

async fn send(stream: &mut WriteHalf<'_>, ask: &Ask, may_send_body: &Notify) -> io::Result<()> {
    if let Upload::Raw(bytes) = &ask.upload {
        let head_length = Head::parse(bytes).map_or(bytes.len(), |head| head.raw.len());
        let (head, body) = bytes.split_at(head_length);
        if !ask.has_header("expect") {
            return stream.write_all(bytes).await;
        }
        stream.write_all(head).await?;
        may_send_body.notified().await;
        return stream.write_all(body).await;
    }
    stream.write_all(&render_head(ask)).await?;
    if ask.has_header("expect") {
        may_send_body.notified().await;
    }
    match &ask.upload {
        Upload::Nothing | Upload::Raw(_) => Ok(()),
        Upload::Whole(body) => stream.write_all(body).await,
        Upload::Pieces(pieces) => send_chunked(stream, pieces, &Lines::new()).await,
        Upload::PiecesAndTrailers(pieces, trailers) => send_chunked(stream, pieces, trailers).await,
    }
}

async fn send_chunked(
    stream: &mut WriteHalf<'_>,
    pieces: &[bytes::Bytes],
    trailers: &Lines,
) -> io::Result<()> {
    for piece in pieces {
        let mut wire = format!("{:x}\r\n", piece.len()).into_bytes();
        wire.extend_from_slice(piece);
        wire.extend_from_slice(b"\r\n");
        stream.write_all(&wire).await?;
        tokio::task::yield_now().await;
    }
    let mut end = "0\r\n".to_owned();
    for (name, value) in trailers {
        end.push_str(&format!("{name}: {value}\r\n"));
    }
    end.push_str("\r\n");
    stream.write_all(end.as_bytes()).await
}

fn render_head(ask: &Ask) -> Vec<u8> {
    let version = if ask.http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut head = format!("{} {} {version}\r\n", ask.method, ask.path);
    if !ask.has_header("host") && !ask.http10 {
        head.push_str("host: inference.test\r\n");
    }
    for (name, value) in &ask.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &ask.upload {
        Upload::Whole(body) => head.push_str(&format!("content-length: {}\r\n", body.len())),
        Upload::Pieces(_) | Upload::PiecesAndTrailers(..) => {
            head.push_str("transfer-encoding: chunked\r\n");
        }
        Upload::Nothing | Upload::Raw(_) => {}
    }
    head.push_str("\r\n");
    // Header values are given as characters below 256, each of which stands for one byte.
    head.chars()
        .map(|character| u8::try_from(character).unwrap_or(b'?'))
        .collect()
}

struct Receiver<'a, 'stream> {
    stream: &'a mut ReadHalf<'stream>,
    unread: &'a mut Vec<u8>,
    ask: &'a Ask,
    may_send_body: &'a Notify,
}

impl Receiver<'_, '_> {
    async fn receive(&mut self, answer: &mut Answer) -> Ending {
        match self.receive_head(answer).await {
            Ok(Some(decoder)) => self.receive_body(decoder, answer).await,
            Ok(None) => Ending::Left,
            Err(error) => Ending::CutOff(error.to_string()),
        }
    }

    /// Receives up to the head that is no interim one; nothing when the client leaves with it.
    async fn receive_head(&mut self, answer: &mut Answer) -> io::Result<Option<BodyDecoder>> {
        loop {
            if let Some(head) = Head::parse(self.unread) {
                self.unread.drain(..head.raw.len());
                self.may_send_body.notify_one();
                let status = head.status();
                if (100..200).contains(&status) && status != 101 {
                    answer.interim.push(status);
                    continue;
                }
                answer.status = status;
                answer.head_at = Some(Instant::now());
                let decoder = BodyDecoder::new(head.response_framing(&self.ask.method));
                answer.headers = head.headers;
                answer.raw_head = head.raw;
                return Ok(Some(decoder));
            }
            if self.stream.read_buf(self.unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn receive_body(&mut self, mut decoder: BodyDecoder, answer: &mut Answer) -> Ending {
        loop {
            let taken = decoder.push(self.unread, &mut answer.body);
            self.unread.drain(..taken);
            if answer.note(self.ask) {
                return Ending::Left;
            }
            if decoder.is_complete() {
                answer.trailers = decoder.trailers;
                return Ending::Complete;
            }
            match self.stream.read_buf(self.unread).await {
                Ok(0) if decoder.ends_with_connection() => return Ending::Complete,
                Ok(0) => return Ending::CutOff("closed".to_owned()),
                Ok(_) => {}
                Err(error) => return Ending::CutOff(error.to_string()),
            }
        }
    }
}
