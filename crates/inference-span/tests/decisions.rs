//! Which finished requests get a span, and for what reason.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

mod requests;

use inference_span::{Kept, Sampler, SpanIdentity, TraceContext};
use request_observer::{Outcome, Purpose, RequestRecord};
use requests::{MILLISECOND, parent, refused, streamed};

fn below(flags: u8) -> SpanIdentity {
    SpanIdentity::child_of(&TraceContext { flags, ..parent() }, [1; 8])
}

/// A root whose low bits are all `byte`.
fn root(byte: u8) -> SpanIdentity {
    SpanIdentity::root([byte; 24])
}

const ALL: Sampler = Sampler {
    ratio: 1.0,
    keep_errors: false,
    keep_slower_than_nanos: None,
};

const HALF_ERRORS_SLOW: Sampler = Sampler {
    ratio: 0.5,
    keep_errors: true,
    keep_slower_than_nanos: Some(100 * MILLISECOND),
};

fn lasting(milliseconds: u64, mut record: RequestRecord) -> RequestRecord {
    record.durations.request = Some(milliseconds * MILLISECOND);
    record
}

#[test]
fn a_sampled_parent_is_followed_whatever_the_ratio() {
    let none = Sampler { ratio: 0.0, ..ALL };
    assert_eq!(none.decide(&below(1), &streamed()), Some(Kept::Sampled));
    assert_eq!(none.decide(&below(3), &refused()), Some(Kept::Sampled));
}

#[test]
fn an_unsampled_parent_is_followed_but_for_what_is_asked_for() {
    for flags in [0, 2] {
        let identity = below(flags);
        for record in [streamed(), refused(), lasting(101, streamed())] {
            assert_eq!(ALL.decide(&identity, &record), None);
        }
        let decide = |record| HALF_ERRORS_SLOW.decide(&identity, &record);
        assert_eq!(decide(lasting(100, streamed())), None);
        assert_eq!(decide(lasting(101, streamed())), Some(Kept::Slow));
        assert_eq!(decide(lasting(1, refused())), Some(Kept::Error));
        assert_eq!(decide(lasting(101, refused())), Some(Kept::Error));
    }
}

#[test]
fn without_a_parent_the_low_bits_of_the_trace_id_decide() {
    let record = lasting(1, streamed());
    assert_eq!(
        HALF_ERRORS_SLOW.decide(&root(0x80), &record),
        Some(Kept::Sampled)
    );
    assert_eq!(HALF_ERRORS_SLOW.decide(&root(0x7f), &record), None);
    assert_eq!(
        HALF_ERRORS_SLOW.decide(&root(0x7f), &refused()),
        Some(Kept::Error)
    );
    assert_eq!(
        HALF_ERRORS_SLOW.decide(&root(0x7f), &lasting(101, streamed())),
        Some(Kept::Slow)
    );
    assert_eq!(
        HALF_ERRORS_SLOW.decide(&root(0x80), &refused()),
        Some(Kept::Sampled)
    );
    assert_eq!(ALL.decide(&root(0), &record), Some(Kept::Sampled));
}

#[test]
fn every_outcome_but_success_is_an_error() {
    let errors = Sampler {
        ratio: 0.0,
        keep_errors: true,
        ..ALL
    };
    for record in requests::all_records() {
        let expected = (record.outcome != Outcome::Success).then_some(Kept::Error);
        assert_eq!(
            errors.decide(&root(1), &record),
            expected,
            "{:?}",
            record.outcome
        );
    }
}

#[test]
fn what_no_client_asked_for_gets_no_span() {
    for purpose in Purpose::ALL {
        let record = RequestRecord {
            purpose,
            ..refused()
        };
        let is_kept = HALF_ERRORS_SLOW.decide(&below(1), &record).is_some();
        assert_eq!(is_kept, purpose == Purpose::Client, "{purpose:?}");
    }
}

#[test]
fn a_request_of_unknown_duration_is_not_slow() {
    let mut record = streamed();
    record.durations.request = None;
    let sampler = Sampler {
        keep_slower_than_nanos: Some(0),
        ratio: 0.0,
        ..ALL
    };
    assert_eq!(sampler.decide(&root(1), &record), None);
}
