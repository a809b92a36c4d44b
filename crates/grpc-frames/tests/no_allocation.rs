//! Counts allocations while streams of every kind go through: there are none, however long a line is.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    reason = "an allocator can only be written with unsafe code; it counts and hands on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use grpc_frames::{FrameHead, GrpcFrames, Sink};

thread_local! {
    /// A count for each thread, so that the test harness's own threads do not disturb it.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Adds up what it is given, without keeping any of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    begun: u64,
    bytes: usize,
    ended: u64,
}

impl Sink for Sums {
    fn begin(&mut self, _: FrameHead) {
        self.begun += 1;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
    }

    fn end(&mut self) {
        self.ended += 1;
    }
}

fn check(stream: &[u8], expected: &Sums) {
    for piece_bytes in [1, 7, 16_384, usize::MAX] {
        let mut sums = Sums::default();
        let before = allocations();
        let mut parser = GrpcFrames::new();
        for piece in stream.chunks(piece_bytes) {
            parser.push(piece, &mut sums);
        }
        let after = allocations();
        assert_eq!(after - before, 0, "pieces of {piece_bytes}");
        assert_eq!(&sums, expected, "pieces of {piece_bytes}");
    }
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(allocations(), before + 1);
}

#[test]
fn ordinary_bodies_allocate_nothing() {
    check(
        &b"\0\0\0\0\x03abc\0\0\0\0\0".repeat(1000),
        &Sums {
            begun: 2000,
            bytes: 3000,
            ended: 2000,
        },
    );
}

#[test]
fn a_message_of_the_largest_length_is_handed_on_and_not_held() {
    let body = [vec![0, 0xff, 0xff, 0xff, 0xff], vec![7; 10_000_000]].concat();
    check(
        &body,
        &Sums {
            begun: 1,
            bytes: 10_000_000,
            ended: 0,
        },
    );
}
