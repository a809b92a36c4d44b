//! The receiver: its two listeners, which can be taken away and come back.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::LogsServiceServer;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::MetricsServiceServer;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::TraceServiceServer;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;

use crate::books::{Books, Received};
use crate::grpc::Service;
use crate::{Behaviour, Signal, http};

/// How long connections are waited for that do not end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest message that is taken.
const MESSAGE_BYTES: usize = 64 << 20;

/// A receiver of OTLP.
#[derive(Debug)]
pub struct OtlpReceiver {
    books: Arc<Books>,
    grpc: SocketAddr,
    http: SocketAddr,
    /// All its connections live in here, and end with it.
    running: Option<Runtime>,
}

impl OtlpReceiver {
    /// A receiver on ports of its own.
    ///
    /// # Errors
    ///
    /// When it cannot listen.
    pub fn start() -> Result<OtlpReceiver> {
        let mut receiver = OtlpReceiver {
            books: Arc::default(),
            grpc: SocketAddr::from(([127, 0, 0, 1], 0)),
            http: SocketAddr::from(([127, 0, 0, 1], 0)),
            running: None,
        };
        receiver.resume()?;
        Ok(receiver)
    }

    /// Where gRPC is spoken.
    #[must_use]
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// Where HTTP is spoken.
    #[must_use]
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// Goes away with all connections, as a receiver that is stopped.
    pub fn pause(&mut self) {
        if let Some(running) = self.running.take() {
            // Its ports are free when it returns; a thread of its own may wait for that where a task may not.
            let stopping = thread::spawn(move || running.shutdown_timeout(PATIENCE));
            // It panics where a test has failed anyway.
            let _ended = stopping.join();
        }
    }

    /// Comes back on the same ports.
    ///
    /// # Errors
    ///
    /// When it cannot listen there.
    pub fn resume(&mut self) -> Result<()> {
        let running = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let inside = running.enter();
        let grpc = listener(self.grpc)?;
        let http = listener(self.http)?;
        self.grpc = grpc.local_addr()?;
        self.http = http.local_addr()?;
        let service = || Service(Arc::clone(&self.books));
        let metrics = MetricsServiceServer::new(service())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(MESSAGE_BYTES);
        let traces = TraceServiceServer::new(service())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(MESSAGE_BYTES);
        let logs = LogsServiceServer::new(service())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(MESSAGE_BYTES);
        let routes = http::routes(Arc::clone(&self.books));
        running.spawn(async move {
            let server = Server::builder()
                .add_service(metrics)
                .add_service(traces)
                .add_service(logs);
            // A listener that fails shows in the test as calls that do not come.
            let _ended = server
                .serve_with_incoming(TcpListenerStream::new(grpc))
                .await;
        });
        running.spawn(async move {
            let _ended = axum::serve(http, routes).await;
        });
        drop(inside);
        self.running = Some(running);
        Ok(())
    }

    /// How the next call of a signal without an order of its own is answered.
    pub fn next(&self, signal: Signal, behaviour: Behaviour) {
        self.books.next(signal, behaviour);
    }

    /// How calls of a signal are answered that no other order is for.
    pub fn always(&self, signal: Signal, behaviour: Behaviour) {
        self.books.always(signal, behaviour);
    }

    /// The metrics that were taken, in their order.
    #[must_use]
    pub fn metrics(&self) -> Vec<Received<ExportMetricsServiceRequest>> {
        self.books.taken()
    }

    /// The requests of spans that were taken, in their order.
    #[must_use]
    pub fn traces(&self) -> Vec<Received<ExportTraceServiceRequest>> {
        self.books.taken()
    }

    /// The requests of log records that were taken, in their order.
    #[must_use]
    pub fn logs(&self) -> Vec<Received<ExportLogsServiceRequest>> {
        self.books.taken()
    }

    /// How many calls of a signal came, those that were refused among them.
    #[must_use]
    pub fn calls(&self, signal: Signal) -> usize {
        self.books.calls(signal)
    }

    /// The most calls of a signal that were open at one time.
    #[must_use]
    pub fn most_open(&self, signal: Signal) -> usize {
        self.books.most_open(signal)
    }
}

impl Drop for OtlpReceiver {
    fn drop(&mut self) {
        self.pause();
    }
}

fn listener(address: SocketAddr) -> Result<TcpListener> {
    let listener = StdListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(TcpListener::from_std(listener)?)
}
