//! What a registry does at its limits, and with calls that do not suit it.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod events;

use events::{START, families, registry};
use metric_registry::{
    FamilyDef, FamilyId, Kind, Limits, MAX_LABELS, OVERFLOW_LABEL, Registry, SeriesValue,
};

const REQUESTS: FamilyId = FamilyId(0);
const IN_FLIGHT: FamilyId = FamilyId(1);
const SIZES: FamilyId = FamilyId(2);
const STARTS: FamilyId = FamilyId(3);

fn with_room_for(series: usize) -> Registry {
    let limits = Limits {
        series,
        ..Limits::default()
    };
    Registry::new(families(), limits, START)
}

#[test]
fn past_the_cap_new_label_sets_share_their_familys_overflow_series() {
    let mut worker = with_room_for(2);
    let kept = worker.series(REQUESTS, &["a", "ok"]);
    worker.series(SIZES, &["a", "ok"]);
    let requests = worker.series(REQUESTS, &["b", "ok"]);
    let sizes = worker.series(SIZES, &["b", "ok"]);
    assert_eq!(worker.series(REQUESTS, &["c", "failed"]), requests);
    assert_ne!(requests, sizes);
    assert_eq!(worker.series(REQUESTS, &["a", "ok"]), kept);
    worker.add(requests, 4);
    worker.observe(sizes, 4);

    assert_eq!((worker.overflowed(), worker.series_count()), (3, 4));
    assert!(worker.is_overflow(requests) && !worker.is_overflow(kept));
    assert_eq!(
        worker.labels(requests).collect::<Vec<_>>(),
        [(OVERFLOW_LABEL, "true")]
    );
    assert_eq!(worker.label_values(requests).collect::<Vec<_>>(), ["", ""]);
    let snapshot = worker.snapshot();
    let overflow = [(OVERFLOW_LABEL, "true")];
    assert_eq!(
        snapshot.value("requests", &overflow),
        Some(SeriesValue::Counter(4))
    );
    assert_eq!(
        snapshot
            .value("sizes", &overflow)
            .map(|value| value.count()),
        Some(1)
    );
}

#[test]
fn a_family_without_labels_is_never_refused() {
    let mut worker = with_room_for(0);
    let series = worker.series(STARTS, &[]);
    worker.add(series, 1);
    assert_eq!(
        worker.snapshot().value("starts", &[]),
        Some(SeriesValue::Counter(1))
    );
    assert_eq!(worker.overflowed(), 0);
}

#[test]
fn hostile_values_do_not_grow_the_registry() {
    let mut worker = with_room_for(10);
    for number in 0..50_000 {
        let model = format!("{number:0>128}");
        let series = worker.series(REQUESTS, &[&model, "ok"]);
        worker.add(series, 1);
    }
    assert_eq!((worker.series_count(), worker.overflowed()), (11, 49_990));
    let snapshot = worker.snapshot();
    assert_eq!(
        snapshot.value("requests", &[]),
        Some(SeriesValue::Counter(50_000))
    );
    assert!(
        snapshot.encoded_size() < 3_000,
        "{} bytes",
        snapshot.encoded_size()
    );
}

#[test]
fn label_text_is_bounded_even_where_series_are_not() {
    let mut worker = with_room_for(20_000);
    for number in 0..20_000 {
        let text = format!("{number:0>128}");
        worker.series(REQUESTS, &[&text, text.get(1..).unwrap()]);
    }
    // 32 bytes for each of 20,000 series hold 2,510 pairs of 128 and 127 bytes, and one that was begun.
    assert_eq!(worker.series_count(), 2_510 + 1);
    assert_eq!(worker.overflowed(), 20_000 - 2_510);
}

#[test]
fn raised_limits_admit_new_label_sets() {
    let mut worker = with_room_for(1);
    worker.series(REQUESTS, &["a", ""]);
    let overflow = worker.series(REQUESTS, &["b", ""]);
    worker.set_limits(Limits::default());
    assert_ne!(worker.series(REQUESTS, &["b", ""]), overflow);
}

#[test]
fn label_values_are_cut_and_cleaned() {
    let mut worker = registry();
    let check = |worker: &mut Registry, value: &str, kept: &str| {
        let series = worker.series(REQUESTS, &[value, ""]);
        let values: Vec<&str> = worker.label_values(series).collect();
        assert_eq!(values, [kept, ""], "{value:?}");
        assert_eq!(worker.labels(series).count(), usize::from(!kept.is_empty()));
    };
    check(&mut worker, "", "");
    check(&mut worker, "a\r\nb\u{9f}", "a__b_");
    check(&mut worker, &"x".repeat(1_000_000), &"x".repeat(128));
    check(&mut worker, &"ü".repeat(100), &"ü".repeat(64));
    check(
        &mut worker,
        &format!("{}ü", "x".repeat(127)),
        &"x".repeat(127),
    );
}

#[test]
fn missing_values_are_empty_and_surplus_ones_ignored() {
    let mut worker = registry();
    let series = worker.series(REQUESTS, &["a", ""]);
    assert_eq!(worker.series(REQUESTS, &["a"]), series);
    assert_eq!(worker.series(REQUESTS, &["a", "", "b"]), series);
    assert_eq!(worker.series_count(), 1);
}

