//! Which requests give a sample to which metric, and what the sample is.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use metric_catalog::{
    Catalog, CatalogSettings, LabelSwitches, Moved, RecordLabels, Semconv, rebin_gaps,
};
use metric_registry::{Kind, Limits, Registry, SeriesValue};
use request_observer::{
    AnomalyCounts, AnomalyKind, Api, Durations, GapHistogram, Outcome, RequestRecord, Stamp, Text,
    Usage, UsageReason, UsageStatus,
};

const MILLI: u64 = 1_000_000;

const LABELS: RecordLabels<'_> = RecordLabels {
    model: "m",
    request_model: "asked",
    response_model: "answered",
    provider: "openai",
    server_address: Some("10.0.0.1"),
    server_port: Some("8000"),
    upstream_cluster: Some("vllm"),
    upstream_endpoint: Some("10.0.0.1:8000"),
    route: Some("chat"),
};

/// A streamed answer of one choice with eleven output tokens, of which the first came after 100 ms and the last after
/// 600 ms.
fn streamed() -> RequestRecord {
    RequestRecord {
        api: Api::ChatCompletions,
        request_model: None,
        response_model: None,
        accepted: true,
        stream: true,
        status: Some(200),
        outcome: Outcome::Success,
        error_type: None,
        finish_reason: None,
        attempts: 1,
        choices: 1,
        usage: Usage {
            input: Some(64),
            output: Some(11),
            cached_input: Some(48),
            cache_write_input: None,
            reasoning: Some(3),
        },
        usage_status: UsageStatus::Reported,
        usage_reason: UsageReason::None,
        estimated_output: None,
        durations: Durations {
            request: Some(700 * MILLI),
            time_to_request_end: Some(MILLI),
            time_to_response_headers: Some(50 * MILLI),
            time_to_first_byte: Some(60 * MILLI),
            time_to_first_token: Some(100 * MILLI),
            time_to_first_visible_token: Some(250 * MILLI),
            decode: Some(500 * MILLI),
            max_gap: Some(90 * MILLI),
        },
        gaps: gaps(&Catalog::new(&CatalogSettings::default()).gap_bounds_nanos()),
        anomalies: AnomalyCounts::default(),
        events: 12,
        inspected_bytes: 4096,
        first_token_chunk: Some(1),
        first_token_offset: Some(512),
    }
}

/// Two gaps of 20 ms and one of 90 ms that brought three tokens.
fn gaps(bounds: &[u64]) -> GapHistogram {
    let mut gaps = GapHistogram::new();
    for (gap, tokens) in [(20, 1), (20, 1), (90, 3)] {
        gaps.add(Stamp(0), Stamp(gap * MILLI), tokens, bounds);
    }
    gaps
}

/// A JSON answer.
fn whole() -> RequestRecord {
    RequestRecord {
        stream: false,
        durations: Durations {
            request: Some(700 * MILLI),
            time_to_response_headers: Some(690 * MILLI),
            time_to_first_byte: Some(695 * MILLI),
            ..Durations::default()
        },
        gaps: GapHistogram::new(),
        ..streamed()
    }
}

/// A request that never got an answer.
fn unanswered(outcome: Outcome) -> RequestRecord {
    RequestRecord {
        accepted: false,
        status: None,
        outcome,
        error_type: Some(text(outcome.as_str())),
        usage: Usage::default(),
        usage_status: UsageStatus::Missing,
        usage_reason: UsageReason::NoResponse,
        durations: Durations {
            request: Some(700 * MILLI),
            ..Durations::default()
        },
        events: 0,
        ..whole()
    }
}

fn text(text: &str) -> Text {
    Text::from_prefix(text.as_bytes(), text.len() as u64)
}

fn registry_after(settings: &CatalogSettings, records: &[RequestRecord]) -> (Registry, Vec<Moved>) {
    let catalog = Catalog::new(settings);
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    let mut moves = Vec::new();
    for record in records {
        catalog.record(record, &LABELS, &mut registry, &mut |moved| {
            moves.push(moved)
        });
    }
    (registry, moves)
}

