//! Reads the recorded exchanges of real servers: HTTP is decoded here, so that the observer sees what a proxy shows it.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the recordings from their files"
)]

use std::path::{Path, PathBuf};

use request_observer::{
    Ending, RequestHead, RequestObserver, RequestRecord, ResponseHead, Settings, SkipReason, Stamp,
};

/// The servers whose recordings are watched.
pub(crate) const SERVERS: [&str; 7] = [
    "vllm",
    "vllm-features",
    "vllm-tools",
    "vllm-embed",
    "sglang",
    "llamacpp",
    "llama-cpp-python",
];

/// One request and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The file's path below the recordings, without its ending.
    pub(crate) name: String,
    /// Which exchange on its connection it is.
    pub(crate) position: usize,
    pub(crate) request: Message,
    /// The answer, if the server gave one.
    pub(crate) response: Option<Message>,
    /// The answer's body as the client's system calls brought it, without the empty ones.
    pub(crate) received: Vec<Vec<u8>>,
    /// Whether the client is recorded to have left.
    pub(crate) client_left: bool,
}

/// One side of an exchange.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) start_line: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The body as its sender cut it, each piece with its place in the recording.
    pub(crate) chunks: Vec<(usize, Vec<u8>)>,
    /// Whether the body came to its end.
    pub(crate) is_whole: bool,
}

impl Exchange {
    /// The answer's status.
    pub(crate) fn status(&self) -> Option<u16> {
        self.response.as_ref()?.word(1).parse().ok()
    }

    /// The answer's whole body.
    pub(crate) fn answer(&self) -> Vec<u8> {
        self.response
            .as_ref()
            .map(Message::body)
            .unwrap_or_default()
    }
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> &str {
        let header = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map_or("", |(_, value)| value)
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks
            .iter()
            .flat_map(|(_, chunk)| chunk)
            .copied()
            .collect()
    }

    fn word(&self, position: usize) -> &str {
        self.start_line.split(' ').nth(position).unwrap_or_default()
    }
}

/// Every recorded exchange of the servers, in order of their names.
pub(crate) fn exchanges() -> Vec<Exchange> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/captures");
    let mut exchanges = Vec::new();
    for server in SERVERS {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(server))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "request"))
        {
            let name = format!("{server}/{}", file.file_stem().unwrap().to_str().unwrap());
            exchanges.extend(decode(&name, file, &file.with_extension("response")));
        }
    }
    exchanges
}

fn decode(name: &str, request: &Path, response: &Path) -> Vec<Exchange> {
    let requests = messages(&std::fs::read(request).unwrap());
    let mut responses = messages(&std::fs::read(response).unwrap());
    responses.retain(|response| !response.word(1).starts_with('1'));
    let mut responses = responses.into_iter();
    let timing = std::fs::read_to_string(response.with_extension("timing.jsonl")).unwrap();
    let calls: Vec<(usize, usize)> = timing.lines().map(range).collect();
    let client_left = name.ends_with("client_abort_stream");
    let exchange = |(position, request)| {
        let response = responses.next();
        let received = response
            .as_ref()
            .map(|response| received(response, &calls))
            .unwrap_or_default();
        Exchange {
            name: name.to_owned(),
            position,
            request,
            response,
            received,
            client_left,
        }
    };
    requests.into_iter().enumerate().map(exchange).collect()
}

/// The bytes of a recording that one system call brought.
fn range(line: &str) -> (usize, usize) {
    let call: serde_json::Value = serde_json::from_str(line).unwrap();
    let number = |key: &str| usize::try_from(call[key].as_u64().unwrap()).unwrap();
    (number("off"), number("off") + number("len"))
}

fn received(response: &Message, calls: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let part_of_call = |&(from, to): &(usize, usize)| {
        let mut part = Vec::new();
        for (place, chunk) in &response.chunks {
            let start = from.max(*place) - place;
            let end = to.min(place + chunk.len()).saturating_sub(*place);
            part.extend_from_slice(chunk.get(start..end).unwrap_or_default());
        }
        part
    };
    calls
        .iter()
        .map(part_of_call)
        .filter(|part| !part.is_empty())
        .collect()
}

