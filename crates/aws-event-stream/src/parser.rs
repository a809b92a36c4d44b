//! The cutting itself.

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use crate::headers::Headers;

/// How many bytes stand before the headers: two lengths and their checksum.
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;
const MAX_HEADER_BYTES: u32 = 128 << 10;
const MAX_PAYLOAD_BYTES: u32 = 24 << 20;

static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Whether a message is as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Its checksum is right.
    Intact,
    /// Its checksum is wrong: what was handed on of it is not to be believed.
    Corrupt,
}

/// Why nothing more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The checksum of a prelude is wrong.
    BadPrelude,
    /// The lengths of a message contradict each other or are beyond the limits.
    BadLength,
    /// The headers of a message do not fill their length, or have a type that the format does not know.
    BadHeaders,
    /// The stream ended inside a message.
    Truncated,
}

/// What is told of a stream.
pub trait Sink {
    /// A header that is a text; of its value at most 128 bytes. The headers come before the payload.
    fn header(&mut self, name: &[u8], value: &[u8]);
    /// The next bytes of the payload.
    fn payload(&mut self, bytes: &[u8]);
    /// The message is over.
    fn message_end(&mut self, integrity: Integrity);
    /// The message cannot be read, nor can anything after it.
    fn broken(&mut self, flaw: Flaw);
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Prelude,
    Headers,
    Payload,
    Checksum,
    Broken,
}

/// Cuts one stream, in whatever pieces it comes.
#[derive(Clone, Debug)]
pub struct EventStreamParser {
    part: Part,
    /// The prelude or the checksum, as far as it has come.
    held: [u8; PRELUDE_BYTES],
    held_len: usize,
    /// How much of the headers or the payload is still to come.
    left: u32,
    payload_bytes: u32,
    /// The checksum of the message up to here.
    sum: u32,
    headers: Headers,
}

impl Default for EventStreamParser {
    fn default() -> Self {
        Self::new()
    }
}

impl EventStreamParser {
    /// At the beginning of a stream.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            part: Part::Prelude,
            held: [0; PRELUDE_BYTES],
            held_len: 0,
            left: 0,
            payload_bytes: 0,
            sum: 0,
            headers: Headers::new(),
        }
    }

    /// How many bytes complete the part of a message that is now being read: at least one.
    #[must_use]
    pub fn wants(&self) -> usize {
        match self.part {
            Part::Prelude => PRELUDE_BYTES.saturating_sub(self.held_len),
            Part::Checksum => CHECKSUM_BYTES.saturating_sub(self.held_len),
            Part::Headers | Part::Payload => usize::try_from(self.left).unwrap_or(usize::MAX),
            Part::Broken => usize::MAX,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() && self.part != Part::Broken {
            let wanted = self.wants().min(rest.len());
            let (part, after) = rest.split_at_checked(wanted).unwrap_or((rest, &[]));
            rest = after;
            match self.part {
                Part::Prelude => self.prelude(part, sink),
                Part::Headers => self.headers(part, sink),
                Part::Payload => self.payload(part, sink),
                Part::Checksum => self.checksum(part, sink),
                Part::Broken => {}
            }
        }
    }

    /// Ends the stream.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        let at_border = self.part == Part::Prelude && self.held_len == 0;
        if !at_border && self.part != Part::Broken {
            self.breaks(Flaw::Truncated, sink);
        }
    }

    fn prelude(&mut self, part: &[u8], sink: &mut impl Sink) {
        self.hold(part);
        if self.held_len < PRELUDE_BYTES {
            return;
        }
        let [t0, t1, t2, t3, h0, h1, h2, h3, c0, c1, c2, c3] = self.held;
        self.held_len = 0;
        let stated = u32::from_be_bytes([c0, c1, c2, c3]);
        if CRC.checksum(&[t0, t1, t2, t3, h0, h1, h2, h3]) != stated {
            return self.breaks(Flaw::BadPrelude, sink);
        }
        let total = u32::from_be_bytes([t0, t1, t2, t3]);
        let header_bytes = u32::from_be_bytes([h0, h1, h2, h3]);
        let payload_bytes = total
            .checked_sub(header_bytes)
            .and_then(|rest| rest.checked_sub(16));
        match payload_bytes {
            Some(bytes) if bytes <= MAX_PAYLOAD_BYTES && header_bytes <= MAX_HEADER_BYTES => {
                self.payload_bytes = bytes;
            }
            _ => return self.breaks(Flaw::BadLength, sink),
        }
        self.sum = 0;
        let prelude = self.held;
        self.add(&prelude);
        self.headers = Headers::new();
        self.part = Part::Headers;
        self.left = header_bytes;
        self.go_on(sink);
    }

    fn headers(&mut self, part: &[u8], sink: &mut impl Sink) {
        self.add(part);
        if self.headers.push(part, sink).is_err() {
            return self.breaks(Flaw::BadHeaders, sink);
        }
        self.used(part, sink);
    }

    fn payload(&mut self, part: &[u8], sink: &mut impl Sink) {
        self.add(part);
        sink.payload(part);
        self.used(part, sink);
    }

    fn used(&mut self, part: &[u8], sink: &mut impl Sink) {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(length);
        self.go_on(sink);
    }

    /// Goes on to the next part that is not empty, if this one is whole.
    fn go_on(&mut self, sink: &mut impl Sink) {
        if self.part == Part::Headers && self.left == 0 {
            if !self.headers.at_border() {
                return self.breaks(Flaw::BadHeaders, sink);
            }
            self.part = Part::Payload;
            self.left = self.payload_bytes;
        }
        if self.part == Part::Payload && self.left == 0 {
            self.part = Part::Checksum;
        }
    }

    fn checksum(&mut self, part: &[u8], sink: &mut impl Sink) {
        self.hold(part);
        if self.held_len < CHECKSUM_BYTES {
            return;
        }
        let [c0, c1, c2, c3, ..] = self.held;
        let is_intact = u32::from_be_bytes([c0, c1, c2, c3]) == self.sum;
        self.held_len = 0;
        self.part = Part::Prelude;
        sink.message_end(if is_intact {
            Integrity::Intact
        } else {
            Integrity::Corrupt
        });
    }

    fn hold(&mut self, part: &[u8]) {
        for byte in part {
            if let Some(place) = self.held.get_mut(self.held_len) {
                *place = *byte;
                self.held_len = self.held_len.saturating_add(1);
            }
        }
    }

    /// Takes bytes into the message's checksum.
    fn add(&mut self, bytes: &[u8]) {
        // The sum so far, taken back to what the algorithm holds inside; for a sum of zero that is its beginning.
        let mut digest = CRC.digest_with_initial((!self.sum).reverse_bits());
        digest.update(bytes);
        self.sum = digest.finalize();
    }

    fn breaks(&mut self, flaw: Flaw, sink: &mut impl Sink) {
        self.part = Part::Broken;
        sink.broken(flaw);
    }
}