/// The series of a metric, each as its own labels and its value: a counter's, or a histogram's count and sum.
fn series_of(settings: &CatalogSettings, record: &RequestRecord, name: &str) -> Vec<String> {
    const BASE: [&str; 8] = [
        "model",
        "provider",
        "operation",
        "upstream_cluster",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
    ];
    let snapshot = registry_after(settings, std::slice::from_ref(record))
        .0
        .snapshot();
    let mut lines = Vec::new();
    for family in snapshot.families_named(name) {
        for series in family.series() {
            let own = series.labels().filter(|(name, _)| !BASE.contains(name));
            let labels: Vec<String> = own
                .map(|(name, value)| format!("{name}={value} "))
                .collect();
            let value = match series.value() {
                SeriesValue::Counter(value) => value.to_string(),
                SeriesValue::Gauge(value) => value.to_string(),
                SeriesValue::Histogram { counts, sum } => {
                    format!(
                        "{} of {}",
                        counts.iter().sum::<u64>(),
                        sum as f64 / family.scale() as f64
                    )
                }
            };
            lines.push(format!("{}{value}", labels.concat()));
        }
    }
    lines
}

fn check(record: &RequestRecord, name: &str, expected: &[&str]) {
    assert_eq!(
        series_of(&CatalogSettings::default(), record, name),
        expected,
        "{name}"
    );
}

fn check_in_head(record: &RequestRecord, name: &str, expected: &[&str]) {
    let head = CatalogSettings {
        semconv: Semconv::Head,
        ..CatalogSettings::default()
    };
    assert_eq!(series_of(&head, record, name), expected, "{name}");
}

#[test]
fn every_watched_request_counts_once_however_it_ended() {
    check(
        &streamed(),
        "inference.requests",
        &["outcome=success stream=true 1"],
    );
    check(
        &whole(),
        "inference.requests",
        &["outcome=success stream=false 1"],
    );
    for outcome in Outcome::ALL {
        let record = unanswered(outcome);
        check(
            &record,
            "inference.requests",
            &[&format!("outcome={} stream=false 1", outcome.as_str())],
        );
        check(&record, "inference.request.duration", &["1 of 0.7"]);
        check(
            &record,
            "inference.usage",
            &["status=missing reason=no_response 1"],
        );
        check(
            &record,
            "gen_ai.server.request.duration",
            &[&format!("error.type={} 1 of 0.7", outcome.as_str())],
        );
    }
}

#[test]
fn an_error_type_is_there_only_where_something_failed() {
    check(&streamed(), "gen_ai.server.request.duration", &["1 of 0.7"]);
    let refused = RequestRecord {
        error_type: Some(text("429")),
        outcome: Outcome::RateLimited,
        ..whole()
    };
    check(
        &refused,
        "gen_ai.server.request.duration",
        &["error.type=429 1 of 0.7"],
    );
}

#[test]
fn attempts_are_added_up() {
    check(
        &RequestRecord {
            attempts: 3,
            ..streamed()
        },
        "inference.attempts",
        &["3"],
    );
    check(
        &RequestRecord {
            attempts: 0,
            ..streamed()
        },
        "inference.attempts",
        &["0"],
    );
}

#[test]
fn the_four_moments_are_those_of_streamed_answers() {
    let moments = [
        ("inference.time_to_response_headers", "1 of 0.05"),
        ("inference.time_to_first_byte", "1 of 0.06"),
        ("gen_ai.server.time_to_first_token", "1 of 0.1"),
        ("inference.time_to_first_visible_token", "1 of 0.25"),
    ];
    for (name, expected) in moments {
        check(&streamed(), name, &[expected]);
        check(&whole(), name, &[]);
        check(&unanswered(Outcome::Connect), name, &[]);
    }
    let no_token = RequestRecord {
        outcome: Outcome::ClientCancel,
        durations: Durations {
            time_to_first_token: None,
            time_to_first_visible_token: None,
            decode: None,
            max_gap: None,
            ..streamed().durations
        },
        ..streamed()
    };
    check(&no_token, "inference.time_to_first_byte", &["1 of 0.06"]);
    for name in [
        "gen_ai.server.time_to_first_token",
        "inference.time_to_first_visible_token",
        "inference.stream.max_gap",
    ] {
        check(&no_token, name, &[]);
    }
    // A first token counts even where the answer then failed.
    check(
        &RequestRecord {
            outcome: Outcome::UpstreamReset,
            ..streamed()
        },
        "gen_ai.server.time_to_first_token",
        &["1 of 0.1"],
    );
}

