//! The HTTP/2 side of the scripted upstream: streams with trailers and resets, without TLS.

use std::{sync::Arc, time::Instant};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{Request, Response};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{Finish, ReadFirst, Script, Scripts, Served, Step, sleep_until};
use crate::http2_lines::{header_map, lines};

/// Serves connections until it is aborted; its connections end with it.
pub(super) async fn accept(listener: TcpListener, scripts: Arc<Scripts>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let scripts = Arc::clone(&scripts);
        connections.spawn(async move {
            // A connection that breaks is part of what is tested, and shows in its reports.
            let _ = serve(stream, scripts).await;
        });
    }
}

async fn serve(stream: TcpStream, scripts: Arc<Scripts>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = h2::server::handshake(stream).await?;
    let mut streams = JoinSet::new();
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        let scripts = Arc::clone(&scripts);
        streams.spawn(async move {
            let _ = answer(request, respond, &scripts).await;
        });
    }
    Ok(())
}

async fn answer(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    scripts: &Scripts,
) -> Result<()> {
    let (parts, mut body) = request.into_parts();
    let headers = lines(&parts.headers);
    let assigned = scripts.find(&headers);
    let mut served = Served::begin(format!("{} {} HTTP/2", parts.method, parts.uri), headers);
    if assigned.script.read == ReadFirst::WholeRequest {
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            served.body.extend_from_slice(&piece);
        }
        if let Some(trailers) = body.trailers().await? {
            served.trailers = lines(&trailers);
        }
    }
    served.read_at = Instant::now();
    let mut answer = Answer {
        respond,
        stream: None,
        ended: false,
    };
    served.peer_left = answer.play(&assigned.script, &mut served).await.is_err();
    assigned.report(served);
    Ok(())
}

struct Answer {
    respond: SendResponse<Bytes>,
    stream: Option<SendStream<Bytes>>,
    ended: bool,
}

impl Answer {
    async fn play(&mut self, script: &Script, served: &mut Served) -> Result<()> {
        let last = script.steps.len().saturating_sub(1);
        for (index, step) in script.steps.iter().enumerate() {
            let pause = match step {
                Step::Wait(time) => Some(Instant::now() + *time),
                Step::At(time) => Some(served.read_at + *time),
                Step::Gate(gate) => {
                    let passing = gate.pass();
                    tokio::select! {
                        () = passing => {}
                        left = peer_leaves(&mut self.respond, &mut self.stream) => left?,
                    }
                    None
                }
                _ => None,
            };
            if let Some(moment) = pause {
                tokio::select! {
                    () = sleep_until(moment) => {}
                    left = peer_leaves(&mut self.respond, &mut self.stream) => left?,
                }
            }
            let ends = index == last && script.finish == Finish::Complete;
            if matches!(step, Step::Head { .. } | Step::Data(_) | Step::Trailers(_)) {
                served.sent_at.push(Instant::now());
                self.send(step, ends).await?;
            }
        }
        self.finish(script.finish).await
    }

    async fn send(&mut self, step: &Step, ends: bool) -> Result<()> {
        match step {
            Step::Head {
                status, headers, ..
            } => {
                let mut response = Response::builder().status(*status).body(())?;
                *response.headers_mut() = header_map(headers)?;
                self.stream = Some(self.respond.send_response(response, ends)?);
            }
            Step::Data(bytes) => self.send_data(bytes.clone(), ends).await?,
            Step::Trailers(trailers) => {
                let stream = self.stream.as_mut().context("trailers before the head")?;
                stream.send_trailers(header_map(trailers)?)?;
            }
            _ => {}
        }
        self.ended |= ends || matches!(step, Step::Trailers(_));
        Ok(())
    }

    async fn send_data(&mut self, mut bytes: Bytes, ends: bool) -> Result<()> {
        let stream = self.stream.as_mut().context("data before the head")?;
        while !bytes.is_empty() {
            stream.reserve_capacity(bytes.len());
            let granted = std::future::poll_fn(|context| stream.poll_capacity(context)).await;
            let granted = granted.context("the peer left")??;
            let piece = bytes.split_to(granted.min(bytes.len()));
            stream.send_data(piece, ends && bytes.is_empty())?;
        }
        Ok(())
    }

    async fn finish(&mut self, finish: Finish) -> Result<()> {
        match finish {
            Finish::Complete if self.ended => {}
            Finish::Complete => {
                let stream = self.stream.as_mut().context("an end before the head")?;
                stream.send_data(Bytes::new(), true)?;
            }
            Finish::Close => self.reset(Reason::NO_ERROR),
            Finish::Reset => self.reset(Reason::INTERNAL_ERROR),
            Finish::Stall => peer_leaves(&mut self.respond, &mut self.stream).await?,
        }
        Ok(())
    }

    fn reset(&mut self, reason: Reason) {
        match &mut self.stream {
            Some(stream) => stream.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }
}

/// Ends, always with an error, when the peer resets the stream or its connection goes.
async fn peer_leaves(
    respond: &mut SendResponse<Bytes>,
    stream: &mut Option<SendStream<Bytes>>,
) -> Result<()> {
    let reason = std::future::poll_fn(|context| match stream {
        Some(stream) => stream.poll_reset(context),
        None => respond.poll_reset(context),
    })
    .await?;
    anyhow::bail!("the peer left: {reason}")
}
