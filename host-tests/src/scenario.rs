//! Loads the scenarios of `testdata/scenarios`: one exchange each, and what an observer has to say of it.
//!
//! The same file runs three ways: its callbacks straight into the observer, its callbacks into the built module in
//! wasmtime, and as real HTTP through real Envoy.

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    captures::Expected, module::workspace_root, scenario_bytes as wire_bytes,
    scripted_upstream::Lines,
};

/// One exchange, how it ends, and what is expected of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// The request.
    #[serde(default)]
    pub request: Request,
    /// The upstream's answer; none, it never answers.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// How the exchange ends.
    #[serde(default)]
    pub ending: Ending,
    /// The scenario makes no sense over HTTP/2.
    #[serde(default)]
    pub http1_only: bool,
    /// The scenario makes no sense over HTTP/1.
    #[serde(default)]
    pub http2_only: bool,
    /// What an observer has to say.
    pub expect: Expect,
}

/// The request of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The method; `POST` where none is given.
    pub method: Option<String>,
    /// The path; that of chat completions where none is given.
    pub path: Option<String>,
    /// Header lines besides `content-type: application/json`; a value that is null takes a line away.
    pub headers: BTreeMap<String, Option<String>>,
    /// The body as JSON.
    pub json: Option<Value>,
    /// The body as it is.
    pub text: Option<String>,
    /// The body as one gRPC message in hexadecimal digits.
    pub grpc: Option<String>,
    /// The body is preceded by this many spaces.
    pub spaces_before: usize,
}

/// The answer of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status.
    #[serde(default = "ok")]
    pub status: u16,
    /// The content type; none, no such header.
    #[serde(default)]
    pub content_type: Option<String>,
    /// More header lines.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Milliseconds before the head.
    #[serde(default)]
    pub wait: u64,
    /// The coding in which the body is sent, flushed after each part; it stands in `content-encoding` too.
    #[serde(default)]
    pub coding: Option<Coding>,
    /// The parts of the body.
    #[serde(default)]
    pub steps: Vec<AnswerStep>,
}

/// A coding of a body.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, in a zlib stream.
    Deflate,
    /// `br`.
    Br,
}

/// One thing in the body of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum AnswerStep {
    /// A pause in milliseconds.
    Wait(u64),
    /// A piece of text as it is.
    Text(String),
    /// Bytes in hexadecimal digits.
    Hex(String),
    /// One event of a stream whose data is this JSON, in a piece of its own.
    Event(Value),
    /// Several events in one piece.
    Events(Vec<Value>),
    /// One named event.
    Named(String, Value),
    /// A piece of JSON.
    Json(Value),
    /// The same text so many times in one piece.
    Repeat(usize, String),
    /// JSON documents, one a line, in one piece.
    Lines(Vec<Value>),
    /// A message of an AWS event stream: the type of its event, and its payload.
    AwsEvent(String, Value),
    /// The same, an exception.
    AwsException(String, Value),
    /// The same as an event, its last checksum wrong.
    AwsCorrupt(String, Value),
    /// A chunk of Bedrock's invoke stream, which holds this JSON in base64.
    AwsChunk(Value),
    /// A gRPC message in hexadecimal digits.
    Grpc(String),
    /// The same, said to be compressed by itself.
    GrpcCompressed(String),
    /// Trailer lines; nothing may follow.
    Trailers(BTreeMap<String, String>),
}

/// How an exchange ends.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The answer ends by its framing.
    #[default]
    Complete,
    /// The client leaves when it has all that the answer holds, and the answer does not end.
    ClientLeaves,
    /// The upstream resets when it has sent all that the answer holds.
    UpstreamResets,
    /// The upstream closes its connection there (HTTP/1 only).
    UpstreamCloses,
    /// The upstream stalls there until the route's timeout.
    RouteTimeout,
    /// A filter before the module answers the request by itself.
    LocalReply,
    /// No upstream listens.
    NoConnection,
}

/// What an observer has to say of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Why the request is not watched; the rest then stays away.
    pub skipped: Option<String>,
    /// `chat` where none is given.
    pub operation: Option<String>,
    /// The model asked for.
    pub request_model: Option<String>,
    /// The model that answered.
    pub response_model: Option<String>,
    /// The dialect that is spoken, where the test of the observer itself is to look at it.
    pub api: Option<String>,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// How it ended.
    pub outcome: String,
    /// What the error is called.
    pub error_type: Option<String>,
    /// Why generation ended.
    pub finish_reason: Option<String>,
    /// Tokens reported.
    pub input_tokens: Option<u64>,
    /// Tokens reported.
    pub output_tokens: Option<u64>,
    /// Tokens reported.
    pub cached_tokens: Option<u64>,
    /// Tokens reported.
    pub reasoning_tokens: Option<u64>,
    /// How much of the usage is known; `reported` where none is given.
    pub usage: Option<String>,
    /// Why not all of it.
    pub usage_reason: Option<String>,
    /// Output events, where tokens are estimated from them.
    pub output_events: Option<u64>,
    /// When the first token came, in milliseconds after the request.
    pub first_token_ms: Option<u64>,
    /// When the first visible token came.
    pub first_visible_token_ms: Option<u64>,
    /// Anomalies by kind.
    pub anomalies: BTreeMap<String, u64>,
}