#[test]
fn time_per_output_token_needs_a_whole_reported_stream_of_several_tokens() {
    let name = "gen_ai.server.time_per_output_token";
    let with_output = |output| Usage {
        output,
        ..streamed().usage
    };
    check(&streamed(), name, &["1 of 0.05"]);
    check(
        &RequestRecord {
            usage: with_output(Some(2)),
            ..streamed()
        },
        name,
        &["1 of 0.5"],
    );
    // Two choices of six tokens each decode side by side: 0.5 s for five steps.
    check(
        &RequestRecord {
            usage: with_output(Some(12)),
            choices: 2,
            ..streamed()
        },
        name,
        &["1 of 0.1"],
    );
    for without in [
        RequestRecord {
            usage: with_output(Some(1)),
            ..streamed()
        },
        RequestRecord {
            usage: with_output(Some(0)),
            ..streamed()
        },
        RequestRecord {
            usage: with_output(None),
            estimated_output: Some(11),
            ..streamed()
        },
        RequestRecord {
            usage: with_output(Some(11)),
            choices: 11,
            ..streamed()
        },
        RequestRecord {
            usage_status: UsageStatus::Partial,
            ..streamed()
        },
        RequestRecord {
            outcome: Outcome::ContentFilter,
            ..streamed()
        },
        RequestRecord {
            outcome: Outcome::TruncatedStream,
            ..streamed()
        },
        RequestRecord {
            durations: Durations {
                decode: None,
                ..streamed().durations
            },
            ..streamed()
        },
        whole(),
    ] {
        check(&without, name, &[]);
        check(&without, "inference.output_tokens.rate", &[]);
    }
    check(
        &RequestRecord {
            choices: 0,
            ..streamed()
        },
        name,
        &["1 of 0.05"],
    );
}

#[test]
fn the_rate_counts_all_choices_together_and_needs_some_time() {
    let name = "inference.output_tokens.rate";
    check(&streamed(), name, &["1 of 20"]);
    let two = RequestRecord {
        usage: Usage {
            output: Some(12),
            ..streamed().usage
        },
        choices: 2,
        ..streamed()
    };
    check(&two, name, &["1 of 20"]);
    let at_once = RequestRecord {
        durations: Durations {
            decode: Some(0),
            ..streamed().durations
        },
        ..streamed()
    };
    check(&at_once, name, &[]);
    check(&at_once, "gen_ai.server.time_per_output_token", &["1 of 0"]);
    let slow = RequestRecord {
        usage: Usage {
            output: Some(2),
            ..streamed().usage
        },
        durations: Durations {
            decode: Some(3_000 * MILLI),
            ..streamed().durations
        },
        ..streamed()
    };
    check(&slow, name, &["1 of 0.333333"]);
}

#[test]
fn token_processing_is_the_decode_phase_or_a_whole_successful_exchange() {
    for name in [
        "inference.token_processing.duration",
        "token_processing.duration",
    ] {
        check(&streamed(), name, &["stream=true 1 of 0.5"]);
        check(
            &RequestRecord {
                outcome: Outcome::ClientCancel,
                ..streamed()
            },
            name,
            &["stream=true 1 of 0.5"],
        );
        check(&whole(), name, &["stream=false 1 of 0.7"]);
        check(
            &RequestRecord {
                outcome: Outcome::RateLimited,
                ..whole()
            },
            name,
            &[],
        );
        check(&unanswered(Outcome::Connect), name, &[]);
    }
}

#[test]
fn gaps_go_into_their_own_buckets() {
    check(&streamed(), "inference.inter_token.latency", &["5 of 0.13"]);
    check(&streamed(), "inference.stream.max_gap", &["1 of 0.09"]);
    check(
        &RequestRecord {
            gaps: GapHistogram::new(),
            ..streamed()
        },
        "inference.inter_token.latency",
        &[],
    );
    let snapshot = registry_after(&CatalogSettings::default(), &[streamed()])
        .0
        .snapshot();
    let Some(SeriesValue::Histogram { counts, .. }) =
        snapshot.value("inference.inter_token.latency", &[])
    else {
        panic!("no histogram");
    };
    // 20 ms lie in the bucket up to 20 ms, the three of 30 ms in the one up to 30 ms.
    assert_eq!(
        (counts[5], counts[7], counts.iter().sum::<u64>()),
        (2, 3, 5)
    );
}

#[test]
fn gaps_of_other_bounds_move_up_only() {
    let from = [10 * MILLI, 20 * MILLI, 40 * MILLI];
    let sorted = gaps(&from);
    let rebinned = |to: &[u64]| {
        let moved = rebin_gaps(&sorted, &from, to);
        assert_eq!(
            (moved.count, moved.sum_nanos),
            (sorted.count, sorted.sum_nanos)
        );
        moved.counts[..=to.len()].to_vec()
    };
    assert_eq!(rebinned(&from), [0, 2, 3, 0]);
    assert_eq!(rebinned(&[20 * MILLI, 50 * MILLI]), [2, 3, 0]);
    assert_eq!(rebinned(&[15 * MILLI]), [0, 5]);
    assert_eq!(rebinned(&[]), [5]);
}

