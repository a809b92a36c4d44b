//! Ordinary content chunks are read without a single allocation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]
#![allow(unsafe_code, reason = "a counting allocator can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use request_observer::{
    Ending, Outcome, RequestHead, RequestObserver, ResponseHead, Settings, Stamp,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(action: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    action();
    ALLOCATIONS.with(Cell::get) - before
}

/// Counts the allocations of a whole stream, from its request's headers to its last chunk.
fn check(path: &str, request: &str, chunks: &[&str], expected: usize) {
    let settings = Settings {
        gap_bounds_nanos: vec![1, 2, 3],
        ..Settings::default()
    };
    let head = RequestHead {
        method: b"POST",
        path: path.as_bytes(),
        ..RequestHead::default()
    };
    let mut observer = RequestObserver::begin(&head, &settings, Stamp(0)).unwrap();
    let allocated = allocations_of(|| {
        observer.request_body(request.as_bytes(), true, Stamp(1));
        let head = ResponseHead {
            status: 200,
            content_type: b"text/event-stream",
            ..ResponseHead::default()
        };
        observer.response_headers(&head, false, Stamp(2), &settings);
        for round in 0..100 {
            for chunk in chunks {
                observer.response_body(chunk.as_bytes(), false, Stamp(3 + round), &settings);
            }
        }
        observer.response_body(b"data: [DONE]\n\n", true, Stamp(200), &settings);
    });
    assert_eq!(allocated, expected, "{path}");
    assert_eq!(
        observer
            .close(&Ending::default(), Stamp(200))
            .unwrap()
            .outcome,
        Outcome::Success
    );
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations_of(|| drop(vec![1_u8])), 1);
}

#[test]
fn streams_of_one_choice_never_allocate() {
    let chat = "data: {\"id\":\"chatcmpl-1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\u00e9\"},\
                \"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n";
    check(
        "/v1/chat/completions",
        r#"{"model":"m","messages":[{"content":"Hi"}],"stream":true}"#,
        &[chat],
        0,
    );
    let completion = "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}],\"timings\":{\"predicted_n\":1}}\r\n\r\n";
    check(
        "/v1/completions",
        r#"{"prompt":"a","stream":true}"#,
        &[completion, ": ping\n\n"],
        0,
    );
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n\n";
    check(
        "/v1/messages",
        r#"{"model":"m","stream":true}"#,
        &[delta],
        0,
    );
    let delta = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n";
    check(
        "/v1/responses",
        r#"{"model":"m","stream":true}"#,
        &[delta, "data: no JSON\n\n"],
        0,
    );
}

#[test]
fn a_further_choice_allocates_once_for_its_gaps_and_once_for_its_usage() {
    let choices = [0, 1].map(|index| {
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"a\"}}}}],\
             \"usage\":{{\"completion_tokens\":1}}}}\n\n"
        )
    });
    check(
        "/v1/chat/completions",
        r#"{"n":2}"#,
        &[&choices[0], &choices[1]],
        2,
    );
}
