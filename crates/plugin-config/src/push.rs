//! Where metrics are pushed to, and how.

use std::fmt;

use crate::json::Json;
use crate::shape::duration_millis;

/// A receiver of OTLP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    cluster: String,
    protocol: PushProtocol,
    authority: String,
    metrics_path: String,
    headers: Vec<(String, Secret)>,
    timeout_millis: u32,
    interval_millis: u32,
    temporality: PushTemporality,
    histograms: PushHistograms,
    resource: Vec<(String, String)>,
}

/// A text that may open doors: it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// How the receiver is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushProtocol {
    /// gRPC.
    Grpc,
    /// Protocol buffers over HTTP.
    HttpProtobuf,
}

/// What time a point covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushTemporality {
    /// Since counting began.
    Cumulative,
    /// Since the point before.
    Delta,
}

/// The form of histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushHistograms {
    /// With their own bounds.
    Explicit,
    /// Base-2 exponential.
    Exponential,
}

impl Push {
    /// The proxy's cluster that the receiver is in.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// How the receiver is spoken to.
    pub fn protocol(&self) -> PushProtocol {
        self.protocol
    }

    /// What the receiver is called.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The path for metrics over HTTP.
    pub fn metrics_path(&self) -> &str {
        &self.metrics_path
    }

    /// Headers besides, each with a value that must not be shown.
    pub fn headers(&self) -> &[(String, Secret)] {
        &self.headers
    }

    /// How long an answer is waited for.
    pub fn timeout_millis(&self) -> u32 {
        self.timeout_millis
    }

    /// The time between two exports.
    pub fn interval_millis(&self) -> u32 {
        self.interval_millis
    }

    /// What time a point covers.
    pub fn temporality(&self) -> PushTemporality {
        self.temporality
    }

    /// The form of histograms.
    pub fn histograms(&self) -> PushHistograms {
        self.histograms
    }

    /// Attributes of the resource.
    pub fn resource(&self) -> &[(String, String)] {
        &self.resource
    }

    /// What is in force, for one line of a log.
    pub(crate) fn summary(&self) -> String {
        let Push {
            cluster,
            interval_millis,
            ..
        } = self;
        let protocol = match self.protocol {
            PushProtocol::Grpc => "grpc",
            PushProtocol::HttpProtobuf => "http/protobuf",
        };
        format!("to {cluster} by {protocol} every {interval_millis}ms")
    }

    /// Takes the values out of an object in which no mistake was found.
    pub(crate) fn from_checked(json: &Json) -> Option<Push> {
        let text = |key: &str| json.member(key).and_then(Json::as_text);
        let millis = |key: &str| text(key).and_then(|text| duration_millis(text, 0, u32::MAX));
        let cluster = text("cluster")?;
        let map = |key: &str| {
            let members = json.member(key).map(Json::members).unwrap_or_default();
            members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_text()?.to_owned())))
        };
        Some(Push {
            cluster: cluster.to_owned(),
            protocol: match text("protocol") {
                Some("http/protobuf") => PushProtocol::HttpProtobuf,
                _ => PushProtocol::Grpc,
            },
            authority: text("authority").map_or_else(|| host_name(cluster), str::to_owned),
            metrics_path: text("metrics_path").unwrap_or("/v1/metrics").to_owned(),
            headers: map("headers")
                .map(|(name, value)| (name, Secret(value)))
                .collect(),
            timeout_millis: millis("timeout").unwrap_or(10_000),
            interval_millis: millis("interval").unwrap_or(5_000),
            temporality: match text("temporality") {
                Some("delta") => PushTemporality::Delta,
                _ => PushTemporality::Cumulative,
            },
            histograms: match text("histograms") {
                Some("base2_exponential_bucket_histogram") => PushHistograms::Exponential,
                _ => PushHistograms::Explicit,
            },
            resource: map("resource").collect(),
        })
    }
}

/// A cluster's name as an authority can be.
fn host_name(cluster: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || ".-_:".contains(character);
    cluster
        .chars()
        .map(|character| if plain(character) { character } else { '_' })
        .collect()
}

impl Secret {
    /// The text, to be sent and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(not shown)")
    }
}
