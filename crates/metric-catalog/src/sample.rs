//! The samples that are more than a field of the record.

use request_observer::{GapHistogram, Outcome, RequestRecord, Usage, UsageStatus};

/// The tail of a prompt that a cache made of blocks cannot serve, at least.
const TAIL_TOKENS: u64 = 16;
/// The same as a part of the prompt: caches with larger blocks serve longer prompts.
const TAIL_PART: u64 = 8;

const MILLION: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;

/// The output tokens, where the answer came whole and stated all of them: what a broken answer has stated is where it
/// stood then, if not a placeholder.
pub(crate) fn whole_output(record: &RequestRecord) -> Option<u64> {
    let came_whole = matches!(record.outcome, Outcome::Success | Outcome::ContentFilter);
    record
        .usage
        .output
        .filter(|_| came_whole && record.usage_status == UsageStatus::Reported)
}

/// The output tokens after the first of each choice, and the time they took; only of a whole streamed answer.
fn decoded(record: &RequestRecord) -> Option<(u64, u64)> {
    let is_whole = record.stream && record.outcome == Outcome::Success;
    let later_tokens = whole_output(record)?.checked_sub(choices(record))?;
    (is_whole && later_tokens > 0).then_some((later_tokens, record.durations.decode?))
}

fn choices(record: &RequestRecord) -> u64 {
    u64::from(record.choices.max(1))
}

/// Nanoseconds between the output tokens of one choice: the choices decode side by side.
pub(crate) fn time_per_output_token(record: &RequestRecord) -> Option<u64> {
    let (later_tokens, nanos) = decoded(record)?;
    nanos
        .saturating_mul(choices(record))
        .checked_div(later_tokens)
}

/// Millionths of output tokens a second, all choices together. Tokens that all came at once have no rate.
pub(crate) fn output_rate_millionths(record: &RequestRecord) -> Option<u64> {
    let (later_tokens, nanos) = decoded(record)?;
    let per_second = later_tokens as f64 * NANOS_PER_SECOND / nanos as f64;
    (nanos > 0).then_some((per_second * MILLION as f64 + 0.5) as u64)
}

/// How much of the prompt came from a cache, in one word. The numbers go before what a header says of it.
pub(crate) fn cache_result(record: &RequestRecord) -> &'static str {
    let (Some(input), Some(cached)) = (record.usage.input, record.usage.cached_input) else {
        return match record.telemetry.prompt_cache {
            Some(true) => "hit",
            Some(false) => "miss",
            None => "unknown",
        };
    };
    let part = |of: u64| input.checked_div(of).unwrap_or_default();
    let tail = part(TAIL_PART).max(TAIL_TOKENS).min(part(2));
    match input.saturating_sub(cached) {
        _ if cached == 0 => "miss",
        uncached if uncached <= tail => "hit",
        _ => "partial",
    }
}

/// The part of the prompt that came from a cache, in millionths; at most all of it.
pub(crate) fn hit_ratio_millionths(usage: &Usage) -> Option<u64> {
    let (input, cached) = (usage.input?, usage.cached_input?);
    cached.min(input).saturating_mul(MILLION).checked_div(input)
}

/// Gaps sorted anew, where the bounds were changed while their request was under way.
///
/// A bucket goes as a whole to where its upper bound now belongs, so counts move up only, and the sum stays exact.
#[must_use]
pub fn rebin_gaps(gaps: &GapHistogram, from: &[u64], to: &[u64]) -> GapHistogram {
    let mut moved = GapHistogram {
        sum_nanos: gaps.sum_nanos,
        count: gaps.count,
        ..GapHistogram::default()
    };
    let beyond = |bound: Option<&u64>| match bound {
        Some(bound) => to.iter().take_while(|upper| *upper < bound).count(),
        None => to.len(),
    };
    for (place, count) in gaps.counts.iter().enumerate() {
        if let Some(target) = moved.counts.get_mut(beyond(from.get(place))) {
            *target = target.saturating_add(*count);
        }
    }
    moved
}
