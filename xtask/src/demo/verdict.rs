//! Holds the last scrape against what the clients measured, check by check.

use std::collections::{BTreeMap, BTreeSet};

use load_generator::exposition::{Histogram, Scrape};
use load_generator::{ModelTruth, Outcome, Samples};
use serde::Serialize;

use super::row::{
    CACHED, DURATION, FIRST_TOKEN, IN_FLIGHT, INPUT, INTER_TOKEN, OUTPUT, REASONING, REQUESTS,
    exact, requests,
};

/// Means may differ by so much: the two sides read different clocks at different ends of a connection.
const MEAN_TOLERANCE_SECONDS: f64 = 0.005;
/// A client that leaves may have missed so many events that had passed the proxy already.
const EVENTS_MISSED_BY_LEAVING: u64 = 5;
/// The quantiles that are compared.
const QUANTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")];

/// One thing that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) model: String,
    pub(super) what: String,
    /// What the scrape says; nothing where it is silent.
    pub(super) scraped: Option<f64>,
    /// What the clients measured.
    pub(super) measured: Option<f64>,
    /// What had to hold between the two.
    pub(super) rule: &'static str,
    pub(super) agrees: bool,
}

/// Compares everything, model by model.
pub(super) fn judge(scrape: &Scrape, truth: &BTreeMap<String, ModelTruth>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (model, truth) in truth {
        let mut bench = Bench {
            scrape,
            model,
            truth,
            checks: &mut checks,
        };
        bench.requests();
        bench.tokens();
        bench.times();
    }
    let total: u64 = truth.values().map(ModelTruth::finished).sum();
    let scraped = scrape.sum(REQUESTS, &[]);
    checks.push(Check {
        model: "all".to_owned(),
        what: "requests".to_owned(),
        scraped,
        measured: Some(exact(total)),
        rule: "equal",
        agrees: scraped == Some(exact(total)),
    });
    checks
}

struct Bench<'a> {
    scrape: &'a Scrape,
    model: &'a str,
    truth: &'a ModelTruth,
    checks: &'a mut Vec<Check>,
}

