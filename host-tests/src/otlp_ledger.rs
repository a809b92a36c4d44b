//! Keeps the books of what a receiver of OTLP got: what each series holds in the end, in the words of a scrape, and
//! everything about the sequence of points that no honest sender does.

use std::collections::BTreeMap;

use metric_registry::Kind;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Metric, metric::Data, number_data_point,
};
use prometheus_text::metric_name;

use crate::metric_assert::{Exposition, Sample};

/// Text attributes by name.
pub type Attributes = BTreeMap<String, String>;

/// What came, point by point.
#[derive(Debug, Default)]
pub struct Ledger {
    series: BTreeMap<(String, Attributes), Entry>,
    faults: Vec<String>,
    instances: Vec<String>,
    requests: usize,
    points: usize,
}

/// One series.
#[derive(Clone, Debug)]
struct Entry {
    kind: Kind,
    unit: String,
    writer: String,
    start: u64,
    time: u64,
    value: Value,
}

/// What a point says. Buckets are not cumulative, `+Inf` last.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Histogram {
        count: u64,
        sum: f64,
        bounds: Vec<f64>,
        counts: Vec<u64>,
    },
    /// Of these only count and sum can be held against a scrape.
    Exponential {
        count: u64,
        sum: f64,
    },
}

impl Ledger {
    /// Takes a request.
    pub fn take(&mut self, request: &ExportMetricsServiceRequest) {
        self.requests += 1;
        for entry in &request.resource_metrics {
            let resource = entry.resource.as_ref();
            let resource = attributes(resource.map_or(&[], |own| &own.attributes));
            let writer = resource.get("service.instance.id").cloned();
            let writer = writer.unwrap_or_default();
            if !self.instances.contains(&writer) {
                self.instances.push(writer.clone());
            }
            for metric in entry.scope_metrics.iter().flat_map(|scope| &scope.metrics) {
                self.take_metric(metric, &writer);
            }
        }
    }

    fn take_metric(&mut self, metric: &Metric, writer: &str) {
        let (kind, temporality) = match &metric.data {
            Some(Data::Sum(sum)) => (Kind::Counter, sum.aggregation_temporality),
            Some(Data::Gauge(_)) => (Kind::Gauge, 0),
            Some(Data::Histogram(histogram)) => {
                (Kind::Histogram, histogram.aggregation_temporality)
            }
            Some(Data::ExponentialHistogram(histogram)) => {
                (Kind::Histogram, histogram.aggregation_temporality)
            }
            other => {
                self.faults.push(format!("{}: {other:?}", metric.name));
                return;
            }
        };
        let is_delta = temporality == AggregationTemporality::Delta as i32;
        for (labels, start, time, value) in points(metric) {
            self.points += 1;
            let entry = Entry {
                kind,
                unit: metric.unit.clone(),
                writer: writer.to_owned(),
                start,
                time,
                value,
            };
            self.take_point((metric.name.clone(), labels), entry, is_delta);
        }
    }

    fn take_point(&mut self, series: (String, Attributes), mut entry: Entry, is_delta: bool) {
        let mut fault = |what: &str| self.faults.push(format!("{series:?}: {what}"));
        if entry.kind != Kind::Gauge && (entry.start == 0 || entry.start > entry.time) {
            fault("the start is not before the time");
        }
        if let Some(before) = self.series.get(&series) {
            if before.writer != entry.writer && before.start == entry.start {
                fault("it has two writers");
            }
            if entry.time < before.time {
                fault("time steps back");
            }
            if entry.kind != Kind::Gauge && entry.start < before.start {
                fault("its start steps back");
            }
            if is_delta {
                if entry.start < before.time {
                    fault("two points cover the same time");
                }
                entry.value = before.value.plus(&entry.value);
            } else if entry.kind != Kind::Gauge
                && entry.start == before.start
                && !entry.value.is_at_least(&before.value)
            {
                fault("it steps back");
            }
        }
        self.series.insert(series, entry);
    }

    /// What was wrong with the sequence; nothing of an honest sender.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Every `service.instance.id` that was met.
    #[must_use]
    pub fn instances(&self) -> &[String] {
        &self.instances
    }

