//! Counts allocations while documents of every kind go through: there are none.
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    reason = "an allocator can only be written with unsafe code; it counts and hands on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use json_scan::{Container, Node, Scanner, Sink, Value};

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

static TREE: Node<u8> = Node::root(&[
    Node::leaf("model", 1),
    Node::leaf("n", 2),
    Node::tagged(
        "list",
        3,
        &[Node::tagged("[]", 4, &[Node::leaf("text", 5)])],
    ),
]);

/// Adds up what it is given, without keeping any of it.
#[derive(Default)]
struct Sum(u64);

impl Sink<u8> for Sum {
    fn value(&mut self, tag: u8, value: Value<'_>) {
        self.0 += u64::from(tag);
        if let Value::Text(text) = value {
            self.0 += text.len;
        }
    }

    fn open(&mut self, tag: u8, _: Container) {
        self.0 += u64::from(tag);
    }

    fn close(&mut self, _: u8, _: Container, items: u64) {
        self.0 += items;
    }
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(allocations(), before + 1);
}

#[test]
fn no_document_makes_the_scanner_allocate() {
    let long = "long \\u00e9\\n text ".repeat(60_000);
    let documents = [
        format!(
            r#"{{"model":"{long}","{long}":[{long:?}],"n":-1.5e7,"list":[{{"text":"a\tb"}},7,null]}}"#
        ),
        format!(r#"{{"list":[{}1]}}"#, r#"{"text":"x"},"#.repeat(10_000)),
        "[".repeat(1_000_000),
        "9".repeat(1_000_000),
        format!(r#"{{"n":{}}}"#, "9".repeat(1_000_000)),
        "{\"model\":\"\u{1}\"}".to_owned(),
        "{\"model\":\"\\ud83d\"}".to_owned(),
        String::new(),
    ];
    for document in &documents {
        for piece_bytes in [1, 5, 16_384, usize::MAX] {
            let mut sum = Sum::default();
            let before = allocations();
            let mut scanner = Scanner::new(&TREE);
            for piece in document.as_bytes().chunks(piece_bytes) {
                scanner.push(piece, &mut sum);
            }
            let mut clone = scanner.clone();
            clone.finish(&mut sum);
            scanner.reset();
            let after = allocations();
            assert_eq!(after - before, 0, "pieces of {piece_bytes}");
        }
    }
}

#[test]
fn the_scanner_is_small_and_has_one_size() {
    assert!(
        size_of::<Scanner<u8>>() <= 640,
        "{} bytes",
        size_of::<Scanner<u8>>()
    );
}
