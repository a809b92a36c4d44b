//! The two ways of OTLP, and the request of each.

use crate::gzip::gzip;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Metrics.
    Metrics,
    /// Spans.
    Traces,
    /// Log records.
    Logs,
}

impl Signal {
    /// The signal in OpenTelemetry's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Signal::Metrics => "metrics",
            Signal::Traces => "traces",
            Signal::Logs => "logs",
        }
    }

    /// The method that takes it over gRPC.
    #[must_use]
    pub const fn grpc_path(self) -> &'static str {
        match self {
            Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        }
    }

    /// The path that takes it over HTTP, unless the receiver has another.
    #[must_use]
    pub const fn http_path(self) -> &'static str {
        match self {
            Signal::Metrics => "/v1/metrics",
            Signal::Traces => "/v1/traces",
            Signal::Logs => "/v1/logs",
        }
    }
}

/// How a receiver is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC; its cluster must speak HTTP/2.
    #[default]
    Grpc,
    /// Protocol buffers over HTTP.
    HttpProtobuf,
}

/// How messages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// By gzip.
    Gzip,
}

/// Where requests go.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// How the receiver is spoken to.
    pub protocol: Protocol,
    /// How messages are compressed.
    pub compression: Compression,
    /// The receiver's name for itself.
    pub authority: &'a str,
    /// The path over HTTP; gRPC has its own.
    pub path: &'a str,
    /// How long an answer is waited for.
    pub timeout_millis: u32,
    /// Headers besides, as for authentication.
    pub headers: &'a [(String, String)],
    /// How the sender names itself.
    pub user_agent: &'a str,
}

/// A request ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its headers, those that HTTP/2 wants for itself among them.
    pub headers: Vec<(&'a str, &'a str)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// The request that brings a message to a receiver. `timeout` is the value of `grpc-timeout`, as
/// [`Target::grpc_timeout`] gives it.
#[must_use]
pub fn request<'a>(
    target: &Target<'a>,
    signal: Signal,
    timeout: &'a str,
    message: Vec<u8>,
) -> Request<'a> {
    let (path, content_type) = match target.protocol {
        Protocol::Grpc => (signal.grpc_path(), "application/grpc"),
        Protocol::HttpProtobuf => (target.path, "application/x-protobuf"),
    };
    let mut headers = vec![
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", target.authority),
        (":path", path),
        ("content-type", content_type),
        ("user-agent", target.user_agent),
    ];
    let (message, is_compressed) = match target.compression {
        Compression::None => (message, false),
        Compression::Gzip => (gzip(&message), true),
    };
    if is_compressed {
        let name = match target.protocol {
            Protocol::Grpc => "grpc-encoding",
            Protocol::HttpProtobuf => "content-encoding",
        };
        headers.push((name, "gzip"));
    }
    let body = match target.protocol {
        Protocol::Grpc => {
            headers.push(("te", "trailers"));
            headers.push(("grpc-timeout", timeout));
            framed(&message, is_compressed)
        }
        Protocol::HttpProtobuf => message,
    };
    let own = target.headers.iter();
    headers.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
    Request { headers, body }
}

impl Target<'_> {
    /// The value of `grpc-timeout`.
    #[must_use]
    pub fn grpc_timeout(&self) -> String {
        format!("{}m", self.timeout_millis)
    }
}

/// A message as gRPC sends it: whether it is compressed, its length, itself.
fn framed(message: &[u8], is_compressed: bool) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(message.len().saturating_add(5));
    frame.push(u8::from(is_compressed));
    frame.extend(length.to_be_bytes());
    frame.extend(message);
    frame
}