fn ok() -> u16 {
    200
}

/// Every scenario, in the order of their names.
///
/// # Errors
///
/// When a file cannot be read or understood, with its name.
pub fn load() -> Result<Vec<Scenario>> {
    let folder = workspace_root().join("testdata/scenarios");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "json"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = fs::read(path)?;
            let scenario: Scenario =
                serde_json::from_slice(&text).with_context(|| format!("scenario {name}"))?;
            let scenario = Scenario { name, ..scenario };
            scenario
                .check()
                .with_context(|| format!("scenario {}", scenario.name))?;
            Ok(scenario)
        })
        .collect()
}

impl Scenario {
    /// Refuses what no runner could play.
    fn check(&self) -> Result<()> {
        let needs_answer = matches!(self.ending, Ending::Complete);
        if needs_answer && self.answer.is_none() {
            bail!("a complete exchange needs an answer");
        }
        if matches!(self.ending, Ending::LocalReply | Ending::NoConnection) && self.answer.is_some()
        {
            bail!("no upstream answers here");
        }
        if self.ending == Ending::UpstreamCloses && !self.http1_only {
            bail!("a connection closes under an answer in HTTP/1 only");
        }
        let steps = self.answer.iter().flat_map(|answer| &answer.steps);
        for step in steps {
            step.bytes()?;
        }
        Ok(())
    }

    /// The expectation in the form that captures have.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let expect = &self.expect;
        let status = match (&self.answer, self.ending) {
            (Some(answer), _) => Some(answer.status),
            (None, Ending::ClientLeaves) => None,
            (None, _) => Some(503),
        };
        let watched = expect.skipped.is_none();
        Expected {
            method: self.request.method().to_owned(),
            path: self.request.path().to_owned(),
            status,
            watched,
            skip_reason: expect.skipped.clone(),
            client_abort: self.ending == Ending::ClientLeaves,
            api: None,
            operation: Some(
                expect
                    .operation
                    .clone()
                    .unwrap_or_else(|| "chat".to_owned()),
            ),
            request_model: expect.request_model.clone(),
            response_model: expect.response_model.clone(),
            stream: Some(expect.stream),
            outcome: Some(expect.outcome.clone()),
            finish_reason: expect.finish_reason.clone(),
            input_tokens: expect.input_tokens,
            output_tokens: expect.output_tokens,
            cached_tokens: expect.cached_tokens,
            reasoning_tokens: expect.reasoning_tokens,
            usage_source: None,
            usage_status: Some(
                expect
                    .usage
                    .clone()
                    .unwrap_or_else(|| "reported".to_owned()),
            ),
            output_events: expect.output_events,
            first_token_chunk: None,
            first_token_offset: expect.first_token_ms,
            first_visible_token_offset: expect.first_visible_token_ms,
        }
    }
}

impl Request {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or("POST")
    }

    /// The path with its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/v1/chat/completions")
    }

    /// The header lines.
    #[must_use]
    pub fn lines(&self) -> Lines {
        let mut lines =
            BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
        for (name, value) in &self.headers {
            match value {
                Some(value) => lines.insert(name.clone(), value.clone()),
                None => lines.remove(name),
            };
        }
        lines.into_iter().collect()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> Bytes {
        if let Some(digits) = &self.grpc {
            return wire_bytes::grpc_message(0, &from_hex(digits).unwrap_or_default());
        }
        let mut body = " ".repeat(self.spaces_before);
        if let Some(json) = &self.json {
            body.push_str(&json.to_string());
        }
        body.push_str(self.text.as_deref().unwrap_or_default());
        Bytes::from(body)
    }
}

impl Answer {
    /// The header lines, framing left out.
    #[must_use]
    pub fn lines(&self) -> Lines {
        let mut lines: Lines = self.headers.clone().into_iter().collect();
        if let Some(content_type) = &self.content_type {
            lines.push(("content-type".to_owned(), content_type.clone()));
        }
        if let Some(coding) = self.coding {
            lines.push(("content-encoding".to_owned(), coding.name().to_owned()));
        }
        lines
    }

    /// The trailer lines, where there are any.
    #[must_use]
    pub fn trailers(&self) -> Option<Lines> {
        self.steps.iter().find_map(|step| match step {
            AnswerStep::Trailers(lines) => Some(lines.clone().into_iter().collect()),
            _ => None,
        })
    }

