//! What the clients themselves measured, request by request, summed per model.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::answer::Usage;

/// How a request ended, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole document with a good status, or a stream with its terminal event and no error.
    Success,
    /// The client left.
    ClientCancel,
    /// The connection broke before the terminal event.
    UpstreamReset,
    /// The stream ended in good order, but without its terminal event.
    TruncatedStream,
    /// A stream with an error event.
    InStreamError,
    /// Status 429.
    RateLimited,
    /// Status 503 or 529.
    Overloaded,
    /// Status 408 or 504.
    Timeout,
    /// A refusal whose words are about the context length.
    ContextLength,
    /// Any other status from 400 to 499.
    InvalidRequest,
    /// Any other bad status.
    HttpError,
    /// No answer at all.
    NoAnswer,
}

impl Outcome {
    /// Its name, the one that the `outcome` label has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ClientCancel => "client_cancel",
            Self::UpstreamReset => "upstream_reset",
            Self::TruncatedStream => "truncated_stream",
            Self::InStreamError => "in_stream_error",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::ContextLength => "context_length",
            Self::InvalidRequest => "invalid_request",
            Self::HttpError => "http_error",
            Self::NoAnswer => "no_answer",
        }
    }
}

/// Everything one client measured of one request.
#[derive(Clone, Debug)]
pub struct RequestTruth {
    /// The name of its case.
    pub case: &'static str,
    /// The model it named.
    pub model: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The status, where an answer came.
    pub status: Option<u16>,
    /// Whether the answer was framed as a stream; what was asked, where no answer came.
    pub stream: bool,
    /// What it was told of tokens.
    pub usage: Usage,
    /// Events with generated output that arrived.
    pub output_events: u64,
    /// From sending to the arrival of the first of them.
    pub time_to_first_token: Option<Duration>,
    /// From each of them to the next.
    pub gaps: Vec<Duration>,
    /// From sending to the end.
    pub duration: Duration,
}

/// Durations, kept one by one so that every quantile is exact.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds one.
    pub fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Their mean in seconds, `None` without samples.
    #[must_use]
    pub fn mean_seconds(&self) -> Option<f64> {
        let sum: Duration = self.0.iter().sum();
        let count = u32::try_from(self.0.len())
            .ok()
            .filter(|count| *count > 0)?;
        Some(sum.as_secs_f64() / f64::from(count))
    }

    /// The smallest sample, in seconds, that at least a share of `quantile` (0 to 1) of all does not exceed.
    #[must_use]
    pub fn quantile_seconds(&self, quantile: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        let rank = rank(self.0.len(), quantile)?;
        let (_, sample, _) = sorted.select_nth_unstable(rank - 1);
        Some(sample.as_secs_f64())
    }
}

/// The place, from 1, of a quantile among `count` samples.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are far below 2^52"
)]
pub(crate) fn rank(count: usize, quantile: f64) -> Option<usize> {
    let place = (quantile.clamp(0.0, 1.0) * count as f64).ceil() as usize;
    (count > 0).then(|| place.clamp(1, count))
}

/// The truth of one model.
#[derive(Clone, Debug, Default)]
pub struct ModelTruth {
    /// Finished requests by outcome and by whether they were streams.
    pub requests: BTreeMap<(Outcome, bool), u64>,
    /// The durations of finished requests by case.
    pub cases: BTreeMap<&'static str, Samples>,
    /// Requests sent and not finished.
    pub in_flight: u64,
    /// Sum of stated input tokens.
    pub input_tokens: u64,
    /// Sum of stated cached input tokens.
    pub cached_input_tokens: u64,
    /// Sum of the input tokens of the answers that also stated their cached ones.
    pub input_tokens_with_known_cache: u64,
    /// Sum of stated output tokens.
    pub output_tokens: u64,
    /// Sum of stated reasoning tokens.
    pub reasoning_tokens: u64,
    /// Output events of the requests that stated no output tokens.
    pub unstated_output_events: u64,
    /// Of streams that reached a first token.
    pub time_to_first_token: Samples,
    /// Between output events.
    pub inter_token: Samples,
    /// From sending to the end, by outcome.
    pub durations: BTreeMap<Outcome, Samples>,
}

impl ModelTruth {
    /// Finished requests of an outcome.
    #[must_use]
    pub fn with_outcome(&self, outcome: Outcome) -> u64 {
        self.requests
            .iter()
            .filter(|((found, _), _)| *found == outcome)
            .map(|(_, count)| count)
            .sum()
    }

    /// All finished requests.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Finished requests that are neither a success nor left by their client.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.finished()
            - self.with_outcome(Outcome::Success)
            - self.with_outcome(Outcome::ClientCancel)
    }

    /// Adds a request that has ended.
    pub fn add(&mut self, request: &RequestTruth) {
        *self
            .requests
            .entry((request.outcome, request.stream))
            .or_default() += 1;
        self.cases
            .entry(request.case)
            .or_default()
            .push(request.duration);
        let usage = request.usage;
        self.input_tokens += usage.input.unwrap_or(0);
        self.cached_input_tokens += usage.cached_input.unwrap_or(0);
        if usage.cached_input.is_some() {
            self.input_tokens_with_known_cache += usage.input.unwrap_or(0);
        }
        self.output_tokens += usage.output.unwrap_or(0);
        self.reasoning_tokens += usage.reasoning.unwrap_or(0);
        if usage.output.is_none() {
            self.unstated_output_events += request.output_events;
        }
        if let Some(first) = request.time_to_first_token {
            self.time_to_first_token.push(first);
        }
        request
            .gaps
            .iter()
            .for_each(|gap| self.inter_token.push(*gap));
        self.durations
            .entry(request.outcome)
            .or_default()
            .push(request.duration);
    }
}

/// The truth of a whole load, shared by the clients that add to it and those who look.
#[derive(Debug, Default)]
pub struct Truth {
    models: Mutex<BTreeMap<String, ModelTruth>>,
    faults: Mutex<Vec<String>>,
}

/// So many messages of unforeseen faults are kept.
const KEPT_FAULTS: usize = 20;

impl Truth {
    /// The truth so far, by model. Clients wait while this is held.
    pub fn models(&self) -> MutexGuard<'_, BTreeMap<String, ModelTruth>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first messages of what no case foresees, such as refused connections.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn begin(&self, model: &str) {
        self.models().entry(model.to_owned()).or_default().in_flight += 1;
    }

    pub(crate) fn finish(&self, request: &RequestTruth) {
        let mut models = self.models();
        let model = models.entry(request.model.clone()).or_default();
        model.in_flight = model.in_flight.saturating_sub(1);
        model.add(request);
    }

    pub(crate) fn fault(&self, message: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < KEPT_FAULTS {
            faults.push(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_samples_themselves() {
        let mut samples = Samples::default();
        assert_eq!(
            (samples.mean_seconds(), samples.quantile_seconds(0.5)),
            (None, None)
        );
        for seconds in [5, 1, 4, 2, 3] {
            samples.push(Duration::from_secs(seconds));
        }
        assert_eq!(samples.mean_seconds(), Some(3.0));
        let expected = [
            (0.0, 1.0),
            (0.2, 1.0),
            (0.21, 2.0),
            (0.5, 3.0),
            (0.95, 5.0),
            (1.0, 5.0),
        ];
        for (quantile, seconds) in expected {
            assert_eq!(
                samples.quantile_seconds(quantile),
                Some(seconds),
                "{quantile}"
            );
        }
    }
}
