//! The table of metrics keeps the rules that hold for all of them.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::{BTreeMap, BTreeSet};

use metric_catalog::{Base, Definition, LabelValues, Profile, definitions, help};
use metric_registry::{Kind, MAX_LABELS};
use prometheus_text::metric_name;
use request_observer::MAX_GAP_BUCKETS;

/// Labels that scrapers and collectors add themselves.
const OF_THE_SCRAPER: [&str; 8] = [
    "cluster",
    "endpoint",
    "pod",
    "namespace",
    "node",
    "container",
    "job",
    "instance",
];

/// Every label that may be used. A new one is a new dimension of somebody's bill, so it is written down twice.
const ALLOWED: [&str; 30] = [
    "call",
    "destination_endpoint",
    "error.type",
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.token.modality",
    "gen_ai.token.type",
    "inference_fairness_id",
    "inference_model_rewrite",
    "inference_objective",
    "kind",
    "model",
    "operation",
    "outcome",
    "phase",
    "provider",
    "reason",
    "result",
    "route",
    "server.address",
    "server.port",
    "signal",
    "source",
    "state",
    "status",
    "stream",
    "upstream_cluster",
    "upstream_endpoint",
];

/// Tags that Istio's standard metrics have.
const OF_ISTIO: [&str; 24] = [
    "reporter",
    "source_workload",
    "source_workload_namespace",
    "source_principal",
    "source_app",
    "source_version",
    "source_canonical_service",
    "source_canonical_revision",
    "source_cluster",
    "destination_workload",
    "destination_workload_namespace",
    "destination_principal",
    "destination_app",
    "destination_version",
    "destination_canonical_service",
    "destination_canonical_revision",
    "destination_cluster",
    "destination_service",
    "destination_service_name",
    "destination_service_namespace",
    "request_protocol",
    "response_code",
    "response_flags",
    "grpc_response_status",
];

fn check(rule: &str, holds: impl Fn(&Definition) -> bool) {
    let broken: Vec<_> = definitions()
        .into_iter()
        .filter(|each| !holds(each))
        .map(|each| each.name)
        .collect();
    assert!(broken.is_empty(), "{rule}: {broken:?}");
}

fn is_duration_or_size(name: &str) -> bool {
    name.contains("duration")
        || name.contains("time_to")
        || name.contains("latency")
        || name.ends_with("bytes")
}

#[test]
fn every_definition_is_complete() {
    check("help is one sentence", |each| {
        each.help.ends_with('.')
            && !each.help.contains('\n')
            && each.help.matches(". ").count() == 0
    });
    check("the sample rule is told", |each| {
        each.sample_rule.len() > 10
    });
    check("the source is told", |each| !each.source.is_empty());
    check("help is found by name", |each| {
        help(each.name) == Some(each.help)
    });
    check("help is found by alias", |each| {
        each.alias
            .is_none_or(|alias| help(alias) == Some(each.help))
    });
    assert_eq!(help("inference.nothing"), None);
}

