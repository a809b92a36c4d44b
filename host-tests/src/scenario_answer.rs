//! The answer of a scenario: its head, and its body as steps that are turned into bytes.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    scenario_bytes::{self as wire_bytes, Coding, from_hex},
    scenario_protobuf::Message,
    scripted_upstream::Lines,
};

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
    /// The same, an error, which has a code and a message in its headers and no payload.
    AwsError(String, String),
    /// A chunk of Bedrock's invoke stream, which holds this JSON in base64.
    AwsChunk(Value),
    /// A gRPC message.
    Grpc(Message),
    /// The same, said to be compressed by itself.
    GrpcCompressed(Message),
    /// The trailers of gRPC-Web, which are a message of the body.
    GrpcWebTrailers(BTreeMap<String, String>),
    /// The bytes of several steps in one piece.
    Together(Vec<AnswerStep>),
    /// The bytes of a step in two pieces.
    Cut {
        /// How many bytes the first piece has.
        after: usize,
        /// Milliseconds between the pieces.
        wait: u64,
        /// The step.
        of: Box<AnswerStep>,
    },
    /// The beginning of a step: its other bytes never come.
    Only {
        /// How many bytes come.
        bytes: usize,
        /// The step.
        of: Box<AnswerStep>,
    },
    /// A step with a wrong bit.
    Flip {
        /// In which byte; a negative number counts from the end.
        at: isize,
        /// The step.
        of: Box<AnswerStep>,
    },
    /// Trailer lines; nothing may follow.
    Trailers(BTreeMap<String, String>),
}

/// What the steps of an answer come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A pause.
    Wait(Duration),
    /// A piece of the body.
    Data(Bytes),
    /// Trailer lines.
    Trailers(Lines),
}

fn ok() -> u16 {
    200
}

impl Answer {
    /// Refuses what no runner could play.
    ///
    /// # Errors
    ///
    /// When a step cannot be turned into bytes.
    pub(crate) fn check(&self) -> Result<()> {
        for step in &self.steps {
            step.parts()?;
        }
        Ok(())
    }

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

