//! What one root context's configuration means: for its streams, and for the catalogue.

use metric_catalog::{CatalogSettings, LabelSwitches, Semconv};
use plugin_config::Config;
use request_observer::{Budget, Settings as ObserverSettings};

use crate::push::Recording;

/// A root context's configuration, resolved once.
pub(crate) struct Settings {
    /// The configuration as it was accepted.
    pub(crate) config: Config,
    /// What the observer of each stream needs of it.
    pub(crate) observer: ObserverSettings,
    /// What is made of each stream besides metrics.
    pub(crate) recording: Recording,
}

impl Settings {
    /// Resolves a configuration. The budget is one for all configurations of the machine.
    pub(crate) fn new(config: Config, gap_bounds_nanos: Vec<u64>, budget: &Budget) -> Settings {
        let extra_routes = config
            .routes()
            .iter()
            .map(|route| (route.path_suffix().as_bytes().to_vec(), route.api()))
            .collect();
        Settings {
            recording: Recording::of(&config),
            observer: ObserverSettings {
                gap_bounds_nanos,
                extra_routes,
                decompression: budget.clone(),
            },
            config,
        }
    }

    /// Whether a label shows what a gateway wrote into the request's headers.
    pub(crate) fn shows_routing(&self) -> bool {
        let labels = self.config.labels();
        labels.inference_objective()
            || labels.inference_fairness_id()
            || labels.inference_model_rewrite()
            || labels.destination_endpoint()
    }

    /// Whether a path, without its query, is the one that scrapes are answered on.
    pub(crate) fn is_scrape_path(&self, path: &[u8]) -> bool {
        let bare = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        self.config
            .scrape_path()
            .is_some_and(|scrape| scrape.as_bytes() == bare)
    }
}

/// What the configuration chooses of the catalogue.
pub(crate) fn catalog_settings(config: &Config) -> CatalogSettings {
    let labels = config.labels();
    let profiles = config.profiles();
    CatalogSettings {
        gen_ai: profiles.gen_ai(),
        inference: profiles.inference(),
        semconv: match config.semconv() {
            plugin_config::Semconv::V1_41 => Semconv::V1_41,
            plugin_config::Semconv::Head => Semconv::Head,
        },
        buckets: config.buckets().to_vec(),
        labels: LabelSwitches {
            server_address: labels.server_address(),
            upstream_cluster: labels.upstream_cluster(),
            upstream_endpoint: labels.upstream_endpoint(),
            route: labels.route(),
            inference_objective: labels.inference_objective(),
            inference_fairness_id: labels.inference_fairness_id(),
            inference_model_rewrite: labels.inference_model_rewrite(),
            destination_endpoint: labels.destination_endpoint(),
        },
        mirrored: config.envoy_stats().unwrap_or_default().to_vec(),
    }
}
