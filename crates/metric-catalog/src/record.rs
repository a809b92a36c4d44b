//! Which series one request's record moves.

use metric_registry::{Kind, Registry};
use request_observer::{Outcome, Purpose, RequestRecord};

use crate::catalog::{Catalog, Moved};
use crate::sample;
use crate::table::Row;
use crate::values::Values;

/// The label values of one request, as they may be shown: admitted, cut, or a word such as `other`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordLabels<'a> {
    /// The model of the `inference` metrics: an admitted name, `other` or `unknown`.
    pub model: &'a str,
    /// The model that was asked for; empty where none was.
    pub request_model: &'a str,
    /// The model that answered; empty where no answer named one.
    pub response_model: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The server's address, shown where that label is switched on.
    pub server_address: Option<&'a str>,
    /// Its port.
    pub server_port: Option<&'a str>,
    /// The cluster that the request went to, shown where that label is switched on.
    pub upstream_cluster: Option<&'a str>,
    /// The endpoint that the request went to, shown where that label is switched on.
    pub upstream_endpoint: Option<&'a str>,
    /// The route's name, shown where that label is switched on.
    pub route: Option<&'a str>,
    /// The request's objective, shown where that label is switched on.
    pub inference_objective: Option<&'a str>,
    /// Whose request it is, shown where that label is switched on.
    pub inference_fairness_id: Option<&'a str>,
    /// The model that a gateway put in the place of the one asked for, shown where that label is switched on.
    pub inference_model_rewrite: Option<&'a str>,
    /// The endpoint that a gateway chose, shown where that label is switched on.
    pub destination_endpoint: Option<&'a str>,
}

/// A record on its way into the registry.
struct Recording<'a> {
    catalog: &'a Catalog,
    record: &'a RequestRecord,
    registry: &'a mut Registry,
    moved: &'a mut dyn FnMut(Moved),
    gen_ai: Values<'a>,
    inference: Values<'a>,
}

impl Catalog {
    /// Moves the series of one request that has ended, and tells each move of a counter or histogram. One that is none
    /// of a client's is only counted as skipped.
    ///
    /// The record's gaps must have been sorted by this catalogue's [`gap_bounds_nanos`](Catalog::gap_bounds_nanos); see
    /// [`rebin_gaps`](crate::rebin_gaps) for those that were not. Gaps come sorted, so their moves are not told.
    pub fn record(
        &self,
        record: &RequestRecord,
        labels: &RecordLabels<'_>,
        registry: &mut Registry,
        moved: &mut dyn FnMut(Moved),
    ) {
        if record.purpose != Purpose::Client {
            let series = self.set_apart(registry, record.purpose);
            registry.add(series, 1);
            return;
        }
        let shown = self.labels;
        let operation = record.api.operation();
        let mut recording = Recording {
            catalog: self,
            record,
            registry,
            moved,
            gen_ai: Values::new(&[
                operation,
                labels.provider,
                labels.request_model,
                labels.response_model,
            ])
            .and_if(shown.server_address, labels.server_address)
            .and_if(shown.server_address, labels.server_port),
            inference: Values::new(&[labels.model, labels.provider, operation])
                .and_if(shown.upstream_cluster, labels.upstream_cluster)
                .and_if(shown.upstream_endpoint, labels.upstream_endpoint)
                .and_if(shown.route, labels.route)
                .and_if(shown.inference_objective, labels.inference_objective)
                .and_if(shown.inference_fairness_id, labels.inference_fairness_id)
                .and_if(
                    shown.inference_model_rewrite,
                    labels.inference_model_rewrite,
                )
                .and_if(shown.destination_endpoint, labels.destination_endpoint),
        };
        recording.conventions();
        recording.token_usage();
        recording.requests();
        recording.moments();
        recording.tokens();
        recording.prompt_cache();
        recording.servers_word();
        recording.itself();
    }
}

impl<'a> Recording<'a> {
    fn conventions(&mut self) {
        let record = self.record;
        let with_error = self.with_error();
        self.observe(Row::RequestDuration, with_error, record.durations.request);
        if record.stream {
            self.observe(
                Row::TimeToFirstToken,
                self.gen_ai,
                record.durations.time_to_first_token,
            );
        }
        self.observe(
            Row::TimePerOutputToken,
            self.gen_ai,
            sample::time_per_output_token(record),
        );
    }

    fn token_usage(&mut self) {
        let usage = self.record.usage;
        let whole_output = sample::whole_output(self.record);
        self.observe(Row::TokenUsage, self.gen_ai.and(&["input"]), usage.input);
        self.observe(Row::TokenUsage, self.gen_ai.and(&["output"]), whole_output);
        let with_error = self.with_error();
        self.observe(Row::OperationInput, with_error, usage.input);
        self.observe(Row::OperationOutput, with_error, whole_output);
        let unknown_modality = self.gen_ai.and(&["unknown"]);
        for (row, number) in [
            (Row::UsageInput, usage.input),
            (Row::UsageOutput, usage.output),
            (Row::UsageCacheRead, usage.cached_input),
            (Row::UsageCacheWrite, usage.cache_write_input),
            (Row::UsageReasoning, usage.reasoning),
        ] {
            self.add(row, unknown_modality, number);
        }
    }

