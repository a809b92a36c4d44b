//! What is pushed, where to, and how.

use std::fmt;

use crate::json::Json;
use crate::shape::duration_millis;

/// What is pushed, and who its sender says to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    metrics: Option<PushMetrics>,
    traces: Option<PushTraces>,
    logs: Option<Receiver>,
    interval_millis: u32,
    resource: Vec<(String, String)>,
}

/// A receiver of OTLP, as one signal is sent to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    cluster: String,
    protocol: PushProtocol,
    compression: PushCompression,
    authority: String,
    path: String,
    headers: Vec<(String, Secret)>,
    timeout_millis: u32,
}

/// How metrics are pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushMetrics {
    receiver: Receiver,
    temporality: PushTemporality,
    histograms: PushHistograms,
}

/// Which requests get a span, and how spans are pushed.
#[derive(Debug, Clone, PartialEq)]
pub struct PushTraces {
    receiver: Receiver,
    kind: Option<PushSpanKind>,
    ratio: f64,
    follow_parent: bool,
    keep_errors: bool,
    keep_slower_than_millis: Option<u32>,
    baggage: Vec<String>,
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

/// How requests are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushCompression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
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

/// On which side of its request a span stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushSpanKind {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

impl Push {
    /// How metrics are pushed; none where they are not.
    pub fn metrics(&self) -> Option<&PushMetrics> {
        self.metrics.as_ref()
    }

    /// How spans are pushed; none where they are not.
    pub fn traces(&self) -> Option<&PushTraces> {
        self.traces.as_ref()
    }

    /// Where log records of failed requests are pushed to; none where they are not.
    pub fn logs(&self) -> Option<&Receiver> {
        self.logs.as_ref()
    }

    /// The time between two exports of one signal.
    pub fn interval_millis(&self) -> u32 {
        self.interval_millis
    }

    /// Attributes of the resource.
    pub fn resource(&self) -> &[(String, String)] {
        &self.resource
    }

    /// What is in force, for one line of a log.
    pub(crate) fn summary(&self) -> String {
        let signals = [
            ("metrics", self.metrics().map(PushMetrics::receiver)),
            ("traces", self.traces().map(PushTraces::receiver)),
            ("logs", self.logs()),
        ];
        let mut summary = String::new();
        for (signal, receiver) in signals {
            if let Some(receiver) = receiver {
                summary.push_str(&format!("{signal} to {}, ", receiver.summary()));
            }
        }
        format!("{summary}every {}ms", self.interval_millis)
    }

    /// Takes the values out of an object in which no mistake was found.
    pub(crate) fn from_checked(push: &Json) -> Option<Push> {
        let signal = |name: &str, default: bool| {
            let section = push.member(name);
            let is_on = section.map_or(default, |section| section != &Json::Switch(false));
            is_on.then(|| section.unwrap_or(&Json::Null))
        };
        let receiver = |section: &Json, path| Receiver::from_checked(push, section, path);
        Some(Push {
            metrics: match signal("metrics", true) {
                Some(own) => Some(PushMetrics::from_checked(
                    own,
                    receiver(own, "/v1/metrics")?,
                )),
                None => None,
            },
            traces: match signal("traces", false) {
                Some(own) => Some(PushTraces::from_checked(own, receiver(own, "/v1/traces")?)),
                None => None,
            },
            logs: match signal("logs", false) {
                Some(own) => Some(receiver(own, "/v1/logs")?),
                None => None,
            },
            interval_millis: millis(push, "interval").unwrap_or(5_000),
            resource: map(push, "resource"),
        })
    }
}

impl PushMetrics {
    /// Where they are pushed to.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What time a point covers.
    pub fn temporality(&self) -> PushTemporality {
        self.temporality
    }

    /// The form of histograms.
    pub fn histograms(&self) -> PushHistograms {
        self.histograms
    }

    fn from_checked(own: &Json, receiver: Receiver) -> PushMetrics {
        PushMetrics {
            receiver,
            temporality: match text(own, "temporality") {
                Some("delta") => PushTemporality::Delta,
                _ => PushTemporality::Cumulative,
            },
            histograms: match text(own, "histograms") {
                Some("base2_exponential_bucket_histogram") => PushHistograms::Exponential,
                _ => PushHistograms::Explicit,
            },
        }
    }
}

impl PushTraces {
    /// Where they are pushed to.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// On which side of its request a span stands; where nothing is said, the listener's direction decides.
    pub fn kind(&self) -> Option<PushSpanKind> {
        self.kind
    }

