//! Makes a thousand and more different exchanges, the same ones for the same seed, for comparing two ways through a
//! proxy.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    scripted_upstream::{AnswerFraming, Gate, Lines, Script, Step},
    test_client::{Ask, Upload},
};

/// One exchange: what is asked, what the upstream does, and the gates that hold its pieces back.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What it is, for messages.
    pub kind: &'static str,
    /// The request.
    pub ask: Ask,
    /// The upstream's script.
    pub script: Script,
    /// The body that must reach the client.
    pub body: Bytes,
    /// One gate before each piece after the first, with the number of body bytes that the client must have
    /// before it opens.
    pub gates: Vec<(u64, Gate)>,
}

/// A small generator of numbers, so that a seed means the same in every version of every library.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// Begins anew from a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Numbers {
        Numbers(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(0x1234_5678_9ABC_DEF1),
        )
    }

    /// The next number (Marsaglia's xorshift64*).
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// One of several.
    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(usize::try_from(self.below(among.len().max(1) as u64)).unwrap_or(0))
    }

    /// Bytes of every value.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.draw().to_le_bytes())
            .flatten()
            .take(length)
            .collect()
    }
}

const PATHS: [&str; 6] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses?stream=1",
    "/v1/messages",
    "/v1/embeddings",
    "/anything/else",
];

/// How many kinds [`exchange`] knows; one seed after another goes through all of them.
pub const KINDS: u64 = 16;

/// The exchange of a seed, for HTTP/1 or HTTP/2.
#[must_use]
pub fn exchange(seed: u64, http2: bool) -> Exchange {
    let mut numbers = Numbers::seeded(seed);
    let mut made = match seed % KINDS {
        0 | 1 => stream(&mut numbers, false),
        2 => stream(&mut numbers, true),
        3 => bodiless("HEAD", 200, &mut numbers),
        4 => bodiless("POST", 204, &mut numbers),
        5 => bodiless("GET", 304, &mut numbers),
        6 => expecting(&mut numbers),
        7 if !http2 => old(&mut numbers),
        8 => uploading(&mut numbers, false),
        9 => uploading(&mut numbers, true),
        10 => compressed(&mut numbers),
        11 => binary(&mut numbers),
        12 => refused(&mut numbers),
        13 if !http2 => until_close(&mut numbers),
        14 => odd_headers(&mut numbers),
        _ => json(&mut numbers),
    };
    made.ask = made.ask.header("x-number", &seed.to_string());
    made.ask.limit = Duration::from_secs(60);
    made
}

/// A request and an answer of `length` bytes each.
#[must_use]
pub fn large(seed: u64, length: usize) -> Exchange {
    let mut numbers = Numbers::seeded(seed);
    let path = numbers.choose(&PATHS).copied().unwrap_or_default();
    let mut upload = b"{\"model\":\"m\",\"stream\":true,\"messages\":[\"".to_vec();
    upload.extend(std::iter::repeat_n(b'x', length));
    upload.extend_from_slice(b"\"]}");
    let piece = 1 << 20;
    let body = Bytes::from(numbers.bytes(length));
    let mut steps = vec![Step::event_stream()];
    steps.extend(
        (0..length)
            .step_by(piece)
            .map(|start| Step::Data(body.slice(start..(start + piece).min(length)))),
    );
    let mut ask = Ask::post(path, upload);
    ask.limit = Duration::from_secs(120);
    Exchange {
        kind: "large",
        ask,
        script: Script::new(steps),
        body,
        gates: Vec::new(),
    }
}

fn head(status: u16, content_type: &str, framing: AnswerFraming) -> Step {
    let headers = vec![
        ("content-type".to_owned(), content_type.to_owned()),
        ("X-Request-Cost".to_owned(), "12.5; unit=token".to_owned()),
    ];
    Step::Head {
        status,
        headers,
        framing,
    }
}

