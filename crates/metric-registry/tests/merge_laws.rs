//! Merging loses nothing, counts nothing twice, and does not depend on the order.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod events;

use events::{Event, START, events, families, fed, feed, registry, saturating_events};
use metric_registry::{FamilyId, Gauges, Kind, Limits, Registry, SeriesValue, Snapshot};
use proptest::prelude::*;

fn merged<'a>(parts: impl IntoIterator<Item = &'a Snapshot>) -> Snapshot {
    let mut all = Snapshot::default();
    for part in parts {
        all.merge(part, Gauges::Add);
    }
    all
}

proptest! {
    #[test]
    fn workers_merged_equal_one_that_saw_everything(
        events in saturating_events(200),
        owners in prop::collection::vec(0..4_usize, 200),
    ) {
        let mut workers = [registry(), registry(), registry(), registry()];
        for (event, owner) in events.iter().zip(&owners) {
            feed(&mut workers[*owner], [event]);
        }
        let parts: Vec<Snapshot> = workers.iter_mut().map(Registry::snapshot).collect();
        prop_assert_eq!(merged(&parts), fed(&events).snapshot());
        prop_assert_eq!(merged(parts.iter().rev()), fed(&events).snapshot());
    }

    #[test]
    fn merging_is_associative(one in saturating_events(60), two in saturating_events(60), three in saturating_events(60)) {
        let [one, two, three] = [one, two, three].map(|events| fed(&events).snapshot());
        let left = merged([&merged([&one, &two]), &three]);
        let right = merged([&one, &merged([&two, &three])]);
        prop_assert_eq!(left, right);
    }

    #[test]
    fn merging_does_not_depend_on_the_order_of_events(events in events(100)) {
        prop_assert_eq!(fed(&events).snapshot(), fed(events.iter().rev()).snapshot());
    }

    #[test]
    fn a_snapshot_of_nothing_changes_nothing(events in events(60)) {
        let whole = fed(&events).snapshot();
        let mut left = whole.clone();
        left.merge(&Snapshot::default(), Gauges::Add);
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&merged([&whole]), &whole);
    }

    #[test]
    fn ignored_gauges_leave_all_else_alone(one in events(60), two in events(60)) {
        let (one, two) = (fed(&one).snapshot(), fed(&two).snapshot());
        let mut ignoring = one.clone();
        ignoring.merge(&two, Gauges::Ignore);
        let mut without = two.clone();
        without.drop_levels();
        prop_assert_eq!(ignoring, merged([&one, &without]));
    }

    #[test]
    fn a_merge_past_the_cap_keeps_every_sum(one in events(80), two in events(80), cap in 0..12_usize) {
        let (one, two) = (fed(&one).snapshot(), fed(&two).snapshot());
        let mut capped = one.clone();
        capped.merge_within(&two, Gauges::Add, cap);
        let whole = merged([&one, &two]);
        for family in families() {
            prop_assert_eq!(capped.value(family.name, &[]), whole.value(family.name, &[]));
        }
        prop_assert!(capped.series_count() <= cap.max(one.series_count()) + families().len());
    }
}

