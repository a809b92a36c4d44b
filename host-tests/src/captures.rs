//! Loads the recordings of real servers in `testdata/captures`, with what an independent decoder says of them.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use serde::Deserialize;

use crate::{
    http1_message::{BodyDecoder, Head},
    module::workspace_root,
};

/// The folders that hold HTTP exchanges.
pub const GROUPS: [&str; 7] = [
    "vllm",
    "vllm-features",
    "vllm-tools",
    "vllm-embed",
    "sglang",
    "llamacpp",
    "llama-cpp-python",
];

/// A silence longer than this is shortened to [`SHORTENED`]: one recording holds 18 s of a compiler at work.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
const SHORTENED: Duration = Duration::from_secs(1);

/// One recorded connection.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its folder and case, with a slash between.
    pub name: String,
    /// The exchanges on it, in order.
    pub exchanges: Vec<Recorded>,
    /// All requests were written at once.
    pub pipelined: bool,
}

/// One recorded exchange.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The request, head and body, as it was sent.
    pub request: Bytes,
    /// The answer in the pieces in which it came.
    pub pieces: Vec<Piece>,
    /// How the server ended it.
    pub end: RecordedEnd,
    /// What an observer has to say of it.
    pub expected: Expected,
}

/// One piece of an answer, as one `recv` gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How long after the request it came.
    pub at: Duration,
    /// Its bytes, framing and all.
    pub bytes: Bytes,
    /// How long the body is with it, framing removed.
    pub body_bytes: u64,
}

/// How a recorded exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedEnd {
    /// The connection stayed open.
    KeptAlive,
    /// The server closed it.
    ServerClosed,
    /// The client left.
    ClientLeft,
}

/// One exchange as the independent decoder reads it; its own page defines the fields.
#[derive(Clone, Debug, Deserialize)]
#[allow(
    missing_docs,
    reason = "defined on the page of the decoder, which writes them"
)]
pub struct Expected {
    pub method: String,
    pub path: String,
    pub status: Option<u16>,
    pub watched: bool,
    pub skip_reason: Option<String>,
    #[serde(default)]
    pub client_abort: bool,
    pub api: Option<String>,
    pub operation: Option<String>,
    pub request_model: Option<String>,
    pub response_model: Option<String>,
    pub stream: Option<bool>,
    pub outcome: Option<String>,
    pub finish_reason: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub usage_source: Option<String>,
    pub usage_status: Option<String>,
    pub output_events: Option<u64>,
    pub first_token_chunk: Option<u64>,
    pub first_token_offset: Option<u64>,
    pub first_visible_token_offset: Option<u64>,
}

#[derive(Deserialize)]
struct TimingLine {
    t: f64,
    off: usize,
    len: usize,
    #[serde(default)]
    req: usize,
}

#[derive(Deserialize)]
struct IndexEntry {
    end: String,
}

/// Every capture of the given folders, in the order of their names.
///
/// # Errors
///
/// When a file is missing or does not fit the others, with its name.
pub fn load(groups: &[&str]) -> Result<Vec<Capture>> {
    let root = workspace_root().join("testdata/captures");
    let expected: BTreeMap<String, Vec<Expected>> = read_json(&root.join("expected.json"))?;
    let mut captures = Vec::new();
    for group in groups {
        let folder = root.join(group);
        let index: BTreeMap<String, IndexEntry> = read_json(&folder.join("index.json"))?;
        for (name, expected) in &expected {
            let Some(case) = name.strip_prefix(&format!("{group}/")) else {
                continue;
            };
            // The index leaves out what was recorded by hand, all of it on connections that stayed open.
            let end = index
                .get(case)
                .map_or("kept-alive", |entry| entry.end.as_str());
            let capture = load_one(&folder, case, end, expected)
                .with_context(|| format!("capture {name}"))?;
            captures.push(Capture {
                name: name.clone(),
                ..capture
            });
        }
    }
    Ok(captures)
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot understand {}", path.display()))
}

fn load_one(folder: &Path, case: &str, end: &str, expected: &[Expected]) -> Result<Capture> {
    let read = |suffix: &str| {
        let path = folder.join(format!("{case}.{suffix}"));
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let requests = split_requests(&read("request")?)?;
    if requests.len() != expected.len() {
        bail!(
            "{} requests, but {} are expected",
            requests.len(),
            expected.len()
        );
    }
    let timing = String::from_utf8(read("timing.jsonl")?)?;
    let timing: Vec<TimingLine> = timing
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let pipelined = requests.len() > 1 && timing.iter().all(|line| line.req == 0);
    let mut answers = Answers {
        bytes: read("response")?,
        timing: &timing,
        taken: 0,
        pipelined,
    };
    let mut exchanges = Vec::new();
    let last = requests.len().saturating_sub(1);
    for (number, (request, expected)) in requests.into_iter().zip(expected).enumerate() {
        let method = Head::parse(&request)
            .unwrap_or_default()
            .method()
            .to_owned();
        let pieces = answers.next(number, &method)?;
        let end = match end {
            "client-abort" => RecordedEnd::ClientLeft,
            "server-close" | "eof" if number == last => RecordedEnd::ServerClosed,
            // A server that closes after the first of two answers shows in the missing second one.
            _ => RecordedEnd::KeptAlive,
        };
        exchanges.push(Recorded {
            request,
            pieces,
            end,
            expected: expected.clone(),
        });
    }
    if answers.taken != answers.bytes.len() {
        bail!(
            "{} bytes of the answer belong to no request",
            answers.bytes.len() - answers.taken
        );
    }
    Ok(Capture {
        name: String::new(),
        exchanges,
        pipelined,
    })
}

/// Cuts what the client sent into requests.
fn split_requests(bytes: &[u8]) -> Result<Vec<Bytes>> {
    let mut requests = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let head = Head::parse(rest).context("a request without a head")?;
        let body = rest.get(head.raw.len()..).unwrap_or_default();
        let taken = BodyDecoder::new(head.request_framing()).push(body, &mut Vec::new());
        let (request, behind) = rest.split_at(head.raw.len() + taken);
        requests.push(Bytes::copy_from_slice(request));
        rest = behind;
    }
    Ok(requests)
}

