//! The first message of a gRPC request, which says what is asked for.

use protobuf_scan::{Field, Scanner};

use crate::request_places::RequestPlace;
use crate::{PayloadState, RequestFacts};

/// How many bytes stand before a message: its flags and its length.
const HEAD_BYTES: usize = 5;

/// Reads the first message of a body, and passes over the others.
#[derive(Clone, Debug)]
pub(crate) struct FirstMessage {
    scanner: Scanner<RequestPlace>,
    head: [u8; HEAD_BYTES],
    held: usize,
    /// How much of the message has come.
    taken: u64,
}

impl FirstMessage {
    pub(crate) const fn new(fields: &'static [Field<RequestPlace>]) -> Self {
        Self {
            scanner: Scanner::new(fields),
            head: [0; HEAD_BYTES],
            held: 0,
            taken: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], facts: &mut RequestFacts) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first()
            && let Some(place) = self.head.get_mut(self.held)
        {
            *place = *first;
            self.held = self.held.saturating_add(1);
            rest = after;
        }
        let wanted = self.length().saturating_sub(self.taken);
        let wanted = usize::try_from(wanted)
            .unwrap_or(usize::MAX)
            .min(rest.len());
        let part = rest.get(..wanted).unwrap_or_default();
        self.taken = self
            .taken
            .saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
        // One that is compressed by itself is not read.
        if !self.is_compressed() {
            self.scanner.push(part, facts);
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.held == HEAD_BYTES && self.taken == self.length()
    }

    pub(crate) fn finish(&mut self, facts: &mut RequestFacts) -> PayloadState {
        if self.held == 0 {
            return PayloadState::Empty;
        }
        if !self.is_whole() {
            return PayloadState::Truncated;
        }
        if self.is_compressed() {
            return PayloadState::Complete;
        }
        match PayloadState::from(self.scanner.finish(facts)) {
            PayloadState::Empty => PayloadState::Complete,
            state => state,
        }
    }

    fn is_compressed(&self) -> bool {
        let [flags, ..] = self.head;
        flags & 1 != 0
    }

    fn length(&self) -> u64 {
        let [_, length @ ..] = self.head;
        if self.held == HEAD_BYTES {
            u64::from(u32::from_be_bytes(length))
        } else {
            u64::MAX
        }
    }
}
