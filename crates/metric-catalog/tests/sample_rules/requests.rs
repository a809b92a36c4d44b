//! Requests, labels, moves and limits.

use super::*;

#[test]
fn every_watched_request_counts_once_however_it_ended() {
    check(
        &streamed(),
        "inference.requests",
        &["outcome=success stream=true 1"],
    );
    check(
        &whole(),
        "inference.requests",
        &["outcome=success stream=false 1"],
    );
    for outcome in Outcome::ALL {
        let record = unanswered(outcome);
        check(
            &record,
            "inference.requests",
            &[&format!("outcome={} stream=false 1", outcome.as_str())],
        );
        check(&record, "inference.request.duration", &["1 of 0.7"]);
        check(
            &record,
            "inference.usage",
            &["status=missing reason=no_response 1"],
        );
        check(
            &record,
            "gen_ai.server.request.duration",
            &[&format!("error.type={} 1 of 0.7", outcome.as_str())],
        );
    }
}

#[test]
fn an_error_type_is_there_only_where_something_failed() {
    check(&streamed(), "gen_ai.server.request.duration", &["1 of 0.7"]);
    let refused = RequestRecord {
        error_type: Some(text("429")),
        outcome: Outcome::RateLimited,
        ..whole()
    };
    check(
        &refused,
        "gen_ai.server.request.duration",
        &["error.type=429 1 of 0.7"],
    );
}

#[test]
fn what_is_none_of_a_clients_requests_is_skipped_and_nothing_else() {
    for purpose in Purpose::ALL {
        let record = RequestRecord {
            purpose,
            ..streamed()
        };
        let (mut registry, moves) =
            registry_after(&CatalogSettings::default(), std::slice::from_ref(&record));
        let snapshot = registry.snapshot();
        let skipped = snapshot.value("inferometer.skipped", &[("reason", purpose.as_str())]);
        if purpose == Purpose::Client {
            assert_eq!(skipped, None);
            continue;
        }
        assert_eq!(skipped, Some(SeriesValue::Counter(1)), "{purpose:?}");
        assert_eq!(registry.series_count(), 1, "{purpose:?}");
        assert_eq!(moves, [], "{purpose:?}");
    }
}

#[test]
fn an_error_type_may_be_a_grpc_status() {
    let refused = RequestRecord {
        error_type: Some(text("RESOURCE_EXHAUSTED")),
        outcome: Outcome::RateLimited,
        status: Some(200),
        ..streamed()
    };
    check(
        &refused,
        "gen_ai.server.request.duration",
        &["error.type=RESOURCE_EXHAUSTED 1 of 0.7"],
    );
}

#[test]
fn attempts_are_added_up() {
    check(
        &RequestRecord {
            attempts: 3,
            ..streamed()
        },
        "inference.attempts",
        &["3"],
    );
    check(
        &RequestRecord {
            attempts: 0,
            ..streamed()
        },
        "inference.attempts",
        &["0"],
    );
}

#[test]
fn the_module_counts_what_it_saw() {
    let mut anomalies = AnomalyCounts::default();
    anomalies.add(AnomalyKind::CutText, 2);
    anomalies.add(AnomalyKind::PayloadNotJson, 1);
    let record = RequestRecord {
        anomalies,
        ..streamed()
    };
    check(
        &record,
        "inferometer.stream.anomalies",
        &["kind=payload_not_json 1", "kind=cut_text 2"],
    );
    check(&streamed(), "inferometer.stream.anomalies", &[]);
    check(&streamed(), "inferometer.events", &["12"]);
    check(&streamed(), "inferometer.inspected.bytes", &["4096"]);
}

#[test]
fn base_labels_are_in_the_order_of_their_family() {
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
    let settings = CatalogSettings {
        labels,
        ..CatalogSettings::default()
    };
    let snapshot = registry_after(&settings, &[streamed()]).0.snapshot();
    let of = |name: &str| {
        let family = snapshot.families_named(name).next().unwrap();
        let series = family.series().next().unwrap();
        let pairs: Vec<String> = series
            .labels()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(" ")
    };
    assert_eq!(
        of("inference.requests"),
        "model=m provider=openai operation=chat upstream_cluster=vllm upstream_endpoint=10.0.0.1:8000 route=chat \
         inference_objective=critical inference_fairness_id=tenant inference_model_rewrite=m-tuned \
         destination_endpoint=10.0.0.2:8000 outcome=success stream=true"
    );
    assert_eq!(
        of("gen_ai.server.time_to_first_token"),
        "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=asked \
         gen_ai.response.model=answered server.address=10.0.0.1 server.port=8000"
    );
}