impl Bench<'_> {
    fn requests(&mut self) {
        let finished = self.truth.finished();
        self.equal(
            "requests".to_owned(),
            Some(requests(self.scrape, self.model)),
            finished,
        );
        for ((outcome, stream), count) in self.outcomes() {
            let labels = [
                ("model", self.model),
                ("outcome", outcome.as_str()),
                ("stream", stream),
            ];
            let scraped = self.scrape.sum(REQUESTS, &labels);
            let form = if stream == "true" {
                "streamed"
            } else {
                "not streamed"
            };
            self.equal(
                format!("requests, {outcome}, {form}"),
                scraped.or(Some(0.0)),
                count,
            );
        }
        let in_flight = self.scrape.sum(IN_FLIGHT, &[("model", self.model)]);
        self.equal(
            "requests in flight".to_owned(),
            in_flight,
            self.truth.in_flight,
        );
    }

    /// Every pair of outcome and form that either side has, with the clients' count.
    fn outcomes(&self) -> BTreeMap<(String, &'static str), u64> {
        let mut outcomes = BTreeMap::new();
        for stream in ["false", "true"] {
            let labels = [("model", self.model), ("stream", stream)];
            for outcome in self
                .scrape
                .sums_by(REQUESTS, &labels, "outcome")
                .into_keys()
            {
                outcomes.insert((outcome, stream), 0);
            }
        }
        for ((outcome, is_stream), count) in &self.truth.requests {
            let stream = if *is_stream { "true" } else { "false" };
            outcomes.insert((outcome.as_str().to_owned(), stream), *count);
        }
        outcomes
    }

    fn tokens(&mut self) {
        let truth = self.truth;
        for (what, name, count) in [
            ("input tokens", INPUT, truth.input_tokens),
            ("cached input tokens", CACHED, truth.cached_input_tokens),
            ("output tokens", OUTPUT, truth.output_tokens),
            ("reasoning tokens", REASONING, truth.reasoning_tokens),
        ] {
            let scraped = self
                .scrape
                .sum(name, &[("model", self.model), ("source", "reported")]);
            self.equal(format!("{what}, reported"), scraped.or(Some(0.0)), count);
        }
        let estimated = self
            .scrape
            .sum(OUTPUT, &[("model", self.model), ("source", "estimated")]);
        self.seen_by_the_proxy(
            "output tokens, estimated",
            estimated,
            truth.unstated_output_events,
        );
    }

    fn times(&mut self) {
        let truth = self.truth;
        // How long a failed request took is seen otherwise from the client: Envoy keeps a connection open for a
        // second after it broke off an answer, and only then does the client learn of it.
        let no_samples = Samples::default();
        let successes = truth
            .durations
            .get(&Outcome::Success)
            .unwrap_or(&no_samples);
        let first_token = self.histogram(FIRST_TOKEN, &[]);
        let inter_token = self.histogram(INTER_TOKEN, &[]);
        let duration = self.histogram(DURATION, &[("error_type", "")]);
        let count =
            |histogram: &Option<Histogram>| histogram.as_ref().map(|histogram| histogram.count);
        self.equal(
            "TTFT samples".to_owned(),
            count(&first_token),
            size(&truth.time_to_first_token),
        );
        self.seen_by_the_proxy(
            "inter-token samples",
            count(&inter_token),
            size(&truth.inter_token),
        );
        self.equal(
            "duration samples, success".to_owned(),
            count(&duration),
            size(successes),
        );
        for (what, histogram, samples) in [
            ("TTFT", first_token, &truth.time_to_first_token),
            ("inter-token", inter_token, &truth.inter_token),
            ("duration, success", duration, successes),
        ] {
            self.mean(what, histogram.as_ref(), samples);
            self.quantiles(what, histogram.as_ref(), samples);
        }
    }

    fn histogram(
        &self,
        (name, label): (&str, &str),
        further: &[(&str, &str)],
    ) -> Option<Histogram> {
        self.scrape
            .histogram(name, &[&[(label, self.model)], further].concat())
    }

    fn equal(&mut self, what: String, scraped: Option<f64>, measured: u64) {
        let measured = Some(exact(measured));
        self.check(what, scraped, measured, "equal", scraped == measured);
    }

    /// For events that a leaving client may not have read any more, but the proxy had sent.
    fn seen_by_the_proxy(&mut self, what: &str, scraped: Option<f64>, measured: u64) {
        let missed = self.truth.with_outcome(Outcome::ClientCancel) * EVENTS_MISSED_BY_LEAVING;
        let range = exact(measured)..=exact(measured + missed);
        let agrees = range.contains(&scraped.unwrap_or(0.0));
        let rule = "equal, and up to 5 more for each client that left";
        self.check(
            what.to_owned(),
            scraped,
            Some(exact(measured)),
            rule,
            agrees,
        );
    }

    fn mean(&mut self, what: &str, histogram: Option<&Histogram>, samples: &Samples) {
        let scraped = histogram.and_then(Histogram::mean);
        let measured = samples.mean_seconds();
        let difference = scraped
            .zip(measured)
            .map(|(scraped, measured)| (scraped - measured).abs());
        let agrees = difference.is_some_and(|difference| difference <= MEAN_TOLERANCE_SECONDS);
        self.check(
            format!("{what} mean, s"),
            scraped,
            measured,
            "within 5 ms",
            agrees,
        );
    }

    fn quantiles(&mut self, what: &str, histogram: Option<&Histogram>, samples: &Samples) {
        for (quantile, name) in QUANTILES {
            let measured = samples.quantile_seconds(quantile);
            let places = histogram.zip(measured).and_then(|(histogram, measured)| {
                Some((
                    histogram.quantile_bucket(quantile)?,
                    histogram.bucket_of(measured)?,
                ))
            });
            let agrees = places.is_some_and(|(scraped, measured)| scraped.abs_diff(measured) <= 1);
            let scraped = histogram.and_then(|histogram| histogram.quantile(quantile));
            self.check(
                format!("{what} {name}, s"),
                scraped,
                measured,
                "same or next bucket",
                agrees,
            );
        }
    }

    fn check(
        &mut self,
        what: String,
        scraped: Option<f64>,
        measured: Option<f64>,
        rule: &'static str,
        agrees: bool,
    ) {
        self.checks.push(Check {
            model: self.model.to_owned(),
            what,
            scraped,
            measured,
            rule,
            agrees,
        });
    }
}

fn size(samples: &Samples) -> u64 {
    u64::try_from(samples.count()).unwrap_or(u64::MAX)
}

