//! What a span and a log record say, exactly, for requests that ran through the observer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

mod requests;

use std::collections::BTreeMap;

use inference_span::{
    Attribute, Kept, LogPlace, Semconv, Severity, Span, SpanFacts, SpanIdentity, SpanKind,
    SpanLabels, SpanStatus, Text, Value,
};
use proptest::prelude::*;
use request_observer::{FinishReason, Outcome, RequestRecord};
use requests::{
    ANSWER, ENDED, MILLISECOND, PROMPT, broken_off, everything, facts, identity, streamed, whole,
};

fn span(record: &RequestRecord) -> Span {
    facts(record, &identity()).span(Kept::Sampled)
}

fn shown(attributes: &[Attribute]) -> BTreeMap<&str, String> {
    let value = |value: &Value| match value {
        Value::Text(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => format!("{number:?}"),
        Value::Bool(is) => is.to_string(),
        Value::TextList(texts) => format!("{texts:?}"),
    };
    attributes
        .iter()
        .map(|attribute| (attribute.key.as_ref(), value(&attribute.value)))
        .collect()
}

fn check(attributes: &[Attribute], expected: &[(&str, &str)]) {
    let expected = expected
        .iter()
        .map(|(key, value)| (*key, (*value).to_owned()))
        .collect();
    assert_eq!(shown(attributes), expected);
    assert_eq!(shown(attributes).len(), attributes.len(), "each name once");
}

#[test]
fn a_whole_stream_has_what_was_measured_and_nothing_else() {
    let record = streamed();
    let identity = identity();
    let facts = SpanFacts {
        labels: requests::labels(),
        ..facts(&record, &identity)
    };
    let span = facts.span(Kept::Sampled);
    check(
        &span.attributes,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "vllm"),
            ("gen_ai.request.model", "qwen3"),
            ("gen_ai.request.stream", "true"),
            ("gen_ai.request.choice.count", "2"),
            ("gen_ai.response.model", "qwen3-30b"),
            ("gen_ai.response.finish_reasons", "[\"stop\"]"),
            ("gen_ai.response.time_to_first_chunk", "0.02"),
            ("gen_ai.usage.input_tokens", "9"),
            ("gen_ai.usage.output_tokens", "4"),
            ("gen_ai.usage.cache_read.input_tokens", "8"),
            ("gen_ai.usage.reasoning.output_tokens", "2"),
            ("server.address", "10.0.0.7"),
            ("server.port", "8000"),
            ("http.response.status_code", "200"),
            ("inference.outcome", "success"),
            ("inference.usage.status", "reported"),
            ("inference.time_to_first_token", "0.03"),
            ("inference.time_to_first_visible_token", "0.04"),
            ("inference.stream.max_gap", "0.02"),
        ],
    );
    assert_eq!(span.name, "chat qwen3");
    assert_eq!(span.status, SpanStatus::Unset);
    assert_eq!(span.trace_state, "rojo=1");
    assert_eq!((span.trace_id, span.span_id), ([0x0a; 16], [0x0c; 8]));
    assert_eq!(span.parent_span_id, Some([0x0b; 8]));
    assert_eq!(span.flags, 0x301);
    assert_eq!(
        (span.start_unix_nanos, span.end_unix_nanos),
        (ENDED - 70 * MILLISECOND, ENDED)
    );
    let events: Vec<_> = span
        .events
        .iter()
        .map(|event| {
            (
                event.name,
                event.time_unix_nanos - span.start_unix_nanos,
                event.attributes.len(),
            )
        })
        .collect();
    let expected = [
        ("inference.first_token", 30 * MILLISECOND, 0),
        ("inference.first_visible_token", 40 * MILLISECOND, 0),
    ];
    assert_eq!(events, expected);
    assert_eq!(facts.failure_log(Some(Kept::Sampled)), None);
}

#[test]
fn an_answer_that_is_no_stream_has_no_moments_of_one() {
    check(
        &span(&whole()).attributes,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "qwen3"),
            ("gen_ai.response.model", "qwen3"),
            ("gen_ai.response.finish_reasons", "[\"stop\"]"),
            ("http.response.status_code", "200"),
            ("inference.outcome", "success"),
            ("inference.usage.status", "missing"),
            ("inference.usage.reason", "not_sent"),
        ],
    );
    assert_eq!(span(&whole()).events, []);
}

