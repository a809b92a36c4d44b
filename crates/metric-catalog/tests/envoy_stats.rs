//! The names and numbers of the proxy's own stats survive the way back to labels.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use metric_catalog::{Catalog, CatalogSettings, Moved, RecordLabels, definitions};
use metric_registry::{Kind, Limits, Registry};
use request_observer::SkipReason;

fn catalog() -> Catalog {
    Catalog::new(&CatalogSettings::default())
}

fn name(metric: &str, labels: &[(&str, &str)]) -> String {
    catalog()
        .envoy_stat_name(metric, labels.iter().copied())
        .unwrap_or_else(|| panic!("{metric} is not mirrored"))
}

/// What an expression `(TAG=\.=(.*?);\.;)` takes out of a name: its place and its second group.
fn extracted<'a>(name: &'a str, tag: &str) -> Option<(std::ops::Range<usize>, &'a str)> {
    let opening = format!("{tag}=.=");
    let start = name.find(&opening)?;
    let value_start = start + opening.len();
    let value_end = value_start + name[value_start..].find(";.;")?;
    Some((start..value_end + 3, &name[value_start..value_end]))
}

/// Whether one of the expressions of Istio's bootstrap finds something: `(cache\.(.+?)\.)` and its like, searched
/// anywhere.
fn is_taken_by_istio(name: &str) -> bool {
    let word_and_more = |word: &str, closing: &str| {
        name.match_indices(word).any(|(place, _)| {
            let rest = &name[place + word.len()..];
            rest.char_indices()
                .nth(1)
                .is_some_and(|(one, _)| rest[one..].contains(closing))
        })
    };
    ["cache.", "component.", "wasm_filter."]
        .into_iter()
        .any(|word| word_and_more(word, "."))
        || word_and_more("tag.", ";.")
        || [
            "rbac.allowed",
            "rbac.denied",
            ".istio_dry_run_allow_",
            ".istio_dry_run_deny_",
        ]
        .into_iter()
        .chain([".shadow_allowed", ".shadow_denied"])
        .any(|word| name.contains(word))
}

#[test]
fn labels_stand_in_the_name_as_istio_writes_them() {
    assert_eq!(
        name(
            "inference.requests",
            &[("model", "m"), ("outcome", "success")]
        ),
        "model=.=m;.;outcome=.=success;.;inference_requests"
    );
    assert_eq!(
        name(
            "gen_ai.server.time_to_first_token",
            &[
                ("gen_ai.request.model", "org/a.b:c"),
                ("gen_ai.response.model", "")
            ]
        ),
        "model_asked=.=org/a.b:c;.;gen_ai_server_time_to_first_token_milliseconds"
    );
    assert_eq!(
        name(
            "inference.requests",
            &[(metric_registry::OVERFLOW_LABEL, "true")]
        ),
        "overflow=.=true;.;inference_requests"
    );
    assert_eq!(name("inference.requests", &[]), "inference_requests");
}

#[test]
fn words_that_the_bootstrap_takes_lose_their_dot() {
    for (value, expected) in [
        ("llama-3.1-8b", "llama-3.1-8b"),
        ("cache.v1.x", "cache_v1.x"),
        ("my-cache.v1", "my-cache_v1"),
        ("component.a", "component_a"),
        ("tag.a", "tag_a"),
        ("wasm_filter.a", "wasm_filter_a"),
        ("rbac.allowed", "rbac_allowed"),
        ("x.shadow_denied", "x_shadow_denied"),
        ("x.istio_dry_run_allow_y", "x_istio_dry_run_allow_y"),
        ("cached.v1", "cached.v1"),
        ("a;.;outcome=.=b", "a_._outcome_._b"),
        ("a\nb\u{7f}c", "a_b_c"),
        ("ünïcode", "ünïcode"),
    ] {
        assert_eq!(
            name("inference.requests", &[("model", value)]),
            format!("model=.={expected};.;inference_requests")
        );
    }
}

