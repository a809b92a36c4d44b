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
}

impl AnomalyKind {
    /// Every kind, for tables and tests, in the order of [`AnomalyCounts`].
    pub const ALL: [Self; 12] = [
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