fn messages(bytes: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut place = 0;
    while place < bytes.len() {
        messages.push(message(bytes, &mut place));
    }
    messages
}

/// Reads the message at a place, and moves the place behind it.
fn message(bytes: &[u8], place: &mut usize) -> Message {
    let head_end = *place + find(&bytes[*place..], b"\r\n\r\n").expect("a head ends");
    let head = std::str::from_utf8(&bytes[*place..head_end]).unwrap();
    let mut lines = head.split("\r\n");
    let start_line = lines.next().unwrap().to_owned();
    let headers = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    *place = head_end + 4;
    let mut message = Message {
        start_line,
        headers,
        chunks: Vec::new(),
        is_whole: true,
    };
    let is_response = message.start_line.starts_with("HTTP/");
    if message
        .header("transfer-encoding")
        .eq_ignore_ascii_case("chunked")
    {
        chunked_body(&mut message, bytes, place);
    } else if let Ok(length) = message.header("content-length").parse::<usize>() {
        let end = bytes.len().min(*place + length);
        message.is_whole = end == *place + length;
        message.chunks.push((*place, bytes[*place..end].to_vec()));
        *place = end;
    } else if is_response && !message.word(1).starts_with('1') {
        message.chunks.push((*place, bytes[*place..].to_vec()));
        *place = bytes.len();
    }
    message
}

fn chunked_body(message: &mut Message, bytes: &[u8], place: &mut usize) {
    while let Some(line_length) = find(&bytes[*place..], b"\r\n") {
        let line = std::str::from_utf8(&bytes[*place..*place + line_length]).unwrap();
        let size = usize::from_str_radix(line.split(';').next().unwrap().trim(), 16).unwrap();
        let start = *place + line_length + 2;
        let end = bytes.len().min(start + size);
        *place = bytes.len().min(end + 2);
        if size == 0 {
            return;
        }
        message.chunks.push((start, bytes[start..end].to_vec()));
    }
    message.is_whole = false;
    *place = bytes.len();
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// Watches an exchange whose bodies come in the given pieces, all at one moment.
pub(crate) fn observe(
    exchange: &Exchange,
    request_pieces: &[&[u8]],
    response_pieces: &[&[u8]],
) -> Result<RequestRecord, SkipReason> {
    let settings = Settings {
        gap_bounds_nanos: vec![1_000_000, 10_000_000],
        ..Settings::default()
    };
    let request = &exchange.request;
    let head = RequestHead {
        method: request.word(0).as_bytes(),
        path: request.word(1).as_bytes(),
        content_type: request.header("content-type").as_bytes(),
        content_encoding: request.header("content-encoding").as_bytes(),
        upgrade: !request.header("upgrade").is_empty(),
    };
    let now = Stamp(1);
    let mut observer = RequestObserver::begin(&head, &settings, now)?;
    for piece in request_pieces {
        observer.request_body(piece, false, now);
    }
    observer.request_body(b"", request.is_whole, now);
    let Some(response) = &exchange.response else {
        // A proxy is told that the connection ended, and has no response to show.
        let ending = Ending {
            flags: 1 << 6,
            attempts: Some(1),
            known: true,
            ..Ending::default()
        };
        return Ok(observer.close(&ending, now).expect("one record"));
    };
    let status: u16 = response.word(1).parse().unwrap();
    let head = ResponseHead {
        status,
        content_type: response.header("content-type").as_bytes(),
        content_encoding: response.header("content-encoding").as_bytes(),
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, now, &settings);
    for piece in response_pieces {
        observer.response_body(piece, false, now, &settings);
    }
    if response.is_whole && !exchange.client_left {
        observer.response_body(b"", true, now, &settings);
    }
    let flags = if exchange.client_left { 1 << 14 } else { 0 };
    let details: &[u8] = if exchange.client_left {
        b"downstream_remote_disconnect"
    } else {
        b"via_upstream"
    };
    let ending = Ending {
        flags,
        code: Some(u64::from(status)),
        code_details: details,
        attempts: Some(1),
        known: true,
    };
    let record = observer.close(&ending, now).expect("one record");
    assert_eq!(
        observer.close(&ending, now),
        None,
        "{}: and no second one",
        exchange.name
    );
    Ok(record)
}
