//! Arbitrary events on a small set of families, and registries fed with them.

#![allow(dead_code, reason = "each test binary uses its part of this module")]

use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry};
use proptest::prelude::*;

/// When counting began in registries of these tests.
pub(crate) const START: u64 = 1_700_000_000_000_000_000;

/// One thing that happens to one series.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) family: u16,
    pub(crate) labels: [&'static str; 2],
    pub(crate) amount: u64,
    pub(crate) level: i64,
}

/// A counter, a gauge, a histogram, a counter without labels and a reading.
pub(crate) fn families() -> Vec<FamilyDef> {
    let family = |name, kind, labels: &[&'static str], bounds: &[u64]| FamilyDef {
        name,
        kind,
        unit: "{thing}",
        scale: 1,
        labels: labels.to_vec(),
        bounds: bounds.to_vec(),
    };
    vec![
        family("requests", Kind::Counter, &["model", "outcome"], &[]),
        family("in_flight", Kind::Gauge, &["model", "phase"], &[]),
        family(
            "sizes",
            Kind::Histogram,
            &["model", "outcome"],
            &[1, 5, 25, 125],
        ),
        family("starts", Kind::Counter, &[], &[]),
        family("waiting", Kind::Reading, &["server"], &[]),
    ]
}

/// Events whose sums stay below any ceiling.
pub(crate) fn events(most: usize) -> impl Strategy<Value = Vec<Event>> {
    events_of(most, prop_oneof![4 => 0..200_u64, 1 => 0..1_u64 << 50])
}

/// Events whose sums reach their ceiling now and then.
pub(crate) fn saturating_events(most: usize) -> impl Strategy<Value = Vec<Event>> {
    events_of(most, prop_oneof![4 => 0..200_u64, 1 => any::<u64>()])
}

fn events_of(most: usize, amount: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Event>> {
    let label = prop::sample::select(vec!["", "a", "b", "ü", "\n", "long-one"]);
    let event = (0..5_u16, label.clone(), label, amount, -9..9_i64).prop_map(
        |(family, first, second, amount, level)| Event {
            family,
            labels: [first, second],
            amount,
            level,
        },
    );
    prop::collection::vec(event, 0..most)
}

pub(crate) fn registry() -> Registry {
    Registry::new(families(), Limits::default(), START)
}

pub(crate) fn feed<'a>(registry: &mut Registry, events: impl IntoIterator<Item = &'a Event>) {
    for event in events {
        let family = FamilyId(event.family);
        let labels = registry.family(family).unwrap().labels.len();
        let series = registry.series(family, &event.labels[..labels]);
        match registry.family(family).unwrap().kind {
            Kind::Counter => registry.add(series, event.amount),
            Kind::Gauge => registry.shift_gauge(series, event.level),
            Kind::Histogram => registry.observe(series, event.amount),
            Kind::Reading => registry.set_reading(series, event.level, event.amount),
        }
    }
}

pub(crate) fn fed<'a>(events: impl IntoIterator<Item = &'a Event>) -> Registry {
    let mut registry = registry();
    feed(&mut registry, events);
    registry
}