#[test]
fn tokens_say_where_their_number_comes_from() {
    check(
        &streamed(),
        "inference.input_tokens",
        &["source=reported 64"],
    );
    check(
        &streamed(),
        "inference.output_tokens",
        &["source=reported 11"],
    );
    check(
        &streamed(),
        "inference.cached_input_tokens",
        &["source=reported 48"],
    );
    check(
        &streamed(),
        "inference.reasoning_tokens",
        &["source=reported 3"],
    );
    let estimated = RequestRecord {
        usage: Usage::default(),
        usage_status: UsageStatus::Estimated,
        usage_reason: UsageReason::NoUsageRequested,
        estimated_output: Some(9),
        ..streamed()
    };
    check(
        &estimated,
        "inference.output_tokens",
        &["source=estimated 9"],
    );
    check(
        &estimated,
        "inference.usage",
        &["status=estimated reason=no_usage_requested 1"],
    );
    for name in [
        "inference.input_tokens",
        "inference.cached_input_tokens",
        "inference.reasoning_tokens",
    ] {
        check(&estimated, name, &[]);
    }
    // Zero is a number, absence is not.
    let zeros = Usage {
        input: Some(5),
        output: Some(0),
        cached_input: Some(0),
        ..Usage::default()
    };
    let zero = RequestRecord {
        usage: zeros,
        ..streamed()
    };
    check(
        &zero,
        "inference.cached_input_tokens",
        &["source=reported 0"],
    );
    check(&zero, "inference.output_tokens", &["source=reported 0"]);
    check(&zero, "inference.reasoning_tokens", &[]);
    check(
        &unanswered(Outcome::Connect),
        "inference.output_tokens",
        &[],
    );
}

#[test]
fn the_conventions_take_reported_numbers_only() {
    let name = "gen_ai.client.token.usage";
    check(
        &streamed(),
        name,
        &[
            "gen_ai.token.type=input 1 of 64",
            "gen_ai.token.type=output 1 of 11",
        ],
    );
    check(
        &whole(),
        name,
        &[
            "gen_ai.token.type=input 1 of 64",
            "gen_ai.token.type=output 1 of 11",
        ],
    );
    let embeddings = RequestRecord {
        api: Api::Embeddings,
        usage: Usage {
            input: Some(7),
            ..Usage::default()
        },
        ..whole()
    };
    check(&embeddings, name, &["gen_ai.token.type=input 1 of 7"]);
    for broken in [
        RequestRecord {
            outcome: Outcome::ClientCancel,
            ..streamed()
        },
        RequestRecord {
            usage_status: UsageStatus::Partial,
            ..streamed()
        },
    ] {
        check(&broken, name, &["gen_ai.token.type=input 1 of 64"]);
        check_in_head(
            &broken,
            "gen_ai.client.inference.operation.output_tokens",
            &[],
        );
    }
    let estimated = RequestRecord {
        usage: Usage::default(),
        estimated_output: Some(9),
        ..streamed()
    };
    check(&estimated, name, &[]);
    check_in_head(&streamed(), name, &[]);
}

#[test]
fn the_head_of_the_conventions_has_counters_and_histograms() {
    for (name, expected) in [
        ("usage.input_tokens", "gen_ai.token.modality=unknown 64"),
        ("usage.output_tokens", "gen_ai.token.modality=unknown 11"),
        (
            "usage.cache_read.input_tokens",
            "gen_ai.token.modality=unknown 48",
        ),
        (
            "usage.reasoning.output_tokens",
            "gen_ai.token.modality=unknown 3",
        ),
        ("operation.input_tokens", "1 of 64"),
        ("operation.output_tokens", "1 of 11"),
    ] {
        check_in_head(
            &streamed(),
            &format!("gen_ai.client.inference.{name}"),
            &[expected],
        );
        check(&streamed(), &format!("gen_ai.client.inference.{name}"), &[]);
    }
    check_in_head(
        &streamed(),
        "gen_ai.client.inference.usage.cache_write.input_tokens",
        &[],
    );
    let filtered = RequestRecord {
        outcome: Outcome::ContentFilter,
        error_type: Some(text("content_filter")),
        ..streamed()
    };
    check_in_head(
        &filtered,
        "gen_ai.client.inference.operation.output_tokens",
        &["error.type=content_filter 1 of 11"],
    );
    let written = RequestRecord {
        usage: Usage {
            cache_write_input: Some(16),
            ..streamed().usage
        },
        ..streamed()
    };
    check_in_head(
        &written,
        "gen_ai.client.inference.usage.cache_write.input_tokens",
        &["gen_ai.token.modality=unknown 16"],
    );
}

