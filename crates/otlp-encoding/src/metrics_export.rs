//! A snapshot as a sequence of requests, made step by step.

use std::collections::VecDeque;
use std::rc::Rc;

use metric_registry::{Family, Kind, Snapshot};

use crate::exemplars::Exemplars;
use crate::messages::{
    AGGREGATION_CUMULATIVE, AGGREGATION_DELTA, ExponentialHistogram, Gauge, Histogram, Metric,
    MetricData, Sum,
};
use crate::points::{Span, exponential, histogram, number};
use crate::rows::{Row, grown, rows};
use crate::sender::{Sender, field};

/// Whether a point covers the time since counting began, or since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporality {
    /// Since counting began: a point that is lost costs nothing.
    #[default]
    Cumulative,
    /// Since the one before.
    Delta,
}

/// How histograms are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistogramAggregation {
    /// With their own bounds.
    #[default]
    ExplicitBuckets,
    /// As base-2 exponential histograms: count and sum are exact, and each count stands in the bucket that holds the
    /// bound of its explicit one.
    Base2Exponential,
}

/// How large requests and steps become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most bytes of a request, if no single point is larger.
    pub request_bytes: usize,
    /// The most points of a step, but for a metric's first.
    pub points_per_step: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            request_bytes: 1 << 20,
            points_per_step: 100,
        }
    }
}

/// What is to be sent, and how.
pub struct MetricsInput {
    /// All series. Its start is that of every cumulative point.
    pub snapshot: Snapshot,
    /// What was delivered last, where points are to cover the time since then.
    pub delivered: Option<Delivered>,
    /// The time of the snapshot.
    pub time_unix_nanos: u64,
    /// The temporality of sums and histograms.
    pub temporality: Temporality,
    /// The form of histograms.
    pub histograms: HistogramAggregation,
    /// What stands beside the points of histograms.
    pub exemplars: Exemplars,
    /// A metric's description by its name.
    pub describe: fn(&str) -> Option<&'static str>,
}

/// What was delivered, and of which time it was.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    /// All series as they were.
    pub snapshot: Snapshot,
    /// Their time.
    pub time_unix_nanos: u64,
}

impl Delivered {
    /// The value under which workers tell one another.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.time_unix_nanos.to_le_bytes().to_vec();
        bytes.extend(self.snapshot.encode());
        bytes
    }

    /// Reads such a value; nothing where it is none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Delivered> {
        let (time, snapshot) = bytes.split_first_chunk()?;
        Some(Delivered {
            snapshot: Snapshot::decode(snapshot).ok()?,
            time_unix_nanos: u64::from_le_bytes(*time),
        })
    }
}

impl MetricsInput {
    /// A snapshot of that time to be sent as the defaults have it, without descriptions.
    #[must_use]
    pub fn cumulative(snapshot: Snapshot, time_unix_nanos: u64) -> MetricsInput {
        MetricsInput {
            snapshot,
            delivered: None,
            time_unix_nanos,
            temporality: Temporality::Cumulative,
            histograms: HistogramAggregation::ExplicitBuckets,
            exemplars: Exemplars::default(),
            describe: |_| None,
        }
    }
}

/// What a step has brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do before a request is complete.
    More,
    /// A request is complete.
    Request {
        /// The encoded message.
        bytes: Vec<u8>,
        /// How many points it holds.
        points: usize,
    },
    /// Nothing is left.
    Done,
}

/// A snapshot on its way into requests.
///
/// Each [`step`](MetricsExport::step) does a bounded piece of the work, so that a caller who shares its thread with
/// traffic can put time between two of them.
pub struct MetricsExport {
    input: MetricsInput,
    sender: Rc<Sender>,
    bounds: Bounds,
    /// The metrics that are left, each with the places of its families in the snapshot.
    metrics: VecDeque<Vec<usize>>,
    /// Metrics whose points are not all in a request yet.
    ready: VecDeque<Metric>,
    request: Vec<u8>,
    request_points: usize,
}

