//! The services of gRPC.

use std::future;
use std::sync::Arc;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::MetricsService;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use tonic::metadata::KeyAndValueRef;
use tonic::{Code, Request, Response, Status, async_trait};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::Behaviour;
use crate::books::{Books, Received};

pub(crate) struct Metrics(pub(crate) Arc<Books>);

#[async_trait]
impl MetricsService for Metrics {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let (_open, behaviour) = self.0.open();
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
        let mut response = ExportMetricsServiceResponse::default();
        match behaviour {
            Behaviour::Take => {}
            Behaviour::TakeAfter(pause) => tokio::time::sleep(pause).await,
            Behaviour::TakePartly(rejected_data_points) => {
                response.partial_success = Some(ExportMetricsPartialSuccess {
                    rejected_data_points,
                    error_message: "as the test wants it".to_owned(),
                });
            }
            Behaviour::Status { code, retry_after } => {
                let code = Code::from(code);
                return Err(match retry_after {
                    Some(pause) => {
                        let details = ErrorDetails::with_retry_info(Some(pause));
                        Status::with_error_details(code, "as the test wants it", details)
                    }
                    None => Status::new(code, "as the test wants it"),
                });
            }
            Behaviour::Http { .. } => return Err(Status::internal("as the test wants it")),
            Behaviour::Hang => future::pending().await,
        }
        self.0.take(received);
        Ok(Response::new(response))
    }
}