#[test]
fn names_are_unique_in_both_worlds() {
    let mut names = BTreeSet::new();
    for each in definitions() {
        for name in [Some(each.name), each.alias].into_iter().flatten() {
            assert!(names.insert(name.to_owned()), "{name}");
            let written = metric_name(name, each.unit, each.kind);
            assert!(names.insert(format!("text {written}")), "{written}");
            // The samples of a histogram must not meet those of another metric either.
            if each.kind == Kind::Histogram {
                for suffix in ["bucket", "sum", "count"] {
                    assert!(
                        names.insert(format!("text {written}_{suffix}")),
                        "{written}_{suffix}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_copies_are_written_as_the_guides_dashboards_ask() {
    let copies: Vec<_> = definitions()
        .into_iter()
        .filter_map(|each| {
            each.alias
                .map(|alias| metric_name(alias, each.unit, each.kind))
        })
        .collect();
    assert_eq!(copies, ["token_processing_duration_seconds"]);
    let written: Vec<_> = definitions()
        .into_iter()
        .map(|each| metric_name(each.name, each.unit, each.kind))
        .collect();
    for name in [
        "inference_request_duration_seconds",
        "inference_requests_total",
        "gen_ai_server_time_to_first_token_seconds",
        "gen_ai_client_token_usage",
        "inferometer_inspected_bytes_total",
        "inferometer_vm_memory_bytes",
    ] {
        assert!(written.iter().any(|other| other == name), "{name}");
    }
}

#[test]
fn names_are_in_their_profiles_namespace() {
    check("lower-case words between dots", |each| {
        each.name.split('.').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte))
        })
    });
    check("namespace", |each| {
        each.name.starts_with(match each.profile {
            Profile::GenAi => "gen_ai.",
            Profile::Inference => "inference.",
            Profile::SelfTelemetry => "inferometer.",
        })
    });
    check("only conventions have versions", |each| {
        each.semconv.is_none() || each.profile == Profile::GenAi
    });
}

#[test]
fn units_are_base_units() {
    check("a base unit or an annotation", |each| {
        matches!(each.unit, "s" | "By" | "1" | "{token}/s")
            || (each.unit.starts_with('{') && each.unit.ends_with('}'))
    });
    check("times are seconds, sizes bytes", |each| {
        !is_duration_or_size(each.name) || matches!(each.unit, "s" | "By")
    });
    check("the scale goes with the unit", |each| {
        each.scale
            == match each.unit {
                "s" => 1_000_000_000,
                "1" | "{token}/s" => 1_000_000,
                _ => 1,
            }
    });
    check("counters say what they count, not `total`", |each| {
        !each.name.ends_with("total")
    });
}

#[test]
fn bounds_are_sorted_and_fit() {
    check("only histograms have bounds", |each| {
        each.bounds.is_empty() == (each.kind != Kind::Histogram)
    });
    check("not too many", |each| each.bounds.len() <= MAX_GAP_BUCKETS);
    check("sorted, above zero, distinct as integers", |each| {
        let scaled: Vec<u64> = each
            .bounds
            .iter()
            .map(|bound| (bound * each.scale as f64).round() as u64)
            .collect();
        scaled.first().is_none_or(|first| *first > 0)
            && scaled.windows(2).all(|pair| pair[0] < pair[1])
    });
    check("a bound is exact in the integers", |each| {
        each.bounds.iter().all(|bound| {
            let scaled = bound * each.scale as f64;
            (scaled - scaled.round()).abs() < 1e-3
        })
    });
}

#[test]
fn labels_are_allowed_and_bounded() {
    let is_allowed = |name: &str| ALLOWED.contains(&name) || name == "version";
    check("allowed", |each| {
        each.labels().iter().all(|label| is_allowed(label.name))
    });
    check("not the scraper's", |each| {
        each.labels()
            .iter()
            .all(|label| !OF_THE_SCRAPER.contains(&label.name.replace('.', "_").as_str()))
    });
    check("each once", |each| {
        let names: BTreeSet<_> = each
            .labels()
            .iter()
            .map(|label| label.name.replace('.', "_"))
            .collect();
        names.len() == each.labels().len()
    });
    check("not too many", |each| each.labels().len() <= MAX_LABELS);
    check("own labels of requests are closed lists", |each| {
        each.own_labels.iter().all(|label| {
            label.values.closed().is_some()
                || matches!(
                    label.values,
                    LabelValues::Error | LabelValues::HostCall | LabelValues::Version
                )
        })
    });
    check("closed lists are short snake-case words", |each| {
        each.own_labels
            .iter()
            .filter_map(|label| label.values.closed())
            .all(|values| {
                values.len() <= 32
                    && values.iter().all(|value| {
                        value
                            .bytes()
                            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                    })
            })
    });
    check("the module itself has no label of requests", |each| {
        each.profile != Profile::SelfTelemetry || each.base == Base::Nothing
    });
}

#[test]
fn the_results_of_an_export_are_the_outcomes_of_its_delivery() {
    let outcomes = otlp_delivery::Outcome::ALL.map(otlp_delivery::Outcome::as_str);
    assert_eq!(metric_catalog::EXPORT_RESULTS, outcomes);
}

#[test]
fn no_tag_is_the_end_of_another() {
    let mut tags: BTreeMap<&str, &str> = BTreeMap::new();
    for label in definitions().iter().flat_map(Definition::labels) {
        tags.insert(label.tag, label.name);
    }
    tags.insert("overflow", metric_registry::OVERFLOW_LABEL);
    for tag in tags.keys() {
        assert!(
            tag.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{tag}"
        );
        for other in tags.keys().chain(&OF_ISTIO) {
            let eats = other.ends_with(tag) && other != tag;
            let is_eaten = tag.ends_with(other) && other != tag;
            assert!(!eats && !is_eaten, "{tag} {other}");
        }
    }
    check("no two labels of a metric share a tag", |each| {
        let own: BTreeSet<_> = each.labels().iter().map(|label| label.tag).collect();
        own.len() == each.labels().len()
    });
}

#[test]
fn mirrored_metrics_can_be_told_and_counted_in_whole_numbers() {
    let mut names = BTreeSet::new();
    for each in definitions() {
        let Some(mirror) = each.envoy else { continue };
        assert!(names.insert(mirror.name), "{}", mirror.name);
        assert_eq!(each.scale % mirror.per_unit, 0, "{}", each.name);
        let expected = match (each.unit, mirror.per_unit) {
            ("s", 1_000) => format!("{}_milliseconds", each.name),
            ("s", 1_000_000) => format!("{}_microseconds", each.name),
            ("1", 1_000) => format!("{}_thousandths", each.name),
            ("{token}/s", 1) => format!("{}_per_second", each.name),
            (_, 1) => each.name.to_owned(),
            other => panic!("{}: {other:?}", each.name),
        };
        assert_eq!(mirror.name, expected.replace('.', "_"));
        // Istio takes a status code off the end of a name.
        assert!(
            !mirror.name.contains("_rq_") && !mirror.name.ends_with("xx"),
            "{}",
            mirror.name
        );
    }
    assert!(names.contains("inference_requests"));
}

#[test]
fn the_committed_page_is_current() {
    let path = format!("{}/../../docs/METRICS.md", env!("CARGO_MANIFEST_DIR"));
    let is_current = read(&path) == metric_catalog::metrics_markdown();
    assert!(
        is_current,
        "docs/METRICS.md is out of date; run `cargo xtask gen`"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "this test compares a file of the repository"
)]
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
