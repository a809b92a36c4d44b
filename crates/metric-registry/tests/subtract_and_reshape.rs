//! A registry less what it published, and a registry under new settings.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod events;

use events::{START, events, families, fed, feed, registry};
use metric_registry::{
    FamilyDef, FamilyId, Gauges, Kind, Limits, Registry, SeriesValue, Snapshot, Subtraction,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_published_and_the_remainder_give_the_whole(before in events(80), after in events(80)) {
        let mut worker = fed(&before);
        let published = worker.snapshot();
        feed(&mut worker, &after);
        let whole = worker.snapshot();

        prop_assert_eq!(worker.subtract(&published), Subtraction::default());
        let mut merged = worker.snapshot();
        // Levels are the worker's still, so those that it published are not added to them.
        merged.merge(&published, Gauges::Ignore);
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn the_remainder_is_exact_even_where_bounds_changed_since(
        before in events(60),
        after in events(60),
        bounds in prop::collection::btree_set(0..300_u64, 0..8),
    ) {
        let mut worker = fed(&before);
        let published = worker.snapshot();
        let mut worker = worker.reshape(with_bounds(bounds.into_iter().collect()));
        feed(&mut worker, &after);
        let whole = worker.snapshot();

        prop_assert_eq!(worker.subtract(&published), Subtraction::default());
        let mut merged = worker.snapshot();
        merged.merge(&published, Gauges::Ignore);
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn a_worker_that_starts_again_and_again_loses_nothing(
        events in events(120),
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut worker = registry();
        let mut kept = Snapshot::default();
        let ends: Vec<usize> = ends.iter().map(|end| end.index(events.len().max(1))).collect();
        for (place, event) in events.iter().enumerate() {
            feed(&mut worker, [event]);
            if ends.contains(&place) {
                let published = worker.snapshot();
                kept.merge(&published, Gauges::Ignore);
                prop_assert_eq!(worker.subtract(&published), Subtraction::default());
            }
        }
        let mut all = worker.snapshot();
        all.merge(&kept, Gauges::Ignore);
        let mut expected = fed(&events).snapshot();
        expected.start_unix_nanos = all.start_unix_nanos;
        prop_assert_eq!(all, expected);
    }

    #[test]
    fn reshaping_to_the_same_families_changes_nothing(events in events(100)) {
        let mut worker = fed(&events);
        let before = worker.snapshot();
        let mut worker = worker.reshape(families());
        prop_assert_eq!(worker.snapshot(), before);
    }
}

fn with_bounds(bounds: Vec<u64>) -> Vec<FamilyDef> {
    let mut changed = families();
    changed[2].bounds = bounds;
    changed
}

#[test]
fn what_cannot_be_taken_off_is_counted() {
    let mut rich = registry();
    let mut poor = registry();
    let counts = [(&mut rich, 7), (&mut poor, 5)];
    for (worker, amount) in counts {
        let series = worker.series(FamilyId(0), &["a", "b"]);
        worker.add(series, amount);
        let series = worker.series(FamilyId(2), &["a", "b"]);
        worker.observe(series, amount);
    }
    let series = rich.series(FamilyId(0), &["only", "here"]);
    rich.add(series, 1);
    rich.series(FamilyId(0), &["a", "zero"]);
    let report = poor.subtract(&rich.snapshot());
    // The requests and the sum of sizes went below zero; 5 and 7 lie in different buckets, and one had none.
    let expected = Subtraction {
        saturated: 3,
        unmatched: 1,
    };
    assert_eq!(report, expected);
    assert_eq!(
        poor.snapshot().value("requests", &[]),
        Some(SeriesValue::Counter(0))
    );
}

#[test]
fn a_reshaped_registry_keeps_the_series_of_kept_families_and_their_handles() {
    let mut worker = registry();
    let requests = worker.series(FamilyId(0), &["a", "b"]);
    let level = worker.series(FamilyId(1), &["a", "decode"]);
    let starts = worker.series(FamilyId(3), &[]);
    worker.add(requests, 3);
    worker.shift_gauge(level, 2);
    worker.add(starts, 1);

    let mut kept = families();
    kept.remove(0);
    let dropped = worker.dropped_by(&kept);
    assert_eq!(
        dropped.value("requests", &[]),
        Some(SeriesValue::Counter(3))
    );
    assert_eq!(dropped.families().count(), 1);
    let mut worker = worker.reshape(kept);

    worker.shift_gauge(level, -1);
    worker.add(starts, 1);
    worker.add(requests, 1);
    assert_eq!(worker.value(level), Some(SeriesValue::Gauge(1)));
    assert_eq!(worker.value(starts), Some(SeriesValue::Counter(2)));
    assert_eq!(worker.value(requests), None);
    assert_eq!(worker.series(FamilyId(0), &["a", "decode"]), level);
    assert_eq!(
        (worker.family_of(level), worker.series_count()),
        (Some(FamilyId(0)), 2)
    );

    // The slot that the dropped series left is used again, and its old handle still reaches nothing.
    let mut worker = worker.reshape(families());
    let again = worker.series(FamilyId(0), &["a", "b"]);
    worker.add(requests, 10);
    assert_ne!(again, requests);
    assert_eq!(worker.value(again), Some(SeriesValue::Counter(0)));
    assert_eq!(worker.series_count(), 3);
}

#[test]
fn a_family_with_other_labels_is_dropped() {
    let mut worker = registry();
    let series = worker.series(FamilyId(0), &["a", "b"]);
    worker.add(series, 3);
    let mut changed = families();
    changed[0].labels.push("route");
    assert_eq!(
        worker.dropped_by(&changed).value("requests", &[]),
        Some(SeriesValue::Counter(3))
    );
    assert_eq!(
        worker.reshape(changed).snapshot().value("requests", &[]),
        None
    );
}

#[test]
fn gauges_are_not_among_what_is_dropped() {
    let mut worker = registry();
    let series = worker.series(FamilyId(1), &["a", "b"]);
    worker.set_gauge(series, 3);
    assert_eq!(worker.dropped_by(&[]).families().count(), 0);
}

#[test]
fn overflow_series_survive_a_reshape() {
    let limits = Limits {
        series: 1,
        ..Limits::default()
    };
    let mut worker = Registry::new(families(), limits, START);
    for model in ["a", "b", "c"] {
        let series = worker.series(FamilyId(2), &[model, ""]);
        worker.observe(series, 4);
    }
    let before = worker.series(FamilyId(2), &["d", ""]);
    let mut worker = worker.reshape(with_bounds(vec![2, 8]));
    assert_eq!(worker.series(FamilyId(2), &["e", ""]), before);
    assert_eq!((worker.series_count(), worker.overflowed()), (2, 4));
    let value = worker
        .snapshot()
        .value("sizes", &[("otel.metric.overflow", "true")]);
    let expected = SeriesValue::Histogram {
        counts: vec![0, 2, 0].into(),
        sum: 8,
    };
    assert_eq!(value, Some(expected));
    assert_eq!(
        worker.family(FamilyId(1)).map(|family| family.kind),
        Some(Kind::Gauge)
    );
}
