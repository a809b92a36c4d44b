//! The three signals, each with its own request and answer of the same shape.

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;

use crate::Received;

/// What a receiver says of itself where it refuses anything.
pub(crate) const MESSAGE: &str = "as the test wants it";

/// What a call brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Metrics.
    Metrics,
    /// Spans.
    Traces,
    /// Log records.
    Logs,
}

/// What was taken, by signal.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) metrics: Vec<Received<ExportMetricsServiceRequest>>,
    pub(crate) traces: Vec<Received<ExportTraceServiceRequest>>,
    pub(crate) logs: Vec<Received<ExportLogsServiceRequest>>,
}

/// The request of a signal.
pub(crate) trait Export: Message + Default + Clone + Sized + 'static {
    const SIGNAL: Signal;
    type Response: Message + Default;

    /// The answer of a receiver that takes all but so many items.
    fn partly(rejected: i64) -> Self::Response;

    /// Where those that were taken are kept.
    fn kept(taken: &mut Taken) -> &mut Vec<Received<Self>>;
}

impl Export for ExportMetricsServiceRequest {
    const SIGNAL: Signal = Signal::Metrics;
    type Response = ExportMetricsServiceResponse;

    fn partly(rejected: i64) -> Self::Response {
        ExportMetricsServiceResponse {
            partial_success: Some(ExportMetricsPartialSuccess {
                rejected_data_points: rejected,
                error_message: MESSAGE.to_owned(),
            }),
        }
    }

    fn kept(taken: &mut Taken) -> &mut Vec<Received<Self>> {
        &mut taken.metrics
    }
}

impl Export for ExportTraceServiceRequest {
    const SIGNAL: Signal = Signal::Traces;
    type Response = ExportTraceServiceResponse;

    fn partly(rejected: i64) -> Self::Response {
        ExportTraceServiceResponse {
            partial_success: Some(ExportTracePartialSuccess {
                rejected_spans: rejected,
                error_message: MESSAGE.to_owned(),
            }),
        }
    }

    fn kept(taken: &mut Taken) -> &mut Vec<Received<Self>> {
        &mut taken.traces
    }
}

impl Export for ExportLogsServiceRequest {
    const SIGNAL: Signal = Signal::Logs;
    type Response = ExportLogsServiceResponse;

    fn partly(rejected: i64) -> Self::Response {
        ExportLogsServiceResponse {
            partial_success: Some(ExportLogsPartialSuccess {
                rejected_log_records: rejected,
                error_message: MESSAGE.to_owned(),
            }),
        }
    }

    fn kept(taken: &mut Taken) -> &mut Vec<Received<Self>> {
        &mut taken.logs
    }
}
