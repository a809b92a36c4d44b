//! The messages of OTLP that are sent and read here, with the fields that are used.
//!
//! A field that is left out is one that is never set; readers take it for its default. A test holds every message
//! against the published definitions.

mod metrics;
mod shared;

pub(crate) use metrics::{
    AGGREGATION_CUMULATIVE, AGGREGATION_DELTA, Buckets, ExponentialHistogram,
    ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint, Metric, MetricData,
    NumberDataPoint, NumberValue, Sum,
};
pub(crate) use shared::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, Resource, Value};