#[test]
fn a_call_that_does_not_suit_the_series_is_ignored() {
    let mut worker = registry();
    let counter = worker.series(REQUESTS, &["a", "b"]);
    let gauge = worker.series(IN_FLIGHT, &["a", "b"]);
    let histogram = worker.series(SIZES, &["a", "b"]);
    let before = worker.snapshot();
    for series in [gauge, histogram] {
        worker.add(series, 1);
    }
    for series in [counter, histogram] {
        worker.set_gauge(series, 1);
        worker.shift_gauge(series, 1);
    }
    for series in [counter, gauge] {
        worker.observe(series, 1);
        worker.observe_many(series, &[1, 1], 2);
    }
    let nowhere = worker.series(FamilyId(99), &["a"]);
    worker.add(nowhere, 1);
    assert!(!worker.changed_since_snapshot());
    assert_eq!(worker.snapshot(), before);
    assert_eq!(worker.family_of(nowhere), None);
}

#[test]
fn changes_are_known_without_a_comparison() {
    let mut worker = registry();
    assert!(worker.changed_since_snapshot());
    worker.snapshot();
    let level = worker.series(IN_FLIGHT, &["a", "b"]);
    assert!(worker.changed_since_snapshot());
    worker.set_gauge(level, 2);
    worker.snapshot();
    worker.set_gauge(level, 2);
    worker.series(IN_FLIGHT, &["a", "b"]);
    assert!(!worker.changed_since_snapshot());
    worker.shift_gauge(level, 1);
    assert!(worker.changed_since_snapshot());
}

#[test]
fn values_saturate() {
    let mut worker = registry();
    let counter = worker.series(REQUESTS, &["a", "b"]);
    worker.add(counter, u64::MAX);
    worker.add(counter, 1);
    assert_eq!(worker.value(counter), Some(SeriesValue::Counter(u64::MAX)));
    let gauge = worker.series(IN_FLIGHT, &["a", "b"]);
    worker.shift_gauge(gauge, i64::MIN);
    worker.shift_gauge(gauge, -1);
    assert_eq!(worker.value(gauge), Some(SeriesValue::Gauge(i64::MIN)));
    let histogram = worker.series(SIZES, &["a", "b"]);
    worker.observe(histogram, u64::MAX);
    worker.observe(histogram, u64::MAX);
    let expected = SeriesValue::Histogram {
        counts: vec![0, 0, 0, 0, 2].into(),
        sum: u64::MAX,
    };
    assert_eq!(worker.value(histogram), Some(expected));
}

#[test]
fn counts_made_elsewhere_go_to_their_buckets_and_surplus_ones_to_infinity() {
    let mut worker = registry();
    let series = worker.series(SIZES, &["a", "b"]);
    worker.observe_many(series, &[1, 0, 2], 9);
    worker.observe_many(series, &[0, 1, 0, 0, 3, 4, 0], 700);
    let expected = SeriesValue::Histogram {
        counts: vec![1, 1, 2, 0, 7].into(),
        sum: 709,
    };
    assert_eq!(worker.value(series), Some(expected));
}

#[test]
fn odd_definitions_are_put_right() {
    const NAMES: [&str; 20] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
        "s", "t",
    ];
    let odd = FamilyDef {
        name: "odd",
        kind: Kind::Histogram,
        unit: "",
        scale: 0,
        labels: NAMES.to_vec(),
        bounds: vec![3, 1, 3, 2],
    };
    let counter = FamilyDef {
        kind: Kind::Counter,
        ..odd.clone()
    };
    let mut worker = Registry::new(vec![odd, counter], Limits::default(), START);
    let put_right = worker.family(FamilyId(0)).unwrap();
    assert_eq!((put_right.scale, put_right.labels.len()), (1, MAX_LABELS));
    assert_eq!(put_right.bounds, [1, 2, 3]);
    assert!(worker.family(FamilyId(1)).unwrap().bounds.is_empty());
    let series = worker.series(FamilyId(0), &NAMES);
    assert_eq!(worker.label_values(series).count(), MAX_LABELS);
}

#[test]
fn a_value_sums_over_the_series_that_carry_the_labels() {
    let mut worker = registry();
    for (model, outcome, amount) in [
        ("a", "ok", 1),
        ("a", "failed", 2),
        ("b", "ok", 4),
        ("", "ok", 8),
    ] {
        let series = worker.series(REQUESTS, &[model, outcome]);
        worker.add(series, amount);
    }
    let snapshot = worker.snapshot();
    let check = |labels: &[(&str, &str)], expected: Option<u64>| {
        assert_eq!(
            snapshot.value("requests", labels),
            expected.map(SeriesValue::Counter),
            "{labels:?}"
        );
    };
    check(&[], Some(15));
    check(&[("outcome", "ok")], Some(13));
    check(&[("outcome", "ok"), ("model", "a")], Some(1));
    check(&[("model", "")], Some(8));
    check(&[("model", "c")], None);
    check(&[("route", "")], Some(15));
    assert_eq!(snapshot.value("nothing", &[]), None);
}
