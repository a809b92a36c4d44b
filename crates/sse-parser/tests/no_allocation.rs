//! Counts allocations while streams of every kind go through: there are none, however long a line is.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    reason = "an allocator can only be written with unsafe code; it counts and hands on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sse_parser::{Field, Sink, SseParser};

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
    bytes: usize,
    fields: u64,
    events: u64,
}

impl Sink for Sums {
    fn bytes(&mut self, _: Field, bytes: &[u8]) {
        self.bytes += bytes.len();
    }

    fn field_end(&mut self, _: Field) {
        self.fields += 1;
    }

    fn dispatch(&mut self) {
        self.events += 1;
    }
}

fn check(stream: &[u8], expected: &Sums) {
    for piece_bytes in [1, 7, 16_384, usize::MAX] {
        let mut sums = Sums::default();
        let before = allocations();
        let mut parser = SseParser::new();
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
    let stream = "event: delta\r\ndata: {\"a\":1}\r\n\r\n: ping\n\n".repeat(1000);
    check(
        stream.as_bytes(),
        &Sums {
            bytes: 16_000,
            fields: 3000,
            events: 1000,
        },
    );
}

#[test]
fn a_value_of_ten_megabytes_without_a_line_end_is_handed_on_and_not_held() {
    let stream = [b"data: ".to_vec(), vec![b'x'; 10_000_000]].concat();
    check(
        &stream,
        &Sums {
            bytes: 10_000_000,
            fields: 1,
            events: 1,
        },
    );
}

#[test]
fn a_name_of_ten_megabytes_without_a_colon_is_not_held() {
    check(
        &vec![b'd'; 10_000_000],
        &Sums {
            bytes: 0,
            fields: 1,
            events: 1,
        },
    );
}

#[test]
fn the_parser_is_small_and_has_one_size() {
    assert!(
        size_of::<SseParser>() <= 16,
        "{} bytes",
        size_of::<SseParser>()
    );
}
