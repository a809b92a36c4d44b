//! Compares what a scrape moved by with what an independent decoder says of the exchanges in between.

use std::collections::BTreeMap;

use crate::{
    captures::Expected,
    metric_assert::{Exposition, Sample},
    scenario::Scenario,
};

/// Two scrapes and what moved between them.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'a> {
    /// The earlier one.
    pub before: &'a Exposition,
    /// The later one.
    pub after: &'a Exposition,
}

impl<'a> Moved<'a> {
    /// The samples of that name that moved, and by how much.
    #[must_use]
    pub fn samples(&self, name: &'a str) -> Vec<(&'a Sample, f64)> {
        let earlier: BTreeMap<_, f64> = self
            .before
            .matching(name, &[])
            .map(|sample| (&sample.labels, sample.value))
            .collect();
        self.after
            .matching(name, &[])
            .map(|sample| {
                (
                    sample,
                    sample.value - earlier.get(&sample.labels).copied().unwrap_or(0.0),
                )
            })
            .filter(|(_, moved)| *moved != 0.0)
            .collect()
    }

    fn before_of(&self, sample: &Sample) -> f64 {
        let earlier = self.before.matching(&sample.name, &[]);
        let same = earlier.filter(|other| other.labels == sample.labels);
        same.map(|other| other.value).sum()
    }

    /// By how much all samples of that name with these labels moved together.
    #[must_use]
    pub fn total(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.after.total_or_zero(name, labels) - self.before.total_or_zero(name, labels)
    }
}

/// Compares; gives the differences, none when all is as expected.
#[must_use]
pub fn differences(moved: Moved<'_>, exchanges: &[&Expected]) -> Vec<String> {
    let mut comparison = Comparison {
        moved,
        found: Vec::new(),
    };
    let watched = exchanges.iter().filter(|one| one.watched);
    let skipped = exchanges.iter().filter(|one| !one.watched);
    comparison.expect(REQUESTS, &[], Some(watched.clone().count() as u64));
    comparison.expect(SKIPPED, &[], Some(skipped.clone().count() as u64));
    for one in skipped {
        let reason = one.skip_reason.as_deref().unwrap_or_default();
        comparison.expect(SKIPPED, &[("reason", reason)], Some(1));
    }
    for one in watched {
        comparison.request(one);
        comparison.tokens(one);
        comparison.moments(one);
    }
    comparison.found
}

/// Compares with a scenario, which also tells the error's name, the reason of the usage status and the anomalies.
#[must_use]
pub fn scenario_differences(moved: Moved<'_>, scenario: &Scenario) -> Vec<String> {
    let expected = scenario.expected();
    let mut found = differences(moved, &[&expected]);
    let mut comparison = Comparison {
        moved,
        found: Vec::new(),
    };
    let expect = &scenario.expect;
    if expect.skipped.is_none() {
        match expect.error_type.as_deref() {
            Some(error) => comparison.expect(REQUEST_DURATION, &[("error_type", error)], Some(1)),
            None => comparison.expect_without(REQUEST_DURATION, "error_type"),
        }
        let reason = expect.usage_reason.as_deref().unwrap_or("none");
        comparison.expect("inference_usage_total", &[("reason", reason)], Some(1));
    }
    comparison.expect(ANOMALIES, &[], Some(expect.anomalies.values().sum()));
    for (kind, count) in &expect.anomalies {
        comparison.expect(ANOMALIES, &[("kind", kind)], Some(*count));
    }
    found.append(&mut comparison.found);
    found
}

const ANOMALIES: &str = "inferometer_stream_anomalies_total";
const REQUESTS: &str = "inference_requests_total";
const SKIPPED: &str = "inferometer_skipped_total";
const REQUEST_DURATION: &str = "gen_ai_server_request_duration_seconds_count";
/// The metric that holds the time to the first token, without its suffix.
pub const FIRST_TOKEN: &str = "gen_ai_server_time_to_first_token_seconds";

struct Comparison<'a> {
    moved: Moved<'a>,
    found: Vec<String>,
}