    /// What is sent after the head, in order; the coding is done.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = self
            .steps
            .iter()
            .flat_map(|step| step.parts().unwrap_or_default())
            .collect();
        if let Some(coding) = self.coding {
            let mut pieces: Vec<&mut Bytes> = parts
                .iter_mut()
                .filter_map(|part| match part {
                    Part::Data(bytes) => Some(bytes),
                    Part::Wait(_) | Part::Trailers(_) => None,
                })
                .collect();
            wire_bytes::compress(coding, &mut pieces);
        }
        parts
    }

    /// The trailer lines, where there are any.
    #[must_use]
    pub fn trailers(&self) -> Option<Lines> {
        self.parts().into_iter().find_map(|part| match part {
            Part::Trailers(lines) => Some(lines),
            Part::Wait(_) | Part::Data(_) => None,
        })
    }

    /// The pieces of the body, each with how long after the head it comes.
    #[must_use]
    pub fn pieces(&self) -> Vec<(Duration, Bytes)> {
        let mut at = Duration::ZERO;
        let mut pieces = Vec::new();
        for part in self.parts() {
            match part {
                Part::Wait(pause) => at += pause,
                Part::Data(bytes) => pieces.push((at, bytes)),
                Part::Trailers(_) => {}
            }
        }
        pieces
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

impl AnswerStep {
    fn parts(&self) -> Result<Vec<Part>> {
        Ok(match self {
            AnswerStep::Wait(milliseconds) => {
                vec![Part::Wait(Duration::from_millis(*milliseconds))]
            }
            AnswerStep::Trailers(lines) => {
                vec![Part::Trailers(lines.clone().into_iter().collect())]
            }
            AnswerStep::Cut { after, wait, of } => {
                let mut rest = of.bytes()?;
                ensure!(*after < rest.len(), "a cut behind the end");
                let first = rest.split_to(*after);
                vec![
                    Part::Data(first),
                    Part::Wait(Duration::from_millis(*wait)),
                    Part::Data(rest),
                ]
            }
            _ => vec![Part::Data(self.bytes()?)],
        })
    }

    /// The bytes of a step that is one piece.
    fn bytes(&self) -> Result<Bytes> {
        let text = match self {
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
            _ => return self.binary(),
        };
        Ok(Bytes::from(text))
    }

    /// The bytes of a step that is no text.
    fn binary(&self) -> Result<Bytes> {
        Ok(match self {
            AnswerStep::Hex(digits) => Bytes::from(from_hex(digits)?),
            AnswerStep::AwsEvent(kind, payload) => {
                wire_bytes::aws_message("event", &[(":event-type", kind)], &payload.to_string())
            }
            AnswerStep::AwsException(kind, payload) => {
                let headers = [(":exception-type", kind.as_str())];
                wire_bytes::aws_message("exception", &headers, &payload.to_string())
            }
            AnswerStep::AwsError(code, message) => {
                let headers = [(":error-code", code.as_str()), (":error-message", message)];
                wire_bytes::aws_message("error", &headers, "")
            }
            AnswerStep::AwsChunk(model_event) => {
                let chunk = wire_bytes::wrapped_in_base64(model_event).to_string();
                wire_bytes::aws_message("event", &[(":event-type", "chunk")], &chunk)
            }
            AnswerStep::Grpc(message) => wire_bytes::grpc_message(0, &message.bytes()?),
            AnswerStep::GrpcCompressed(message) => wire_bytes::grpc_message(1, &message.bytes()?),
            AnswerStep::GrpcWebTrailers(lines) => {
                let lines: String = lines
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}\r\n"))
                    .collect();
                wire_bytes::grpc_message(0x80, lines.as_bytes())
            }
            AnswerStep::Together(steps) => {
                let pieces: Vec<Bytes> =
                    steps.iter().map(AnswerStep::bytes).collect::<Result<_>>()?;
                Bytes::from(pieces.concat())
            }
            AnswerStep::Only { bytes, of } => {
                let mut beginning = of.bytes()?;
                ensure!(*bytes < beginning.len(), "all of a step is no beginning");
                beginning.truncate(*bytes);
                beginning
            }
            AnswerStep::Flip { at, of } => {
                let mut bytes = of.bytes()?.to_vec();
                let length = isize::try_from(bytes.len())?;
                let index = if *at < 0 { length + at } else { *at };
                let byte = usize::try_from(index)
                    .ok()
                    .and_then(|index| bytes.get_mut(index))
                    .context("no byte to flip there")?;
                *byte ^= 1;
                Bytes::from(bytes)
            }
            _ => anyhow::bail!("a pause, a cut or trailers inside of another step"),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(json: &str) -> AnswerStep {
        serde_json::from_str(json).unwrap()
    }

    fn check(json: &str, bytes: &[u8]) {
        assert_eq!(step(json).bytes().unwrap(), bytes, "{json}");
    }

    #[test]
    fn every_step_has_its_bytes() {
        check(r#"{"event": {"a": 1}}"#, b"data: {\"a\":1}\n\n");
        check(r#"{"event": "[DONE]"}"#, b"data: [DONE]\n\n");
        check(r#"{"events": [1, 2]}"#, b"data: 1\n\ndata: 2\n\n");
        check(r#"{"named": ["ping", {}]}"#, b"event: ping\ndata: {}\n\n");
        check(r#"{"lines": [{"a": 1}, {}]}"#, b"{\"a\":1}\n{}\n");
        check(r#"{"hex": "41 4a"}"#, b"AJ");
        check(r#"{"repeat": [3, "ab"]}"#, b"ababab");
        check(
            r#"{"grpc": [[2, "text", "x"]]}"#,
            b"\x00\x00\x00\x00\x03\x12\x01x",
        );
        check(r#"{"grpc_compressed": "41"}"#, b"\x01\x00\x00\x00\x01A");
        check(
            r#"{"grpc_web_trailers": {"grpc-status": "0"}}"#,
            b"\x80\x00\x00\x00\x10grpc-status: 0\r\n",
        );
        check(r#"{"together": [{"text": "a"}, {"hex": "42"}]}"#, b"aB");
        check(r#"{"only": {"bytes": 2, "of": {"text": "abc"}}}"#, b"ab");
        check(r#"{"flip": {"at": -1, "of": {"text": "aa"}}}"#, b"a`");
        check(r#"{"flip": {"at": 0, "of": {"text": "aa"}}}"#, b"`a");
    }

    #[test]
    fn a_step_that_cannot_be_is_refused() {
        for json in [
            r#"{"hex": "414"}"#,
            r#"{"hex": "4x"}"#,
            r#"{"cut": {"after": 3, "wait": 1, "of": {"text": "abc"}}}"#,
            r#"{"only": {"bytes": 3, "of": {"text": "abc"}}}"#,
            r#"{"flip": {"at": -4, "of": {"text": "abc"}}}"#,
            r#"{"together": [{"wait": 3}]}"#,
            r#"{"grpc": [[1, "text", 5]]}"#,
        ] {
            assert!(step(json).parts().is_err(), "{json}");
        }
    }

    #[test]
    fn an_aws_message_has_right_lengths_and_checksums() {
        let bytes = step(r#"{"aws_event": ["messageStop", {"a": 1}]}"#)
            .bytes()
            .unwrap();
        let word = |at: usize| {
            let word: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            u32::from_be_bytes(word)
        };
        assert_eq!(word(0) as usize, bytes.len());
        assert_eq!(word(8), crc32fast::hash(&bytes[..8]));
        let end = bytes.len() - 4;
        assert_eq!(word(end), crc32fast::hash(&bytes[..end]));
        assert_eq!(&bytes[12 + word(4) as usize..end], b"{\"a\":1}");
    }

    #[test]
    fn a_cut_step_comes_in_two_pieces_with_a_pause() {
        let answer: Answer = serde_json::from_str(
            r#"{"steps": [{"wait": 2}, {"cut": {"after": 1, "wait": 3, "of": {"text": "abc"}}}]}"#,
        )
        .unwrap();
        let milliseconds = Duration::from_millis;
        assert_eq!(
            answer.pieces(),
            [
                (milliseconds(2), Bytes::from_static(b"a")),
                (milliseconds(5), Bytes::from_static(b"bc")),
            ]
        );
    }

    #[test]
    fn every_coding_is_flushed_after_each_part() {
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let answer: Answer = serde_json::from_str(&format!(
                r#"{{"coding": "{coding}", "steps": [{{"text": "abcabc"}}, {{"wait": 3}}, {{"text": "def"}}]}}"#,
            ))
            .unwrap();
            let pieces = answer.pieces();
            assert_eq!(pieces.len(), 2, "{coding}");
            assert!(pieces.iter().all(|(_, bytes)| bytes.len() > 3), "{coding}");
        }
    }
}
