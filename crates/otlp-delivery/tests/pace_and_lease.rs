//! When calls are due, and who makes them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

use otlp_delivery::{Held, Lease, Outcome, Pace, Protocol, Reply, Verdict, Wait, judge};
use proptest::prelude::*;
use snapshot_slots::{SharedData, Written};

const SECOND: u64 = 1_000_000_000;
const INTERVAL: u64 = 5 * SECOND;

fn taken() -> Verdict {
    let headers = vec![(b":status".as_slice(), b"200".as_slice())];
    let reply = Reply {
        headers,
        ..Reply::default()
    };
    judge(Protocol::HttpProtobuf, &reply)
}

fn failed(pause_nanos: Option<u64>) -> Verdict {
    Verdict::again(Outcome::Unavailable, pause_nanos, "")
}

/// The first second at which a call is due.
fn due_after(pace: &mut Pace, now: u64) -> u64 {
    (0..2_000)
        .find(|second| pace.is_due(now + second * SECOND, || 0))
        .unwrap()
}

#[test]
fn the_first_call_comes_somewhere_within_the_interval() {
    for (random, second) in [(0, 0), (u64::MAX / 2, 3), (u64::MAX, 5)] {
        let mut pace = Pace::new(INTERVAL);
        assert_eq!(pace.is_due(SECOND, || random), second == 0);
        assert_eq!(due_after(&mut pace, SECOND), second);
    }
}

#[test]
fn calls_that_work_come_at_the_interval_and_those_that_fail_slower_and_slower() {
    let mut pace = Pace::new(INTERVAL);
    let mut now = SECOND;
    assert!(pace.is_due(now, || 0));
    pace.ended(now, &taken(), 0);
    assert_eq!(due_after(&mut pace, now), 5);
    // With the least random number a pause is half of what it may be at most.
    for expected in [1, 1, 2, 4, 8, 15, 15] {
        pace.ended(now, &failed(None), 0);
        assert_eq!(due_after(&mut pace, now), expected);
        now += expected * SECOND;
    }
    assert_eq!(pace.failures(), 7);
    pace.ended(now, &taken(), 0);
    assert_eq!((due_after(&mut pace, now), pace.failures()), (5, 0));
}

#[test]
fn a_pause_that_is_asked_for_is_kept() {
    let mut pace = Pace::new(INTERVAL);
    pace.ended(SECOND, &failed(Some(120 * SECOND)), 0);
    assert_eq!(due_after(&mut pace, SECOND), 120);
}

#[test]
fn a_clock_that_is_set_back_does_not_silence_the_sender() {
    let mut pace = Pace::new(INTERVAL);
    pace.ended(1_000_000 * SECOND, &taken(), 0);
    assert!(pace.is_due(SECOND, || 0));
}

type Map = Rc<RefCell<(BTreeMap<String, (Vec<u8>, u32)>, u32)>>;

/// A map as the proxy has it. Something else may happen just before each of its operations.
struct Access<'a> {
    map: Map,
    before_each: Box<dyn FnMut() + 'a>,
}

impl Access<'_> {
    fn plain(map: &Map) -> Access<'static> {
        Access {
            map: Rc::clone(map),
            before_each: Box::new(|| {}),
        }
    }
}

impl SharedData for Access<'_> {
    type Error = Infallible;

    fn get(&mut self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Infallible> {
        (self.before_each)();
        Ok(self.map.borrow().0.get(key).cloned())
    }

    fn set(&mut self, key: &str, value: &[u8], cas: u32) -> Result<Written, Infallible> {
        (self.before_each)();
        let (map, last) = &mut *self.map.borrow_mut();
        let stored = map.get(key).map(|(_, stored)| *stored);
        if cas != 0 && stored.is_some_and(|stored| stored != cas) {
            return Ok(Written::Refused);
        }
        *last += 1;
        map.insert(key.to_owned(), (value.to_vec(), *last));
        Ok(Written::Done)
    }
}

const KEY: &str = "lease";
/// The longest call and two ticks.
const TERM: u64 = 12 * SECOND;

struct Candidate {
    lease: Lease,
    rank: u8,
    /// Until when it may send.
    holds_until: u64,
}

impl Candidate {
    fn new(number: u8, rank: u8) -> Candidate {
        Candidate {
            lease: Lease::new(KEY, [number; 16]),
            rank,
            holds_until: 0,
        }
    }

    fn hold(&mut self, now: u64, access: &mut Access<'_>) -> bool {
        let wait = Wait {
            rank: self.rank,
            nanos_a_rank: 2 * SECOND,
        };
        let until = now + TERM;
        let held = self.lease.hold(now, until, wait, access).unwrap();
        self.holds_until = if held == Held::Mine { until } else { 0 };
        held == Held::Mine
    }
}

