//! The paths of HTTP.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use crate::Behaviour;
use crate::books::{Books, Received};
use crate::signal::Export;

pub(crate) fn routes(books: Arc<Books>) -> Router {
    Router::new()
        .route("/v1/metrics", post(answer::<ExportMetricsServiceRequest>))
        .route("/v1/traces", post(answer::<ExportTraceServiceRequest>))
        .route("/v1/logs", post(answer::<ExportLogsServiceRequest>))
        .with_state(books)
}

async fn answer<E: Export>(
    State(books): State<Arc<Books>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (_open, behaviour) = books.open(E::SIGNAL);
    let Some(message) = unpacked(&headers, &body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Ok(request) = E::decode(message.as_slice()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let texts = headers
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let received = Received {
        at: Instant::now(),
        headers: texts.collect(),
        request,
    };
    let Some(response) = behaviour.taken::<E>().await else {
        return refused(&behaviour);
    };
    books.take(received);
    let content_type = [(header::CONTENT_TYPE, "application/x-protobuf")];
    (content_type, response.encode_to_vec()).into_response()
}

/// A body without its compression; nothing where that is another one than it says, or none that is known.
fn unpacked(headers: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    match headers.get(header::CONTENT_ENCODING) {
        None => Some(body.to_vec()),
        Some(encoding) if encoding == "gzip" => {
            let mut message = Vec::new();
            GzDecoder::new(body).read_to_end(&mut message).ok()?;
            Some(message)
        }
        Some(_) => None,
    }
}

fn refused(behaviour: &Behaviour) -> Response {
    let Behaviour::Http {
        status,
        retry_after,
    } = behaviour
    else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::IM_A_TEAPOT);
    match retry_after {
        Some(seconds) => (status, [(header::RETRY_AFTER, seconds.to_string())]).into_response(),
        None => status.into_response(),
    }
}
