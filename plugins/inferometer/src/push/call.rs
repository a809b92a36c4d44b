//! A call to the receiver, and its answer.

use hostcalls::{Body, HeaderPairs, Headers, HostError, HttpRequest};
use otlp_delivery::{Outcome, Protocol, Reply, Signal, Target, Verdict, judge, request};

use super::target::PushTarget;

/// The largest answer that is read; a receiver's is a few bytes.
const ANSWER_BYTES: usize = 64 * 1024;

/// A call that has been sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    /// The root that its answer comes to.
    pub(crate) root: u32,
    pub(crate) token: u32,
    pub(crate) at_nanos: u64,
}

/// Sends a message; gives the number by which its answer is known.
pub(crate) fn send(
    target: &PushTarget,
    signal: Signal,
    message: Vec<u8>,
) -> Result<u32, HostError> {
    let to = Target {
        protocol: target.protocol,
        authority: target.push.authority(),
        path: target.push.metrics_path(),
        timeout_millis: target.push.timeout_millis(),
        headers: &target.headers,
        user_agent: &target.user_agent,
    };
    let timeout = to.grpc_timeout();
    let request = request(&to, signal, &timeout, message);
    hostcalls::dispatch_http_call(&HttpRequest {
        cluster: target.push.cluster(),
        headers: &request.headers,
        body: &request.body,
        timeout_millis: target.push.timeout_millis(),
    })
}

/// What it means that a call could not even be sent.
pub(crate) fn not_sent(error: HostError, cluster: &str) -> Verdict {
    if error.is_bad_argument() {
        let message = format!("this thread of the proxy knows no cluster `{cluster}` (yet)");
        Verdict::again(Outcome::NoCluster, None, &message)
    } else {
        let message = format!("cluster `{cluster}` has no host that can be reached");
        Verdict::again(Outcome::Unreachable, None, &message)
    }
}

/// The answer to a call; read in its callback and nowhere else.
pub(crate) struct Answer {
    headers: HeaderPairs,
    body: Vec<u8>,
    trailers: HeaderPairs,
}

impl Answer {
    /// Reads what the host holds. A call that broke has no headers, and then nothing is asked for.
    pub(crate) fn read(headers: usize, body: usize, trailers: usize) -> Result<Answer, HostError> {
        let map = |wanted: bool, map| match wanted {
            true => hostcalls::headers(map),
            false => Ok(HeaderPairs::default()),
        };
        Ok(Answer {
            headers: map(headers > 0, Headers::CallResponse)?,
            body: match body {
                0 => Vec::new(),
                size => hostcalls::body(Body::CallResponse, 0, size.min(ANSWER_BYTES))?
                    .unwrap_or_default(),
            },
            trailers: map(trailers > 0, Headers::CallTrailers)?,
        })
    }

    /// What it means.
    pub(crate) fn verdict(&self, protocol: Protocol) -> Verdict {
        let reply = Reply {
            headers: self.headers.iter().collect(),
            body: &self.body,
            trailers: self.trailers.iter().collect(),
        };
        judge(protocol, &reply)
    }
}
