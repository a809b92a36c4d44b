//! Counts allocations while streams of every kind go through: there are none, however long a line is.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    reason = "an allocator can only be written with unsafe code; it counts and hands on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use json_sequence::{JsonSequence, Shape, Sink};

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
    values: u64,
}

impl Sink for Sums {
    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
    }

    fn value_end(&mut self) {
        self.values += 1;
    }
}

fn check(shape: Shape, stream: &[u8], expected: &Sums) {
    for piece_bytes in [1, 7, 16_384, usize::MAX] {
        let mut sums = Sums::default();
        let before = allocations();
        let mut parser = JsonSequence::new(shape);
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
    let value = r#"{"a": ["b\n"]}"#;
    let lines = format!("{value}\n").repeat(1000);
    let array = format!("[{}{value}]", format!("{value},\n").repeat(999));
    let expected = Sums {
        bytes: value.len() * 1000,
        values: 1000,
    };
    check(Shape::Lines, lines.as_bytes(), &expected);
    check(Shape::Concatenated, lines.as_bytes(), &expected);
    check(Shape::Array, array.as_bytes(), &expected);
}

#[test]
fn a_string_of_ten_megabytes_without_an_end_is_handed_on_and_not_held() {
    let stream = [b"{\"a\":\"".to_vec(), vec![b'x'; 10_000_000]].concat();
    for shape in [Shape::Lines, Shape::Concatenated, Shape::Array] {
        let expected = Sums {
            bytes: 10_000_006,
            values: 1,
        };
        check(shape, &stream, &expected);
    }
}

#[test]
fn ten_megabytes_of_opening_brackets_are_counted_and_not_held() {
    let expected = Sums {
        bytes: 10_000_000,
        values: 1,
    };
    check(Shape::Concatenated, &vec![b'{'; 10_000_000], &expected);
}
