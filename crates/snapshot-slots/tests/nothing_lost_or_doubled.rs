//! Workers that publish, sleep, die and come back, readers and folders, interrupted at every
//! operation: what is read is what was counted.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry, SeriesValue};
use proptest::prelude::*;
use snapshot_slots::{
    BASE_KEY, DEAD_AFTER_NANOS, Publication, Publisher, SharedData, Written, leads, maintain, read,
    slot_key,
};

const SECOND: u64 = 1_000_000_000;

/// The proxy's map: a write to an absent key always comes through, one to a present key only under
/// its number, and 0 asks for no comparison.
#[derive(Default)]
struct Map {
    values: HashMap<String, (Vec<u8>, u32)>,
    last_cas: u32,
}

type Interruption = Box<dyn FnOnce(&SharedMap)>;
type SharedMap = Rc<RefCell<Map>>;

/// A view of the map in which something else happens before the operation with a given number.
struct Access {
    map: SharedMap,
    operations: usize,
    interruption: Option<(usize, Interruption)>,
}

impl Access {
    fn plain(map: &SharedMap) -> Access {
        Access {
            map: Rc::clone(map),
            operations: 0,
            interruption: None,
        }
    }

    fn interrupted(map: &SharedMap, at: usize, by: impl FnOnce(&SharedMap) + 'static) -> Access {
        Access {
            interruption: Some((at, Box::new(by))),
            ..Access::plain(map)
        }
    }

    fn step(&mut self) {
        if let Some((at, by)) = self.interruption.take() {
            if at == self.operations {
                by(&self.map);
            } else {
                self.interruption = Some((at, by));
            }
        }
        self.operations += 1;
    }

    fn was_interrupted(&self) -> bool {
        self.interruption.is_none()
    }
}

impl SharedData for Access {
    type Error = std::convert::Infallible;

    fn get(&mut self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Self::Error> {
        self.step();
        Ok(self.map.borrow().values.get(key).cloned())
    }

    fn set(&mut self, key: &str, value: &[u8], cas: u32) -> Result<Written, Self::Error> {
        self.step();
        let mut map = self.map.borrow_mut();
        map.last_cas += 1;
        let number = map.last_cas;
        match map.values.get(key) {
            Some((_, stands)) if cas != 0 && *stands != cas => Ok(Written::Refused),
            _ => {
                map.values.insert(key.to_owned(), (value.to_vec(), number));
                Ok(Written::Done)
            }
        }
    }
}

struct Worker {
    registry: Registry,
    publisher: Publisher,
}

impl Worker {
    fn new() -> Worker {
        let family = |name, kind| FamilyDef {
            name,
            kind,
            unit: "",
            scale: 1,
            labels: Vec::new(),
            bounds: Vec::new(),
        };
        let families = vec![
            family("requests", Kind::Counter),
            family("in_flight", Kind::Gauge),
        ];
        Worker {
            registry: Registry::new(families, Limits::default(), 7),
            publisher: Publisher::new(SECOND),
        }
    }

    fn count(&mut self, requests: u64) {
        let series = self.registry.series(FamilyId(0), &[]);
        self.registry.add(series, requests);
    }

    fn in_flight(&mut self, requests: i64) {
        let series = self.registry.series(FamilyId(1), &[]);
        self.registry.set_gauge(series, requests);
    }