    /// How many requests and points came.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.requests, self.points)
    }

    /// What the series hold now, in the words of a scrape.
    #[must_use]
    pub fn exposition(&self) -> Exposition {
        let mut samples = Vec::new();
        for ((name, labels), entry) in &self.series {
            let name = metric_name(name, &entry.unit, entry.kind);
            let labels: Attributes = labels
                .iter()
                .map(|(name, value)| (name.replace('.', "_"), value.clone()))
                .collect();
            let mut add = |suffix: &str, le: Option<String>, value: f64| {
                let mut labels = labels.clone();
                labels.extend(le.map(|le| ("le".to_owned(), le)));
                samples.push(Sample {
                    name: format!("{name}{suffix}"),
                    labels,
                    value,
                });
            };
            match &entry.value {
                Value::Number(value) => add("", None, *value),
                Value::Histogram {
                    count,
                    sum,
                    bounds,
                    counts,
                } => {
                    let ends = bounds.iter().map(f64::to_string);
                    let ends = ends.chain(["+Inf".to_owned()]);
                    let mut cumulative = 0;
                    for (le, count) in ends.zip(counts) {
                        cumulative += count;
                        add("_bucket", Some(le), cumulative as f64);
                    }
                    add("_sum", None, *sum);
                    add("_count", None, *count as f64);
                }
                Value::Exponential { count, sum } => {
                    add("_sum", None, *sum);
                    add("_count", None, *count as f64);
                }
            }
        }
        Exposition::of(samples)
    }
}

impl Value {
    fn plus(&self, more: &Value) -> Value {
        match (self, more) {
            (Value::Number(one), Value::Number(other)) => Value::Number(one + other),
            (
                Value::Histogram {
                    count,
                    sum,
                    bounds,
                    counts,
                },
                Value::Histogram {
                    count: more,
                    sum: more_sum,
                    counts: more_counts,
                    ..
                },
            ) => Value::Histogram {
                count: count + more,
                sum: sum + more_sum,
                bounds: bounds.clone(),
                counts: counts
                    .iter()
                    .zip(more_counts)
                    .map(|(one, other)| one + other)
                    .collect(),
            },
            (
                Value::Exponential { count, sum },
                Value::Exponential {
                    count: more,
                    sum: more_sum,
                },
            ) => Value::Exponential {
                count: count + more,
                sum: sum + more_sum,
            },
            (_, more) => more.clone(),
        }
    }

    fn is_at_least(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(one), Value::Number(other)) => one >= other,
            (Value::Histogram { counts, .. }, Value::Histogram { counts: others, .. }) => {
                counts.iter().zip(others).all(|(one, other)| one >= other)
            }
            (Value::Exponential { count, .. }, Value::Exponential { count: other, .. }) => {
                count >= other
            }
            _ => false,
        }
    }
}

/// A scrape whose buckets are called by plain decimals, as the ledger calls them.
#[must_use]
pub fn with_plain_bounds(scrape: &Exposition) -> Exposition {
    let plain = |sample: &Sample| {
        let mut sample = sample.clone();
        if let Some(le) = sample.labels.get_mut("le")
            && let Ok(bound) = le.parse::<f64>()
            && bound.is_finite()
        {
            *le = bound.to_string();
        }
        sample
    };
    Exposition::of(scrape.samples().iter().map(plain).collect())
}

fn points(metric: &Metric) -> Vec<(Attributes, u64, u64, Value)> {
    let number = |value: Option<number_data_point::Value>| match value {
        Some(number_data_point::Value::AsInt(number)) => Value::Number(number as f64),
        Some(number_data_point::Value::AsDouble(number)) => Value::Number(number),
        None => Value::Number(f64::NAN),
    };
    let numbers = match &metric.data {
        Some(Data::Sum(sum)) => sum.data_points.as_slice(),
        Some(Data::Gauge(gauge)) => &gauge.data_points,
        _ => &[],
    };
    let mut points: Vec<_> = numbers
        .iter()
        .map(|point| {
            let labels = attributes(&point.attributes);
            let value = number(point.value);
            (
                labels,
                point.start_time_unix_nano,
                point.time_unix_nano,
                value,
            )
        })
        .collect();
    if let Some(Data::Histogram(histogram)) = &metric.data {
        points.extend(histogram.data_points.iter().map(|point| {
            let value = Value::Histogram {
                count: point.count,
                sum: point.sum.unwrap_or(f64::NAN),
                bounds: point.explicit_bounds.clone(),
                counts: point.bucket_counts.clone(),
            };
            let labels = attributes(&point.attributes);
            (
                labels,
                point.start_time_unix_nano,
                point.time_unix_nano,
                value,
            )
        }));
    }
    if let Some(Data::ExponentialHistogram(histogram)) = &metric.data {
        points.extend(histogram.data_points.iter().map(|point| {
            let value = Value::Exponential {
                count: point.count,
                sum: point.sum.unwrap_or(f64::NAN),
            };
            let labels = attributes(&point.attributes);
            (
                labels,
                point.start_time_unix_nano,
                point.time_unix_nano,
                value,
            )
        }));
    }
    points
}

/// Attributes as text.
#[must_use]
pub fn attributes(pairs: &[KeyValue]) -> Attributes {
    let text = |pair: &KeyValue| match pair.value.as_ref().and_then(|any| any.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::BoolValue(is)) => is.to_string(),
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    pairs
        .iter()
        .map(|pair| (pair.key.clone(), text(pair)))
        .collect()
}