#[test]
fn a_failed_request_says_so_in_status_event_and_log() {
    let record = broken_off();
    let identity = identity();
    let facts = facts(&record, &identity);
    let span = facts.span(Kept::Sampled);
    let error = shown(&span.attributes)["error.type"].clone();
    assert_eq!(error, "upstream_reset");
    assert_eq!(
        span.status,
        SpanStatus::Error {
            description: "upstream_reset"
        }
    );
    let exception = span.events.last().unwrap();
    assert_eq!(
        (exception.name, exception.time_unix_nanos),
        ("exception", ENDED)
    );
    check(
        &exception.attributes,
        &[("exception.type", &error), ("error.type", &error)],
    );

    let log = facts.failure_log(Some(Kept::Sampled)).unwrap();
    assert_eq!(log.time_unix_nanos, ENDED);
    assert_eq!((log.severity.number(), log.severity.as_str()), (13, "WARN"));
    let mut expected = shown(&span.attributes);
    expected.insert("exception.type", error);
    assert_eq!(shown(&log.attributes), expected);
}

#[test]
fn a_log_belongs_to_the_span_or_to_its_parent_or_nowhere() {
    let record = broken_off();
    let (child, root) = (identity(), SpanIdentity::root([5; 24]));
    let place = |identity, kept| facts(&record, identity).failure_log(kept).unwrap().place;
    let at = |trace: u8, span: u8, flags| {
        Some(LogPlace {
            trace_id: [trace; 16],
            span_id: [span; 8],
            flags,
        })
    };
    assert_eq!(place(&child, Some(Kept::Sampled)), at(0x0a, 0x0c, 1));
    assert_eq!(place(&child, None), at(0x0a, 0x0b, 1));
    assert_eq!(place(&root, Some(Kept::Sampled)), at(5, 5, 3));
    assert_eq!(place(&root, Some(Kept::Error)), at(5, 5, 2));
    assert_eq!(place(&root, None), None);
}

#[test]
fn a_server_has_its_own_event_and_severity() {
    let record = broken_off();
    let identity = identity();
    let facts = SpanFacts {
        kind: SpanKind::Server,
        ..facts(&record, &identity)
    };
    assert_eq!(facts.span(Kept::Sampled).kind, SpanKind::Server);
    let log = facts.failure_log(None).unwrap();
    assert_eq!(
        (log.severity, log.event_name),
        (Severity::Error, "inference.request.failed")
    );
    assert_eq!(
        (log.severity.number(), log.severity.as_str()),
        (17, "ERROR")
    );
}

#[test]
fn what_is_kept_of_a_trace_that_is_not_sampled_says_why() {
    let record = broken_off();
    let mut identity = SpanIdentity::root([5; 24]);
    for (kept, flags, reason) in [
        (Kept::Sampled, 0x103, None),
        (Kept::Error, 0x102, Some("error")),
        (Kept::Slow, 0x102, Some("slow")),
    ] {
        let span = facts(&record, &identity).span(kept);
        assert_eq!(span.flags, flags, "{kept:?}");
        let shown = shown(&span.attributes);
        let found = shown.get("inference.span.kept_for").map(String::as_str);
        assert_eq!(found, reason);
    }
    identity.parent_span_id = Some([6; 8]);
    assert_eq!(facts(&record, &identity).span(Kept::Error).flags, 0x302);
}

#[test]
fn the_versions_differ_in_one_name_and_in_interrupted_streams() {
    let identity = identity();
    let attributes = |record: &RequestRecord, semconv| {
        let facts = SpanFacts {
            semconv,
            ..facts(record, &identity)
        };
        facts.span(Kept::Sampled).attributes
    };
    let record = everything();
    let mut old = attributes(&record, Semconv::V1_41);
    let new = attributes(&record, Semconv::Head);
    for attribute in &mut old {
        if attribute.key == "gen_ai.usage.cache_creation.input_tokens" {
            attribute.key = "gen_ai.usage.cache_write.input_tokens".into();
        }
    }
    assert_eq!(old, new);

    let key = "gen_ai.response.finish_reasons";
    let reasons = |semconv| shown(&attributes(&broken_off(), semconv)).get(key).cloned();
    assert_eq!(reasons(Semconv::V1_41), None);
    assert_eq!(reasons(Semconv::Head).as_deref(), Some("[\"error\"]"));
    // A stream that was asked for and never began was not interrupted.
    let never_began = RequestRecord {
        accepted: false,
        ..broken_off()
    };
    let not_streamed = RequestRecord {
        stream: false,
        ..broken_off()
    };
    for record in [requests::refused(), whole(), never_began, not_streamed] {
        let with = RequestRecord {
            finish_reason: None,
            ..record
        };
        assert_eq!(shown(&attributes(&with, Semconv::Head)).get(key), None);
    }
    let length = RequestRecord {
        finish_reason: Some(FinishReason::Length),
        ..broken_off()
    };
    assert_eq!(
        shown(&attributes(&length, Semconv::Head))[key],
        "[\"length\"]"
    );
}

