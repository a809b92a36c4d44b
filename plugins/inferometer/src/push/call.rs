//! Calls to a receiver, and their answers.

use hostcalls::{Body, HeaderPairs, Headers, HostError, HttpRequest, LogLevel};
use otlp_delivery::{
    Compression, Outcome, Protocol, Reply, Signal, Target, Verdict, judge, request,
};
use plugin_config::{PushCompression, PushProtocol, Receiver};

use super::target::SCOPE;
use crate::worker::Worker;

const NANOS_PER_MILLI: u64 = 1_000_000;
/// The largest answer that is read; a receiver's is a few bytes.
const ANSWER_BYTES: usize = 64 * 1024;

/// How many bytes are compressed at once.
const COMPRESSED_AT_ONCE: usize = 64 << 10;

/// A receiver, as calls need it.
pub(crate) struct Destination {
    receiver: Receiver,
    protocol: Protocol,
    compression: Compression,
    headers: Vec<(String, String)>,
    user_agent: String,
}

impl Destination {
    /// The receiver that a configuration names.
    pub(crate) fn of(receiver: &Receiver) -> Destination {
        let headers = receiver.headers().iter();
        Destination {
            protocol: match receiver.protocol() {
                PushProtocol::Grpc => Protocol::Grpc,
                PushProtocol::HttpProtobuf => Protocol::HttpProtobuf,
            },
            compression: match receiver.compression() {
                PushCompression::None => Compression::None,
                PushCompression::Gzip => Compression::Gzip,
            },
            headers: headers
                .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
                .collect(),
            user_agent: format!("{SCOPE}/{}", metric_catalog::VERSION),
            receiver: receiver.clone(),
        }
    }

    /// The most bytes of a request, so that compressing it takes no longer than another step.
    pub(crate) fn most_bytes(&self) -> usize {
        match self.compression {
            Compression::None => usize::MAX,
            Compression::Gzip => COMPRESSED_AT_ONCE,
        }
    }

    /// How long a call may take, and two ticks more.
    pub(crate) fn call_nanos(&self, worker: &Worker) -> u64 {
        let ticks = u64::from(worker.tick_period_millis()).saturating_mul(2);
        let millis = u64::from(self.receiver.timeout_millis()).saturating_add(ticks);
        millis.saturating_mul(NANOS_PER_MILLI)
    }

    /// Sends a message; gives the number by which its answer is known.
    fn send(&self, signal: Signal, message: Vec<u8>) -> Result<u32, HostError> {
        let to = Target {
            protocol: self.protocol,
            compression: self.compression,
            authority: self.receiver.authority(),
            path: self.receiver.path(),
            timeout_millis: self.receiver.timeout_millis(),
            headers: &self.headers,
            user_agent: &self.user_agent,
        };
        let timeout = to.grpc_timeout();
        let request = request(&to, signal, &timeout, message);
        hostcalls::dispatch_http_call(&HttpRequest {
            cluster: self.receiver.cluster(),
            headers: &request.headers,
            body: &request.body,
            timeout_millis: self.receiver.timeout_millis(),
        })
    }

    /// What it means that a call could not even be sent.
    fn not_sent(&self, error: HostError) -> Verdict {
        let cluster = self.receiver.cluster();
        if error.is_bad_argument() {
            let message = format!("this thread of the proxy knows no cluster `{cluster}` (yet)");
            Verdict::again(Outcome::NoCluster, None, &message)
        } else {
            let message = format!("cluster `{cluster}` has no host that can be reached");
            Verdict::again(Outcome::Unreachable, None, &message)
        }
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

    fn verdict(&self, protocol: Protocol) -> Verdict {
        let reply = Reply {
            headers: self.headers.iter().collect(),
            body: &self.body,
            trailers: self.trailers.iter().collect(),
        };
        judge(protocol, &reply)
    }
}

/// A call that has been sent.
#[derive(Clone, Copy)]
struct Sent {
    /// The root that its answer comes to.
    root: u32,
    token: u32,
    at_nanos: u64,
    /// How long its answer may take.
    patience_nanos: u64,
}

/// The calls of one signal: one is in flight at most.
pub(crate) struct Line {
    signal: Signal,
    sent: Option<Sent>,
    /// Whether the last call worked, as far as the log knows.
    is_well: bool,
}

impl Line {
    /// A line without a call.
    pub(crate) fn new(signal: Signal) -> Line {
        Line {
            signal,
            sent: None,
            is_well: true,
        }
    }

