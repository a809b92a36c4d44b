//! Collects what the headers of one answer tell.

use crate::built_in::{self, HEADERS, LORAX};
use crate::orca::bump;
use crate::{DroppedReason, HeaderRule, Meaning, OrcaReport, Telemetry, Unit, decimal};

/// A day: a request that took longer is a mistake in a unit, or a stamp where a duration should stand.
const MAX_NANOS: u64 = 86_400_000_000_000;

/// A thousand million: no context is that long, and no server has that many requests.
const MAX_COUNT: u64 = 1_000_000_000;

/// Reads the headers or the trailers of one answer, one by one and in any order.
///
/// Of a header that stands there twice the first readable value counts: who passes an answer on appends, so the first
/// is from whoever is nearest the model. Another value after it is counted as a bad one.
#[derive(Debug)]
pub struct TelemetryReader<'a> {
    extra: &'a [HeaderRule],
    extra_lengths: u64,
    /// For each meaning its value and the rank of the row that told it; a lower rank counts for more.
    told: [Option<(usize, u64)>; Meaning::ALL.len()],
    compute_time: Option<ComputeTime>,
    from_lorax: bool,
    report: Option<OrcaReport>,
    binary_report: Option<OrcaReport>,
    dropped_reason: Option<DroppedReason>,
    bad_values: u32,
}

/// A time whose unit is known only when all headers have been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ComputeTime {
    if_seconds: Option<u64>,
    if_milliseconds: Option<u64>,
}

impl<'a> TelemetryReader<'a> {
    /// A reader that knows the built-in headers and these; for a header in both, these alone count, and for a meaning
    /// in both, these count for more.
    pub fn new(extra: &'a [HeaderRule]) -> Self {
        let extra_lengths = extra
            .iter()
            .fold(0, |lengths, rule| lengths | length_bit(rule.header.len()));
        Self {
            extra,
            extra_lengths,
            told: [None; Meaning::ALL.len()],
            compute_time: None,
            from_lorax: false,
            report: None,
            binary_report: None,
            dropped_reason: None,
            bad_values: 0,
        }
    }

    /// Takes one header. One that is none of the known ones costs a few comparisons.
    pub fn read(&mut self, name: &[u8], value: &[u8]) {
        let length = length_bit(name.len());
        if self.extra_lengths & length != 0 && self.read_extra(name, value) {
            return;
        }
        if BUILT_IN_LENGTHS & length != 0 && begins_like_built_in(name) {
            self.read_built_in(name, value);
        }
    }

    /// What all of them told.
    pub fn finish(mut self) -> Telemetry {
        self.settle_compute_time();
        let told = |meaning: Meaning| {
            let (_, value) = self.told.get(meaning as usize).copied().flatten()?;
            Some(value)
        };
        let report = self.binary_report.or(self.report);
        let load = OrcaReport {
            kv_cache_utilization: told(Meaning::KvCacheUtilization)
                .map(|billionths| billionths as f64 / 1e9),
            requests_waiting: told(Meaning::RequestsWaiting).map(|count| count as f64),
            requests_running: told(Meaning::RequestsRunning).map(|count| count as f64),
            ..OrcaReport::default()
        };
        let cached = told(Meaning::CachedInputTokens);
        let with_caches = |beside: u64| {
            let written = told(Meaning::CacheWriteInputTokens);
            beside
                .saturating_add(cached.unwrap_or(0))
                .saturating_add(written.unwrap_or(0))
        };
        let mut telemetry = Telemetry {
            input_tokens: told(Meaning::InputTokens)
                .or_else(|| told(Meaning::InputTokensBesideCache).map(with_caches)),
            output_tokens: told(Meaning::OutputTokens),
            cached_tokens: cached,
            uncached_tokens: told(Meaning::UncachedInputTokens),
            queue_nanos: told(Meaning::QueueTime),
            validation_nanos: told(Meaning::ValidationTime),
            time_to_first_token_nanos: told(Meaning::TimeToFirstToken),
            time_per_output_token_nanos: told(Meaning::TimePerOutputToken),
            processing_nanos: told(Meaning::ProcessingTime),
            total_nanos: told(Meaning::TotalTime),
            prompt_cache: told(Meaning::PromptCacheHit).map(|hit| hit != 0),
            orca: merged(report, load),
            dropped_reason: self.dropped_reason,
            bad_values: self.bad_values,
        };
        telemetry.add_up();
        telemetry
    }

