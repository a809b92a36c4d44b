//! What a configuration chooses reaches the families, and the lists of names that it may use are the catalogue's.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use metric_catalog::{Catalog, CatalogSettings, LabelSwitches, Semconv, definitions};
use metric_registry::{FamilyDef, Kind};

fn families(settings: &CatalogSettings) -> Vec<FamilyDef> {
    Catalog::new(settings).families()
}

fn family(settings: &CatalogSettings, name: &str) -> FamilyDef {
    families(settings)
        .into_iter()
        .find(|family| family.name == name)
        .unwrap_or_else(|| panic!("{name} is not kept"))
}

/// How many families of a namespace are kept.
fn count(settings: &CatalogSettings, namespace: &str) -> usize {
    families(settings)
        .iter()
        .filter(|family| family.name.starts_with(namespace))
        .count()
}

#[test]
fn profiles_switch_whole_groups_and_the_module_itself_stays() {
    let off = CatalogSettings {
        gen_ai: false,
        inference: false,
        ..CatalogSettings::default()
    };
    let own = count(&off, "inferometer.");
    assert_eq!(families(&off).len(), own);
    assert_eq!(own, 17);
    let gen_ai = CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    };
    assert_eq!(
        (
            count(&gen_ai, "gen_ai."),
            count(&gen_ai, "inference."),
            count(&gen_ai, "token_")
        ),
        (4, 0, 0)
    );
    let inference = CatalogSettings {
        gen_ai: false,
        ..CatalogSettings::default()
    };
    assert_eq!(
        (
            count(&inference, "gen_ai."),
            count(&inference, "inference."),
            count(&inference, "token_")
        ),
        (0, 21, 1)
    );
}

#[test]
fn the_version_of_the_conventions_chooses_the_names() {
    let names = |semconv| {
        let settings = CatalogSettings {
            semconv,
            ..CatalogSettings::default()
        };
        let kept = families(&settings).into_iter().map(|family| family.name);
        kept.filter(|name| name.starts_with("gen_ai.client."))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(Semconv::V1_41), ["gen_ai.client.token.usage"]);
    assert_eq!(
        names(Semconv::Head),
        [
            "gen_ai.client.inference.usage.input_tokens",
            "gen_ai.client.inference.usage.output_tokens",
            "gen_ai.client.inference.usage.cache_read.input_tokens",
            "gen_ai.client.inference.usage.cache_write.input_tokens",
            "gen_ai.client.inference.usage.reasoning.output_tokens",
            "gen_ai.client.inference.operation.input_tokens",
            "gen_ai.client.inference.operation.output_tokens",
        ]
    );
}

#[test]
fn switched_labels_stand_between_the_base_and_the_metrics_own() {
    let labels = LabelSwitches {
        server_address: true,
        upstream_cluster: true,
        upstream_endpoint: true,
        route: true,
        inference_objective: true,
        inference_fairness_id: true,
        inference_model_rewrite: true,
        destination_endpoint: true,
    };
    let all = CatalogSettings {
        labels,
        ..CatalogSettings::default()
    };
    assert_eq!(
        family(&all, "inference.requests").labels,
        [
            "model",
            "provider",
            "operation",
            "upstream_cluster",
            "upstream_endpoint",
            "route",
            "inference_objective",
            "inference_fairness_id",
            "inference_model_rewrite",
            "destination_endpoint",
            "outcome",
            "stream"
        ]
    );
    assert_eq!(
        family(&all, "inference.requests.in_flight").labels,
        ["model", "provider", "operation", "phase"]
    );
    assert_eq!(
        family(&all, "gen_ai.server.request.duration").labels,
        [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "server.address",
            "server.port",
            "error.type"
        ]
    );
    let by_default = CatalogSettings::default();
    assert_eq!(
        family(&by_default, "inference.requests").labels,
        [
            "model",
            "provider",
            "operation",
            "upstream_cluster",
            "outcome",
            "stream"
        ]
    );
}

#[test]
fn chosen_bounds_replace_a_histograms_own_and_its_copys() {
    let settings = CatalogSettings {
        buckets: vec![
            ("inference.token_processing.duration", vec![0.25, 1.0]),
            ("inference.inter_token.latency", vec![0.0001, 0.3]),
            ("inference.prompt_cache.hit_ratio", vec![0.3, 0.999_999]),
        ],
        ..CatalogSettings::default()
    };
    for name in [
        "inference.token_processing.duration",
        "token_processing.duration",
    ] {
        assert_eq!(family(&settings, name).bounds, [250_000_000, 1_000_000_000]);
    }
    assert_eq!(
        Catalog::new(&settings).gap_bounds_nanos(),
        [100_000, 300_000_000]
    );
    assert_eq!(
        family(&settings, "inference.prompt_cache.hit_ratio").bounds,
        [300_000, 999_999]
    );
    let own = family(&CatalogSettings::default(), "inference.inter_token.latency").bounds;
    assert_eq!((own.len(), own[0], own[19]), (20, 1_000_000, 5_000_000_000));
}

#[test]
fn nobody_sorts_gaps_where_nobody_keeps_them() {
    let settings = CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    };
    assert!(Catalog::new(&settings).gap_bounds_nanos().is_empty());
}

#[test]
fn the_configuration_accepts_exactly_the_catalogues_names() {
    let histograms: Vec<_> = definitions()
        .into_iter()
        .filter(|each| each.kind == Kind::Histogram)
        .map(|each| (each.name, each.scale))
        .collect();
    let accepted: Vec<_> = plugin_config::HISTOGRAMS
        .iter()
        .map(|each| (each.name, each.per_unit))
        .collect();
    assert_eq!(accepted, histograms);
    let mirrored: Vec<_> = definitions()
        .into_iter()
        .filter(|each| each.envoy.is_some())
        .map(|each| each.name)
        .collect();
    assert_eq!(plugin_config::MIRRORED_METRICS, mirrored);
    assert_eq!(CatalogSettings::default().mirrored, mirrored);
}

#[test]
fn the_defaults_are_the_empty_configurations() {
    let config = plugin_config::Config::default();
    let settings = CatalogSettings::default();
    assert_eq!(
        (settings.gen_ai, settings.inference),
        (config.profiles().gen_ai(), config.profiles().inference())
    );
    let labels = config.labels();
    assert_eq!(
        settings.labels,
        LabelSwitches {
            server_address: labels.server_address(),
            upstream_cluster: labels.upstream_cluster(),
            upstream_endpoint: labels.upstream_endpoint(),
            route: labels.route(),
            inference_objective: labels.inference_objective(),
            inference_fairness_id: labels.inference_fairness_id(),
            inference_model_rewrite: labels.inference_model_rewrite(),
            destination_endpoint: labels.destination_endpoint(),
        }
    );
    assert_eq!(config.semconv(), plugin_config::Semconv::V1_41);
    assert_eq!(settings.semconv, Semconv::V1_41);
    assert_eq!(Some(settings.mirrored.as_slice()), config.envoy_stats());
}