#[test]
fn a_prompt_cache_hit_is_all_but_a_tail() {
    let cases: [(Option<u64>, Option<u64>, &str); 22] = [
        (None, None, "unknown"),
        (Some(100), None, "unknown"),
        (None, Some(100), "unknown"),
        (Some(100), Some(0), "miss"),
        (Some(0), Some(0), "miss"),
        (Some(100), Some(1), "partial"),
        (Some(100), Some(83), "partial"),
        // Sixteen tokens are a block of the smallest common size.
        (Some(100), Some(84), "hit"),
        (Some(100), Some(100), "hit"),
        (Some(20), Some(16), "hit"),
        // Never more than half of the prompt is a tail.
        (Some(20), Some(9), "partial"),
        (Some(20), Some(10), "hit"),
        (Some(2), Some(1), "hit"),
        (Some(1), Some(1), "hit"),
        // Larger blocks serve longer prompts: an eighth.
        (Some(1024), Some(895), "partial"),
        (Some(1024), Some(896), "hit"),
        (Some(1151), Some(1024), "hit"),
        (Some(128), Some(112), "hit"),
        (Some(129), Some(112), "partial"),
        // A server that states more cached than there is.
        (Some(10), Some(20), "hit"),
        (Some(u64::MAX), Some(1), "partial"),
        (Some(u64::MAX), Some(u64::MAX), "hit"),
    ];
    for (input, cached_input, result) in cases {
        let record = RequestRecord {
            usage: Usage {
                input,
                cached_input,
                ..Usage::default()
            },
            ..streamed()
        };
        check(
            &record,
            "inference.prompt_cache.requests",
            &[&format!("result={result} 1")],
        );
    }
    let refused = RequestRecord {
        accepted: false,
        ..streamed()
    };
    check(&refused, "inference.prompt_cache.requests", &[]);
    check(&refused, "inference.prompt_cache.hit_ratio", &[]);
}

#[test]
fn the_hit_ratio_needs_both_numbers_and_is_at_most_one() {
    let name = "inference.prompt_cache.hit_ratio";
    check(&streamed(), name, &["1 of 0.75"]);
    let with = |input, cached_input| RequestRecord {
        usage: Usage {
            input,
            cached_input,
            ..Usage::default()
        },
        ..streamed()
    };
    check(&with(Some(10), Some(0)), name, &["1 of 0"]);
    check(&with(Some(10), Some(20)), name, &["1 of 1"]);
    check(&with(Some(3), Some(1)), name, &["1 of 0.333333"]);
    check(&with(Some(0), Some(0)), name, &[]);
    check(&with(Some(10), None), name, &[]);
    check(&with(None, Some(10)), name, &[]);
}

#[test]
fn the_module_counts_what_it_saw() {
    let mut anomalies = AnomalyCounts::default();
    anomalies.add(AnomalyKind::CutText, 2);
    anomalies.add(AnomalyKind::PayloadNotJson, 1);
    let record = RequestRecord {
        anomalies,
        ..streamed()
    };
    check(
        &record,
        "inferometer.stream.anomalies",
        &["kind=payload_not_json 1", "kind=cut_text 2"],
    );
    check(&streamed(), "inferometer.stream.anomalies", &[]);
    check(&streamed(), "inferometer.events", &["12"]);
    check(&streamed(), "inferometer.inspected.bytes", &["4096"]);
}

#[test]
fn base_labels_are_in_the_order_of_their_family() {
    let labels = LabelSwitches {
        server_address: true,
        upstream_cluster: true,
        upstream_endpoint: true,
        route: true,
    };
    let settings = CatalogSettings {
        labels,
        ..CatalogSettings::default()
    };
    let snapshot = registry_after(&settings, &[streamed()]).0.snapshot();
    let of = |name: &str| {
        let family = snapshot.families_named(name).next().unwrap();
        let series = family.series().next().unwrap();
        let pairs: Vec<String> = series
            .labels()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(" ")
    };
    assert_eq!(
        of("inference.requests"),
        "model=m provider=openai operation=chat upstream_cluster=vllm upstream_endpoint=10.0.0.1:8000 route=chat \
         outcome=success stream=true"
    );
    assert_eq!(
        of("gen_ai.server.time_to_first_token"),
        "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=asked \
         gen_ai.response.model=answered server.address=10.0.0.1 server.port=8000"
    );
}

