//! Loads the scenarios of `testdata/scenarios`: one exchange each, and what an observer has to say of it.
//!
//! The same file runs three ways: its callbacks straight into the observer, its callbacks into the built module in
//! wasmtime, and as real HTTP through real Envoy.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    captures::Expected,
    module::workspace_root,
    scenario_answer::Answer,
    scenario_bytes::{self as wire_bytes, from_hex},
    scenario_protobuf::Message,
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
    /// The body in hexadecimal digits.
    pub hex: Option<String>,
    /// The body as one gRPC message.
    pub grpc: Option<Message>,
    /// The body is preceded by this many spaces.
    pub spaces_before: usize,
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
    /// The provider's name, where it is to be looked at.
    pub provider: Option<String>,
    /// What the server says of its own times.
    pub server: ServerTimes,
    /// What a load report says, by the observer's names for it, where the test of the observer itself is to look at it.
    pub load: BTreeMap<String, f64>,
}

/// Times that an answer's headers tell, in milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTimes {
    /// In the queue.
    pub queue_ms: Option<u64>,
    /// To the first token.
    pub first_token_ms: Option<u64>,
    /// Computing.
    pub processing_ms: Option<u64>,
    /// In the server, where the test of the observer itself is to look at it: no metric has it.
    pub total_ms: Option<u64>,
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
        for content_type in [self.request.headers.get("content-type").cloned().flatten()]
            .into_iter()
            .chain(self.answer.iter().map(|answer| answer.content_type.clone()))
            .flatten()
        {
            let is_web = content_type.starts_with("application/grpc-web");
            if content_type.starts_with("application/grpc") && !is_web && !self.http2_only {
                bail!("gRPC is spoken over HTTP/2 only");
            }
        }
        if let Some(digits) = &self.request.hex {
            from_hex(digits)?;
        }
        if let Some(message) = &self.request.grpc {
            message.bytes()?;
        }
        self.answer.as_ref().map_or(Ok(()), Answer::check)
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
        if let Some(digits) = &self.hex {
            return Bytes::from(from_hex(digits).unwrap_or_default());
        }
        if let Some(message) = &self.grpc {
            return wire_bytes::grpc_message(0, &message.bytes().unwrap_or_default());
        }
        let mut body = " ".repeat(self.spaces_before);
        if let Some(json) = &self.json {
            body.push_str(&json.to_string());
        }
        body.push_str(self.text.as_deref().unwrap_or_default());
        Bytes::from(body)
    }
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
}
