//! The services of gRPC.

use std::sync::Arc;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::LogsService;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::MetricsService;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::TraceService;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tonic::metadata::KeyAndValueRef;
use tonic::{Code, Request, Response, Status, async_trait};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::behaviour::Behaviour;
use crate::books::{Books, Received};
use crate::signal::{Export, MESSAGE};

/// One service a signal.
pub(crate) struct Service(pub(crate) Arc<Books>);

#[async_trait]
impl MetricsService for Service {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.answer(request).await
    }
}

#[async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.answer(request).await
    }
}

#[async_trait]
impl LogsService for Service {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.answer(request).await
    }
}

impl Service {
    async fn answer<E: Export>(
        &self,
        request: Request<E>,
    ) -> Result<Response<E::Response>, Status> {
        let (_open, behaviour) = self.0.open(E::SIGNAL);
        let pairs = request.metadata().iter().filter_map(|pair| match pair {
            KeyAndValueRef::Ascii(name, value) => {
                Some((name.to_string(), value.to_str().ok()?.to_owned()))
            }
            KeyAndValueRef::Binary(..) => None,
        });
        let received = Received {
            at: Instant::now(),
            headers: pairs.collect(),
            request: request.into_inner(),
        };
        let Some(response) = behaviour.taken::<E>().await else {
            return Err(refused(&behaviour));
        };
        self.0.take(received);
        Ok(Response::new(response))
    }
}

fn refused(behaviour: &Behaviour) -> Status {
    match behaviour {
        Behaviour::Status {
            code,
            retry_after: Some(pause),
        } => {
            let details = ErrorDetails::with_retry_info(Some(*pause));
            Status::with_error_details(Code::from(*code), MESSAGE, details)
        }
        Behaviour::Status { code, .. } => Status::new(Code::from(*code), MESSAGE),
        _ => Status::internal(MESSAGE),
    }
}