    fn publish(&mut self, now: u64, access: &mut Access) -> Publication {
        self.publisher
            .publish(&mut self.registry, now, access)
            .unwrap()
    }
}

fn counted(now: u64, access: &mut Access) -> (u64, i64) {
    let view = read(now, access).unwrap();
    let counter = match view.snapshot.value("requests", &[]) {
        Some(SeriesValue::Counter(value)) => value,
        _ => 0,
    };
    let gauge = match view.snapshot.value("in_flight", &[]) {
        Some(SeriesValue::Gauge(value)) => value,
        _ => 0,
    };
    (counter, gauge)
}

fn total(now: u64, map: &SharedMap) -> u64 {
    counted(now, &mut Access::plain(map)).0
}

const DEAD: u64 = DEAD_AFTER_NANOS + 10 * SECOND;

/// Runs a case with an interruption before its first operation, its second and so on, until the
/// case is over before the interruption comes; says how many operations there were.
fn at_every_operation(mut case: impl FnMut(usize) -> bool) -> usize {
    let mut at = 0;
    while case(at) {
        at += 1;
        assert!(at < 1_000, "the case never ends");
    }
    assert!(at > 1, "the case was never interrupted");
    at
}

#[test]
fn two_workers_that_claim_at_once_get_two_slots() {
    at_every_operation(|at| {
        let map = SharedMap::default();
        let mut first = Worker::new();
        first.count(1);
        let mut access = Access::interrupted(&map, at, |map| {
            let mut second = Worker::new();
            second.count(10);
            second.publish(SECOND, &mut Access::plain(map));
        });
        first.publish(SECOND, &mut access);
        if access.was_interrupted() {
            assert_eq!(total(SECOND, &map), 11, "interrupted at {at}");
        }
        access.was_interrupted()
    });
}

#[test]
fn a_publish_interrupted_by_its_own_burial_loses_nothing() {
    at_every_operation(|at| {
        let map = SharedMap::default();
        let mut worker = Worker::new();
        worker.count(5);
        worker.publish(SECOND, &mut Access::plain(&map));
        worker.count(7);
        // Others find it dead and bury it while it is in the middle of its first publish since.
        let mut access = Access::interrupted(&map, at, |map| {
            maintain(DEAD, &mut Access::plain(map)).unwrap();
            // Somebody else takes the slot that has become free.
            let mut heir = Worker::new();
            heir.count(100);
            heir.publish(DEAD, &mut Access::plain(map));
        });
        worker.publish(DEAD, &mut access);
        let interrupted = access.was_interrupted();
        if interrupted {
            worker.count(1);
            worker.publish(DEAD + SECOND, &mut Access::plain(&map));
            assert_eq!(total(DEAD + SECOND, &map), 113, "interrupted at {at}");
        }
        interrupted
    });
}

#[test]
fn a_burial_interrupted_by_the_owner_coming_back_counts_once() {
    at_every_operation(|at| {
        let map = SharedMap::default();
        let worker = Rc::new(RefCell::new(Worker::new()));
        worker.borrow_mut().count(5);
        worker
            .borrow_mut()
            .publish(SECOND, &mut Access::plain(&map));
        let back = Rc::clone(&worker);
        let mut access = Access::interrupted(&map, at, move |map| {
            back.borrow_mut().count(7);
            back.borrow_mut().publish(DEAD, &mut Access::plain(map));
        });
        maintain(DEAD, &mut access).unwrap();
        let interrupted = access.was_interrupted();
        if interrupted {
            worker.borrow_mut().count(1);
            worker
                .borrow_mut()
                .publish(DEAD + SECOND, &mut Access::plain(&map));
            maintain(DEAD + SECOND, &mut Access::plain(&map)).unwrap();
            assert_eq!(total(DEAD + SECOND, &map), 13, "interrupted at {at}");
        }
        interrupted
    });
}

#[test]
fn two_burials_at_once_count_once() {
    at_every_operation(|at| {
        let map = SharedMap::default();
        for requests in [5, 7] {
            let mut worker = Worker::new();
            worker.count(requests);
            worker.publish(SECOND, &mut Access::plain(&map));
        }
        let mut access = Access::interrupted(&map, at, |map| {
            maintain(DEAD, &mut Access::plain(map)).unwrap();
        });
        maintain(DEAD, &mut access).unwrap();
        assert_eq!(total(DEAD, &map), 12, "interrupted at {at}");
        access.was_interrupted()
    });
}

#[test]
fn a_read_interrupted_by_a_burial_and_an_heir_never_steps_back() {
    at_every_operation(|at| {
        let map = SharedMap::default();
        for requests in [5, 7] {
            let mut worker = Worker::new();
            worker.count(requests);
            worker.publish(SECOND, &mut Access::plain(&map));
        }
        let mut access = Access::interrupted(&map, at, |map| {
            maintain(DEAD, &mut Access::plain(map)).unwrap();
            let mut heir = Worker::new();
            heir.count(100);
            heir.publish(DEAD, &mut Access::plain(map));
        });
        let (seen, _) = counted(DEAD, &mut access);
        if access.was_interrupted() {
            assert!(
                seen == 12 || seen == 112,
                "read {seen}, interrupted at {at}"
            );
            assert_eq!(total(DEAD, &map), 112);
        }
        access.was_interrupted()
    });
}

#[test]
fn a_stalled_workers_gauge_vanishes_after_three_beats_and_its_counter_stays() {
    let map = SharedMap::default();
    let mut worker = Worker::new();
    worker.count(5);
    worker.in_flight(3);
    worker.publish(10 * SECOND, &mut Access::plain(&map));
    assert_eq!(counted(13 * SECOND, &mut Access::plain(&map)), (5, 3));
    assert_eq!(counted(14 * SECOND, &mut Access::plain(&map)), (5, 0));
    // Folding waits much longer than the gauges do.
    maintain(14 * SECOND, &mut Access::plain(&map)).unwrap();
    assert!(!map.borrow().values.contains_key(BASE_KEY));
    // A beat brings the gauge back.
    worker
        .publisher
        .beat(15 * SECOND, &mut Access::plain(&map))
        .unwrap();
    assert_eq!(counted(16 * SECOND, &mut Access::plain(&map)), (5, 3));
}

#[test]
fn a_worker_that_retires_is_folded_at_once_and_may_come_back() {
    let map = SharedMap::default();
    let mut worker = Worker::new();
    worker.count(5);
    worker.in_flight(3);
    worker.publish(SECOND, &mut Access::plain(&map));
    worker.count(2);
    worker
        .publisher
        .retire(&mut worker.registry, 2 * SECOND, &mut Access::plain(&map))
        .unwrap();
    assert_eq!(counted(2 * SECOND, &mut Access::plain(&map)), (7, 0));
    let census = maintain(2 * SECOND, &mut Access::plain(&map)).unwrap();
    assert_eq!((census.sealed, census.live), (1, 0));
    assert_eq!(counted(2 * SECOND, &mut Access::plain(&map)), (7, 0));
    worker.count(1);
    worker.publish(3 * SECOND, &mut Access::plain(&map));
    assert_eq!(counted(3 * SECOND, &mut Access::plain(&map)), (8, 3));
    assert_eq!(worker.publisher.slot(), Some(0), "the free slot is reused");
}

#[test]
fn workers_that_retire_over_and_over_never_run_out_of_slots() {
    let map = SharedMap::default();
    let mut worker = Worker::new();
    for round in 1..=2_000 {
        worker.count(1);
        worker.publish(SECOND, &mut Access::plain(&map));
        let Worker {
            registry,
            publisher,
        } = &mut worker;
        let retired = publisher.retire(registry, SECOND, &mut Access::plain(&map));
        assert_eq!(retired, Ok(Publication::Written), "round {round}");
        maintain(SECOND, &mut Access::plain(&map)).unwrap();
    }
    assert_eq!(total(SECOND, &map), 2_000);
    assert!(!map.borrow().values.contains_key(&slot_key(1)));
}

#[test]
fn nobody_waits_for_a_retired_worker_to_lead() {
    let map = SharedMap::default();
    let mut first = Worker::new();
    let mut second = Worker::new();
    for worker in [&mut first, &mut second] {
        worker.count(1);
        worker.publish(SECOND, &mut Access::plain(&map));
    }
    assert!(!leads(1, SECOND, &mut Access::plain(&map)).unwrap());
    first
        .publisher
        .retire(&mut first.registry, SECOND, &mut Access::plain(&map))
        .unwrap();
    assert!(leads(1, SECOND, &mut Access::plain(&map)).unwrap());
}

#[test]
fn the_buckets_of_those_who_count_now_are_shown() {
    let map = SharedMap::default();
    let registry = |bounds: &[u64]| {
        let family = FamilyDef {
            name: "wait",
            kind: Kind::Histogram,
            unit: "",
            scale: 1,
            labels: Vec::new(),
            bounds: bounds.to_vec(),
        };
        Registry::new(vec![family], Limits::default(), 7)
    };
    let mut access = Access::plain(&map);
    for (bounds, retires) in [([10, 20], true), ([1, 2], false)] {
        let mut registry = registry(&bounds);
        let series = registry.series(FamilyId(0), &[]);
        registry.observe(series, 1);
        let mut publisher = Publisher::new(SECOND);
        publisher
            .publish(&mut registry, SECOND, &mut access)
            .unwrap();
        if retires {
            publisher
                .retire(&mut registry, SECOND, &mut access)
                .unwrap();
            maintain(SECOND, &mut access).unwrap();
        }
    }
    let view = read(SECOND, &mut access).unwrap();
    let bounds: Vec<u64> = view.snapshot.families().next().unwrap().bounds().to_vec();
    assert_eq!(bounds, [1, 2]);
    let value = view.snapshot.value("wait", &[]).unwrap();
    let SeriesValue::Histogram { counts, sum } = value else {
        panic!("{value:?}");
    };
    assert_eq!((counts.as_ref(), sum), ([1, 0, 1].as_slice(), 2));
}

#[test]
fn a_slot_of_another_version_is_left_alone_and_counted() {
    let map = SharedMap::default();
    let mut access = Access::plain(&map);
    access
        .set(&slot_key(0), b"\x63some other format", 0)
        .unwrap();
    let mut worker = Worker::new();
    worker.count(5);
    worker.publish(SECOND, &mut access);
    assert_eq!(worker.publisher.slot(), Some(1));
    maintain(DEAD, &mut access).unwrap();
    let view = read(SECOND, &mut access).unwrap();
    assert_eq!((view.census.unreadable, view.census.live), (1, 0));
    assert_eq!(total(SECOND, &map), 5);
}

#[test]
fn a_map_that_was_erased_is_filled_anew() {
    let map = SharedMap::default();
    let mut worker = Worker::new();
    worker.count(5);
    worker.publish(SECOND, &mut Access::plain(&map));
    map.borrow_mut().values.clear();
    worker.count(1);
    worker.publish(2 * SECOND, &mut Access::plain(&map));
    assert_eq!(total(2 * SECOND, &map), 6);
}

#[derive(Clone, Debug)]
enum Action {
    Count(usize, u64),
    Publish(usize),
    Retire(usize),
    Maintain,
    Replace(usize),
    Sleep(u64),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..3usize, 1..9u64).prop_map(|(worker, count)| Action::Count(worker, count)),
        4 => (0..3usize).prop_map(Action::Publish),
        1 => (0..3usize).prop_map(Action::Retire),
        2 => Just(Action::Maintain),
        1 => (0..3usize).prop_map(Action::Replace),
        2 => prop_oneof![Just(1u64), Just(5), Just(70)].prop_map(Action::Sleep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn whatever_happens_what_is_read_is_what_was_published(
        actions in proptest::collection::vec(action(), 1..120)
    ) {
        let map = SharedMap::default();
        let mut workers: Vec<Worker> = (0..3).map(|_| Worker::new()).collect();
        let mut unpublished = [0u64; 3];
        let mut published = 0;
        let mut now = SECOND;
        for action in actions {
            match action {
                Action::Count(worker, count) => {
                    workers[worker].count(count);
                    unpublished[worker] += count;
                }
                Action::Publish(worker) => {
                    workers[worker].publish(now, &mut Access::plain(&map));
                    published += std::mem::take(&mut unpublished[worker]);
                }
                Action::Retire(worker) => {
                    let Worker { registry, publisher } = &mut workers[worker];
                    publisher.retire(registry, now, &mut Access::plain(&map)).unwrap();
                    published += std::mem::take(&mut unpublished[worker]);
                }
                Action::Maintain => {
                    maintain(now, &mut Access::plain(&map)).unwrap();
                }
                // The machine dies with what it has not published, and another takes its place.
                Action::Replace(worker) => {
                    workers[worker] = Worker::new();
                    unpublished[worker] = 0;
                }
                Action::Sleep(seconds) => now += seconds * SECOND,
            }
            prop_assert_eq!(total(now, &map), published);
        }
    }
}