    /// The part of traces without a parent that is kept, from 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Whether spans join the trace that a request names, and are kept where that is sampled.
    pub fn follow_parent(&self) -> bool {
        self.follow_parent
    }

    /// Whether every request that failed is kept.
    pub fn keep_errors(&self) -> bool {
        self.keep_errors
    }

    /// Requests that took longer are kept.
    pub fn keep_slower_than_millis(&self) -> Option<u32> {
        self.keep_slower_than_millis
    }

    /// The keys of baggage that become attributes.
    pub fn baggage(&self) -> &[String] {
        &self.baggage
    }

    fn from_checked(own: &Json, receiver: Receiver) -> PushTraces {
        let switch = |key: &str| own.member(key).and_then(Json::as_switch);
        let keys = own.member("baggage").map(Json::elements);
        PushTraces {
            receiver,
            kind: match text(own, "kind") {
                Some("client") => Some(PushSpanKind::Client),
                Some("server") => Some(PushSpanKind::Server),
                _ => None,
            },
            ratio: own.member("ratio").and_then(Json::as_number).unwrap_or(1.0),
            follow_parent: switch("follow_parent").unwrap_or(true),
            keep_errors: switch("keep_errors").unwrap_or(false),
            keep_slower_than_millis: millis(own, "keep_slower_than"),
            baggage: keys
                .unwrap_or_default()
                .iter()
                .filter_map(Json::as_text)
                .map(str::to_owned)
                .collect(),
        }
    }
}

impl Receiver {
    /// The proxy's cluster that the receiver is in.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// How the receiver is spoken to.
    pub fn protocol(&self) -> PushProtocol {
        self.protocol
    }

    /// How requests are compressed.
    pub fn compression(&self) -> PushCompression {
        self.compression
    }

    /// What the receiver is called.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The path over HTTP.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Headers besides, each with a value that must not be shown.
    pub fn headers(&self) -> &[(String, Secret)] {
        &self.headers
    }

    /// How long an answer is waited for.
    pub fn timeout_millis(&self) -> u32 {
        self.timeout_millis
    }

    fn summary(&self) -> String {
        let protocol = match self.protocol {
            PushProtocol::Grpc => "grpc",
            PushProtocol::HttpProtobuf => "http/protobuf",
        };
        format!("{} by {protocol}", self.cluster)
    }

    /// A signal's own word goes before that for all signals.
    fn from_checked(all: &Json, own: &Json, path: &str) -> Option<Receiver> {
        let either = |key: &str| text(own, key).or_else(|| text(all, key));
        let cluster = either("cluster")?;
        // What one cluster is called is not what another one is.
        let authority = match text(own, "cluster") {
            Some(_) => text(own, "authority"),
            None => either("authority"),
        };
        // Nor is another receiver to see a key that is for one.
        let headers = match (own.member("headers"), text(own, "cluster")) {
            (None, None) => map(all, "headers"),
            _ => map(own, "headers"),
        };
        Some(Receiver {
            cluster: cluster.to_owned(),
            protocol: match either("protocol") {
                Some("http/protobuf") => PushProtocol::HttpProtobuf,
                _ => PushProtocol::Grpc,
            },
            compression: match either("compression") {
                Some("gzip") => PushCompression::Gzip,
                _ => PushCompression::None,
            },
            authority: authority.map_or_else(|| host_name(cluster), str::to_owned),
            path: text(own, "path").unwrap_or(path).to_owned(),
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, Secret(value)))
                .collect(),
            timeout_millis: millis(own, "timeout")
                .or_else(|| millis(all, "timeout"))
                .unwrap_or(10_000),
        })
    }
}

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.member(key).and_then(Json::as_text)
}

fn millis(json: &Json, key: &str) -> Option<u32> {
    duration_millis(text(json, key)?, 0, u32::MAX)
}

fn map(json: &Json, key: &str) -> Vec<(String, String)> {
    let members = json.member(key).map(Json::members).unwrap_or_default();
    members
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_text()?.to_owned())))
        .collect()
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
