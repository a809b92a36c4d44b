//! Sends many requests of every sort over many connections, and counts what it saw: the truth that a scrape must equal.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::{
    metric_assert::Exposition,
    mixed_exchanges::Numbers,
    scripted_upstream::{AnswerFraming, Finish, SCRIPT_HEADER, Script, ScriptedUpstream, Step},
    test_client::{Answer, Ask, Ending, Http1Client, Leave},
};

/// The model that all these requests name.
pub const MODEL: &str = "load-model";

/// What a load is made of.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Connections at once.
    pub connections: u64,
    /// Requests in all.
    pub requests: u64,
    /// Where the numbers begin.
    pub seed: u64,
    /// Each request has a connection of its own.
    pub reconnect: bool,
}

/// What the client saw, in the terms of the metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Requests by outcome and whether they were streamed.
    pub requests: BTreeMap<(&'static str, bool), u64>,
    /// Requests that are not watched.
    pub skipped: u64,
    /// Input tokens that the answers stated.
    pub input: u64,
    /// Output tokens that the answers stated.
    pub output: u64,
    /// Output tokens to be estimated from events.
    pub estimated: u64,
    /// Cached input tokens that the answers stated.
    pub cached: u64,
    /// Streams in which a token came.
    pub first_tokens: u64,
}

/// The sorts of request.
#[derive(Clone, Copy, Debug)]
enum Sort {
    Streamed,
    StreamedWithoutUsage,
    Whole,
    WrongRequest,
    TooMany,
    Failing,
    LeftMidStream,
    Truncated,
    NotWatched,
}

const SORTS: [Sort; 12] = [
    Sort::Streamed,
    Sort::Streamed,
    Sort::Streamed,
    Sort::StreamedWithoutUsage,
    Sort::Whole,
    Sort::Whole,
    Sort::WrongRequest,
    Sort::TooMany,
    Sort::Failing,
    Sort::LeftMidStream,
    Sort::Truncated,
    Sort::NotWatched,
];

/// One request, its script and what it adds to the truth once the client has seen its end.
struct Planned {
    ask: Ask,
    script: Script,
    status: u16,
    adds: Truth,
}

impl Load {
    /// Sends all requests to `address`, behind which `upstream` serves.
    ///
    /// # Errors
    ///
    /// When an exchange does not end as it should for its client.
    pub async fn run(self, upstream: &Arc<ScriptedUpstream>, address: SocketAddr) -> Result<Truth> {
        let next = Arc::new(AtomicU64::new(0));
        let mut connections = JoinSet::new();
        for _ in 0..self.connections {
            let (upstream, next) = (Arc::clone(upstream), Arc::clone(&next));
            connections.spawn(async move {
                let mut client = Http1Client::connect(address).await?;
                let mut truth = Truth::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= self.requests {
                        return anyhow::Ok(truth);
                    }
                    let name = format!("{}-{number}", self.seed);
                    let planned = Planned::new(self.seed.wrapping_mul(1_000_003) + number);
                    planned
                        .run(&name, &upstream, &mut client, self.reconnect, &mut truth)
                        .await?;
                }
            });
        }
        let mut truth = Truth::default();
        while let Some(done) = connections.join_next().await {
            truth.add(&done??);
        }
        Ok(truth)
    }
}

impl Planned {
    fn new(seed: u64) -> Planned {
        let mut numbers = Numbers::seeded(seed);
        let sort = numbers.choose(&SORTS).copied().unwrap_or(Sort::Streamed);
        let tokens = 1 + numbers.below(8);
        let input = 10 + numbers.below(1000);
        let cached = numbers.below(input);
        match sort {
            Sort::Streamed | Sort::StreamedWithoutUsage => {
                streamed(sort, tokens, input, cached, numbers.below(3))
            }
            Sort::LeftMidStream | Sort::Truncated => cut(sort, tokens),
            Sort::Whole => whole(tokens, input, cached),
            Sort::WrongRequest => refused(400, "invalid_request"),
            Sort::TooMany => refused(429, "rate_limited"),
            Sort::Failing => refused(500, "http_error"),
            Sort::NotWatched => Planned {
                ask: Ask::new("GET", "/v1/models"),
                script: Script::reply(200, "application/json", "{}"),
                status: 200,
                adds: Truth {
                    skipped: 1,
                    ..Truth::default()
                },
            },
        }
    }