impl Comparison<'_> {
    /// The samples with these labels must have moved by the number; unknown is no move.
    fn expect(&mut self, name: &str, labels: &[(&str, &str)], expected: Option<u64>) {
        let expected = expected.unwrap_or(0) as f64;
        let seen = self.moved.total(name, labels);
        if (expected - seen).abs() > 1e-6 {
            let there: Vec<String> = self
                .moved
                .after
                .matching(name, &[])
                .map(|sample| format!("    {sample} (before: {})", self.moved.before_of(sample)))
                .collect();
            self.found.push(format!(
                "{name}{labels:?}: expected {expected}, moved by {seen}; there is:\n{}",
                there.join("\n")
            ));
        }
    }

    fn request(&mut self, one: &Expected) {
        let operation = one.operation.as_deref().unwrap_or_default();
        let stream = if one.stream == Some(true) {
            "true"
        } else {
            "false"
        };
        let outcome = one.outcome.as_deref().unwrap_or_default();
        let labels = [
            ("operation", operation),
            ("outcome", outcome),
            ("stream", stream),
        ];
        self.expect(REQUESTS, &labels, Some(1));
        let mut names = vec![("gen_ai_operation_name", operation)];
        for (label, model) in [
            ("gen_ai_request_model", &one.request_model),
            ("gen_ai_response_model", &one.response_model),
        ] {
            match model {
                Some(model) => names.push((label, model)),
                None => self.expect_without(REQUEST_DURATION, label),
            }
        }
        self.expect(REQUEST_DURATION, &names, Some(1));
    }

    /// All samples of that name that moved lack the label, or have it empty.
    fn expect_without(&mut self, name: &str, label: &str) {
        let bad: Vec<String> = self
            .moved
            .samples(name)
            .iter()
            .filter(|(sample, _)| {
                sample
                    .labels
                    .get(label)
                    .is_some_and(|value| !value.is_empty())
            })
            .map(|(sample, _)| sample.to_string())
            .collect();
        if !bad.is_empty() {
            self.found
                .push(format!("{name} must have no {label}: {}", bad.join("; ")));
        }
    }

    fn tokens(&mut self, one: &Expected) {
        let reported = [("source", "reported")];
        let estimated = [("source", "estimated")];
        self.expect("inference_input_tokens_total", &reported, one.input_tokens);
        self.expect(
            "inference_output_tokens_total",
            &reported,
            one.output_tokens,
        );
        self.expect(
            "inference_cached_input_tokens_total",
            &reported,
            one.cached_tokens,
        );
        self.expect(
            "inference_reasoning_tokens_total",
            &reported,
            one.reasoning_tokens,
        );
        let events = if one.output_tokens.is_none() {
            one.output_events
        } else {
            None
        };
        self.expect("inference_output_tokens_total", &estimated, events);
        let status = one.usage_status.as_deref().unwrap_or_default();
        self.expect("inference_usage_total", &[], Some(1));
        self.expect("inference_usage_total", &[("status", status)], Some(1));
        let accepted = one
            .status
            .is_some_and(|status| (200..300).contains(&status));
        // What is between a miss and the unknown is a hit or partial by a rule of the catalogue.
        let (miss, unknown) = match (one.cached_tokens, one.input_tokens) {
            (Some(0), _) => (1, 0),
            (Some(_), Some(_)) => (0, 0),
            _ => (0, 1),
        };
        let asked = u64::from(accepted);
        let name = "inference_prompt_cache_requests_total";
        self.expect(name, &[], Some(asked));
        self.expect(name, &[("result", "miss")], Some(asked * miss));
        self.expect(name, &[("result", "unknown")], Some(asked * unknown));
    }

    fn moments(&mut self, one: &Expected) {
        let streamed = one.stream == Some(true);
        let count = |moment: Option<u64>| Some(u64::from(streamed && moment.is_some()));
        let first_token = format!("{FIRST_TOKEN}_count");
        self.expect(&first_token, &[], count(one.first_token_offset));
        let visible = "inference_time_to_first_visible_token_seconds_count";
        self.expect(visible, &[], count(one.first_visible_token_offset));
    }
}
