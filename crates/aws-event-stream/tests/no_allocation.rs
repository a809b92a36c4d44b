//! Counts allocations while streams of every kind go through: there are none, however long a line is.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    reason = "an allocator can only be written with unsafe code; it counts and hands on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use aws_event_stream::{EventStreamParser, Flaw, Integrity, Sink};

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
    headers: u64,
    bytes: usize,
    intact: u64,
    broken: u64,
}

impl Sink for Sums {
    fn header(&mut self, _: &[u8], _: &[u8]) {
        self.headers += 1;
    }

    fn payload(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
    }

    fn message_end(&mut self, integrity: Integrity) {
        self.intact += u64::from(integrity == Integrity::Intact);
    }

    fn broken(&mut self, _: Flaw) {
        self.broken += 1;
    }
}

fn check(stream: &[u8], expected: &Sums) {
    for piece_bytes in [1, 7, 16_384, usize::MAX] {
        let mut sums = Sums::default();
        let before = allocations();
        let mut parser = EventStreamParser::new();
        for piece in stream.chunks(piece_bytes) {
            parser.push(piece, &mut sums);
        }
        parser.clone().finish(&mut sums);
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
fn ordinary_streams_allocate_nothing() {
    check(
        &include_bytes!("messages/text_delta.bin").repeat(1000),
        &Sums {
            headers: 3000,
            bytes: 63_000,
            intact: 1000,
            broken: 0,
        },
    );
}

#[test]
fn a_payload_of_ten_megabytes_without_an_end_is_handed_on_and_not_held() {
    let mut stream = [(16_u32 + (24 << 20)).to_be_bytes(), [0; 4]].concat();
    stream.extend(crc32fast::hash(&stream).to_be_bytes());
    stream.resize(12 + 10_000_000, 7);
    check(
        &stream,
        &Sums {
            headers: 0,
            bytes: 10_000_000,
            intact: 0,
            broken: 1,
        },
    );
}