#[test]
fn labels_that_are_off_do_not_show_though_they_are_known() {
    let off = LabelSwitches {
        server_address: false,
        upstream_cluster: false,
        upstream_endpoint: false,
        route: false,
    };
    let settings = CatalogSettings {
        labels: off,
        ..CatalogSettings::default()
    };
    let snapshot = registry_after(&settings, &[streamed()]).0.snapshot();
    let family = snapshot
        .families_named("inference.requests")
        .next()
        .unwrap();
    let names: Vec<_> = family
        .series()
        .next()
        .unwrap()
        .labels()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["model", "provider", "operation", "outcome", "stream"]
    );
}

#[test]
fn profiles_that_are_off_are_not_counted_and_others_are() {
    let settings = CatalogSettings {
        gen_ai: false,
        ..CatalogSettings::default()
    };
    assert!(series_of(&settings, &streamed(), "gen_ai.server.time_to_first_token").is_empty());
    assert_eq!(
        series_of(&settings, &streamed(), "inference.requests").len(),
        1
    );
    let settings = CatalogSettings {
        inference: false,
        ..CatalogSettings::default()
    };
    assert!(series_of(&settings, &streamed(), "inference.requests").is_empty());
    assert!(series_of(&settings, &streamed(), "token_processing.duration").is_empty());
    assert_eq!(
        series_of(&settings, &streamed(), "inferometer.events"),
        ["12"]
    );
}

#[test]
fn every_move_is_told_once_without_copies_and_without_zeros() {
    let (registry, moves) = registry_after(
        &CatalogSettings::default(),
        &[RequestRecord {
            attempts: 0,
            ..streamed()
        }],
    );
    let told = |name: &str| {
        let of_name = moves
            .iter()
            .filter(|moved| registry.family(moved.family).unwrap().name == name);
        of_name.map(|moved| moved.amount).collect::<Vec<_>>()
    };
    assert_eq!(told("inference.requests"), [1]);
    assert_eq!(told("inference.request.duration"), [700_000_000]);
    assert_eq!(told("inference.token_processing.duration"), [500_000_000]);
    assert_eq!(told("gen_ai.client.token.usage"), [64, 11]);
    assert_eq!(told("inference.prompt_cache.hit_ratio"), [750_000]);
    assert!(told("token_processing.duration").is_empty(), "a copy");
    assert!(told("inference.attempts").is_empty(), "a zero");
    assert!(
        told("inference.inter_token.latency").is_empty(),
        "sorted already"
    );
    for moved in &moves {
        let family = registry.family_of(moved.series).unwrap();
        assert_eq!(family, moved.family);
        assert_eq!(registry.family(family).unwrap().kind, moved.kind);
        assert_ne!(moved.kind, Kind::Gauge);
    }
}

#[test]
fn a_full_registry_counts_what_it_could_not_tell_apart() {
    let catalog = Catalog::new(&CatalogSettings::default());
    let limits = Limits {
        series: 10,
        ..Limits::default()
    };
    let mut registry = Registry::new(catalog.families(), limits, 0);
    for _ in 0..3 {
        catalog.record(&streamed(), &LABELS, &mut registry, &mut |_| {});
    }
    let snapshot = registry.snapshot();
    let counted = snapshot.value("inferometer.series.overflow", &[]);
    assert_eq!(counted, Some(SeriesValue::Counter(registry.overflowed())));
    assert!(registry.overflowed() > 0);
    // The first series made room for itself, so the request counts are whole.
    let requests = snapshot
        .families_named("inference.requests")
        .next()
        .unwrap();
    let sum: u64 = requests
        .series()
        .map(|series| match series.value() {
            SeriesValue::Counter(count) => count,
            _ => 0,
        })
        .sum();
    assert_eq!(sum, 3);
}

#[test]
fn recording_is_cheap_to_repeat_and_adds_up() {
    let (mut registry, _) = registry_after(&CatalogSettings::default(), &vec![streamed(); 100]);
    let snapshot = registry.snapshot();
    assert_eq!(
        snapshot.value("inference.requests", &[]),
        Some(SeriesValue::Counter(100))
    );
    let (single, _) = registry_after(&CatalogSettings::default(), &[streamed()]);
    assert_eq!(registry.series_count(), single.series_count());
}
