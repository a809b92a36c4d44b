//! Durations, rates and gaps.

use super::*;

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
fn what_the_server_says_of_its_times_is_kept_apart_from_what_was_measured() {
    const NAMES: [&str; 3] = [
        "inference.server.queue_time",
        "inference.server.time_to_first_token",
        "inference.server.processing_time",
    ];
    for record in [streamed(), whole(), unanswered(Outcome::Connect)] {
        for name in NAMES {
            check(&record, name, &[]);
        }
        let told = RequestRecord {
            telemetry: Telemetry {
                queue_nanos: Some(3 * MILLI),
                time_to_first_token_nanos: Some(40 * MILLI),
                processing_nanos: Some(0),
                total_nanos: Some(999 * MILLI),
                ..Telemetry::default()
            },
            ..record.clone()
        };
        for (name, sample) in NAMES.into_iter().zip(["1 of 0.003", "1 of 0.04", "1 of 0"]) {
            check(&told, name, &[sample]);
        }
        let measured = "gen_ai.server.time_to_first_token";
        let settings = CatalogSettings::default();
        assert_eq!(
            series_of(&settings, &told, measured),
            series_of(&settings, &record, measured)
        );
    }
}
