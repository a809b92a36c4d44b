//! The figures of one model from either side, so that the live table can put them side by side.

use load_generator::ModelTruth;
use load_generator::exposition::Scrape;

/// The time to the first token; its series name the model in `gen_ai_request_model`.
pub(super) const FIRST_TOKEN: (&str, &str) = (
    "gen_ai_server_time_to_first_token_seconds",
    "gen_ai_request_model",
);
/// The time between output events.
pub(super) const INTER_TOKEN: (&str, &str) = ("inference_inter_token_latency_seconds", "model");
/// The whole time of a request.
pub(super) const DURATION: (&str, &str) = (
    "gen_ai_server_request_duration_seconds",
    "gen_ai_request_model",
);

/// Requests by outcome.
pub(super) const REQUESTS: &str = "inference_requests_total";
/// Requests under way.
pub(super) const IN_FLIGHT: &str = "inference_requests_in_flight";
/// Prompt tokens.
pub(super) const INPUT: &str = "inference_input_tokens_total";
/// Those found in a cache.
pub(super) const CACHED: &str = "inference_cached_input_tokens_total";
/// Generated tokens.
pub(super) const OUTPUT: &str = "inference_output_tokens_total";
/// Those spent on reasoning.
pub(super) const REASONING: &str = "inference_reasoning_tokens_total";

/// The figures of one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) requests: f64,
    pub(super) in_flight: f64,
    pub(super) errors: f64,
    pub(super) output_tokens: f64,
    pub(super) input_tokens: f64,
    pub(super) cached_tokens: f64,
    /// p50 and p95 in seconds.
    pub(super) first_token: Quantiles,
    /// p50 and p95 in seconds.
    pub(super) inter_token: Quantiles,
}

/// p50 and p95, where there are samples.
pub(super) type Quantiles = [Option<f64>; 2];

const QUANTILES: [f64; 2] = [0.5, 0.95];

impl Row {
    /// What the scrape says.
    pub(super) fn scraped(scrape: &Scrape, model: &str) -> Row {
        let sum = |name: &str| scrape.sum(name, &[("model", model)]).unwrap_or(0.0);
        let outcomes = scrape.sums_by(REQUESTS, &[("model", model)], "outcome");
        let good: f64 = ["success", "client_cancel"]
            .iter()
            .filter_map(|outcome| outcomes.get(*outcome))
            .sum();
        let quantiles = |(name, label): (&str, &str)| {
            let histogram = scrape.histogram(name, &[(label, model)]);
            QUANTILES.map(|quantile| {
                histogram
                    .as_ref()
                    .and_then(|histogram| histogram.quantile(quantile))
            })
        };
        Row {
            requests: sum(REQUESTS),
            in_flight: sum(IN_FLIGHT),
            errors: sum(REQUESTS) - good,
            output_tokens: sum(OUTPUT),
            input_tokens: sum(INPUT),
            cached_tokens: sum(CACHED),
            first_token: quantiles(FIRST_TOKEN),
            inter_token: quantiles(INTER_TOKEN),
        }
    }

    /// What the clients measured.
    pub(super) fn measured(truth: &ModelTruth) -> Row {
        Row {
            requests: exact(truth.finished()),
            in_flight: exact(truth.in_flight),
            errors: exact(truth.errors()),
            output_tokens: exact(truth.output_tokens + truth.unstated_output_events),
            input_tokens: exact(truth.input_tokens),
            cached_tokens: exact(truth.cached_input_tokens),
            first_token: QUANTILES
                .map(|quantile| truth.time_to_first_token.quantile_seconds(quantile)),
            inter_token: QUANTILES.map(|quantile| truth.inter_token.quantile_seconds(quantile)),
        }
    }
}

/// The finished requests of a model.
pub(super) fn requests(scrape: &Scrape, model: &str) -> f64 {
    scrape.sum(REQUESTS, &[("model", model)]).unwrap_or(0.0)
}

/// A count as the number a scrape would show.
#[allow(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53, far beyond any demonstration"
)]
pub(super) fn exact(count: u64) -> f64 {
    count as f64
}
