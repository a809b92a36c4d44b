//! The cutting itself.

/// How many bytes stand before each message.
const HEAD_BYTES: usize = 5;
const COMPRESSED: u8 = 1;
const TRAILERS: u8 = 1 << 7;

/// What stands before a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Whether the message is compressed by itself.
    pub compressed: bool,
    /// Whether it is not a message but the trailers, as gRPC-Web sends them.
    pub trailers: bool,
    /// Its length in bytes.
    pub length: u32,
}

/// What is told of a body.
pub trait Sink {
    /// A message begins.
    fn begin(&mut self, head: FrameHead);
    /// The next bytes of the message.
    fn bytes(&mut self, bytes: &[u8]);
    /// The message is whole.
    fn end(&mut self);
}

/// Cuts one body, in whatever pieces it comes.
#[derive(Clone, Debug, Default)]
pub struct GrpcFrames {
    head: [u8; HEAD_BYTES],
    /// How much of the head has come.
    held: u8,
    /// How much of the message is still to come, once its head is whole.
    rest: u32,
}

impl GrpcFrames {
    /// At the beginning of a body.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: [0; HEAD_BYTES],
            held: 0,
            rest: 0,
        }
    }

    /// Whether the body may end here.
    #[must_use]
    pub const fn at_border(&self) -> bool {
        self.held == 0
    }

    /// How many bytes complete what is now being read, a head or a message: at least one.
    #[must_use]
    pub fn wants(&self) -> usize {
        let in_head = HEAD_BYTES.saturating_sub(usize::from(self.held));
        if in_head > 0 {
            in_head
        } else {
            usize::try_from(self.rest).unwrap_or(usize::MAX)
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let wanted = self.wants().min(rest.len());
            let (part, after) = rest.split_at_checked(wanted).unwrap_or((rest, &[]));
            rest = after;
            if usize::from(self.held) < HEAD_BYTES {
                self.push_head(part, sink);
            } else {
                sink.bytes(part);
                let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
                self.rest = self.rest.saturating_sub(length);
                self.end_if_whole(sink);
            }
        }
    }

    fn push_head(&mut self, part: &[u8], sink: &mut impl Sink) {
        for byte in part {
            if let Some(place) = self.head.get_mut(usize::from(self.held)) {
                *place = *byte;
                self.held = self.held.saturating_add(1);
            }
        }
        if usize::from(self.held) == HEAD_BYTES {
            let [flags, length @ ..] = self.head;
            self.rest = u32::from_be_bytes(length);
            sink.begin(FrameHead {
                compressed: flags & COMPRESSED != 0,
                trailers: flags & TRAILERS != 0,
                length: self.rest,
            });
            self.end_if_whole(sink);
        }
    }

    fn end_if_whole(&mut self, sink: &mut impl Sink) {
        if self.rest == 0 {
            self.held = 0;
            sink.end();
        }
    }
}