    fn requests(&mut self) {
        let record = self.record;
        let stream = if record.stream { "true" } else { "false" };
        self.add(
            Row::Requests,
            self.inference.and(&[record.outcome.as_str(), stream]),
            Some(1),
        );
        self.observe(
            Row::InferenceDuration,
            self.inference,
            record.durations.request,
        );
        self.add(Row::Attempts, self.inference, Some(record.attempts));
        let processing = match (record.stream, record.outcome) {
            (true, _) => record.durations.decode,
            (false, Outcome::Success) => record.durations.request,
            (false, _) => None,
        };
        self.observe(
            Row::TokenProcessing,
            self.inference.and(&[stream]),
            processing,
        );
    }

    fn moments(&mut self) {
        let record = self.record;
        if !record.stream {
            return;
        }
        let durations = &record.durations;
        for (row, duration) in [
            (
                Row::TimeToResponseHeaders,
                durations.time_to_response_headers,
            ),
            (Row::TimeToFirstByte, durations.time_to_first_byte),
            (
                Row::TimeToFirstVisibleToken,
                durations.time_to_first_visible_token,
            ),
            (Row::MaxGap, durations.max_gap),
        ] {
            self.observe(row, self.inference, duration);
        }
        self.observe(
            Row::OutputRate,
            self.inference,
            sample::output_rate_millionths(record),
        );
        if let (Some(place), true) = (
            self.catalog.place(Row::InterTokenLatency),
            record.gaps.count > 0,
        ) {
            let series = self
                .catalog
                .series(self.registry, Some(place), self.inference.as_slice());
            self.registry
                .observe_many(series, &record.gaps.counts, record.gaps.sum_nanos);
        }
    }

    fn tokens(&mut self) {
        let record = self.record;
        let reported = self.inference.and(&["reported"]);
        self.add(Row::InputTokens, reported, record.usage.input);
        self.add(Row::CachedInputTokens, reported, record.usage.cached_input);
        self.add(Row::ReasoningTokens, reported, record.usage.reasoning);
        match record.usage.output {
            Some(output) => self.add(Row::OutputTokens, reported, Some(output)),
            None => self.add(
                Row::OutputTokens,
                self.inference.and(&["estimated"]),
                record.estimated_output,
            ),
        }
        let status = self
            .inference
            .and(&[record.usage_status.as_str(), record.usage_reason.as_str()]);
        self.add(Row::Usage, status, Some(1));
    }

    fn prompt_cache(&mut self) {
        if self.record.accepted {
            let usage = self.record.usage;
            let result = sample::cache_result(self.record);
            self.add(Row::CacheRequests, self.inference.and(&[result]), Some(1));
            self.observe(
                Row::CacheHitRatio,
                self.inference,
                sample::hit_ratio_millionths(&usage),
            );
        }
    }

    fn servers_word(&mut self) {
        let told = &self.record.telemetry;
        for (row, nanos) in [
            (Row::ServerQueueTime, told.queue_nanos),
            (Row::ServerTimeToFirstToken, told.time_to_first_token_nanos),
            (Row::ServerProcessingTime, told.processing_nanos),
        ] {
            self.observe(row, self.inference, nanos);
        }
    }

    fn itself(&mut self) {
        let record = self.record;
        for (kind, count) in record.anomalies.iter() {
            self.add(
                Row::Anomalies,
                Values::new(&[kind.as_str()]),
                Some(u64::from(count)),
            );
        }
        self.add(Row::Events, Values::new(&[]), Some(record.events));
        self.add(
            Row::InspectedBytes,
            Values::new(&[]),
            Some(record.inspected_bytes),
        );
    }

    fn with_error(&self) -> Values<'a> {
        let error = self
            .record
            .error_type
            .as_ref()
            .map_or("", |error| error.as_str());
        self.gen_ai.and(&[error])
    }

    /// Adds a number that is known; zero makes the series be there.
    fn add(&mut self, row: Row, values: Values<'_>, number: Option<u64>) {
        self.take(row, values, Kind::Counter, number);
    }

    /// Puts a value that is known into a histogram.
    fn observe(&mut self, row: Row, values: Values<'_>, value: Option<u64>) {
        self.take(row, values, Kind::Histogram, value);
    }

    /// The one place that feeds a metric and its alias, so that the two cannot differ. Only the metric itself is told.
    fn take(&mut self, row: Row, values: Values<'_>, kind: Kind, amount: Option<u64>) {
        let (Some(place), Some(amount)) = (self.catalog.place(row), amount) else {
            return;
        };
        for family in [Some(place.family), place.alias].into_iter().flatten() {
            let series = self
                .catalog
                .series_of(self.registry, family, values.as_slice());
            match kind {
                Kind::Counter => self.registry.add(series, amount),
                _ => self.registry.observe(series, amount),
            }
            if family == place.family && (kind == Kind::Histogram || amount > 0) {
                (self.moved)(Moved {
                    family,
                    series,
                    kind,
                    amount,
                });
            }
        }
    }
}
