//! The hot path does not allocate, a usual registry stays small, and hostile bytes cannot make a reader allocate much.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]
#![allow(
    unsafe_code,
    reason = "counting allocations takes an allocator of its own"
)]

mod events;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use events::registry;
use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry, Snapshot};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
    static FREED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread's own cell only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|cell| {
            let (calls, bytes) = cell.get();
            cell.set((calls + 1, bytes + layout.size()));
        });
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        FREED.with(|cell| cell.set(cell.get() + layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls and bytes that a piece of work allocates on this thread.
fn allocated_by(work: impl FnOnce()) -> (u64, usize) {
    let before = ALLOCATED.get();
    work();
    let after = ALLOCATED.get();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn known_label_sets_are_found_and_moved_without_an_allocation() {
    let mut worker = registry();
    let models = ["llama-3", "mistral", "ctrl\nmodel", &"long".repeat(100)];
    let record = |worker: &mut Registry| {
        for model in models {
            let series = worker.series(FamilyId(0), &[model, "success"]);
            worker.add(series, 1);
            let series = worker.series(FamilyId(1), &[model, "decode"]);
            worker.shift_gauge(series, 1);
            worker.set_gauge(series, 0);
            let series = worker.series(FamilyId(2), &[model, "success"]);
            worker.observe(series, 17);
            worker.observe_many(series, &[1, 2, 3, 4, 5], 60);
            let series = worker.series(FamilyId(3), &[]);
            worker.add(series, 1);
        }
    };
    let first = allocated_by(|| record(&mut worker));
    assert!(first.0 > 0, "the counting itself works");
    assert_eq!(allocated_by(|| record(&mut worker)), (0, 0));
}

#[test]
fn refused_label_sets_are_counted_without_an_allocation() {
    let limits = Limits {
        series: 1,
        ..Limits::default()
    };
    let mut worker = Registry::new(events::families(), limits, 0);
    worker.series(FamilyId(0), &["a", ""]);
    worker.series(FamilyId(0), &["b", ""]);
    let refused = allocated_by(|| {
        for model in ["c", "d\r", "e"] {
            let series = worker.series(FamilyId(0), &[model, "success"]);
            worker.add(series, 1);
        }
    });
    assert_eq!(refused, (0, 0));
    assert_eq!(worker.overflowed(), 4);
}

#[test]
fn bytes_that_claim_long_lists_allocate_little() {
    let claims: [&[u8]; 4] = [
        b"IFM\x01\0\xff\xff\xff\xff\x0f",
        b"IFM\x01\0\0\xff\xff\xff\xff\x0f",
        b"IFM\x01\0\0\x01\0\0\0\x01\0\0\0\xff\xff\xff\xff\x0f",
        b"IFM\x01\0\x01\xff\xff\xff\xff\x0f",
    ];
    for claim in claims {
        let (_, bytes) = allocated_by(|| assert!(Snapshot::decode(claim).is_err()));
        assert!(bytes < 1_000, "{bytes} bytes for {claim:?}");
    }
}

#[test]
fn a_registry_of_200_label_sets_takes_less_than_a_mebibyte() {
    // As many families as a request moves, with bounds as many as theirs.
    let bounds: Vec<u64> = (1..=20).map(|step| step * 50_000_000).collect();
    let kinds = [Kind::Histogram, Kind::Counter];
    let families: Vec<FamilyDef> = (0..26)
        .map(|place| FamilyDef {
            name: "example",
            kind: kinds[place % 2],
            unit: "s",
            scale: 1_000_000_000,
            labels: vec!["model", "provider", "operation", "address", "port"],
            bounds: bounds.clone(),
        })
        .collect();
    let freed_before = FREED.get();
    let mut worker = None;
    let (_, allocated) = allocated_by(|| {
        let mut registry = Registry::new(families, Limits::default(), 0);
        for number in 0..200 {
            let model = format!("organisation/model-{number}");
            for family in (0..26).map(FamilyId) {
                let values = [&model, "vllm", "chat", "inference.example", "8000"];
                let series = registry.series(family, &values);
                registry.observe(series, 70_000_000);
                registry.add(series, 1);
            }
        }
        worker = Some(registry);
    });
    let kept = allocated - (FREED.get() - freed_before);
    assert_eq!(worker.unwrap().series_count(), 200 * 26);
    assert!(kept < 1 << 20, "{kept} bytes");
    // What was freed on the way had been in use beside what followed it; a quarter more at each step bounds that too.
    assert!(allocated < 6 << 20, "{allocated} bytes in all");
}