#[test]
fn labels_that_are_off_do_not_show_though_they_are_known() {
    let off = LabelSwitches::default();
    let settings = CatalogSettings {
        labels: off,
        ..CatalogSettings::default()
    };
    let snapshot = registry_after(&settings, &[streamed()]).0.snapshot();
    let family = snapshot
        .families_named("inference.requests")
        .next()
        .unwrap();
    let names: Vec<_> = family
        .series()
        .next()
        .unwrap()
        .labels()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["model", "provider", "operation", "outcome", "stream"]
    );
}

#[test]
fn profiles_that_are_off_are_not_counted_and_others_are() {
    let settings = CatalogSettings {
        gen_ai: false,
        ..CatalogSettings::default()
    };
    assert!(series_of(&settings, &streamed(), "gen_ai.server.time_to_first_token").is_empty());
    assert_eq!(
        series_of(&settings, &streamed(), "inference.requests").len(),
        1
    );
    let settings = CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    };
    assert!(series_of(&settings, &streamed(), "inference.requests").is_empty());
    assert!(series_of(&settings, &streamed(), "token_processing.duration").is_empty());
    assert_eq!(
        series_of(&settings, &streamed(), "inferometer.events"),
        ["12"]
    );
}

#[test]
fn every_move_is_told_once_without_copies_and_without_zeros() {
    let (registry, moves) = registry_after(
        &CatalogSettings::default(),
        &[RequestRecord {
            attempts: 0,
            ..streamed()
        }],
    );
    let told = |name: &str| {
        let of_name = moves
            .iter()
            .filter(|moved| registry.family(moved.family).unwrap().name == name);
        of_name.map(|moved| moved.amount).collect::<Vec<_>>()
    };
    assert_eq!(told("inference.requests"), [1]);
    assert_eq!(told("inference.request.duration"), [700_000_000]);
    assert_eq!(told("inference.token_processing.duration"), [500_000_000]);
    assert_eq!(told("gen_ai.client.token.usage"), [64, 11]);
    assert_eq!(told("inference.prompt_cache.hit_ratio"), [750_000]);
    assert!(told("token_processing.duration").is_empty(), "a copy");
    assert!(told("inference.attempts").is_empty(), "a zero");
    assert!(
        told("inference.inter_token.latency").is_empty(),
        "sorted already"
    );
    for moved in &moves {
        let family = registry.family_of(moved.series).unwrap();
        assert_eq!(family, moved.family);
        assert_eq!(registry.family(family).unwrap().kind, moved.kind);
        assert_ne!(moved.kind, Kind::Gauge);
    }
}

#[test]
fn a_full_registry_counts_what_it_could_not_tell_apart() {
    let catalog = Catalog::new(&CatalogSettings::default());
    let limits = Limits {
        series: 10,
        ..Limits::default()
    };
    let mut registry = Registry::new(catalog.families(), limits, 0);
    for _ in 0..3 {
        catalog.record(&streamed(), &LABELS, &mut registry, &mut |_| {});
    }
    let snapshot = registry.snapshot();
    let counted = snapshot.value("inferometer.series.overflow", &[]);
    assert_eq!(counted, Some(SeriesValue::Counter(registry.overflowed())));
    assert!(registry.overflowed() > 0);
    // The first series made room for itself, so the request counts are whole.
    let requests = snapshot
        .families_named("inference.requests")
        .next()
        .unwrap();
    let sum: u64 = requests
        .series()
        .map(|series| match series.value() {
            SeriesValue::Counter(count) => count,
            _ => 0,
        })
        .sum();
    assert_eq!(sum, 3);
}

#[test]
fn recording_is_cheap_to_repeat_and_adds_up() {
    let (mut registry, _) = registry_after(&CatalogSettings::default(), &vec![streamed(); 100]);
    let snapshot = registry.snapshot();
    assert_eq!(
        snapshot.value("inference.requests", &[]),
        Some(SeriesValue::Counter(100))
    );
    let (single, _) = registry_after(&CatalogSettings::default(), &[streamed()]);
    assert_eq!(registry.series_count(), single.series_count());
}