#[test]
fn everything_that_is_known_is_shown() {
    let record = everything();
    let identity = identity();
    let facts = SpanFacts {
        labels: requests::labels(),
        ..facts(&record, &identity)
    };
    let span = facts.span(Kept::Slow);
    for (key, value) in [
        ("gen_ai.response.finish_reasons", "[\"tool_calls\"]"),
        ("gen_ai.response.time_to_first_chunk", "0.25"),
        ("gen_ai.usage.input_tokens", "100"),
        ("gen_ai.usage.output_tokens", "50"),
        ("gen_ai.usage.cache_read.input_tokens", "64"),
        ("gen_ai.usage.cache_creation.input_tokens", "16"),
        ("gen_ai.usage.reasoning.output_tokens", "20"),
        ("inference.usage.status", "partial"),
        ("inference.usage.reason", "stream_aborted"),
        ("inference.usage.estimated_output_tokens", "48"),
        ("inference.attempts", "3"),
        ("inference.time_to_first_token", "0.3"),
        ("inference.time_to_first_visible_token", "0.5"),
        ("inference.stream.max_gap", "0.125"),
        ("inference.server.queue_time", "0.05"),
        ("inference.server.time_to_first_token", "0.2"),
        ("inference.server.processing_time", "0.8"),
    ] {
        assert_eq!(
            shown(&span.attributes).get(key).map(String::as_str),
            Some(value),
            "{key}"
        );
    }
    assert_eq!(
        (span.attributes.len(), span.events.len()),
        (MOST_ATTRIBUTES, 3)
    );
    assert!(span.events.is_sorted_by_key(|event| event.time_unix_nanos));
}

/// What the crate's front page promises.
const MOST_ATTRIBUTES: usize = 29;

#[test]
fn inputs_of_an_embedding_are_no_choices() {
    let record = RequestRecord {
        choices: 3,
        ..requests::embeddings()
    };
    let shown_span = span(&record);
    let shown = shown(&shown_span.attributes);
    assert_eq!(shown.get("gen_ai.request.choice.count"), None);
    assert_eq!(shown["gen_ai.operation.name"], "embeddings");
}

#[test]
fn a_stream_that_does_not_reason_has_one_first_token() {
    let mut record = streamed();
    record.durations.time_to_first_visible_token = record.durations.time_to_first_token;
    let span = span(&record);
    let names: Vec<_> = span.events.iter().map(|event| event.name).collect();
    assert_eq!(names, ["inference.first_token"]);
    let shown = shown(&span.attributes);
    assert!(shown.contains_key("inference.time_to_first_token"));
    assert!(!shown.contains_key("inference.time_to_first_visible_token"));
}

#[test]
fn only_a_model_that_metrics_show_stands_in_the_name() {
    let record = streamed();
    let identity = identity();
    for (model, name) in [
        ("qwen3", "chat qwen3"),
        ("", "chat"),
        ("unknown", "chat"),
        ("other", "chat"),
        ("a\nb", "chat a_b"),
    ] {
        let labels = SpanLabels {
            model,
            ..SpanLabels::default()
        };
        let facts = SpanFacts {
            labels,
            ..facts(&record, &identity)
        };
        assert_eq!(facts.span(Kept::Sampled).name, name);
    }
}

#[test]
fn a_port_needs_an_address() {
    let record = streamed();
    let identity = identity();
    for address in [None, Some("")] {
        let labels = SpanLabels {
            server_address: address,
            ..requests::labels()
        };
        let facts = SpanFacts {
            labels,
            ..facts(&record, &identity)
        };
        let span = facts.span(Kept::Sampled);
        assert!(
            !span
                .attributes
                .iter()
                .any(|attribute| attribute.key.starts_with("server."))
        );
    }
}

#[test]
fn baggage_stands_under_its_own_keys_and_takes_none_of_ours() {
    let record = broken_off();
    let identity = identity();
    let baggage = [
        "tenant",
        "inference.outcome",
        "inference.span.kept_for",
        "error.type",
        "empty",
    ]
    .map(|key| (key, Text::from(if key == "empty" { "" } else { "baggage" })));
    let facts = SpanFacts {
        baggage: &baggage,
        ..facts(&record, &identity)
    };
    let span = facts.span(Kept::Slow);
    let log = facts.failure_log(None).unwrap();
    let shown = shown(&span.attributes);
    assert_eq!(shown.len(), span.attributes.len());
    assert_eq!(shown["tenant"], "baggage");
    assert_eq!(shown["inference.span.kept_for"], "slow");
    assert_eq!(shown["inference.outcome"], "upstream_reset");
    assert_eq!(shown["error.type"], "upstream_reset");
    assert!(!shown.contains_key("empty"));
    assert!(
        log.attributes
            .iter()
            .any(|attribute| attribute.key == "tenant")
    );
}