    /// Whether a call is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.sent.is_some()
    }

    /// Whether this is the call in flight.
    pub(crate) fn awaits(&self, root: u32, token: u32) -> bool {
        self.sent
            .is_some_and(|sent| (sent.root, sent.token) == (root, token))
    }

    /// The host has cancelled the calls of a root; whether one was in flight.
    pub(crate) fn root_ended(&mut self, root: u32) -> bool {
        self.sent.take_if(|sent| sent.root == root).is_some()
    }

    /// Sends a message, or tells why not.
    pub(crate) fn send(
        &mut self,
        root: u32,
        to: &Destination,
        message: Vec<u8>,
        worker: &mut Worker,
    ) -> Result<(), Verdict> {
        let at_nanos = worker.now_nanos();
        let token = to
            .send(self.signal, message)
            .map_err(|error| to.not_sent(error))?;
        self.sent = Some(Sent {
            root,
            token,
            at_nanos,
            patience_nanos: to.call_nanos(worker),
        });
        Ok(())
    }

    /// What it means that the proxy has not answered in the time that it was given, where it has not.
    pub(crate) fn overdue(&self, worker: &mut Worker) -> Option<Verdict> {
        let sent = self.sent?;
        let waited = worker.now_nanos().saturating_sub(sent.at_nanos);
        (waited > sent.patience_nanos)
            .then(|| Verdict::again(Outcome::Timeout, None, "the proxy never answered"))
    }

    /// What an answer means.
    pub(crate) fn verdict(
        to: &Destination,
        answer: Result<Answer, HostError>,
        worker: &mut Worker,
    ) -> Verdict {
        match worker.note(answer) {
            Some(answer) => answer.verdict(to.protocol),
            None => Verdict::again(Outcome::Unreachable, None, "the answer cannot be read"),
        }
    }

    /// Takes the end of a call, or of the attempt to send one: it is counted, and the log says what is new.
    pub(crate) fn ended(&mut self, to: &Destination, verdict: &Verdict, worker: &mut Worker) {
        let now = worker.now_nanos();
        let took = self
            .sent
            .take()
            .map(|sent| now.saturating_sub(sent.at_nanos));
        worker.count_export(self.signal, verdict, took);
        self.log(to.receiver.cluster(), verdict);
    }

    /// Writes a line when calls begin to fail and when they work again, and none in between.
    fn log(&mut self, cluster: &str, verdict: &Verdict) {
        let signal = self.signal.as_str();
        let outcome = verdict.outcome.as_str();
        let message = &verdict.message;
        if verdict.is_taken() != self.is_well {
            self.is_well = verdict.is_taken();
            if self.is_well {
                let line = format!("{signal} reach cluster `{cluster}` again");
                hostcalls::log(LogLevel::Info, &line);
            } else {
                let fate = match (self.signal, verdict.may_retry()) {
                    (Signal::Metrics, _) => "they are kept, and sent again and again",
                    (_, true) => "the newest are kept, and sent again and again",
                    (_, false) => "those are given up",
                };
                let line = format!(
                    "{signal} do not reach cluster `{cluster}`: {outcome}: {message}; {fate}"
                );
                hostcalls::log(LogLevel::Warn, &line);
            }
        }
        if verdict.rejected > 0 {
            let rejected = verdict.rejected;
            let items = match self.signal {
                Signal::Metrics => "data points",
                Signal::Traces => "spans",
                Signal::Logs => "log records",
            };
            let line = format!("cluster `{cluster}` refused {rejected} {items}: {message}");
            hostcalls::log(LogLevel::Warn, &line);
        }
    }
}