fn request(numbers: &mut Numbers, stream: bool) -> Ask {
    let path = numbers.choose(&PATHS).copied().unwrap_or_default();
    let padding = "word ".repeat(usize::try_from(numbers.below(200)).unwrap_or(0));
    let body = format!(
        "{{\"messages\":[{{\"content\":\"{padding}\"}}],\"model\":\"m\",\"stream\":{stream}}}"
    );
    Ask::post(path, body)
}

/// One event of a stream: of the right dialect, of a wrong one, or of none.
fn event(numbers: &mut Numbers, number: u64) -> String {
    let text = format!("token {number} ü");
    match numbers.below(5) {
        0 => format!(
            "data: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"{text}\"}}}}\n\n"
        ),
        1 => format!(": comment {number}\n\n"),
        2 => format!("event: x\r\ndata: {{\"choices\":[{{\"text\":\"{text}\"}}]}}\r\n\r\n"),
        _ => format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"),
    }
}

fn stream(numbers: &mut Numbers, trailers: bool) -> Exchange {
    let mut steps = vec![head(200, "text/event-stream", AnswerFraming::Chunked)];
    let mut body = Vec::new();
    let mut gates = Vec::new();
    for number in 0..2 + numbers.below(6) {
        if number > 0 {
            let gate = Gate::closed();
            steps.push(Step::Gate(gate.clone()));
            gates.push((body.len() as u64, gate));
        }
        let piece = event(numbers, number).into_bytes();
        body.extend_from_slice(&piece);
        steps.push(Step::Data(Bytes::from(piece)));
    }
    if trailers {
        steps.push(Step::Trailers(vec![("x-sum".to_owned(), "1".to_owned())]));
    }
    let kind = if trailers {
        "stream with trailers"
    } else {
        "stream"
    };
    let ask = request(numbers, true);
    Exchange {
        kind,
        ask,
        script: Script::new(steps),
        body: Bytes::from(body),
        gates,
    }
}

fn whole(kind: &'static str, ask: Ask, steps: Vec<Step>, body: Vec<u8>) -> Exchange {
    Exchange {
        kind,
        ask,
        script: Script::new(steps),
        body: Bytes::from(body),
        gates: Vec::new(),
    }
}

fn replied(
    kind: &'static str,
    ask: Ask,
    status: u16,
    content_type: &str,
    body: Vec<u8>,
) -> Exchange {
    let framing = AnswerFraming::Length(body.len() as u64);
    let data = Step::Data(Bytes::copy_from_slice(&body));
    whole(
        kind,
        ask,
        vec![head(status, content_type, framing), data],
        body,
    )
}

fn bodiless(method: &str, status: u16, numbers: &mut Numbers) -> Exchange {
    let path = numbers.choose(&PATHS).copied().unwrap_or_default();
    let mut ask = Ask::new(method, path).header("if-none-match", "\"x\"");
    let framing = match (method, status) {
        ("HEAD", _) => AnswerFraming::Length(numbers.below(1000)),
        _ => AnswerFraming::NoBody,
    };
    let kind = match status {
        204 => "204",
        304 => "304",
        _ => "HEAD",
    };
    if method == "POST" {
        ask.upload = Upload::Whole(Bytes::from_static(b"{\"model\":\"m\"}"));
    }
    whole(
        kind,
        ask,
        vec![head(status, "application/json", framing)],
        Vec::new(),
    )
}

fn answer_text(numbers: &mut Numbers) -> Vec<u8> {
    let text = "answer ".repeat(usize::try_from(numbers.below(3000)).unwrap_or(0));
    format!("{{\"choices\":[{{\"message\":{{\"content\":\"{text}\"}}}}],\"usage\":{{\"prompt_tokens\":1}}}}")
        .into_bytes()
}

fn json(numbers: &mut Numbers) -> Exchange {
    let ask = request(numbers, false);
    let body = answer_text(numbers);
    replied("json", ask, 200, "application/json", body)
}

