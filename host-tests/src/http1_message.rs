//! Takes HTTP/1 messages apart byte by byte, so that a test sees what a library would tidy away.

/// The start line and header lines of a message, names and values as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The request line or the status line.
    pub start_line: String,
    /// The header lines in order.
    pub headers: Vec<(String, String)>,
    /// All of it as it came, the empty line included.
    pub raw: Vec<u8>,
}

impl Head {
    /// Takes a head off the front of `bytes`; nothing until its empty line is there.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Head> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let raw = bytes.get(..end)?.to_vec();
        let text: String = raw.iter().copied().map(char::from).collect();
        let mut lines = text.split("\r\n");
        let start_line = lines.next()?.to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        Some(Head {
            start_line,
            headers,
            raw,
        })
    }

    /// The first value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The status of a response; 0 where the start line holds none.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.start_line
            .split(' ')
            .nth(1)
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    }

    /// The method of a request.
    #[must_use]
    pub fn method(&self) -> &str {
        self.start_line.split(' ').next().unwrap_or_default()
    }

    /// How the body of this request is framed.
    #[must_use]
    pub fn request_framing(&self) -> Framing {
        self.declared_framing().unwrap_or(Framing::Length(0))
    }

    /// How the body of this response is framed, given the method it answers.
    #[must_use]
    pub fn response_framing(&self, method: &str) -> Framing {
        let status = self.status();
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            return Framing::Length(0);
        }
        self.declared_framing().unwrap_or(Framing::UntilClose)
    }

    fn declared_framing(&self) -> Option<Framing> {
        let encoding = self.header("transfer-encoding").unwrap_or_default();
        if encoding.to_ascii_lowercase().contains("chunked") {
            return Some(Framing::Chunked);
        }
        self.header("content-length")?
            .parse()
            .ok()
            .map(Framing::Length)
    }
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By a length.
    Length(u64),
    /// By a last chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// Takes the framing off a body, however its bytes are cut.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
    line: Vec<u8>,
    /// The trailer lines of a chunked body, in order.
    pub trailers: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Counted(u64),
    Unbounded,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailers,
    Done,
    Broken,
}

impl BodyDecoder {
    /// A decoder at the first byte of a body.
    #[must_use]
    pub fn new(framing: Framing) -> BodyDecoder {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Counted(length),
            Framing::Chunked => State::ChunkSize,
            Framing::UntilClose => State::Unbounded,
        };
        BodyDecoder {
            state,
            line: Vec::new(),
            trailers: Vec::new(),
        }
    }

    /// Appends the content in `bytes` to `content` and gives how many bytes belonged to this body.
    pub fn push(&mut self, bytes: &[u8], content: &mut Vec<u8>) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            let step = match self.state {
                State::Done | State::Broken => break,
                State::Unbounded => {
                    content.extend_from_slice(rest);
                    rest.len()
                }
                State::Counted(left) => {
                    let (step, left) = take_counted(rest, left, content);
                    self.state = if left == 0 {
                        State::Done
                    } else {
                        State::Counted(left)
                    };
                    step
                }
                State::ChunkData(left) => {
                    let (step, left) = take_counted(rest, left, content);
                    self.state = if left == 0 {
                        State::ChunkEnd
                    } else {
                        State::ChunkData(left)
                    };
                    step
                }
                State::ChunkSize | State::ChunkEnd | State::Trailers => self.take_line(rest),
            };
            taken += step;
        }
        taken
    }

    /// Takes bytes up to the end of a framing line and acts on the line once it is whole.
    fn take_line(&mut self, rest: &[u8]) -> usize {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            self.line.extend_from_slice(rest);
            return rest.len();
        };
        self.line.extend(rest.iter().take(end + 1));
        let line: String = self.line.drain(..).map(char::from).collect();
        let line = line.trim_end();
        self.state = match self.state {
            State::ChunkEnd if line.is_empty() => State::ChunkSize,
            State::ChunkSize => {
                let digits = line.split(';').next().unwrap_or_default().trim();
                match u64::from_str_radix(digits, 16) {
                    Ok(0) => State::Trailers,
                    Ok(size) => State::ChunkData(size),
                    Err(_) => State::Broken,
                }
            }
            State::Trailers if line.is_empty() => State::Done,
            State::Trailers => {
                if let Some((name, value)) = line.split_once(':') {
                    self.trailers
                        .push((name.to_owned(), value.trim().to_owned()));
                }
                State::Trailers
            }
            _ => State::Broken,
        };
        end + 1
    }

    /// Whether the body has ended by its own framing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    /// Whether only the end of the connection can end it.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        self.state == State::Unbounded
    }
}

/// Moves at most `left` bytes; gives how many and what is then left.
fn take_counted(rest: &[u8], left: u64, content: &mut Vec<u8>) -> (usize, u64) {
    let step = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
    content.extend(rest.iter().take(step));
    (step, left - step as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKED: &[u8] = b"5\r\nhello\r\n3;ext=1\r\n, w\r\n0\r\nX-Sum: 8\r\n\r\n";

    #[test]
    fn a_chunked_body_is_the_same_however_it_is_cut() {
        for cut in 0..CHUNKED.len() {
            let mut decoder = BodyDecoder::new(Framing::Chunked);
            let mut content = Vec::new();
            let (first, second) = CHUNKED.split_at(cut);
            assert_eq!(decoder.push(first, &mut content), first.len());
            assert!(!decoder.is_complete());
            assert_eq!(decoder.push(second, &mut content), second.len());
            assert!(decoder.is_complete(), "cut at {cut}");
            assert_eq!(content, b"hello, w");
            assert_eq!(decoder.trailers, [("X-Sum".to_owned(), "8".to_owned())]);
        }
    }

    #[test]
    fn bytes_behind_the_body_are_left() {
        let mut decoder = BodyDecoder::new(Framing::Length(3));
        let mut content = Vec::new();
        assert_eq!(decoder.push(b"abcGET /", &mut content), 3);
        assert!(decoder.is_complete());
        let mut decoder = BodyDecoder::new(Framing::Chunked);
        let behind = [CHUNKED, b"HTTP/1.1"].concat();
        assert_eq!(decoder.push(&behind, &mut content), CHUNKED.len());
    }

    #[test]
    fn framing_follows_method_and_status() {
        fn check(head: &str, method: &str, framing: Framing) {
            let head = Head::parse(head.as_bytes()).unwrap();
            assert_eq!(head.response_framing(method), framing);
        }
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n",
            "GET",
            Framing::Length(7),
        );
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n",
            "HEAD",
            Framing::Length(0),
        );
        check(
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n",
            "GET",
            Framing::Length(0),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n",
            "POST",
            Framing::Chunked,
        );
        check("HTTP/1.1 200 OK\r\n\r\n", "GET", Framing::UntilClose);
    }

    #[test]
    fn a_head_is_parsed_only_when_whole() {
        assert_eq!(Head::parse(b"GET / HTTP/1.1\r\nHost: x\r\n"), None);
        let head = Head::parse(b"GET / HTTP/1.1\r\nHost: x\r\nA:\r\n\r\nrest").unwrap();
        assert_eq!(head.method(), "GET");
        assert_eq!(head.header("host"), Some("x"));
        assert_eq!(head.header("a"), Some(""));
        assert_eq!(head.raw, b"GET / HTTP/1.1\r\nHost: x\r\nA:\r\n\r\n");
        assert_eq!(head.request_framing(), Framing::Length(0));
    }
}