#[test]
fn nothing_of_prompts_answers_and_messages_is_in_what_is_made() {
    let identity = identity();
    for record in requests::all_records() {
        let facts = SpanFacts {
            labels: requests::labels(),
            ..facts(&record, &identity)
        };
        let made = format!(
            "{:?} {:?}",
            facts.span(Kept::Error),
            facts.failure_log(None)
        );
        for text in [PROMPT, ANSWER] {
            assert!(!made.contains(text), "{text} in {made}");
        }
    }
}

proptest! {
    #[test]
    fn a_span_is_as_long_as_the_metrics_say_wherever_the_wall_clock_stands(
        ended in prop_oneof![any::<u64>(), 0..10_u64, Just(ENDED)],
        durations in proptest::array::uniform4(proptest::option::of(prop_oneof![any::<u64>(), 0..10_u64])),
        stream in any::<bool>(),
        failed in any::<bool>(),
    ) {
        let [request, first_byte, first_token, visible_token] = durations;
        let mut record = RequestRecord { stream, ..if failed { broken_off() } else { streamed() } };
        record.durations.request = request;
        record.durations.time_to_first_byte = first_byte;
        record.durations.time_to_first_token = first_token;
        record.durations.time_to_first_visible_token = visible_token;
        let identity = identity();
        let facts = SpanFacts { ended_at_unix_nanos: ended, ..facts(&record, &identity) };
        let span = facts.span(Kept::Sampled);
        prop_assert_eq!(span.end_unix_nanos.checked_sub(span.start_unix_nanos), Some(request.unwrap_or_default()));
        if ended >= request.unwrap_or_default() {
            prop_assert_eq!(span.end_unix_nanos, ended);
        }
        for event in &span.events {
            prop_assert!((span.start_unix_nanos..=span.end_unix_nanos).contains(&event.time_unix_nanos));
        }
        prop_assert_eq!(span.events.last().is_some_and(|event| event.name == "exception"), failed);
    }

    #[test]
    fn any_numbers_and_names_make_a_span(
        usage in proptest::array::uniform5(proptest::option::of(any::<u64>())),
        attempts in any::<u64>(),
        choices in any::<u32>(),
        outcome in proptest::sample::select(Outcome::ALL.to_vec()),
        name in ".{0,200}",
    ) {
        let mut record = RequestRecord {
            attempts,
            choices,
            outcome,
            request_model: Some(Text::from(name.as_str())),
            ..streamed()
        };
        let [input, output, cached_input, cache_write_input, reasoning] = usage;
        record.usage = request_observer::Usage { input, output, cached_input, cache_write_input, reasoning };
        let identity = identity();
        let labels = SpanLabels {
            model: &name,
            provider: &name,
            server_address: Some(&name),
            server_port: Some(1),
        };
        let span = SpanFacts { labels, ..facts(&record, &identity) }.span(Kept::Sampled);
        prop_assert!(span.name.len() <= "chat ".len() + 128);
        let tokens = |key: &str| span.attributes.iter().any(|attribute| attribute.key == key);
        prop_assert_eq!(tokens("gen_ai.usage.input_tokens"), input.is_some());
        for attribute in &span.attributes {
            match &attribute.value {
                Value::Text(text) => {
                    prop_assert!(text.len() <= 128 && !text.chars().any(char::is_control));
                }
                Value::Int(number) => prop_assert!(*number >= 0),
                _ => {}
            }
        }
    }

    #[test]
    fn no_baggage_panics_or_brings_more_than_was_configured(
        header in proptest::collection::vec(any::<u8>(), 0..300),
        words in "[a-c%=;, \t]{0,9000}",
    ) {
        let keys = ["a", "b", "tenant"];
        for header in [header.as_slice(), words.as_bytes()] {
            let found: Vec<_> = inference_span::baggage(header, &keys).collect();
            let names: BTreeMap<_, _> = found.iter().map(|(key, value)| (*key, value.as_str())).collect();
            prop_assert_eq!(names.len(), found.len());
            prop_assert!(names.values().all(|value| value.len() <= 128));
            prop_assert!(names.keys().all(|key| keys.contains(key)));
        }
    }
}