    /// Whether a configured row names the header.
    fn read_extra(&mut self, name: &[u8], value: &[u8]) -> bool {
        let mut named = false;
        for (rank, rule) in self.extra.iter().enumerate() {
            if name.eq_ignore_ascii_case(rule.header.as_bytes()) {
                named = true;
                self.take(rank, rule.meaning, rule.unit, value);
            }
        }
        named
    }

    fn read_built_in(&mut self, name: &[u8], value: &[u8]) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        self.from_lorax |= LORAX.iter().any(|mark| is(mark));
        if is(built_in::COMPUTE_TIME) {
            self.take_compute_time(value);
        } else if is(built_in::LOAD) {
            let report = OrcaReport::from_header(value, &mut self.bad_values);
            keep_first(&mut self.report, report, &mut self.bad_values);
        } else if is(built_in::BINARY_LOAD) {
            let report = OrcaReport::from_binary_header(value, &mut self.bad_values);
            keep_first(&mut self.binary_report, report, &mut self.bad_values);
        } else if is(built_in::DROPPED) {
            let reason = DroppedReason::from_header(value);
            keep_first(&mut self.dropped_reason, reason, &mut self.bad_values);
        } else if let Some((rank, rule)) = row_of(name) {
            let rank = self.extra.len().saturating_add(rank);
            self.take(rank, rule.meaning, rule.unit, value);
        }
    }

    fn take(&mut self, rank: usize, meaning: Meaning, unit: Unit, value: &[u8]) {
        let Some(value) = meaning
            .units()
            .contains(&unit)
            .then(|| parse(value, unit))
            .flatten()
        else {
            return bump(&mut self.bad_values);
        };
        self.set(rank, meaning, value);
    }

    fn set(&mut self, rank: usize, meaning: Meaning, value: u64) {
        let Some(place) = self.told.get_mut(meaning as usize) else {
            return;
        };
        match *place {
            Some((by, other)) if by == rank => {
                if other != value {
                    bump(&mut self.bad_values);
                }
            }
            Some((by, _)) if by < rank => {}
            _ => *place = Some((rank, value)),
        }
    }

    fn take_compute_time(&mut self, value: &[u8]) {
        let time = ComputeTime {
            if_seconds: parse(value, Unit::Seconds),
            if_milliseconds: parse(value, Unit::Milliseconds),
        };
        // What is absurd in seconds may not be so in milliseconds, so only what is wrong in both is wrong already.
        let time = time.if_milliseconds.map(|_| time);
        if time.is_none() {
            bump(&mut self.bad_values);
        }
        keep_first(&mut self.compute_time, time, &mut self.bad_values);
    }

    fn settle_compute_time(&mut self) {
        let Some(time) = self.compute_time else {
            return;
        };
        let nanos = if self.from_lorax {
            time.if_milliseconds
        } else {
            time.if_seconds
        };
        match (nanos, row_of(built_in::COMPUTE_TIME.as_bytes())) {
            (Some(nanos), Some((rank, rule))) => {
                let rank = self.extra.len().saturating_add(rank);
                self.set(rank, rule.meaning, nanos);
            }
            _ => bump(&mut self.bad_values),
        }
    }
}

/// The row of a built-in header and its rank.
fn row_of(name: &[u8]) -> Option<(usize, &'static HeaderRule)> {
    HEADERS
        .iter()
        .enumerate()
        .find(|(_, rule)| name.eq_ignore_ascii_case(rule.header.as_bytes()))
}

