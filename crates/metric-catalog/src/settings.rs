//! What a configuration may choose of the catalogue.

use crate::table;

/// The version of the semantic conventions that names the `gen_ai` metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semconv {
    /// The last release that held them, 1.41.
    V1_41,
    /// The head of the conventions' own repository.
    Head,
}

/// Labels that can be switched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelSwitches {
    /// `server.address` and `server.port` on the `gen_ai` metrics.
    pub server_address: bool,
    /// `upstream_cluster` on the `inference` metrics.
    pub upstream_cluster: bool,
    /// `upstream_endpoint` on the `inference` metrics.
    pub upstream_endpoint: bool,
    /// `route` on the `inference` metrics.
    pub route: bool,
    /// `inference_objective` on the `inference` metrics.
    pub inference_objective: bool,
    /// `inference_fairness_id` on the `inference` metrics.
    pub inference_fairness_id: bool,
    /// `inference_model_rewrite` on the `inference` metrics.
    pub inference_model_rewrite: bool,
    /// `destination_endpoint` on the `inference` metrics.
    pub destination_endpoint: bool,
}

/// What a configuration chooses. The metrics of the module about itself are always kept.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogSettings {
    /// Whether the metrics of the semantic conventions are kept.
    pub gen_ai: bool,
    /// Whether those that the conventions lack are kept.
    pub inference: bool,
    /// The version of the semantic conventions.
    pub semconv: Semconv,
    /// Bounds that replace a histogram's own, in its unit. They have been checked: ascending, above zero, at most 32.
    pub buckets: Vec<(&'static str, Vec<f64>)>,
    /// The switchable labels.
    pub labels: LabelSwitches,
    /// The metrics that are mirrored to the proxy's own stats.
    pub mirrored: Vec<&'static str>,
}

impl Default for CatalogSettings {
    /// What the empty configuration amounts to.
    fn default() -> CatalogSettings {
        CatalogSettings {
            gen_ai: true,
            inference: true,
            semconv: Semconv::V1_41,
            buckets: Vec::new(),
            labels: LabelSwitches {
                upstream_cluster: true,
                ..LabelSwitches::default()
            },
            mirrored: table::metrics()
                .filter(|metric| metric.envoy.is_some())
                .map(|metric| metric.name)
                .collect(),
        }
    }
}
