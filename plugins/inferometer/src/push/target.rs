//! Where a root's configuration pushes to, resolved once.

use std::rc::Rc;

use hostcalls::LogLevel;
use otlp_delivery::Protocol;
use otlp_encoding::{HistogramAggregation, ResourceAttributes, Sender, Temporality};
use plugin_config::{Config, Push, PushHistograms, PushProtocol, PushTemporality};

use super::identity::Instance;

/// The scope of all that is sent, and the module's name for itself.
const SCOPE: &str = "inferometer";

/// A receiver, and who it is told that we are.
pub(crate) struct PushTarget {
    pub(crate) push: Push,
    pub(crate) protocol: Protocol,
    pub(crate) temporality: Temporality,
    pub(crate) histograms: HistogramAggregation,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) user_agent: String,
    resource: ResourceAttributes,
}

impl PushTarget {
    /// What a configuration says; nothing where it pushes nowhere.
    pub(crate) fn of(config: &Config) -> Option<Rc<PushTarget>> {
        let push = config.push()?;
        let headers = push.headers().iter();
        Some(Rc::new(PushTarget {
            protocol: match push.protocol() {
                PushProtocol::Grpc => Protocol::Grpc,
                PushProtocol::HttpProtobuf => Protocol::HttpProtobuf,
            },
            temporality: match push.temporality() {
                PushTemporality::Cumulative => Temporality::Cumulative,
                PushTemporality::Delta => Temporality::Delta,
            },
            histograms: match push.histograms() {
                PushHistograms::Explicit => HistogramAggregation::ExplicitBuckets,
                PushHistograms::Exponential => HistogramAggregation::Base2Exponential,
            },
            headers: headers
                .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
                .collect(),
            user_agent: format!("{SCOPE}/{}", metric_catalog::VERSION),
            resource: resource(push),
            push: push.clone(),
        }))
    }

    /// What every request of this process says of its sender.
    pub(crate) fn sender(&self, instance: &Instance) -> Sender {
        let mut resource = self.resource.clone();
        if resource.get("service.instance.id").is_none() {
            resource.set("service.instance.id", instance.uuid());
        }
        Sender::new(&resource, SCOPE, metric_catalog::VERSION)
    }
}

/// What is known of the process: each source overrules those before it.
fn resource(push: &Push) -> ResourceAttributes {
    let mut resource = ResourceAttributes::default();
    resource.set("service.name", SCOPE);
    resource.set("telemetry.sdk.name", SCOPE);
    resource.set("telemetry.sdk.language", "rust");
    resource.set("telemetry.sdk.version", metric_catalog::VERSION);
    for (attribute, property) in [
        // Istio names the pod and its namespace so.
        ("k8s.pod.name", "xds\0node\0metadata\0NAME"),
        ("k8s.namespace.name", "xds\0node\0metadata\0NAMESPACE"),
        ("k8s.cluster.name", "xds\0node\0metadata\0CLUSTER_ID"),
        ("service.namespace", "xds\0node\0metadata\0NAMESPACE"),
        ("cloud.region", "xds\0node\0locality\0region"),
        ("cloud.availability_zone", "xds\0node\0locality\0zone"),
        ("envoy.node.id", "xds\0node\0id"),
        ("envoy.node.cluster", "xds\0node\0cluster"),
    ] {
        // A refusal says no more than that the proxy does not tell.
        if let Ok(Some(value)) = hostcalls::property(property)
            && let Ok(text) = String::from_utf8(value)
        {
            resource.set(attribute, text);
        }
    }
    set_from_environment(&mut resource);
    for (name, value) in push.resource() {
        resource.set(name, value.as_str());
    }
    resource
}

/// The variables that every OpenTelemetry SDK goes by, as far as the proxy lets them through.
fn set_from_environment(resource: &mut ResourceAttributes) {
    let variables = hostcalls::environment().unwrap_or_default();
    let variable = |name: &str| {
        let named = variables.iter().find_map(|variable| {
            let value = variable.strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=")
        });
        String::from_utf8_lossy(named.unwrap_or_default()).into_owned()
    };
    let attributes = variable("OTEL_RESOURCE_ATTRIBUTES");
    if resource.set_variable(&attributes).is_err() {
        hostcalls::log(
            LogLevel::Warn,
            "the environment's OTEL_RESOURCE_ATTRIBUTES is left out, as it is no list of key=value pairs between commas",
        );
    }
    resource.set("service.name", variable("OTEL_SERVICE_NAME"));
}
