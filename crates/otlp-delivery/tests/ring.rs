//! What a ring holds, lends out and gives up.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

use otlp_delivery::{Extent, Ring};
use proptest::prelude::*;

const HOLDS: Extent = Extent {
    items: 8,
    bytes: 100,
};
const LENDS: Extent = Extent {
    items: 4,
    bytes: 40,
};

fn ring_of(items: impl IntoIterator<Item = (u32, usize)>) -> Ring<u32> {
    let mut ring = Ring::new(HOLDS, LENDS);
    for (item, bytes) in items {
        assert_eq!(ring.push(item, bytes), 0, "{item}");
    }
    ring
}

fn lent(ring: &mut Ring<u32>) -> Vec<u32> {
    ring.lend(usize::MAX).copied().collect()
}

#[test]
fn the_oldest_are_lent_first_and_go_once_delivered() {
    let mut ring = ring_of((0..6).map(|item| (item, 1)));
    assert!(ring.has_batch(usize::MAX));
    assert_eq!(lent(&mut ring), [0, 1, 2, 3]);
    ring.delivered();
    assert!(!ring.has_batch(usize::MAX) && !ring.is_empty());
    assert_eq!(lent(&mut ring), [4, 5]);
    ring.delivered();
    assert!(ring.is_empty());
    assert!(lent(&mut ring).is_empty());
}

#[test]
fn a_batch_has_a_bound_of_bytes_but_for_its_first_item() {
    let mut ring = ring_of([(0, 30), (1, 10), (2, 1), (3, 50)]);
    assert_eq!(lent(&mut ring), [0, 1]);
    ring.delivered();
    assert_eq!(lent(&mut ring), [2]);
    ring.delivered();
    assert!(ring.has_batch(usize::MAX));
    assert_eq!(lent(&mut ring), [3]);
}

#[test]
fn a_batch_may_be_asked_to_be_smaller() {
    let mut ring = ring_of((0..3).map(|item| (item, 10)));
    assert!(ring.has_batch(20) && !ring.has_batch(31));
    assert_eq!(ring.lend(20).copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(ring.lend(1).copied().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_returned_batch_is_lent_again() {
    let mut ring = ring_of((0..5).map(|item| (item, 1)));
    assert_eq!(lent(&mut ring), [0, 1, 2, 3]);
    ring.returned();
    assert_eq!(lent(&mut ring), [0, 1, 2, 3]);
}

#[test]
fn the_oldest_that_is_not_lent_goes_for_a_new_one() {
    let mut ring = ring_of((0..8).map(|item| (item, 1)));
    assert_eq!(lent(&mut ring), [0, 1, 2, 3]);
    assert_eq!(ring.push(8, 1), 1);
    ring.delivered();
    assert_eq!(lent(&mut ring), [5, 6, 7, 8]);
}

#[test]
fn a_large_one_drives_out_several_and_one_too_large_nothing() {
    let mut ring = ring_of((0..8).map(|item| (item, 12)));
    assert_eq!(ring.push(8, 101), 1);
    assert_eq!(ring.push(9, 40), 3);
    assert_eq!(lent(&mut ring), [3, 4, 5]);
    // All that could make room is lent out.
    let mut ring = ring_of([(0, 60), (1, 40)]);
    assert_eq!(lent(&mut ring), [0]);
    assert_eq!(ring.push(2, 41), 2);
    assert_eq!(lent(&mut ring), [0]);
}

#[test]
fn a_batch_that_is_too_large_comes_again_in_halves_down_to_one() {
    let mut ring = ring_of((0..6).map(|item| (item, 1)));
    assert_eq!(lent(&mut ring), [0, 1, 2, 3]);
    assert_eq!(ring.too_large(), 0);
    assert_eq!(lent(&mut ring), [0, 1]);
    assert_eq!(ring.too_large(), 0);
    assert_eq!(lent(&mut ring), [0]);
    assert_eq!(ring.too_large(), 1);
    assert_eq!(lent(&mut ring), [1]);
}

#[test]
fn batches_grow_again_once_many_were_taken() {
    let mut ring = ring_of((0..4).map(|item| (item, 1)));
    assert_eq!(lent(&mut ring).len(), 4);
    assert_eq!(ring.too_large(), 0);
    let mut sizes = Vec::new();
    for item in 0..40 {
        let _dropped = ring.push(item, 1);
        let _dropped = ring.push(item, 1);
        let _dropped = ring.push(item, 1);
        let _dropped = ring.push(item, 1);
        sizes.push(lent(&mut ring).len());
        ring.delivered();
    }
    assert_eq!(sizes[..16], [2; 16]);
    assert_eq!(sizes[16..], [4; 24]);
}

#[test]
fn what_is_given_up_is_counted() {
    let mut ring = ring_of((0..6).map(|item| (item, 1)));
    assert_eq!(lent(&mut ring).len(), 4);
    assert_eq!(ring.abandoned(), 4);
    assert_eq!(ring.abandoned(), 0);
    assert_eq!(ring.clear(), 2);
    assert!(ring.is_empty());
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Push(usize),
    Lend,
    Delivered,
    Returned,
    Abandoned,
    TooLarge,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => (0_usize..120).prop_map(Deed::Push),
        2 => Just(Deed::Lend),
        1 => Just(Deed::Delivered),
        1 => Just(Deed::Returned),
        1 => Just(Deed::Abandoned),
        1 => Just(Deed::TooLarge),
    ]
}

proptest! {
    /// Every item is delivered, given up or still there, and comes in the order of its making.
    #[test]
    fn nothing_is_lost_uncounted(deeds in prop::collection::vec(deed(), 0..200)) {
        let mut ring = Ring::new(HOLDS, LENDS);
        let (mut pushed, mut delivered, mut dropped) = (0_u32, Vec::new(), 0);
        let mut out = Vec::new();
        for deed in deeds {
            match deed {
                Deed::Push(bytes) => {
                    dropped += ring.push(pushed, bytes);
                    pushed += 1;
                }
                Deed::Lend => {
                    out = ring.lend(usize::MAX).copied().collect();
                    prop_assert!(out.len() <= LENDS.items);
                }
                Deed::Delivered => {
                    ring.delivered();
                    delivered.append(&mut out);
                }
                Deed::Returned => {
                    ring.returned();
                    out.clear();
                }
                Deed::Abandoned => {
                    dropped += ring.abandoned();
                    out.clear();
                }
                Deed::TooLarge => {
                    dropped += ring.too_large();
                    out.clear();
                }
            }
        }
        prop_assert!(delivered.is_sorted_by(|one, other| one < other));
        let left = ring.clear();
        prop_assert!(left <= HOLDS.items as u64);
        prop_assert_eq!(u64::from(pushed), delivered.len() as u64 + dropped + left);
    }
}
