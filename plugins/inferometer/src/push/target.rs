//! Where a root's configuration pushes to, resolved once.

use std::cell::OnceCell;
use std::rc::Rc;

use hostcalls::{HostError, LogLevel};
use otlp_delivery::Signal;
use otlp_encoding::{HistogramAggregation, ResourceAttributes, Sender, Temporality};
use plugin_config::{Config, Push, PushHistograms, PushTemporality, PushTraces};

use super::call::Destination;
use super::identity::instance_id;

/// The scope of all that is sent, and the module's name for itself.
pub(crate) const SCOPE: &str = "inferometer";

/// What is pushed where, and who its receivers are told that we are.
pub(crate) struct PushTarget {
    /// Whether the same configuration observes: one that does not is there to push.
    pub(crate) observes: bool,
    pub(crate) metrics: Option<MetricsTarget>,
    traces: Option<Destination>,
    logs: Option<Destination>,
    pub(crate) interval_millis: u32,
    resource: ResourceAttributes,
    sender: OnceCell<Rc<Sender>>,
}

/// How metrics are pushed.
pub(crate) struct MetricsTarget {
    pub(crate) destination: Destination,
    pub(crate) temporality: Temporality,
    pub(crate) histograms: HistogramAggregation,
}

impl PushTarget {
    /// What a configuration says; nothing where it pushes nothing.
    pub(crate) fn of(config: &Config) -> Option<Rc<PushTarget>> {
        let push = config.push()?;
        Some(Rc::new(PushTarget {
            observes: config.observes(),
            metrics: push.metrics().map(|metrics| MetricsTarget {
                destination: Destination::of(metrics.receiver()),
                temporality: match metrics.temporality() {
                    PushTemporality::Cumulative => Temporality::Cumulative,
                    PushTemporality::Delta => Temporality::Delta,
                },
                histograms: match metrics.histograms() {
                    PushHistograms::Explicit => HistogramAggregation::ExplicitBuckets,
                    PushHistograms::Exponential => HistogramAggregation::Base2Exponential,
                },
            }),
            traces: push.traces().map(PushTraces::receiver).map(Destination::of),
            logs: push.logs().map(Destination::of),
            interval_millis: push.interval_millis(),
            resource: resource(push),
            sender: OnceCell::new(),
        }))
    }

    /// Where a signal goes; nothing where it is not pushed.
    pub(crate) fn destination(&self, signal: Signal) -> Option<&Destination> {
        match signal {
            Signal::Metrics => self.metrics.as_ref().map(|metrics| &metrics.destination),
            Signal::Traces => self.traces.as_ref(),
            Signal::Logs => self.logs.as_ref(),
        }
    }

    /// What every request of this process says of its sender.
    pub(crate) fn sender(&self) -> Result<Rc<Sender>, HostError> {
        if let Some(sender) = self.sender.get() {
            return Ok(Rc::clone(sender));
        }
        let mut resource = self.resource.clone();
        if resource.get("service.instance.id").is_none() {
            resource.set("service.instance.id", instance_id()?);
        }
        let sender = Sender::new(&resource, SCOPE, metric_catalog::VERSION);
        Ok(Rc::clone(self.sender.get_or_init(|| Rc::new(sender))))
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