/// What the server sent, to be cut into answers and each answer into the pieces in which it came.
struct Answers<'a> {
    bytes: Vec<u8>,
    timing: &'a [TimingLine],
    taken: usize,
    pipelined: bool,
}

impl Answers<'_> {
    fn next(&mut self, number: usize, method: &str) -> Result<Vec<Piece>> {
        let mut message = Message::new(method);
        let mut pieces = Vec::new();
        let mut previous = Duration::ZERO;
        let mut shift = Duration::ZERO;
        let lines = self
            .timing
            .iter()
            .filter(|line| self.pipelined || line.req == number);
        for line in lines {
            let end = line.off + line.len;
            if end <= self.taken || message.is_complete() {
                continue;
            }
            let bytes = self
                .bytes
                .get(self.taken..end)
                .context("a piece beyond the answer")?;
            let used = message.push(bytes);
            let at = Duration::from_secs_f64(line.t.max(0.0));
            let silence = at.saturating_sub(previous);
            if silence > LONGEST_SILENCE {
                shift += silence - SHORTENED;
            }
            previous = at;
            let bytes = Bytes::copy_from_slice(bytes.get(..used).unwrap_or_default());
            self.taken += used;
            pieces.push(Piece {
                at: at - shift,
                bytes,
                body_bytes: message.body.len() as u64,
            });
        }
        Ok(pieces)
    }
}

/// One answer with the interim ones before it.
struct Message {
    method: String,
    head: Vec<u8>,
    decoder: Option<BodyDecoder>,
    body: Vec<u8>,
}

impl Message {
    fn new(method: &str) -> Message {
        Message {
            method: method.to_owned(),
            head: Vec::new(),
            decoder: None,
            body: Vec::new(),
        }
    }

    fn is_complete(&self) -> bool {
        self.decoder.as_ref().is_some_and(BodyDecoder::is_complete)
    }

    /// Takes bytes up to the end of the answer; gives how many were taken.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while self.decoder.is_none() {
            let Some(byte) = bytes.get(taken) else {
                return taken;
            };
            self.head.push(*byte);
            taken += 1;
            if let Some(head) = Head::parse(&self.head) {
                self.head.clear();
                if head.status() >= 200 {
                    self.decoder = Some(BodyDecoder::new(head.response_framing(&self.method)));
                }
            }
        }
        let rest = bytes.get(taken..).unwrap_or_default();
        let more = self
            .decoder
            .as_mut()
            .map_or(0, |decoder| decoder.push(rest, &mut self.body));
        taken + more
    }
}

impl Recorded {
    /// The index of the piece that completes the first `offset` bytes of the body.
    #[must_use]
    pub fn piece_with(&self, offset: u64) -> Option<usize> {
        self.pieces
            .iter()
            .position(|piece| piece.body_bytes >= offset)
    }

    /// How many pieces with body bytes come before the piece of this index.
    #[must_use]
    pub fn body_pieces_before(&self, index: usize) -> u64 {
        let mut previous = 0;
        let mut count = 0;
        for piece in self.pieces.iter().take(index) {
            if piece.body_bytes > previous {
                count += 1;
            }
            previous = piece.body_bytes;
        }
        count
    }

    /// How long the body is.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.body_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_loads_and_every_byte_of_it_is_used() {
        let captures = load(&GROUPS).unwrap();
        let requests = GROUPS.map(|group| {
            let folder = workspace_root().join("testdata/captures").join(group);
            let files = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            files
                .filter(|path| path.extension().is_some_and(|kind| kind == "request"))
                .count()
        });
        assert_eq!(captures.len(), requests.iter().sum::<usize>());
        let exchanges: usize = captures.iter().map(|capture| capture.exchanges.len()).sum();
        assert_eq!(exchanges, 199);
        let left = captures.iter().flat_map(|capture| &capture.exchanges);
        let left = left
            .filter(|one| one.end == RecordedEnd::ClientLeft)
            .count();
        assert_eq!(left, 3);
    }

    #[test]
    fn the_decoders_first_token_chunk_is_the_one_that_holds_its_offset() {
        for capture in load(&GROUPS).unwrap() {
            for exchange in &capture.exchanges {
                let expected = &exchange.expected;
                let Some(offset) = expected.first_token_offset else {
                    assert_eq!(expected.first_token_chunk, None, "{}", capture.name);
                    continue;
                };
                let index = exchange.piece_with(offset).unwrap();
                let chunk = exchange.body_pieces_before(index);
                assert_eq!(Some(chunk), expected.first_token_chunk, "{}", capture.name);
            }
        }
    }

    #[test]
    fn the_one_long_silence_is_shortened() {
        let captures = load(&["vllm"]).unwrap();
        let name = "vllm/chat_stream_logprobs_cold_jit";
        let capture = captures
            .iter()
            .find(|capture| capture.name == name)
            .unwrap();
        let last = capture.exchanges[0].pieces.last().unwrap();
        assert!(last.at < Duration::from_secs(2), "{:?}", last.at);
    }
}