impl MetricsExport {
    /// Begins; nothing is encoded yet.
    #[must_use]
    pub fn new(input: MetricsInput, sender: Rc<Sender>, bounds: Bounds) -> MetricsExport {
        let mut order: Vec<(usize, Family<'_>)> = input.snapshot.families().enumerate().collect();
        order.sort_by(|(_, one), (_, other)| key(*one).cmp(&key(*other)));
        let metrics = order
            .chunk_by(|(_, one), (_, other)| key(*one) == key(*other))
            .map(|same| same.iter().map(|(place, _)| *place).collect())
            .collect();
        MetricsExport {
            input,
            sender,
            bounds,
            metrics,
            ready: VecDeque::new(),
            request: Vec::new(),
            request_points: 0,
        }
    }

    /// Does one piece of the work.
    pub fn step(&mut self) -> Step {
        if self.ready.is_empty() {
            self.make_ready();
        }
        if self.ready.is_empty() {
            return match self.request_points {
                0 => Step::Done,
                _ => self.complete(),
            };
        }
        let mut left = self.bounds.points_per_step.max(1);
        while left > 0
            && let Some(mut metric) = self.ready.pop_front()
        {
            if let Some(rest) = split(&mut metric, left) {
                self.ready.push_front(rest);
            }
            left = left.saturating_sub(count(&metric));
            if let Some(complete) = self.add(&metric) {
                return complete;
            }
        }
        Step::More
    }

    /// The time of the snapshot.
    #[must_use]
    pub fn time_unix_nanos(&self) -> u64 {
        self.input.time_unix_nanos
    }

    /// What is to be remembered once the last request was accepted; after the last step.
    #[must_use]
    pub fn take_delivered(&mut self) -> Delivered {
        Delivered {
            snapshot: std::mem::take(&mut self.input.snapshot),
            time_unix_nanos: self.input.time_unix_nanos,
        }
    }

    /// Puts a metric into the request; gives the request before it, if it had no room.
    fn add(&mut self, metric: &Metric) -> Option<Step> {
        let points = count(metric);
        let encoded = field(2, metric);
        let is_full = self.request_points > 0
            && self.request.len().saturating_add(encoded.len()) > self.bounds.request_bytes;
        let complete = is_full.then(|| self.complete());
        self.request.extend(encoded);
        self.request_points = self.request_points.saturating_add(points);
        complete
    }

    fn complete(&mut self) -> Step {
        let metrics = std::mem::take(&mut self.request);
        Step::Request {
            bytes: self.sender.request(&metrics),
            points: std::mem::take(&mut self.request_points),
        }
    }

    /// Turns the next metrics into points, about as many as a step takes.
    fn make_ready(&mut self) {
        let mut points = 0_usize;
        while points < self.bounds.points_per_step.max(1)
            && let Some(places) = self.metrics.pop_front()
        {
            let families = self.input.snapshot.families().enumerate();
            let entries = families.filter(|(place, _)| places.contains(place));
            let metric = metric(&self.input, entries.map(|(_, family)| family).collect());
            if let Some(metric) = metric {
                points = points.saturating_add(count(&metric));
                self.ready.push_back(metric);
            }
        }
    }
}

/// What makes families one metric.
fn key<'a>(family: Family<'a>) -> (&'a str, Kind, &'a str) {
    (family.name(), family.kind(), family.unit())
}

