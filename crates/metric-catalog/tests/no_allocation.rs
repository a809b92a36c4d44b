//! A record of known label sets moves its series without an allocation.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]
#![allow(
    unsafe_code,
    reason = "an allocator that counts is the only witness there is"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use metric_catalog::{Catalog, CatalogSettings, RecordLabels};
use metric_registry::{Limits, Registry};
use request_observer::{
    Ending, RequestHead, RequestObserver, RequestRecord, ResponseHead, Settings, Stamp,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn streamed_record(settings: &Settings) -> RequestRecord {
    let head = RequestHead {
        method: b"POST",
        path: b"/v1/chat/completions",
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, settings, Stamp(0)).unwrap();
    observer.request_body(br#"{"model":"m","stream":true}"#, true, Stamp(1));
    let head = ResponseHead {
        status: 200,
        content_type: b"text/event-stream",
        ..ResponseHead::default()
    };
    observer.response_headers(&head, false, Stamp(2), settings);
    let chunk = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    observer.response_body(chunk, false, Stamp(3_000_000), settings);
    observer.response_body(chunk, false, Stamp(5_000_000), settings);
    let usage = b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\
        \"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\ndata: [DONE]\n\n";
    observer.response_body(usage, true, Stamp(6_000_000), settings);
    observer.end(Stamp(6_000_000));
    let ending = Ending {
        flags: 0,
        code: Some(200),
        code_details: b"via_upstream",
        attempts: Some(1),
        known: true,
    };
    observer.close(&ending, Stamp(7_000_000)).unwrap()
}

#[test]
fn a_known_record_moves_its_series_without_an_allocation() {
    let catalog = Catalog::new(&CatalogSettings::default());
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let settings = Settings {
        gap_bounds_nanos: catalog.gap_bounds_nanos(),
        ..Settings::default()
    };
    let record = streamed_record(&settings);
    let labels = RecordLabels {
        model: "m",
        provider: "openai",
        upstream_cluster: Some("c"),
        ..RecordLabels::default()
    };
    let mut moves: usize = 0;
    let mut allocated_by = |registry: &mut Registry| {
        let before = ALLOCATIONS.with(Cell::get);
        catalog.record(&record, &labels, registry, &mut |_| moves += 1);
        ALLOCATIONS.with(Cell::get) - before
    };
    assert!(
        allocated_by(&mut registry) > 0,
        "the first record brings its series"
    );
    assert_eq!(allocated_by(&mut registry), 0);
    assert!(moves >= 30, "{moves}");
}