#[test]
fn the_preferred_candidate_takes_a_free_lease_and_the_others_wait_for_it() {
    let map = Map::default();
    let access = &mut Access::plain(&map);
    let mut busy = Candidate::new(1, 1);
    let mut idle = Candidate::new(2, 0);
    assert!(!busy.hold(SECOND, access));
    assert!(idle.hold(2 * SECOND, access));
    assert!(!busy.hold(3 * SECOND, access));
    // It dies, and the other one follows when the lease has run out, and its rank has waited.
    assert!(!busy.hold(2 * SECOND + TERM, access));
    assert!(busy.hold(4 * SECOND + TERM, access));
}

#[test]
fn a_holder_lets_go_when_a_better_one_comes() {
    let map = Map::default();
    let access = &mut Access::plain(&map);
    let mut busy = Candidate::new(1, 1);
    let mut idle = Candidate::new(2, 0);
    assert!(!busy.hold(0, access));
    assert!(busy.hold(2 * SECOND, access));
    assert!(!idle.hold(3 * SECOND, access));
    assert!(!busy.hold(4 * SECOND, access));
    assert!(idle.hold(5 * SECOND, access));
    assert!(!busy.hold(6 * SECOND, access));
    assert!(idle.hold(7 * SECOND, access));
}

#[test]
fn what_is_let_go_for_a_better_one_waits_for_it_a_term() {
    let map = Map::default();
    let access = &mut Access::plain(&map);
    let mut busy = Candidate::new(1, 1);
    let mut idle = Candidate::new(2, 0);
    assert!(!busy.hold(0, access));
    assert!(busy.hold(2 * SECOND, access));
    assert!(!idle.hold(3 * SECOND, access));
    assert!(!busy.hold(4 * SECOND, access));
    // The better one looks seldom, and has died in the end.
    assert!(!busy.hold(5 * SECOND, access));
    assert!(!busy.hold(5 * SECOND + TERM - 1, access));
    assert!(busy.hold(5 * SECOND + TERM, access));
}

#[test]
fn a_lease_that_is_given_back_is_free_at_once() {
    let map = Map::default();
    let access = &mut Access::plain(&map);
    let mut one = Candidate::new(1, 0);
    let mut other = Candidate::new(2, 0);
    assert!(one.hold(SECOND, access));
    other.lease.release(access).unwrap();
    assert!(!other.hold(SECOND, access));
    one.lease.release(access).unwrap();
    assert!(other.hold(SECOND, access));
}

#[test]
fn an_unreadable_value_counts_as_held_until_it_has_stood_for_two_terms() {
    let map = Map::default();
    let access = &mut Access::plain(&map);
    access.set(KEY, b"\x07who knows", 0).unwrap();
    let mut one = Candidate::new(1, 0);
    assert!(!one.hold(SECOND, access));
    assert!(!one.hold(SECOND + 2 * TERM - 1, access));
    assert!(one.hold(SECOND + 2 * TERM, access));
}

proptest! {
    /// Whatever the order of steps and deaths, and whoever runs between two operations of another: never do two hold.
    #[test]
    fn two_never_hold_at_once(
        steps in prop::collection::vec((0_usize..4, 0_usize..4, 0_u64..8, 0_u8..10), 1..80),
    ) {
        let map = Map::default();
        let candidates: Vec<_> = (0..4)
            .map(|number| RefCell::new(Candidate::new(number, number / 2)))
            .collect();
        let mut now = SECOND;
        let mut last_number = 3;
        let mut dead_until = 0;
        for (who, intruder, seconds, dies) in steps {
            now += seconds * SECOND;
            let mut visits = 0;
            let mut access = Access {
                map: Rc::clone(&map),
                before_each: Box::new(|| {
                    visits += 1;
                    if visits == 2 && intruder != who {
                        candidates[intruder].borrow_mut().hold(now, &mut Access::plain(&map));
                    }
                }),
            };
            candidates[who].borrow_mut().hold(now, &mut access);
            drop(access);
            if dies == 0 {
                // It is never heard of again, and somebody else takes its place.
                last_number += 1;
                let rank = candidates[who].borrow().rank;
                let dead = candidates[who].replace(Candidate::new(last_number, rank));
                dead_until = dead_until.max(dead.holds_until);
            }
            let holding = candidates.iter().filter(|one| one.borrow().holds_until > now).count();
            // The lease of a dead one runs on.
            prop_assert!(holding + usize::from(dead_until > now) <= 1);
        }
        // In the end somebody gets it, within two terms.
        let last = now.max(dead_until);
        let mut got = false;
        for second in 0..2 * TERM / SECOND {
            for candidate in &candidates {
                got |= candidate.borrow_mut().hold(last + second * SECOND, &mut Access::plain(&map));
            }
        }
        prop_assert!(got);
    }
}
