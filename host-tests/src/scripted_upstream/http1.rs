//! The HTTP/1 side of the scripted upstream: one raw socket a connection, every byte under control.

use std::{io, sync::Arc, time::Instant};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{AnswerFraming, Finish, Lines, ReadFirst, Script, Scripts, Served, Step, sleep_until};
use crate::http1_message::{BodyDecoder, Head};

/// Serves connections until it is aborted; its connections end with it.
pub(super) async fn accept(listener: TcpListener, scripts: Arc<Scripts>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let scripts = Arc::clone(&scripts);
        connections.spawn(async move {
            // A connection that breaks is part of what is tested, and shows in its report.
            let _ = Connection::new(stream).serve(&scripts).await;
        });
    }
}

struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// How a script went.
enum Outcome {
    Through,
    PeerLeft,
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        // Pieces are to leave when they are written, not when the kernel has gathered more.
        let _ = stream.set_nodelay(true);
        Connection {
            stream,
            unread: Vec::new(),
        }
    }

    async fn serve(mut self, scripts: &Scripts) -> io::Result<()> {
        while let Some(head) = self.read_head().await? {
            let assigned = scripts.find(&head.headers);
            let mut served = Served::begin(head.start_line.clone(), head.headers.clone());
            if assigned.script.read == ReadFirst::WholeRequest {
                self.read_body(&head, &mut served).await?;
            }
            served.read_at = Instant::now();
            let outcome = self.play(&assigned.script, &mut served).await;
            served.peer_left = !matches!(outcome, Ok(Outcome::Through));
            let goes_on = !served.peer_left
                && assigned.script.finish == Finish::Complete
                && assigned.script.read == ReadFirst::WholeRequest
                && !assigned.script.closes();
            if assigned.script.finish == Finish::Reset {
                self.stream.set_zero_linger()?;
            }
            assigned.report(served);
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    async fn read_head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(head) = Head::parse(&self.unread) {
                self.unread.drain(..head.raw.len());
                return Ok(Some(head));
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn read_body(&mut self, head: &Head, served: &mut Served) -> io::Result<()> {
        let expects = head.header("expect").unwrap_or_default();
        if expects.eq_ignore_ascii_case("100-continue") {
            self.stream
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await?;
        }
        let mut decoder = BodyDecoder::new(head.request_framing());
        loop {
            let taken = decoder.push(&self.unread, &mut served.body);
            self.unread.drain(..taken);
            if decoder.is_complete() {
                served.trailers = decoder.trailers;
                return Ok(());
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn play(&mut self, script: &Script, served: &mut Served) -> io::Result<Outcome> {
        let mut chunked = false;
        let mut trailers = Lines::new();
        for step in &script.steps {
            let wire = match step {
                Step::Wait(_) | Step::At(_) | Step::Gate(_) => {
                    if self.pause(step, served.read_at).await {
                        return Ok(Outcome::PeerLeft);
                    }
                    continue;
                }
                Step::Trailers(lines) => {
                    trailers.clone_from(lines);
                    continue;
                }
                Step::Head {
                    status,
                    headers,
                    framing,
                } => {
                    chunked = *framing == AnswerFraming::Chunked;
                    render_head(*status, headers, *framing)
                }
                Step::Data(bytes) if chunked => render_chunk(bytes),
                Step::Data(bytes) | Step::Raw(bytes) => bytes.to_vec(),
            };
            served.sent_at.push(Instant::now());
            self.stream.write_all(&wire).await?;
        }
        match script.finish {
            Finish::Complete if chunked => {
                self.stream.write_all(&render_end(&trailers)).await?;
                Ok(Outcome::Through)
            }
            Finish::Stall => {
                self.peer_leaves().await;
                Ok(Outcome::PeerLeft)
            }
            Finish::Complete | Finish::Close | Finish::Reset => Ok(Outcome::Through),
        }
    }

    /// Waits as the step says, or until the peer leaves; gives whether it left.
    async fn pause(&mut self, step: &Step, read_at: Instant) -> bool {
        let waiting = async {
            match step {
                Step::Wait(time) => sleep_until(Instant::now() + *time).await,
                Step::At(time) => sleep_until(read_at + *time).await,
                Step::Gate(gate) => gate.pass().await,
                _ => {}
            }
        };
        tokio::select! {
            () = waiting => false,
            () = self.peer_leaves() => true,
        }
    }

    /// Ends when the peer closes or resets; bytes that come before are kept.
    async fn peer_leaves(&mut self) {
        while !matches!(self.stream.read_buf(&mut self.unread).await, Ok(0) | Err(_)) {}
    }
}

impl Script {
    /// Whether the framing of the answer ends the connection.
    fn closes(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Step::Head {
                    framing: AnswerFraming::Close,
                    ..
                }
            )
        })
    }
}

fn render_head(status: u16, headers: &Lines, framing: AnswerFraming) -> Vec<u8> {
    let reason = http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unnamed");
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match framing {
        AnswerFraming::NoBody => {}
        AnswerFraming::Length(length) => head.push_str(&format!("content-length: {length}\r\n")),
        AnswerFraming::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        AnswerFraming::Close => head.push_str("connection: close\r\n"),
    }
    head.push_str("\r\n");
    // Header values are given as characters below 256, each of which stands for one byte.
    head.chars()
        .map(|character| u8::try_from(character).unwrap_or(b'?'))
        .collect()
}

fn render_chunk(bytes: &[u8]) -> Vec<u8> {
    let mut wire = format!("{:x}\r\n", bytes.len()).into_bytes();
    wire.extend_from_slice(bytes);
    wire.extend_from_slice(b"\r\n");
    wire
}

fn render_end(trailers: &Lines) -> Vec<u8> {
    let mut end = "0\r\n".to_owned();
    for (name, value) in trailers {
        end.push_str(&format!("{name}: {value}\r\n"));
    }
    end.push_str("\r\n");
    end.into_bytes()
}