fn keep_first<T: PartialEq>(place: &mut Option<T>, value: Option<T>, bad_values: &mut u32) {
    if place.is_none() {
        *place = value;
    } else if value.is_some() && *place != value {
        bump(bad_values);
    }
}

/// What a header of its own says goes before what the report says.
fn merged(report: Option<OrcaReport>, load: OrcaReport) -> Option<OrcaReport> {
    if load == OrcaReport::default() {
        return report;
    }
    let report = report.unwrap_or_default();
    Some(OrcaReport {
        kv_cache_utilization: load.kv_cache_utilization.or(report.kv_cache_utilization),
        requests_waiting: load.requests_waiting.or(report.requests_waiting),
        requests_running: load.requests_running.or(report.requests_running),
        ..report
    })
}

/// A value in this unit: nanoseconds, a count, billionths, or 1 for yes.
fn parse(value: &[u8], unit: Unit) -> Option<u64> {
    match unit {
        Unit::Seconds => decimal::scaled(value, 9, MAX_NANOS),
        Unit::Milliseconds => decimal::scaled(value, 6, MAX_NANOS),
        Unit::Microseconds => decimal::scaled(value, 3, MAX_NANOS),
        Unit::Nanoseconds => decimal::scaled(value, 0, MAX_NANOS),
        Unit::Count => decimal::count(value, MAX_COUNT),
        Unit::Ratio => decimal::scaled(value, 9, 1_000_000_000),
        Unit::Percent => decimal::scaled(value, 7, 1_000_000_000),
        Unit::Flag => flag(value.trim_ascii()),
    }
}

fn flag(value: &[u8]) -> Option<u64> {
    let is = |words: [&[u8]; 4]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    if is([b"true", b"1", b"yes", b"hit"]) {
        return Some(1);
    }
    is([b"false", b"0", b"no", b"miss"]).then_some(0)
}

/// One bit for each length of a name; those of 63 bytes and above share one.
const fn length_bit(length: usize) -> u64 {
    let length = if length < 63 { length as u32 } else { 63 };
    1_u64.wrapping_shl(length)
}

/// The lengths that the built-in headers have.
const BUILT_IN_LENGTHS: u64 = {
    let mut lengths = length_bit(built_in::LOAD.len())
        | length_bit(built_in::BINARY_LOAD.len())
        | length_bit(built_in::DROPPED.len());
    let mut names: &[&str] = &LORAX;
    while let [name, rest @ ..] = names {
        lengths |= length_bit(name.len());
        names = rest;
    }
    let mut rules: &[HeaderRule] = &HEADERS;
    while let [rule, rest @ ..] = rules {
        if let std::borrow::Cow::Borrowed(name) = rule.header {
            lengths |= length_bit(name.len());
        }
        rules = rest;
    }
    lengths
};

/// Whether the name has one of the first letters that built-in headers have.
fn begins_like_built_in(name: &[u8]) -> bool {
    let letter = name.first().map(u8::to_ascii_lowercase);
    matches!(letter, Some(b'x' | b'f' | b'e' | b'o'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheap_test_lets_every_built_in_header_through() {
        let rows = HEADERS.iter().map(|rule| rule.header.as_ref());
        let others = [built_in::LOAD, built_in::BINARY_LOAD, built_in::DROPPED];
        for name in rows.chain(LORAX).chain(others) {
            assert!(begins_like_built_in(name.as_bytes()), "{name}");
            assert_ne!(BUILT_IN_LENGTHS & length_bit(name.len()), 0, "{name}");
        }
    }

    #[test]
    fn every_built_in_row_is_in_a_unit_of_its_meaning_and_lower_case() {
        for rule in &HEADERS {
            assert!(rule.meaning.units().contains(&rule.unit), "{rule:?}");
            assert_eq!(rule.header, rule.header.to_ascii_lowercase());
        }
    }

    #[test]
    fn meanings_stand_at_their_own_places() {
        for (place, meaning) in Meaning::ALL.into_iter().enumerate() {
            assert_eq!(meaning as usize, place);
        }
    }
}