/// One metric with all its points; nothing where it has none.
fn metric(input: &MetricsInput, entries: Vec<Family<'_>>) -> Option<Metric> {
    let first = *entries.first()?;
    let spans = spanned(input, first, rows(entries.into_iter()));
    if spans.is_empty() {
        return None;
    }
    let aggregation_temporality = match input.temporality {
        Temporality::Cumulative => AGGREGATION_CUMULATIVE,
        Temporality::Delta => AGGREGATION_DELTA,
    };
    let spans = spans.iter();
    let exemplar = |row: &Row<'_>| input.exemplars.find(first.name(), &row.labels);
    let data = match (first.kind(), input.histograms) {
        (Kind::Counter, _) => MetricData::Sum(Sum {
            data_points: spans.map(|(row, span)| number(row, *span)).collect(),
            aggregation_temporality,
            is_monotonic: true,
        }),
        (Kind::Gauge | Kind::Reading, _) => MetricData::Gauge(Gauge {
            data_points: spans.map(|(row, span)| number(row, *span)).collect(),
        }),
        (Kind::Histogram, HistogramAggregation::Base2Exponential) => {
            MetricData::ExponentialHistogram(ExponentialHistogram {
                data_points: spans
                    .map(|(row, span)| exponential(row, *span, exemplar(row)))
                    .collect(),
                aggregation_temporality,
            })
        }
        (Kind::Histogram, HistogramAggregation::ExplicitBuckets) => {
            MetricData::Histogram(Histogram {
                data_points: spans
                    .map(|(row, span)| histogram(row, *span, exemplar(row)))
                    .collect(),
                aggregation_temporality,
            })
        }
    };
    Some(Metric {
        name: first.name().to_owned(),
        description: (input.describe)(first.name())
            .unwrap_or_default()
            .to_owned(),
        unit: first.unit().to_owned(),
        data: Some(data),
    })
}

/// The rows that are to be sent, each with the time that it covers.
fn spanned<'a>(
    input: &'a MetricsInput,
    metric: Family<'_>,
    rows: Vec<Row<'a>>,
) -> Vec<(Row<'a>, Span)> {
    let since_start = Span {
        start_unix_nanos: input.snapshot.start_unix_nanos,
        time_unix_nanos: input.time_unix_nanos,
    };
    let since = |start_unix_nanos| Span {
        start_unix_nanos,
        ..since_start
    };
    match (metric.kind(), input.temporality, &input.delivered) {
        // A level covers no time.
        (Kind::Gauge | Kind::Reading, ..) => rows.into_iter().map(|row| (row, since(0))).collect(),
        (_, Temporality::Delta, Some(delivered)) => {
            let families = delivered.snapshot.families();
            let before = self::rows(families.filter(|family| key(*family) == key(metric)));
            let grown = grown(rows, &before).into_iter();
            grown
                .map(|(row, anew)| match anew {
                    true => (row, since_start),
                    false => (row, since(delivered.time_unix_nanos)),
                })
                .collect()
        }
        _ => rows.into_iter().map(|row| (row, since_start)).collect(),
    }
}

/// Leaves so many points in a metric and gives the rest, if there is any.
fn split(metric: &mut Metric, points: usize) -> Option<Metric> {
    let rest = match metric.data.as_mut()? {
        MetricData::Sum(sum) => MetricData::Sum(Sum {
            data_points: rest_of(&mut sum.data_points, points)?,
            aggregation_temporality: sum.aggregation_temporality,
            is_monotonic: sum.is_monotonic,
        }),
        MetricData::Gauge(gauge) => MetricData::Gauge(Gauge {
            data_points: rest_of(&mut gauge.data_points, points)?,
        }),
        MetricData::Histogram(histogram) => MetricData::Histogram(Histogram {
            data_points: rest_of(&mut histogram.data_points, points)?,
            aggregation_temporality: histogram.aggregation_temporality,
        }),
        MetricData::ExponentialHistogram(histogram) => {
            MetricData::ExponentialHistogram(ExponentialHistogram {
                data_points: rest_of(&mut histogram.data_points, points)?,
                aggregation_temporality: histogram.aggregation_temporality,
            })
        }
    };
    Some(Metric {
        name: metric.name.clone(),
        description: metric.description.clone(),
        unit: metric.unit.clone(),
        data: Some(rest),
    })
}

fn rest_of<T>(all: &mut Vec<T>, points: usize) -> Option<Vec<T>> {
    (all.len() > points).then(|| all.split_off(points))
}

fn count(metric: &Metric) -> usize {
    match &metric.data {
        Some(MetricData::Sum(sum)) => sum.data_points.len(),
        Some(MetricData::Gauge(gauge)) => gauge.data_points.len(),
        Some(MetricData::Histogram(histogram)) => histogram.data_points.len(),
        Some(MetricData::ExponentialHistogram(histogram)) => histogram.data_points.len(),
        None => 0,
    }
}