fn event(family: u16, labels: [&'static str; 2], amount: u64) -> Event {
    Event {
        family,
        labels,
        amount,
        level: 0,
    }
}

#[test]
fn the_earlier_start_time_stays() {
    let mut early = Registry::new(families(), Limits::default(), START - 5);
    let mut late = registry();
    let mut all = late.snapshot();
    all.merge(&early.snapshot(), Gauges::Add);
    all.merge(&late.snapshot(), Gauges::Add);
    assert_eq!(all.start_unix_nanos, START - 5);
}

#[test]
fn counters_saturate() {
    let one = fed(&[event(3, ["", ""], u64::MAX - 1)]).snapshot();
    let two = fed(&[event(3, ["", ""], 5)]).snapshot();
    let expected = Some(SeriesValue::Counter(u64::MAX));
    assert_eq!(merged([&one, &two]).value("starts", &[]), expected);
    assert_eq!(merged([&two, &one]).value("starts", &[]), expected);
}

#[test]
fn the_latest_reading_stays_until_it_is_too_old() {
    let told = |at: u64, level: i64| {
        let mut worker = registry();
        let series = worker.series(FamilyId(4), &["a"]);
        worker.set_reading(series, level, at);
        // What comes late was overtaken.
        worker.set_reading(series, 77, at - 1);
        worker.snapshot()
    };
    let (early, late) = (told(10, 5), told(20, 3));
    let latest = SeriesValue::Reading {
        level: 3,
        at_unix_nanos: 20,
    };
    for mut all in [merged([&early, &late]), merged([&late, &early])] {
        assert_eq!(all.value("waiting", &[]), Some(latest.clone()));
        let mut old = all.clone();
        all.settle_readings(20);
        assert_eq!(all.value("waiting", &[]), Some(SeriesValue::Gauge(3)));
        old.settle_readings(21);
        assert_eq!(old.value("waiting", &[]), None);
    }
}

#[test]
fn a_reading_that_nobody_has_told_is_none() {
    let mut worker = registry();
    worker.series(FamilyId(4), &["a"]);
    let mut all = worker.snapshot();
    all.settle_readings(0);
    assert_eq!(all.value("waiting", &[]), None);
}

#[test]
fn a_name_with_other_labels_or_another_scale_stays_an_entry_of_its_own() {
    let whole = fed(&[event(0, ["a", "b"], 2)]).snapshot();
    let check = |change: fn(&mut metric_registry::FamilyDef), entries: usize| {
        let mut changed = families();
        change(&mut changed[0]);
        let mut other = Registry::new(changed, Limits::default(), START);
        let series = other.series(FamilyId(0), &["a", "b"]);
        match other.family(FamilyId(0)).unwrap().kind {
            Kind::Gauge => other.set_gauge(series, 3),
            _ => other.add(series, 3),
        }
        let merged = merged([&whole, &other.snapshot()]);
        assert_eq!(
            merged.families_named("requests").count(),
            entries,
            "{merged:?}"
        );
    };
    check(|_| (), 1);
    check(|family| family.labels = vec!["model", "result"], 2);
    check(|family| family.labels = vec!["outcome", "model"], 2);
    check(|family| family.scale = 1000, 2);
    check(|family| family.unit = "s", 2);
    check(|family| family.kind = Kind::Gauge, 2);
}

#[test]
fn counts_of_other_bounds_are_moved_to_the_left_sides() {
    let mut other = families();
    other[2].bounds = vec![2, 25, 1000];
    let mut other = Registry::new(other, Limits::default(), START);
    feed(
        &mut other,
        &[1, 2, 20, 500, 5000].map(|size| event(2, ["a", ""], size)),
    );
    let mut all = fed(&[event(2, ["a", ""], 3)]).snapshot();
    all.merge(&other.snapshot(), Gauges::Add);
    // Bounds 1, 5, 25, 125: the two below 2 and the 3 end at 5, the 20 at 25, what lay below 1000 past 125.
    let expected = SeriesValue::Histogram {
        counts: vec![0, 3, 1, 0, 2].into(),
        sum: 3 + 1 + 2 + 20 + 500 + 5000,
    };
    assert_eq!(all.value("sizes", &[("model", "a")]), Some(expected));
}

proptest! {
    #[test]
    fn moved_counts_keep_count_and_sum(
        events in events(80),
        bounds in prop::collection::btree_set(0..300_u64, 0..8),
    ) {
        let mut changed = families();
        changed[2].bounds = bounds.into_iter().collect();
        let mut all = Registry::new(changed, Limits::default(), START).snapshot();
        let whole = fed(&events).snapshot();
        all.merge(&whole, Gauges::Add);
        let reshaped = all.value("sizes", &[]).map(|value| (value.count(), sum_of(&value)));
        let original = whole.value("sizes", &[]).map(|value| (value.count(), sum_of(&value)));
        prop_assert_eq!(reshaped, original);
    }
}

fn sum_of(value: &SeriesValue<'_>) -> u64 {
    match value {
        SeriesValue::Histogram { sum, .. } => *sum,
        other => panic!("{other:?} is not a histogram"),
    }
}