    async fn run(
        self,
        name: &str,
        upstream: &ScriptedUpstream,
        client: &mut Http1Client,
        reconnect: bool,
        truth: &mut Truth,
    ) -> Result<()> {
        let report = upstream.named(name, self.script);
        let ask = self.ask.header(SCRIPT_HEADER, name);
        let answer = client.exchange(&ask).await;
        let left = matches!(ask.leave, Leave::AfterBody(_));
        let expected = if left { Ending::Left } else { Ending::Complete };
        if answer.ending != expected || answer.status != self.status {
            bail!("request {name} went wrong: {}", told(&answer));
        }
        if left || reconnect {
            client.leave().await?;
        }
        let served = report.within(Duration::from_secs(20)).await;
        served.with_context(|| format!("request {name}: {}", told(&answer)))?;
        truth.add(&self.adds);
        Ok(())
    }
}

fn told(answer: &Answer) -> String {
    format!(
        "{:?}, status {}, {:?}",
        answer.ending,
        answer.status,
        answer.text()
    )
}

fn request(stream: bool, usage: bool) -> Ask {
    let body = format!(
        "{{\"model\":\"{MODEL}\",\"stream\":{stream},\"stream_options\":{{\"include_usage\":{usage}}},\"messages\":[]}}"
    );
    Ask::post("/v1/chat/completions", body)
}

fn token() -> String {
    format!(
        "data: {{\"model\":\"{MODEL}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word\"}}}}]}}\n\n"
    )
}

fn usage(tokens: u64, input: u64, cached: u64) -> String {
    format!(
        "{{\"prompt_tokens\":{input},\"completion_tokens\":{tokens},\"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}"
    )
}

fn outcome(outcome: &'static str, stream: bool) -> Truth {
    Truth {
        requests: BTreeMap::from([((outcome, stream), 1)]),
        ..Truth::default()
    }
}

fn streamed(sort: Sort, tokens: u64, input: u64, cached: u64, gap_ms: u64) -> Planned {
    let with_usage = matches!(sort, Sort::Streamed);
    let mut pieces: Vec<Bytes> = (0..tokens).map(|_| Bytes::from(token())).collect();
    let mut adds = Truth {
        first_tokens: 1,
        ..outcome("success", true)
    };
    let mut end = String::new();
    if with_usage {
        let usage = usage(tokens, input, cached);
        end = format!("data: {{\"model\":\"{MODEL}\",\"choices\":[],\"usage\":{usage}}}\n\n");
        (adds.input, adds.output, adds.cached) = (input, tokens, cached);
    } else {
        adds.estimated = tokens;
    }
    end.push_str("data: [DONE]\n\n");
    pieces.push(Bytes::from(end));
    Planned {
        ask: request(true, with_usage),
        script: Script::stream(pieces, Duration::from_millis(gap_ms)),
        status: 200,
        adds,
    }
}

/// A stream without its end: the client leaves, or the upstream ends it too early.
fn cut(sort: Sort, tokens: u64) -> Planned {
    let leaves = matches!(sort, Sort::LeftMidStream);
    let pieces: Vec<Bytes> = (0..tokens).map(|_| Bytes::from(token())).collect();
    let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut script = Script::stream(pieces, Duration::ZERO);
    let mut ask = request(true, true);
    if leaves {
        script = script.finishing(Finish::Stall);
        ask = ask.leaving(Leave::AfterBody(bytes));
    }
    let named = if leaves {
        "client_cancel"
    } else {
        "truncated_stream"
    };
    let adds = Truth {
        first_tokens: 1,
        estimated: tokens,
        ..outcome(named, true)
    };
    Planned {
        ask,
        script,
        status: 200,
        adds,
    }
}

