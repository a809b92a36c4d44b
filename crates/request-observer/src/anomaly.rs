//! What can be odd about a request or its answer, counted by kind.

/// Something odd that was met and tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnomalyKind {
    /// An event of a stream was larger than the limit and was skipped.
    OversizedEvent,
    /// A payload that ought to be JSON was not.
    PayloadNotJson,
    /// A payload ended inside its JSON.
    PayloadTruncated,
    /// A payload was nested too deep to follow.
    PayloadTooDeep,
    /// A request body was not JSON, or nested too deep.
    RequestNotJson,
    /// A number of tokens was negative, broken or absurd, and was ignored.
    BadTokenNumber,
    /// A number in a request was negative, broken or absurd, and was ignored.
    BadRequestNumber,
    /// An answer stated its usage for more choices than are followed.
    TooManyChoices,
    /// A model's name was cut.
    CutText,
    /// A stamp lay before an earlier one.
    ClockBackwards,
    /// Bytes of an answer went by without being seen.
    BytesNotSeen,
    /// Bytes came after the end of the answer.
    BodyAfterEnd,
    /// A key stood twice in one object; the last one counted.
    DuplicateKey,
    /// A name held control characters or bytes that are no UTF-8, which were replaced.
    MendedText,
    /// A request body was empty, or JSON but no object.
    RequestNotObject,
    /// A header that is read was not printable ASCII, or a list where one value is expected.
    OddHeader,
    /// A header that tells of the inference had a value that cannot be.
    BadHeaderValue,
    /// More tokens were stated to be cached than were read.
    ImpossibleUsage,
    /// Output came after the event that ends a stream.
    OutputAfterEnd,
    /// A message of a stream had a wrong checksum and was dropped.
    CorruptMessage,
    /// The borders between the messages of a stream were lost, so nothing more of it was read.
    BrokenFraming,
    /// A message of a stream was compressed by itself and was not read.
    CompressedMessage,
    /// A compressed answer could not be decompressed.
    CompressionCorrupt,
    /// A compressed answer was given up because of its size, its density, its need of memory or the time it took.
    CompressionLimit,
}

impl AnomalyKind {
    /// Every kind, for tables and tests, in the order of [`AnomalyCounts`].
    pub const ALL: [Self; 24] = [
        Self::OversizedEvent,
        Self::PayloadNotJson,
        Self::PayloadTruncated,
        Self::PayloadTooDeep,
        Self::RequestNotJson,
        Self::BadTokenNumber,
        Self::BadRequestNumber,
        Self::TooManyChoices,
        Self::CutText,
        Self::ClockBackwards,
        Self::BytesNotSeen,
        Self::BodyAfterEnd,
        Self::DuplicateKey,
        Self::MendedText,
        Self::RequestNotObject,
        Self::OddHeader,
        Self::BadHeaderValue,
        Self::ImpossibleUsage,
        Self::OutputAfterEnd,
        Self::CorruptMessage,
        Self::BrokenFraming,
        Self::CompressedMessage,
        Self::CompressionCorrupt,
        Self::CompressionLimit,
    ];

    /// The kind in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OversizedEvent => "oversized_event",
            Self::PayloadNotJson => "payload_not_json",
            Self::PayloadTruncated => "payload_truncated",
            Self::PayloadTooDeep => "payload_too_deep",
            Self::RequestNotJson => "request_not_json",
            Self::BadTokenNumber => "bad_token_number",
            Self::BadRequestNumber => "bad_request_number",
            Self::TooManyChoices => "too_many_choices",
            Self::CutText => "cut_text",
            Self::ClockBackwards => "clock_backwards",
            Self::BytesNotSeen => "bytes_not_seen",
            Self::BodyAfterEnd => "body_after_end",
            Self::DuplicateKey => "duplicate_key",
            Self::MendedText => "mended_text",
            Self::RequestNotObject => "request_not_object",
            Self::OddHeader => "odd_header",
            Self::BadHeaderValue => "bad_header_value",
            Self::ImpossibleUsage => "impossible_usage",
            Self::OutputAfterEnd => "output_after_end",
            Self::CorruptMessage => "corrupt_message",
            Self::BrokenFraming => "broken_framing",
            Self::CompressedMessage => "compressed_message",
            Self::CompressionCorrupt => "compression_corrupt",
            Self::CompressionLimit => "compression_limit",
        }
    }
}

/// How often each kind of anomaly was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnomalyCounts {
    counts: [u32; AnomalyKind::ALL.len()],
}

impl AnomalyCounts {
    /// Counts `times` more of a kind.
    pub fn add(&mut self, kind: AnomalyKind, times: u32) {
        if let Some(count) = self.counts.get_mut(kind as usize) {
            *count = count.saturating_add(times);
        }
    }

    /// How often a kind was met.
    #[must_use]
    pub fn of(&self, kind: AnomalyKind) -> u32 {
        self.counts.get(kind as usize).copied().unwrap_or_default()
    }

    /// The kinds that were met, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (AnomalyKind, u32)> + '_ {
        AnomalyKind::ALL
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > 0)
    }

    /// Whether nothing odd was met.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_counted_in_its_own_place() {
        for kind in AnomalyKind::ALL {
            let mut counts = AnomalyCounts::default();
            assert!(counts.is_empty());
            counts.add(kind, 2);
            counts.add(kind, u32::MAX);
            assert_eq!(counts.of(kind), u32::MAX);
            assert_eq!(counts.iter().collect::<Vec<_>>(), [(kind, u32::MAX)]);
        }
    }
}