#[test]
fn no_value_can_be_taken_for_a_tag_or_its_end() {
    const PIECES: [&str; 18] = [
        "cache.",
        "component.",
        "tag.",
        "wasm_filter.",
        "rbac.allowed",
        ".shadow_denied",
        ".istio_dry_run_allow_",
        ";.;",
        "=.=",
        "model=.=",
        "outcome=.=x;.;",
        ";",
        "=",
        ".",
        "a",
        "é",
        "\n",
        "shadow_allowed",
    ];
    let catalog = catalog();
    for first in PIECES {
        for second in PIECES {
            for third in PIECES {
                let value = format!("{first}{second}{third}");
                let labels = [
                    ("model", value.as_str()),
                    ("route", value.as_str()),
                    ("outcome", "success"),
                ];
                let name = catalog
                    .envoy_stat_name("inference.requests", labels)
                    .unwrap();
                let mut rest = name.clone();
                for tag in ["outcome", "route", "model"] {
                    let (range, found) =
                        extracted(&name, tag).unwrap_or_else(|| panic!("{tag} in {name:?}"));
                    assert_eq!(
                        found.chars().count(),
                        if tag == "outcome" {
                            7
                        } else {
                            value.chars().count()
                        },
                        "{name:?}"
                    );
                    rest.replace_range(range, "");
                }
                assert_eq!(rest, "inference_requests", "{name:?}");
                assert_eq!(
                    extracted(&name, "outcome").unwrap().1,
                    "success",
                    "{name:?}"
                );
                assert!(!is_taken_by_istio(&name), "{name:?}");
                assert!(!name.contains('\n'));
            }
        }
    }
}

#[test]
fn the_judge_of_istios_expressions_finds_what_they_find() {
    for taken in [
        "cache.a.b",
        "x=.=my-component.a;.;y",
        "tag.a;.;",
        "wasm_filter.é.",
        "a.rbac.denied",
    ] {
        assert!(is_taken_by_istio(taken), "{taken}");
    }
    for free in [
        "cache.",
        "cache..",
        "cache.a",
        "tag.a.b",
        "tag.;.",
        "rbac_denied",
        "model=.=a;.;outcome=.=b;.;c",
    ] {
        assert!(!is_taken_by_istio(free), "{free}");
    }
}

#[test]
fn only_chosen_and_kept_metrics_are_mirrored() {
    let catalog = catalog();
    for definition in definitions() {
        assert_eq!(
            catalog.is_mirrored(definition.name),
            definition.envoy.is_some(),
            "{}",
            definition.name
        );
    }
    assert!(
        !catalog.is_mirrored("token_processing.duration"),
        "the copy"
    );
    assert_eq!(
        catalog.envoy_stat_name("inference.inter_token.latency", []),
        None
    );
    let few = Catalog::new(&CatalogSettings {
        mirrored: vec!["inference.usage"],
        ..CatalogSettings::default()
    });
    assert!(few.is_mirrored("inference.usage") && !few.is_mirrored("inference.requests"));
    assert_eq!(few.envoy_stat_name("inference.requests", []), None);
    let not_kept = Catalog::new(&CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    });
    assert!(!not_kept.is_mirrored("inference.usage"));
}

#[test]
fn amounts_are_whole_and_rounded() {
    let catalog = catalog();
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let series = catalog.skipped(&mut registry, SkipReason::Audio);
    for (metric, amount, expected) in [
        ("inference.requests", 1, Some(1)),
        ("inference.request.duration", 1_499_999, Some(1)),
        ("inference.request.duration", 1_500_000, Some(2)),
        ("inference.request.duration", 499_999, Some(0)),
        (
            "inference.request.duration",
            u64::MAX,
            Some(u64::MAX / 1_000_000),
        ),
        (
            "gen_ai.server.time_per_output_token",
            12_345_678,
            Some(12_346),
        ),
        ("inference.prompt_cache.hit_ratio", 750_000, Some(750)),
        ("inference.output_tokens.rate", 33_400_000, Some(33)),
        ("inference.input_tokens", 123, Some(123)),
        ("inferometer.skipped", 1, None),
    ] {
        let family = catalog
            .families()
            .iter()
            .position(|family| family.name == metric)
            .unwrap();
        let family = metric_registry::FamilyId(u16::try_from(family).unwrap());
        let moved = Moved {
            family,
            series,
            kind: Kind::Histogram,
            amount,
        };
        assert_eq!(catalog.envoy_amount(&moved), expected, "{metric} {amount}");
    }
}

#[test]
fn the_labels_of_a_series_are_its_stats_tags() {
    let catalog = catalog();
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let labels = RecordLabels {
        model: "m",
        provider: "openai",
        ..RecordLabels::default()
    };
    let series = catalog.in_flight(
        &mut registry,
        request_observer::Api::Messages,
        labels.model,
        request_observer::Api::Messages.provider(),
        request_observer::Phase::Decode,
    );
    let stat = catalog
        .envoy_stat_name("inference.requests.in_flight", registry.labels(series))
        .unwrap();
    assert_eq!(
        stat,
        "model=.=m;.;provider=.=anthropic;.;operation=.=chat;.;phase=.=decode;.;inference_requests_in_flight"
    );
}