    /// The pieces of the body, each with how long after the head it comes.
    #[must_use]
    pub fn pieces(&self) -> Vec<(Duration, Bytes)> {
        let mut at = Duration::ZERO;
        let mut pieces = Vec::new();
        for step in &self.steps {
            if let AnswerStep::Wait(milliseconds) = step {
                at += Duration::from_millis(*milliseconds);
            } else if let Ok(Some(bytes)) = step.bytes() {
                pieces.push((at, bytes));
            }
        }
        match self.coding {
            Some(coding) => wire_bytes::compress(coding, &pieces),
            None => pieces,
        }
    }

    /// How long the body is.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.pieces()
            .iter()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum()
    }
}

impl Coding {
    /// The name in `content-encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Br => "br",
        }
    }
}

impl AnswerStep {
    /// The bytes of a piece; nothing for a step that is none.
    fn bytes(&self) -> Result<Option<Bytes>> {
        let text = match self {
            AnswerStep::Wait(_) | AnswerStep::Trailers(_) => return Ok(None),
            AnswerStep::Text(text) => text.clone(),
            AnswerStep::Event(data) => event(None, data),
            AnswerStep::Events(several) => several.iter().map(|data| event(None, data)).collect(),
            AnswerStep::Named(name, data) => event(Some(name), data),
            AnswerStep::Json(json) => json.to_string(),
            AnswerStep::Repeat(times, text) => text.repeat(*times),
            AnswerStep::Lines(documents) => documents
                .iter()
                .map(|document| format!("{document}\n"))
                .collect(),
            AnswerStep::AwsEvent(kind, payload) => {
                return Ok(Some(wire_bytes::aws_message("event", kind, payload)));
            }
            AnswerStep::AwsException(kind, payload) => {
                return Ok(Some(wire_bytes::aws_message("exception", kind, payload)));
            }
            AnswerStep::AwsCorrupt(kind, payload) => {
                let mut bytes = wire_bytes::aws_message("event", kind, payload).to_vec();
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                }
                return Ok(Some(Bytes::from(bytes)));
            }
            AnswerStep::AwsChunk(model_event) => {
                let chunk = wire_bytes::wrapped_in_base64(model_event);
                return Ok(Some(wire_bytes::aws_message("event", "chunk", &chunk)));
            }
            AnswerStep::Grpc(digits) => {
                return Ok(Some(wire_bytes::grpc_message(0, &from_hex(digits)?)));
            }
            AnswerStep::GrpcCompressed(digits) => {
                return Ok(Some(wire_bytes::grpc_message(1, &from_hex(digits)?)));
            }
            AnswerStep::Hex(digits) => return Ok(Some(Bytes::from(from_hex(digits)?))),
        };
        Ok(Some(Bytes::from(text)))
    }
}

/// A server-sent event; data that is a string stands as it is, such as `[DONE]`.
fn event(name: Option<&str>, data: &Value) -> String {
    let name = name
        .map(|name| format!("event: {name}\n"))
        .unwrap_or_default();
    let data = data
        .as_str()
        .map_or_else(|| data.to_string(), str::to_owned);
    format!("{name}data: {data}\n\n")
}

fn from_hex(digits: &str) -> Result<Vec<u8>> {
    let digits: Vec<u32> = digits
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16).context("no hexadecimal digit"))
        .collect::<Result<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Ok(u8::try_from(high * 16 + low)?),
            _ => bail!("an odd number of hexadecimal digits"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_loads_and_says_what_it_is_about() {
        let scenarios = load().unwrap();
        assert!(scenarios.len() >= 50, "only {} scenarios", scenarios.len());
        for scenario in scenarios {
            assert!(
                scenario.about.ends_with('.'),
                "{} is about nothing",
                scenario.name
            );
        }
    }

    #[test]
    fn every_step_has_its_bytes() {
        fn check(step: &str, bytes: &str) {
            let step: AnswerStep = serde_json::from_str(step).unwrap();
            assert_eq!(step.bytes().unwrap().unwrap(), bytes.as_bytes());
        }
        check(r#"{"event": {"a": 1}}"#, "data: {\"a\":1}\n\n");
        check(r#"{"event": "[DONE]"}"#, "data: [DONE]\n\n");
        check(r#"{"events": [1, 2]}"#, "data: 1\n\ndata: 2\n\n");
        check(r#"{"named": ["ping", {}]}"#, "event: ping\ndata: {}\n\n");
        check(r#"{"hex": "41 4a"}"#, "AJ");
        check(r#"{"repeat": [3, "ab"]}"#, "ababab");
        let odd: AnswerStep = serde_json::from_str(r#"{"hex": "414"}"#).unwrap();
        assert!(odd.bytes().is_err());
    }
}