fn whole(tokens: u64, input: u64, cached: u64) -> Planned {
    let usage = usage(tokens, input, cached);
    let body = format!(
        "{{\"model\":\"{MODEL}\",\"choices\":[{{\"index\":0,\"message\":{{\"content\":\"Hi\"}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}"
    );
    Planned {
        ask: request(false, false),
        script: Script::reply(200, "application/json", body),
        status: 200,
        adds: Truth {
            input,
            output: tokens,
            cached,
            ..outcome("success", false)
        },
    }
}

fn refused(status: u16, named: &'static str) -> Planned {
    let body = "{\"error\":{\"message\":\"no\",\"type\":\"some_error\"}}";
    let head = Step::Head {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        framing: AnswerFraming::Length(body.len() as u64),
    };
    Planned {
        ask: request(true, true),
        script: Script::new(vec![head, Step::Data(Bytes::from(body))]),
        status,
        adds: outcome(named, false),
    }
}

impl Truth {
    /// Adds what another client saw.
    pub fn add(&mut self, other: &Truth) {
        for (key, count) in &other.requests {
            *self.requests.entry(*key).or_default() += count;
        }
        self.skipped += other.skipped;
        self.input += other.input;
        self.output += other.output;
        self.estimated += other.estimated;
        self.cached += other.cached;
        self.first_tokens += other.first_tokens;
    }

    /// How many requests are watched.
    #[must_use]
    pub fn watched(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Whether a scrape counts at least as many requests.
    #[must_use]
    pub fn is_reached_by(&self, scrape: &Exposition) -> bool {
        let watched = scrape.total_or_zero("inference_requests_total", &[]);
        let skipped = scrape.total_or_zero("inferometer_skipped_total", &[]);
        watched >= self.watched() as f64 && skipped >= self.skipped as f64
    }

    /// Where a scrape says something else than the client saw; nothing is in flight any more.
    #[must_use]
    pub fn differences(&self, scrape: &Exposition) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |name: &str, labels: &[(&str, &str)], expected: u64| {
            let seen = scrape.total_or_zero(name, labels);
            if (seen - expected as f64).abs() > 1e-6 {
                found.push(format!(
                    "{name}{labels:?}: the client saw {expected}, the scrape {seen}"
                ));
            }
        };
        let requests = "inference_requests_total";
        compare(requests, &[], self.watched());
        for ((outcome, stream), count) in &self.requests {
            let stream = if *stream { "true" } else { "false" };
            compare(
                requests,
                &[("outcome", outcome), ("stream", stream)],
                *count,
            );
        }
        compare(
            "inferometer_skipped_total",
            &[("reason", "not_post")],
            self.skipped,
        );
        compare("inferometer_skipped_total", &[], self.skipped);
        for (name, source, tokens) in [
            ("inference_input_tokens_total", "reported", self.input),
            ("inference_output_tokens_total", "reported", self.output),
            ("inference_output_tokens_total", "estimated", self.estimated),
            (
                "inference_cached_input_tokens_total",
                "reported",
                self.cached,
            ),
        ] {
            compare(name, &[("source", source)], tokens);
        }
        for name in [
            "gen_ai_server_request_duration_seconds_count",
            "inference_request_duration_seconds_count",
            "inference_usage_total",
        ] {
            compare(name, &[], self.watched());
        }
        compare(
            "gen_ai_server_time_to_first_token_seconds_count",
            &[],
            self.first_tokens,
        );
        for phase in ["prefill", "decode"] {
            compare("inference_requests_in_flight", &[("phase", phase)], 0);
        }
        compare("inferometer_host_errors_total", &[], 0);
        found
    }
}
