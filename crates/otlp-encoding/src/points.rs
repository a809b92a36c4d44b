//! A series' value as a point of OTLP.

use metric_registry::SeriesValue;

use crate::attributes::label;
use crate::exemplars::Exemplar;
use crate::exponential::Layout;
use crate::messages::{
    self, Buckets, ExponentialHistogramDataPoint, HistogramDataPoint, KeyValue, NumberDataPoint,
    NumberValue,
};
use crate::rows::Row;

/// The time that a point covers.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start_unix_nanos: u64,
    pub(crate) time_unix_nanos: u64,
}

pub(crate) fn number(row: &Row<'_>, span: Span) -> NumberDataPoint {
    let scale = row.measured.scale;
    let value = match row.measured.value {
        SeriesValue::Counter(sum) if scale == 1 => {
            NumberValue::Int(i64::try_from(sum).unwrap_or(i64::MAX))
        }
        SeriesValue::Counter(sum) => NumberValue::Double(unscaled(sum, scale)),
        SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } if scale == 1 => {
            NumberValue::Int(level)
        }
        SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } => {
            NumberValue::Double(level as f64 / scale as f64)
        }
        SeriesValue::Histogram { .. } => NumberValue::Int(0),
    };
    NumberDataPoint {
        start_time_unix_nano: span.start_unix_nanos,
        time_unix_nano: span.time_unix_nanos,
        attributes: attributes(row),
        value: Some(value),
    }
}

pub(crate) fn histogram(
    row: &Row<'_>,
    span: Span,
    exemplar: Option<&Exemplar>,
) -> HistogramDataPoint {
    let (counts, sum) = buckets(row);
    let scale = row.measured.scale;
    HistogramDataPoint {
        start_time_unix_nano: span.start_unix_nanos,
        time_unix_nano: span.time_unix_nanos,
        count: row.measured.value.count(),
        sum: Some(unscaled(sum, scale)),
        bucket_counts: counts.to_vec(),
        explicit_bounds: bounds(row),
        exemplars: exemplars(exemplar, scale),
        attributes: attributes(row),
    }
}

pub(crate) fn exponential(
    row: &Row<'_>,
    span: Span,
    exemplar: Option<&Exemplar>,
) -> ExponentialHistogramDataPoint {
    let (counts, sum) = buckets(row);
    let layout = Layout::of(&bounds(row));
    ExponentialHistogramDataPoint {
        attributes: attributes(row),
        start_time_unix_nano: span.start_unix_nanos,
        time_unix_nano: span.time_unix_nanos,
        count: row.measured.value.count(),
        sum: Some(unscaled(sum, row.measured.scale)),
        scale: layout.scale,
        positive: Some(Buckets {
            offset: layout.offset,
            bucket_counts: layout.counts(counts),
        }),
        exemplars: exemplars(exemplar, row.measured.scale),
    }
}

fn exemplars(exemplar: Option<&Exemplar>, scale: u64) -> Vec<messages::Exemplar> {
    let as_sent = |exemplar: &Exemplar| messages::Exemplar {
        time_unix_nano: exemplar.time_unix_nanos,
        as_double: Some(unscaled(exemplar.amount, scale)),
        span_id: exemplar.span_id.clone(),
        trace_id: exemplar.trace_id.clone(),
    };
    exemplar.map(as_sent).into_iter().collect()
}

fn buckets<'a>(row: &'a Row<'_>) -> (&'a [u64], u64) {
    match &row.measured.value {
        SeriesValue::Histogram { counts, sum } => (counts, *sum),
        SeriesValue::Counter(_) | SeriesValue::Gauge(_) | SeriesValue::Reading { .. } => (&[], 0),
    }
}

fn bounds(row: &Row<'_>) -> Vec<f64> {
    let bounds = row.measured.bounds.iter();
    bounds
        .map(|bound| unscaled(*bound, row.measured.scale))
        .collect()
}

fn attributes(row: &Row<'_>) -> Vec<KeyValue> {
    let labels = row.labels.iter();
    labels.map(|(name, value)| label(name, value)).collect()
}

/// A value in its unit. The quotient is rounded once, as is a decimal number that is read, so both give the same.
fn unscaled(value: u64, scale: u64) -> f64 {
    value as f64 / scale.max(1) as f64
}