fn expecting(numbers: &mut Numbers) -> Exchange {
    let ask = request(numbers, false).header("expect", "100-continue");
    let body = answer_text(numbers);
    replied("100-continue", ask, 200, "application/json", body)
}

fn old(numbers: &mut Numbers) -> Exchange {
    let mut ask = request(numbers, true);
    ask.http10 = true;
    let mut made = stream(numbers, false);
    made.ask = ask;
    made.kind = "HTTP/1.0";
    made
}

fn uploading(numbers: &mut Numbers, trailers: bool) -> Exchange {
    let mut ask = request(numbers, false);
    let mut pieces = vec![
        Bytes::from_static(b"{\"mod"),
        Bytes::from_static(b"el\":\"m\",\"messages\":\""),
    ];
    for _ in 0..numbers.below(20) {
        let length = usize::try_from(1 + numbers.below(9000)).unwrap_or(1);
        pieces.push(Bytes::from("y".repeat(length)));
    }
    pieces.push(Bytes::from_static(b"\"}"));
    ask.upload = if trailers {
        Upload::PiecesAndTrailers(pieces, vec![("x-checksum".to_owned(), "abc".to_owned())])
    } else {
        Upload::Pieces(pieces)
    };
    let body = answer_text(numbers);
    let kind = if trailers {
        "chunked upload with trailers"
    } else {
        "chunked upload"
    };
    replied(kind, ask, 200, "application/json", body)
}

fn compressed(numbers: &mut Numbers) -> Exchange {
    // The magic number of gzip and bytes behind it: what nobody decompresses need not be a real archive.
    let length = usize::try_from(numbers.below(20_000)).unwrap_or(0);
    let mut body = vec![0x1F, 0x8B, 8];
    body.extend(numbers.bytes(length));
    let ask = request(numbers, true).header("accept-encoding", "gzip");
    let mut made = replied("compressed", ask, 200, "text/event-stream", body);
    if let Some(Step::Head { headers, .. }) = made.script.steps.first_mut() {
        headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    made
}

fn binary(numbers: &mut Numbers) -> Exchange {
    let length = usize::try_from(numbers.below(100_000)).unwrap_or(0);
    let upload = numbers.bytes(length);
    let mut ask = request(numbers, false);
    ask.upload = Upload::Whole(Bytes::from(upload));
    let length = usize::try_from(numbers.below(100_000)).unwrap_or(0);
    let content_type = numbers.choose(&["application/json", "text/event-stream", "audio/mpeg"]);
    let content_type = content_type.copied().unwrap_or_default();
    let body = numbers.bytes(length);
    replied("binary", ask, 200, content_type, body)
}

fn refused(numbers: &mut Numbers) -> Exchange {
    let ask = request(numbers, true);
    let status = numbers
        .choose(&[400, 401, 404, 422, 429, 500, 503])
        .copied()
        .unwrap_or(400);
    let body = b"{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}".to_vec();
    replied("refused", ask, status, "application/json", body)
}

fn until_close(numbers: &mut Numbers) -> Exchange {
    let ask = request(numbers, false);
    let body = answer_text(numbers);
    let steps = vec![
        head(200, "application/json", AnswerFraming::Close),
        Step::Data(Bytes::copy_from_slice(&body)),
    ];
    whole("until close", ask, steps, body)
}

fn odd_headers(numbers: &mut Numbers) -> Exchange {
    let mut made = json(numbers);
    made.kind = "odd headers";
    // Characters from 128 on stand for single bytes that are no UTF-8.
    made.ask = made
        .ask
        .header("x-odd", "caf\u{e9} \u{ff}\u{80}")
        .header("x-empty", "");
    made.ask = made.ask.header("x-twice", "1").header("x-twice", "2");
    made.ask = made.ask.header("x-long", &"v".repeat(8000));
    if let Some(Step::Head { headers, .. }) = made.script.steps.first_mut() {
        let more: Lines = [
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("x-odd", "\u{fe}\u{ff}"),
            ("x-empty", ""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        headers.extend(more);
    }
    made
}