/// The names of the models that the checks are about, for reports.
pub(super) fn models(checks: &[Check]) -> BTreeSet<&str> {
    checks.iter().map(|check| check.model.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use load_generator::{RequestTruth, Usage};

    use super::*;

    fn truth() -> BTreeMap<String, ModelTruth> {
        let mut truth = ModelTruth::default();
        let success = RequestTruth {
            case: "c",
            model: "m".to_owned(),
            outcome: Outcome::Success,
            status: Some(200),
            stream: true,
            usage: Usage {
                input: Some(20),
                cached_input: Some(16),
                output: Some(3),
                reasoning: None,
            },
            output_events: 3,
            time_to_first_token: Some(Duration::from_millis(42)),
            gaps: vec![Duration::from_millis(11), Duration::from_millis(12)],
            duration: Duration::from_millis(65),
        };
        truth.add(&success);
        let left = RequestTruth {
            outcome: Outcome::ClientCancel,
            usage: Usage::default(),
            ..success
        };
        truth.add(&left);
        BTreeMap::from([("m".to_owned(), truth)])
    }

    /// A scrape that says what the clients measured, in the catalogue's words.
    const SCRAPE: &str = r#"
inference_requests_total{model="m",outcome="success",stream="true"} 1
inference_requests_total{model="m",outcome="client_cancel",stream="true"} 1
inference_requests_in_flight{model="m",phase="decode"} 0
inference_input_tokens_total{model="m",source="reported"} 20
inference_cached_input_tokens_total{model="m",source="reported"} 16
inference_output_tokens_total{model="m",source="reported"} 3
inference_output_tokens_total{model="m",source="estimated"} 4
gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="0.04"} 0
gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="0.06"} 2
gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="0.08"} 2
gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="+Inf"} 2
gen_ai_server_time_to_first_token_seconds_sum{gen_ai_request_model="m"} 0.083
gen_ai_server_time_to_first_token_seconds_count{gen_ai_request_model="m"} 2
inference_inter_token_latency_seconds_bucket{model="m",le="0.01"} 0
inference_inter_token_latency_seconds_bucket{model="m",le="0.015"} 5
inference_inter_token_latency_seconds_bucket{model="m",le="+Inf"} 5
inference_inter_token_latency_seconds_sum{model="m"} 0.058
inference_inter_token_latency_seconds_count{model="m"} 5
gen_ai_server_request_duration_seconds_bucket{gen_ai_request_model="m",le="0.08"} 1
gen_ai_server_request_duration_seconds_bucket{gen_ai_request_model="m",le="+Inf"} 1
gen_ai_server_request_duration_seconds_sum{gen_ai_request_model="m"} 0.065
gen_ai_server_request_duration_seconds_count{gen_ai_request_model="m"} 1
gen_ai_server_request_duration_seconds_count{gen_ai_request_model="m",error_type="client_cancel"} 1
"#;

    /// The checks that fail once a piece of the scrape is another.
    fn failing(piece: &str, replacement: &str) -> Vec<String> {
        assert!(SCRAPE.contains(piece), "{piece}");
        let scrape = Scrape::parse(&SCRAPE.replace(piece, replacement)).unwrap();
        let checks = judge(&scrape, &truth());
        assert_eq!(models(&checks), BTreeSet::from(["all", "m"]));
        checks
            .into_iter()
            .filter(|check| !check.agrees)
            .map(|check| check.what)
            .collect()
    }

    #[test]
    fn two_sides_that_agree_pass_every_check() {
        assert_eq!(failing("outcome", "outcome"), Vec::<String>::new());
    }

    #[test]
    fn each_difference_fails_its_own_check() {
        let success = r#"outcome="success",stream="true"} "#;
        let cases: [(&str, &str, &[&str]); 10] = [
            (
                &format!("{success}1"),
                &format!("{success}2"),
                &["requests", "requests, success, streamed", "requests"],
            ),
            (
                r#"outcome="client_cancel""#,
                r#"outcome="other""#,
                &[
                    "requests, client_cancel, streamed",
                    "requests, other, streamed",
                ],
            ),
            (
                r#"phase="decode"} 0"#,
                r#"phase="decode"} 1"#,
                &["requests in flight"],
            ),
            (
                r#"source="reported"} 20"#,
                r#"source="reported"} 21"#,
                &["input tokens, reported"],
            ),
            (
                r#"source="reported"} 16"#,
                r#"source="reported"} 0"#,
                &["cached input tokens, reported"],
            ),
            (
                r#"source="reported"} 3"#,
                r#"source="reported"} 6"#,
                &["output tokens, reported"],
            ),
            (
                r#"source="estimated"} 4"#,
                r#"source="estimated"} 2"#,
                &["output tokens, estimated"],
            ),
            (
                r#"source="estimated"} 4"#,
                r#"source="estimated"} 9"#,
                &["output tokens, estimated"],
            ),
            (
                r#"model="m"} 0.083"#,
                r#"model="m"} 0.095"#,
                &["TTFT mean, s"],
            ),
            (r#"le="0.06"} 2"#, r#"le="0.06"} 0"#, &[]),
        ];
        for (piece, replacement, expected) in cases {
            assert_eq!(
                failing(piece, replacement),
                expected,
                "{piece} as {replacement}"
            );
        }
        let two_buckets_off = failing("le=\"0.06\"} 2\n", "le=\"0.06\"} 0\n").len()
            + Scrape::parse(
                &SCRAPE
                    .replace(r#"le="0.06"} 2"#, r#"le="0.06"} 0"#)
                    .replace(r#"le="0.08"} 2"#, r#"le="0.08"} 0"#),
            )
            .map(|scrape| {
                judge(&scrape, &truth())
                    .iter()
                    .filter(|check| !check.agrees)
                    .count()
            })
            .unwrap();
        assert_eq!(
            two_buckets_off, 3,
            "p50, p95 and p99 of the time to the first token"
        );
    }

    #[test]
    fn an_empty_scrape_agrees_in_nothing_that_was_measured() {
        let checks = judge(&Scrape::default(), &truth());
        for check in checks {
            let is_silent_on_nothing = check.measured == Some(0.0);
            assert_eq!(
                check.agrees,
                is_silent_on_nothing && check.what != "requests in flight",
                "{check:?}"
            );
        }
    }
}
