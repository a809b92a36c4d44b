//! The messages of OTLP that are sent and read here, with the fields that are used.
//!
//! A field that is left out is one that is never set; readers take it for its default. A test holds every message
//! against the published definitions.

mod logs;
mod metrics;
mod shared;
mod traces;

pub(crate) use logs::LogRecord;
pub(crate) use metrics::{
    AGGREGATION_CUMULATIVE, AGGREGATION_DELTA, Buckets, Exemplar, ExponentialHistogram,
    ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint, Metric, MetricData,
    NumberDataPoint, NumberValue, Sum,
};
pub(crate) use shared::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, Resource, Value};
pub(crate) use traces::{KIND_CLIENT, KIND_SERVER, STATUS_ERROR, Span, SpanEvent, SpanStatus};
