//! What the catalogue says of one metric.

use metric_registry::Kind;

use crate::label::{
    DESTINATION_ENDPOINT, GEN_AI_OPERATION, GEN_AI_PROVIDER, GEN_AI_REQUEST_MODEL,
    GEN_AI_RESPONSE_MODEL, INFERENCE_FAIRNESS_ID, INFERENCE_MODEL_REWRITE, INFERENCE_OBJECTIVE,
    Label, MODEL, OPERATION, PROVIDER, ROUTE, SERVER_ADDRESS, SERVER_PORT, UPSTREAM_CLUSTER,
    UPSTREAM_ENDPOINT,
};
use crate::settings::{CatalogSettings, LabelSwitches, Semconv};

/// A group of metrics that is switched as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The metrics of the semantic conventions.
    GenAi,
    /// What the conventions lack.
    Inference,
    /// The module about itself; always on.
    SelfTelemetry,
}

/// The labels that a metric has besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Those that the semantic conventions ask for.
    GenAi,
    /// Model, provider and operation, and those of upstream and routing that are switched on.
    Inference,
    /// Model, provider and operation: nothing is known of the upstream while a request is under way.
    InFlight,
    /// None.
    Nothing,
}

/// How a metric appears among the proxy's own stats, which hold whole numbers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvoyMirror {
    /// The end of the stat's name, behind the tags.
    pub name: &'static str,
    /// How many of the stat's whole numbers make one of the metric's unit.
    pub per_unit: u64,
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definition {
    /// OpenTelemetry name.
    pub name: &'static str,
    /// A second OpenTelemetry name under which a copy is exported.
    pub alias: Option<&'static str>,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Unit by the Unified Code for Units of Measure.
    pub unit: &'static str,
    /// Integer units that the registry counts one of the unit in.
    pub scale: u64,
    /// One sentence for the exposition.
    pub help: &'static str,
    /// Upper bounds of a histogram's buckets, in the unit.
    pub bounds: &'static [f64],
    /// The group it belongs to.
    pub profile: Profile,
    /// The only version of the conventions that has it; none: both, or no convention.
    pub semconv: Option<Semconv>,
    /// The labels it has besides its own.
    pub base: Base,
    /// Its own labels.
    pub own_labels: &'static [Label],
    /// Which requests or events give a sample, and what the sample is.
    pub sample_rule: &'static str,
    /// Where the definition comes from.
    pub source: &'static str,
    /// How it appears among the proxy's own stats; none: it does not.
    pub envoy: Option<EnvoyMirror>,
}

/// The part of a definition that counting needs; the rest stays out of the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) alias: Option<&'static str>,
    pub(crate) kind: Kind,
    pub(crate) unit: &'static str,
    pub(crate) scale: u64,
    pub(crate) help: &'static str,
    pub(crate) bounds: &'static [f64],
    pub(crate) profile: Profile,
    pub(crate) semconv: Option<Semconv>,
    pub(crate) base: Base,
    pub(crate) own_labels: &'static [Label],
    pub(crate) envoy: Option<EnvoyMirror>,
}

impl Profile {
    /// All of them, in the order of the documentation.
    pub const ALL: [Profile; 3] = [Profile::GenAi, Profile::Inference, Profile::SelfTelemetry];

    /// The word in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::GenAi => "gen_ai",
            Profile::Inference => "inference",
            Profile::SelfTelemetry => "self",
        }
    }
}

impl Base {
    /// The labels with all switches as given, in the order in which values are passed.
    pub(crate) fn labels(self, switches: LabelSwitches) -> Vec<Label> {
        let (always, switched): (&[Label], &[(bool, Label)]) = match self {
            Base::GenAi => (
                &[
                    GEN_AI_OPERATION,
                    GEN_AI_PROVIDER,
                    GEN_AI_REQUEST_MODEL,
                    GEN_AI_RESPONSE_MODEL,
                ],
                &[
                    (switches.server_address, SERVER_ADDRESS),
                    (switches.server_address, SERVER_PORT),
                ],
            ),
            Base::Inference => (
                &[MODEL, PROVIDER, OPERATION],
                &[
                    (switches.upstream_cluster, UPSTREAM_CLUSTER),
                    (switches.upstream_endpoint, UPSTREAM_ENDPOINT),
                    (switches.route, ROUTE),
                    (switches.inference_objective, INFERENCE_OBJECTIVE),
                    (switches.inference_fairness_id, INFERENCE_FAIRNESS_ID),
                    (switches.inference_model_rewrite, INFERENCE_MODEL_REWRITE),
                    (switches.destination_endpoint, DESTINATION_ENDPOINT),
                ],
            ),
            Base::InFlight => (&[MODEL, PROVIDER, OPERATION], &[]),
            Base::Nothing => (&[], &[]),
        };
        let switched = switched
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, label)| *label);
        always.iter().copied().chain(switched).collect()
    }
}

impl Definition {
    /// Every label that a series of it can have, the switchable ones included.
    #[must_use]
    pub fn labels(&self) -> Vec<Label> {
        const ALL: LabelSwitches = LabelSwitches {
            server_address: true,
            upstream_cluster: true,
            upstream_endpoint: true,
            route: true,
            inference_objective: true,
            inference_fairness_id: true,
            inference_model_rewrite: true,
            destination_endpoint: true,
        };
        let mut labels = self.base.labels(ALL);
        labels.extend_from_slice(self.own_labels);
        labels
    }

    pub(crate) const fn metric(&self) -> Metric {
        Metric {
            name: self.name,
            alias: self.alias,
            kind: self.kind,
            unit: self.unit,
            scale: self.scale,
            help: self.help,
            bounds: self.bounds,
            profile: self.profile,
            semconv: self.semconv,
            base: self.base,
            own_labels: self.own_labels,
            envoy: self.envoy,
        }
    }
}

impl Metric {
    /// Whether the settings keep this metric.
    pub(crate) fn is_kept(&self, settings: &CatalogSettings) -> bool {
        let by_profile = match self.profile {
            Profile::GenAi => settings.gen_ai,
            Profile::Inference => settings.inference,
            Profile::SelfTelemetry => true,
        };
        by_profile
            && self
                .semconv
                .is_none_or(|semconv| semconv == settings.semconv)
    }

    /// The names of its labels, in the order in which values are passed.
    pub(crate) fn label_names(&self, switches: LabelSwitches) -> Vec<&'static str> {
        let base = self.base.labels(switches);
        base.iter()
            .chain(self.own_labels)
            .map(|label| label.name)
            .collect()
    }

    /// A value of the unit in the registry's integers.
    pub(crate) fn scaled(&self, value: f64) -> u64 {
        (value * self.scale as f64 + 0.5) as u64
    }
}
