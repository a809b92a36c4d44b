//! What the module shows of itself, and the level of requests under way.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use metric_catalog::{Catalog, CatalogSettings, LabelValues, SLOT_STATES, definitions};
use metric_registry::{Gauges, Limits, Registry, SeriesValue, Snapshot};
use request_observer::{Api, Phase, SkipReason};

fn new() -> (Catalog, Registry) {
    let catalog = Catalog::new(&CatalogSettings::default());
    let registry = Registry::new(catalog.families(), Limits::default(), 0);
    (catalog, registry)
}

fn check(
    registry: &mut Registry,
    name: &str,
    labels: &[(&str, &str)],
    expected: SeriesValue<'static>,
) {
    assert_eq!(
        registry.snapshot().value(name, labels),
        Some(expected),
        "{name} {labels:?}"
    );
}

#[test]
fn counters_have_their_reason_or_call() {
    let (catalog, mut registry) = new();
    for reason in SkipReason::ALL {
        let series = catalog.skipped(&mut registry, reason);
        registry.add(series, 1);
        check(
            &mut registry,
            "inferometer.skipped",
            &[("reason", reason.as_str())],
            SeriesValue::Counter(1),
        );
    }
    let series = catalog.host_errors(&mut registry, "get_buffer");
    registry.add(series, 2);
    check(
        &mut registry,
        "inferometer.host.errors",
        &[("call", "get_buffer")],
        SeriesValue::Counter(2),
    );
    let series = catalog.worker_starts(&mut registry);
    registry.add(series, 1);
    check(
        &mut registry,
        "inferometer.worker.starts",
        &[],
        SeriesValue::Counter(1),
    );
}

#[test]
fn a_refused_configuration_shows_until_it_is_mended() {
    let (catalog, mut registry) = new();
    for level in [1, 0] {
        let series = catalog.config_rejected(&mut registry);
        registry.set_gauge(series, level);
        check(
            &mut registry,
            "inferometer.config.rejected",
            &[],
            SeriesValue::Gauge(level),
        );
    }
}

#[test]
fn each_worker_shows_itself_and_the_sum_is_the_proxys() {
    let mut all = Snapshot::default();
    for memory in [1_000, 2_000] {
        let (catalog, mut registry) = new();
        catalog.show_machine(&mut registry, memory, 10);
        catalog.show_machine(&mut registry, memory, 20);
        all.merge(&registry.snapshot(), Gauges::Add);
    }
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    for (name, labels, expected) in [
        ("inferometer.build.info", &version[..], 2),
        ("inferometer.vm.memory", &[], 3_000),
        ("inferometer.snapshot.bytes", &[], 40),
        // Build info, memory, snapshot and series themselves.
        ("inferometer.series", &[], 8),
    ] {
        assert_eq!(
            all.value(name, labels),
            Some(SeriesValue::Gauge(expected)),
            "{name}"
        );
    }
}

#[test]
fn one_worker_shows_the_slots_and_takes_them_back() {
    let (catalog, mut registry) = new();
    let slots: Vec<_> = SLOT_STATES.into_iter().zip(1..).collect();
    catalog.show_proxy(&mut registry, &slots);
    for (state, count) in &slots {
        let expected = SeriesValue::Gauge(i64::try_from(*count).unwrap());
        check(
            &mut registry,
            "inferometer.slots",
            &[("state", state)],
            expected,
        );
    }
    catalog.show_no_leader(&mut registry);
    for state in SLOT_STATES {
        check(
            &mut registry,
            "inferometer.slots",
            &[("state", state)],
            SeriesValue::Gauge(0),
        );
    }
}

#[test]
fn requests_under_way_are_in_one_phase_at_a_time() {
    let (catalog, mut registry) = new();
    let mut shift = |phase, by| {
        let series = catalog.in_flight(
            &mut registry,
            Api::Messages,
            "m",
            Api::Messages.provider(),
            phase,
        );
        registry.shift_gauge(series, by);
    };
    shift(Phase::Prefill, 1);
    shift(Phase::Prefill, -1);
    shift(Phase::Decode, 1);
    // A request that has ended is nowhere.
    shift(Phase::Ended, 1);
    let name = "inference.requests.in_flight";
    let base = [
        ("model", "m"),
        ("provider", "anthropic"),
        ("operation", "chat"),
    ];
    for (phase, expected) in [("prefill", 0), ("decode", 1)] {
        let labels: Vec<_> = base.into_iter().chain([("phase", phase)]).collect();
        check(&mut registry, name, &labels, SeriesValue::Gauge(expected));
    }
    let snapshot = registry.snapshot();
    assert_eq!(
        snapshot
            .families_named(name)
            .next()
            .unwrap()
            .series()
            .count(),
        2
    );
    let documented = definitions()
        .iter()
        .flat_map(|each| each.own_labels.iter())
        .find(|label| label.values == LabelValues::Phase)
        .and_then(|label| label.values.closed());
    let shown: Vec<_> = Phase::ALL
        .into_iter()
        .filter(|phase| *phase != Phase::Ended)
        .map(Phase::as_str)
        .collect();
    assert_eq!(documented, Some(shown));
}

#[test]
fn nothing_is_moved_where_the_profile_is_off() {
    let catalog = Catalog::new(&CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    });
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let series = catalog.in_flight(
        &mut registry,
        Api::Messages,
        "m",
        "anthropic",
        Phase::Decode,
    );
    registry.shift_gauge(series, 1);
    assert_eq!(registry.series_count(), 0);
}

#[test]
fn an_export_is_counted_by_signal_and_result_and_what_was_lost_by_signal() {
    let (catalog, mut registry) = new();
    let series = catalog.exports(&mut registry, "metrics", "success");
    registry.add(series, 1);
    let series = catalog.export_duration(&mut registry, "metrics");
    registry.observe(series, 30_000_000);
    let series = catalog.export_rejected(&mut registry, "traces");
    registry.add(series, 2);
    let series = catalog.export_dropped(&mut registry, "logs");
    registry.add(series, 3);
    for (name, labels, count) in [
        (
            "inferometer.export",
            &[("signal", "metrics"), ("result", "success")] as &[_],
            1,
        ),
        ("inferometer.export.rejected", &[("signal", "traces")], 2),
        ("inferometer.export.dropped", &[("signal", "logs")], 3),
    ] {
        let expected = SeriesValue::Counter(count);
        check(&mut registry, name, labels, expected);
    }
    let snapshot = registry.snapshot();
    let duration = snapshot.value("inferometer.export.duration", &[("signal", "metrics")]);
    assert_eq!(duration.map(|value| value.count()), Some(1));
}
