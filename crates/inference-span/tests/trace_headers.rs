//! Which `traceparent` headers name a context, which do not and why, and what becomes of the context.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

use inference_span::{SpanIdentity, TraceContext, TraceparentFlaw, hex};
use proptest::prelude::*;

const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn parse(traceparent: &str) -> Result<TraceContext, TraceparentFlaw> {
    TraceContext::parse(traceparent.as_bytes(), b"")
}

#[test]
fn the_standards_own_example_is_read() {
    let context = parse(GOOD).unwrap();
    assert_eq!(hex(&context.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&context.span_id), "b7ad6b7169203331");
    assert!(context.is_sampled());
    assert_eq!(context.trace_state, "");
    assert_eq!(context.traceparent(), GOOD);
}

#[test]
fn flags_that_are_not_known_are_cleared() {
    for (flags, known) in [
        ("00", 0),
        ("01", 1),
        ("02", 2),
        ("03", 3),
        ("ff", 3),
        ("fc", 0),
        ("09", 1),
    ] {
        let context = parse(&format!("{}{flags}", &GOOD[..53])).unwrap();
        assert_eq!(context.flags, known, "{flags}");
        assert_eq!(context.is_sampled(), known & 1 == 1, "{flags}");
    }
}

#[test]
fn later_versions_are_read_as_far_as_they_are_known() {
    for version in ["01", "cc", "fe"] {
        for more in ["", "-", "-what-comes", "-\u{e9}"] {
            let header = format!("{version}{}{more}", &GOOD[2..]);
            assert_eq!(parse(&header), parse(GOOD), "{header}");
        }
        for more in ["1", "x-", " ", ","] {
            let header = format!("{version}{}{more}", &GOOD[2..]);
            assert_eq!(parse(&header), Err(TraceparentFlaw::Separator), "{header}");
        }
    }
}

#[test]
fn every_kind_of_malformed_header_is_refused_by_its_flaw() {
    use TraceparentFlaw::{Length, NotHex, Separator, Version, ZeroSpanId, ZeroTraceId};
    let with = |at: usize, text: &str| {
        let mut header = GOOD.to_owned();
        header.replace_range(at..at + text.len(), text);
        header
    };
    for (header, flaw) in [
        (String::new(), Length),
        (GOOD[..54].to_owned(), Length),
        (format!("{GOOD}-"), Length),
        (format!("{GOOD}0"), Length),
        (format!("{GOOD},{GOOD}"), Length),
        (format!(" {}", &GOOD[..54]), Version),
        (with(0, "ff"), Version),
        (format!("{}-more", with(0, "ff")), Version),
        (with(0, "0A"), Version),
        (with(0, "0g"), Version),
        (with(2, "_"), Separator),
        (with(35, "_"), Separator),
        (with(52, "_"), Separator),
        (with(35, "0"), Separator),
        (with(3, "A"), NotHex),
        (with(34, "g"), NotHex),
        (with(36, "B"), NotHex),
        (with(51, "-"), NotHex),
        (with(53, "0A"), NotHex),
        (with(53, "1 "), NotHex),
        (with(3, &"0".repeat(32)), ZeroTraceId),
        (with(36, &"0".repeat(16)), ZeroSpanId),
    ] {
        assert_eq!(parse(&header), Err(flaw), "{header:?}");
        assert!(!flaw.to_string().is_empty());
    }
    let mut no_text = GOOD.as_bytes().to_vec();
    no_text[10] = 0xff;
    assert_eq!(TraceContext::parse(&no_text, b""), Err(NotHex));
}

#[test]
fn a_wrong_tracestate_does_not_cost_the_parent() {
    let state = |tracestate: &[u8]| {
        let context = TraceContext::parse(GOOD.as_bytes(), tracestate).unwrap();
        assert_eq!(context.traceparent(), GOOD);
        context.trace_state
    };
    assert_eq!(
        state(b"rojo=00f067aa0ba902b7,ot=th:8"),
        "rojo=00f067aa0ba902b7,ot=th:8"
    );
    assert_eq!(state(b"Rojo=1"), "");
    assert_eq!(state(&vec![b'a'; 513]), "");
}

#[test]
fn a_child_stays_in_the_trace_and_is_not_its_own_parent() {
    let parent = TraceContext::parse(GOOD.as_bytes(), b"rojo=1").unwrap();
    for random in [[7; 8], [0; 8], parent.span_id] {
        let SpanIdentity {
            context,
            parent_span_id,
        } = SpanIdentity::child_of(&parent, random);
        assert_eq!(parent_span_id, Some(parent.span_id));
        assert_ne!(context.span_id, parent.span_id);
        assert_ne!(context.span_id, [0; 8]);
        assert_eq!(
            TraceContext {
                span_id: parent.span_id,
                ..context
            },
            parent,
            "all but the span's id is the parent's"
        );
    }
}

#[test]
fn a_new_trace_is_made_of_the_random_bytes_and_says_that_they_are_random() {
    let mut random = [0; 24];
    for (place, byte) in random.iter_mut().zip(1..) {
        *place = byte;
    }
    let root = SpanIdentity::root(random);
    assert_eq!(root.parent_span_id, None);
    let expected = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-02";
    assert_eq!(root.context.traceparent(), expected);
    let zeros = SpanIdentity::root([0; 24]).context;
    assert_eq!(parse(&zeros.traceparent()).unwrap(), zeros);
}

proptest! {
    #[test]
    fn no_header_panics_and_what_is_read_is_written_the_same(
        traceparent in proptest::collection::vec(any::<u8>(), 0..80),
        tracestate in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        if let Ok(context) = TraceContext::parse(&traceparent, &tracestate) {
            prop_assert!(context.trace_state.len() <= 512);
        }
    }

    #[test]
    fn a_header_with_one_byte_changed_is_read_or_refused_as_the_grammar_says(at in 0..55_usize, byte in any::<u8>()) {
        let mut header = GOOD.as_bytes().to_vec();
        header[at] = byte;
        let is_digit = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = if [2, 35, 52].contains(&at) { byte == b'-' } else { is_digit };
        prop_assert_eq!(TraceContext::parse(&header, b"").is_ok(), fits);
    }

    #[test]
    fn what_is_written_is_read_again(trace_id in any::<[u8; 16]>(), span_id in any::<[u8; 8]>(), flags in 0..4_u8) {
        prop_assume!(trace_id != [0; 16] && span_id != [0; 8]);
        let context = TraceContext { trace_id, span_id, flags, trace_state: String::new() };
        prop_assert_eq!(parse(&context.traceparent()).unwrap(), context);
    }

    #[test]
    fn words_around_any_tracestate_do_not_panic(text in "[a-z0-9=, \t;@]{0,600}") {
        let context = TraceContext::parse(GOOD.as_bytes(), text.as_bytes()).unwrap();
        prop_assert!(context.trace_state.is_empty() || text.contains(&context.trace_state));
    }
}
