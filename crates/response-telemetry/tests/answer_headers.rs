//! Sets of headers as servers send them, and what they tell.

use response_telemetry::{
    DroppedReason, HeaderRule, Meaning, OrcaReport, Telemetry, TelemetryReader, Unit,
};

fn told_with(extra: &[HeaderRule], headers: &[(&str, &str)]) -> Telemetry {
    let mut reader = TelemetryReader::new(extra);
    for (name, value) in headers {
        reader.read(name.as_bytes(), value.as_bytes());
    }
    reader.finish()
}

fn told(headers: &[(&str, &str)]) -> Telemetry {
    told_with(&[], headers)
}

/// The same in both orders and in both cases of the names.
fn told_in_any_order(headers: &[(&str, &str)]) -> Telemetry {
    let upper: Vec<_> = headers
        .iter()
        .rev()
        .map(|(name, value)| (name.to_ascii_uppercase(), *value))
        .collect();
    let backwards: Vec<_> = upper
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    let forwards = told(headers);
    assert_eq!(told(&backwards), forwards);
    forwards
}

const TGI: [(&str, &str); 11] = [
    ("content-type", "application/json"),
    ("x-compute-type", "gpu+optimized"),
    ("x-compute-time", "0.351234567"),
    ("x-compute-characters", "42"),
    ("x-total-time", "351"),
    ("x-validation-time", "1"),
    ("x-queue-time", "2"),
    ("x-inference-time", "347"),
    ("x-time-per-token", "17"),
    ("x-prompt-tokens", "9"),
    ("x-generated-tokens", "20"),
];

#[test]
fn tgi_tells_tokens_and_times_in_milliseconds() {
    let expected = Telemetry {
        input_tokens: Some(9),
        output_tokens: Some(20),
        queue_nanos: Some(2_000_000),
        validation_nanos: Some(1_000_000),
        processing_nanos: Some(347_000_000),
        total_nanos: Some(351_000_000),
        time_per_output_token_nanos: Some(17_000_000),
        ..Telemetry::default()
    };
    assert_eq!(told_in_any_order(&TGI), expected);
}

#[test]
fn compute_time_is_in_seconds_but_in_milliseconds_from_lorax() {
    for (mark, value, nanos) in [
        (("x-compute-type", "cpu"), "0.351234567", 351_234_567),
        (("x-model-id", "some/model"), "351", 351_000_000),
        (("x-total-tokens", "29"), "351.5", 351_500_000),
        (("x-skipped-tokens", "0"), "351", 351_000_000),
        (("x-adapter-id", "mine"), "351", 351_000_000),
        (("x-adapter-source", "hub"), "351", 351_000_000),
    ] {
        let telemetry = told_in_any_order(&[("x-compute-time", value), mark]);
        let expected = Telemetry {
            total_nanos: Some(nanos),
            ..Telemetry::default()
        };
        assert_eq!(telemetry, expected, "{mark:?}");
    }
}

#[test]
fn a_compute_time_that_is_absurd_in_its_unit_is_a_bad_value() {
    let absurd = told(&[("x-compute-time", "86401")]);
    assert_eq!((absurd.total_nanos, absurd.bad_values), (None, 1));
    let fine = told(&[("x-compute-time", "86401"), ("x-model-id", "m")]);
    assert_eq!(
        (fine.total_nanos, fine.bad_values),
        (Some(86_401_000_000), 0)
    );
    assert_eq!(told(&[("x-compute-time", "soon")]).bad_values, 1);
}

#[test]
fn lorax_tells_the_time_to_the_first_token_too() {
    let expected = Telemetry {
        input_tokens: Some(9),
        output_tokens: Some(20),
        queue_nanos: Some(2_000_000),
        total_nanos: Some(351_000_000),
        time_to_first_token_nanos: Some(21_000_000),
        time_per_output_token_nanos: Some(16_000_000),
        ..Telemetry::default()
    };
    let telemetry = told_in_any_order(&[
        ("x-compute-time", "351"),
        ("x-total-time", "351"),
        ("x-queue-time", "2"),
        ("x-prompt-tokens", "9"),
        ("x-generated-tokens", "20"),
        ("x-total-tokens", "29"),
        ("x-skipped-tokens", "0"),
        ("x-time-per-token", "17"),
        ("x-time-to-first-token", "21"),
        ("x-time-per-output-token", "16"),
        ("x-model-id", "some/model"),
    ]);
    assert_eq!(telemetry, expected);
}

#[test]
fn fireworks_tells_cached_tokens_and_times_in_seconds() {
    let expected = Telemetry {
        input_tokens: Some(1024),
        cached_tokens: Some(1000),
        time_to_first_token_nanos: Some(250_000_000),
        processing_nanos: Some(1_250_000_000),
        ..Telemetry::default()
    };
    let telemetry = told_in_any_order(&[
        ("fireworks-prompt-tokens", "1024"),
        ("fireworks-cached-prompt-tokens", "1000"),
        ("fireworks-server-time-to-first-token", "0.25"),
        ("fireworks-server-processing-time", "1.25"),
        ("x-ratelimit-remaining-tokens-prompt", "59000"),
    ]);
    assert_eq!(telemetry, expected);
}

#[test]
fn bedrock_counts_its_caches_beside_the_input() {
    let common = [
        ("x-amzn-requestid", "9b11a83a-1f82-4185-a544-ea99ec26a57c"),
        ("x-amzn-bedrock-invocation-latency", "244"),
        ("x-amzn-bedrock-input-token-count", "28"),
        ("x-amzn-bedrock-output-token-count", "51"),
    ];
    let mut expected = Telemetry {
        input_tokens: Some(28),
        output_tokens: Some(51),
        total_nanos: Some(244_000_000),
        ..Telemetry::default()
    };
    assert_eq!(told_in_any_order(&common), expected);

    let caches = [
        ("x-amzn-bedrock-cache-read-input-token-count", "100"),
        ("x-amzn-bedrock-cache-write-input-token-count", "20"),
    ];
    expected.input_tokens = Some(148);
    expected.cached_tokens = Some(100);
    assert_eq!(
        told_in_any_order(&[&common[..], &caches].concat()),
        expected
    );
}

#[test]
fn openai_tells_its_processing_time_and_nothing_else() {
    let expected = Telemetry {
        processing_nanos: Some(531_000_000),
        ..Telemetry::default()
    };
    let telemetry = told_in_any_order(&[
        ("openai-organization", "us"),
        ("openai-processing-ms", "531"),
        ("openai-version", "2020-10-01"),
        ("x-request-id", "req_1"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-reset-tokens", "6m0s"),
        ("x-envoy-upstream-service-time", "530"),
    ]);
    assert_eq!(telemetry, expected);
}

#[test]
fn reused_and_uncached_tokens_make_the_input() {
    let hit = told_in_any_order(&[
        ("x-kv-cache-hit", "true"),
        ("x-kv-cache-reused-input-tokens", "96"),
        ("x-kv-cache-uncached-input-tokens", "4"),
        ("x-kv-cache-evicted-tokens", "1"),
    ]);
    let expected = Telemetry {
        input_tokens: Some(100),
        cached_tokens: Some(96),
        uncached_tokens: Some(4),
        prompt_cache: Some(true),
        ..Telemetry::default()
    };
    assert_eq!(hit, expected);
    let half = told(&[("x-kv-cache-uncached-input-tokens", "4")]);
    assert_eq!((half.input_tokens, half.uncached_tokens), (None, Some(4)));
    let said = told(&[
        ("x-kv-cache-reused-input-tokens", "96"),
        ("x-kv-cache-uncached-input-tokens", "4"),
        ("x-prompt-tokens", "101"),
    ]);
    assert_eq!(
        said.input_tokens,
        Some(101),
        "what is said goes before a sum"
    );
}

#[test]
fn a_cache_hit_is_said_in_several_words() {
    for (value, hit, bad) in [
        ("TRUE", Some(true), 0),
        ("1", Some(true), 0),
        ("hit", Some(true), 0),
        ("yes", Some(true), 0),
        (" false ", Some(false), 0),
        ("0", Some(false), 0),
        ("MISS", Some(false), 0),
        ("No", Some(false), 0),
        ("maybe", None, 1),
        ("", None, 1),
    ] {
        let telemetry = told(&[("x-kv-cache-hit", value)]);
        assert_eq!(
            (telemetry.prompt_cache, telemetry.bad_values),
            (hit, bad),
            "{value}"
        );
    }
}

#[test]
fn a_dropped_request_has_a_reason() {
    for (value, reason) in [
        ("rejected-saturated", Some(DroppedReason::RejectedSaturated)),
        (
            "rejected-no-endpoints",
            Some(DroppedReason::RejectedNoEndpoints),
        ),
        (
            "rejected-ttl-expired",
            Some(DroppedReason::RejectedTtlExpired),
        ),
        (
            "rejected-context-cancelled",
            Some(DroppedReason::RejectedContextCancelled),
        ),
        (
            "rejected-shutting-down",
            Some(DroppedReason::RejectedShuttingDown),
        ),
        ("evicted", Some(DroppedReason::Evicted)),
        (
            "evicted-queue-pressure",
            Some(DroppedReason::EvictedQueuePressure),
        ),
        ("Evicted-Priority ", Some(DroppedReason::EvictedPriority)),
        ("rejected-by-something-new", Some(DroppedReason::Other)),
        (" ", None),
    ] {
        let telemetry = told(&[("x-llm-d-request-dropped-reason", value)]);
        assert_eq!(telemetry.dropped_reason, reason, "{value}");
        assert_eq!(telemetry.bad_values, 0);
    }
    for reason in DroppedReason::ALL {
        assert_eq!(
            DroppedReason::from_header(reason.as_str().as_bytes()),
            Some(reason)
        );
    }
}

#[test]
fn the_first_of_two_values_counts_and_another_one_is_bad() {
    let cases: [(&[(&str, &str)], _, _); 4] = [
        (
            &[("x-prompt-tokens", "9"), ("x-prompt-tokens", "9")],
            Some(9),
            0,
        ),
        (
            &[("x-prompt-tokens", "9"), ("x-prompt-tokens", "8")],
            Some(9),
            1,
        ),
        (
            &[("x-prompt-tokens", "nine"), ("x-prompt-tokens", "8")],
            Some(8),
            1,
        ),
        (&[("x-prompt-tokens", "9, 8")], None, 1),
    ];
    for (headers, input, bad) in cases {
        let telemetry = told(headers);
        assert_eq!(
            (telemetry.input_tokens, telemetry.bad_values),
            (input, bad),
            "{headers:?}"
        );
    }
}

#[test]
fn one_bad_value_spoils_no_other() {
    for bad in [
        "-1",
        "NaN",
        "inf",
        "1e999",
        "1000000001",
        "9.5",
        "",
        "0x10",
        "\u{fffd}",
    ] {
        let telemetry = told(&[("x-prompt-tokens", bad), ("x-generated-tokens", "20")]);
        assert_eq!(telemetry.input_tokens, None, "{bad}");
        assert_eq!(telemetry.output_tokens, Some(20), "{bad}");
        assert_eq!(telemetry.bad_values, 1, "{bad}");
    }
    for bad in ["-1", "NaN", "inf", "86400001", "1e30", "6m0s"] {
        let telemetry = told(&[("x-queue-time", bad), ("x-total-time", "86400000")]);
        assert_eq!(telemetry.queue_nanos, None, "{bad}");
        assert_eq!(telemetry.total_nanos, Some(86_400_000_000_000), "{bad}");
        assert_eq!(telemetry.bad_values, 1, "{bad}");
    }
}

#[test]
fn bytes_that_are_no_text_and_very_long_values_are_bad_values() {
    let long = vec![b'1'; 60_000];
    for value in [&b"\xff\xfe9"[..], &long] {
        for name in [
            "x-prompt-tokens",
            "x-queue-time",
            "x-compute-time",
            "x-kv-cache-hit",
            "endpoint-load-metrics",
            "endpoint-load-metrics-bin",
        ] {
            let mut reader = TelemetryReader::new(&[]);
            reader.read(name.as_bytes(), value);
            let expected = Telemetry {
                bad_values: 1,
                ..Telemetry::default()
            };
            assert_eq!(reader.finish(), expected, "{name}");
        }
    }
}

#[test]
fn ordinary_headers_tell_nothing_whatever_their_values() {
    for name in [
        "",
        "x",
        ":status",
        "content-type",
        "content-length",
        "date",
        "server",
        "x-request-id",
        "x-prompt-token",
        "x-prompt-tokens2",
        "endpoint-load-metrics-format",
        "x-compute-type",
        "x-compute-characters",
        "x-vllm-queue-time",
    ] {
        assert_eq!(told(&[(name, "17")]), Telemetry::default(), "{name}");
    }
}

#[test]
fn each_meaning_can_be_given_in_each_of_its_units() {
    let (nanos, half) = (Some(1_500_000), Some(0.5));
    for (unit, value) in [
        (Unit::Seconds, "0.0015"),
        (Unit::Milliseconds, "1.5"),
        (Unit::Microseconds, "1500"),
        (Unit::Nanoseconds, "1500000"),
    ] {
        for (meaning, of) in [
            (
                Meaning::QueueTime,
                (|told| told.queue_nanos) as fn(Telemetry) -> Option<u64>,
            ),
            (Meaning::ValidationTime, |told| told.validation_nanos),
            (Meaning::TimeToFirstToken, |told| {
                told.time_to_first_token_nanos
            }),
            (Meaning::TimePerOutputToken, |told| {
                told.time_per_output_token_nanos
            }),
            (Meaning::ProcessingTime, |told| told.processing_nanos),
            (Meaning::TotalTime, |told| told.total_nanos),
        ] {
            let rules = [HeaderRule::new("X-Mine", meaning, unit)];
            assert_eq!(
                of(told_with(&rules, &[("x-mine", value)])),
                nanos,
                "{meaning:?} {unit:?}"
            );
        }
    }
    for (meaning, of) in [
        (
            Meaning::InputTokens,
            (|told| told.input_tokens) as fn(Telemetry) -> Option<u64>,
        ),
        (Meaning::InputTokensBesideCache, |told| told.input_tokens),
        (Meaning::OutputTokens, |told| told.output_tokens),
        (Meaning::CachedInputTokens, |told| told.cached_tokens),
        (Meaning::UncachedInputTokens, |told| told.uncached_tokens),
    ] {
        let rules = [HeaderRule::new("X-Mine", meaning, Unit::Count)];
        assert_eq!(
            of(told_with(&rules, &[("x-mine", "7")])),
            Some(7),
            "{meaning:?}"
        );
    }
    for (unit, value) in [(Unit::Ratio, "0.5"), (Unit::Percent, "50")] {
        let rules = [HeaderRule::new("mine", Meaning::KvCacheUtilization, unit)];
        let load = told_with(&rules, &[("mine", value)]).orca.unwrap();
        assert_eq!(load.kv_cache_utilization, half);
    }
    let rules = [
        HeaderRule::new("waiting", Meaning::RequestsWaiting, Unit::Count),
        HeaderRule::new("running", Meaning::RequestsRunning, Unit::Count),
        HeaderRule::new("hit", Meaning::PromptCacheHit, Unit::Flag),
    ];
    let telemetry = told_with(&rules, &[("waiting", "2"), ("running", "3"), ("hit", "1")]);
    let load = telemetry.orca.unwrap();
    assert_eq!(
        (load.requests_waiting, load.requests_running),
        (Some(2.0), Some(3.0))
    );
    assert_eq!(telemetry.prompt_cache, Some(true));
}

#[test]
fn a_configured_row_goes_before_the_built_in_ones() {
    let milliseconds = [HeaderRule::new(
        "x-compute-time",
        Meaning::ProcessingTime,
        Unit::Milliseconds,
    )];
    let telemetry = told_with(&milliseconds, &TGI);
    assert_eq!(
        telemetry.processing_nanos,
        Some(351_235),
        "0.351234567 ms, rounded"
    );
    assert_eq!(telemetry.total_nanos, Some(351_000_000));

    let another = [HeaderRule::new(
        "x-tokens-in",
        Meaning::InputTokens,
        Unit::Count,
    )];
    for order in [[0, 1], [1, 0]] {
        let headers = order.map(|at| [("x-tokens-in", "5"), ("x-prompt-tokens", "6")][at]);
        let telemetry = told_with(&another, &headers);
        assert_eq!((telemetry.input_tokens, telemetry.bad_values), (Some(5), 0));
    }

    let mistaken = [HeaderRule::new(
        "x-prompt-tokens",
        Meaning::InputTokens,
        Unit::Seconds,
    )];
    let telemetry = told_with(&mistaken, &[("x-prompt-tokens", "6")]);
    assert_eq!((telemetry.input_tokens, telemetry.bad_values), (None, 1));
}

#[test]
fn a_very_long_configured_name_is_found() {
    let name = format!("x-{}", "long-".repeat(30));
    let rules = [HeaderRule::new(
        name.clone(),
        Meaning::OutputTokens,
        Unit::Count,
    )];
    assert_eq!(told_with(&rules, &[(&name, "3")]).output_tokens, Some(3));
}

#[test]
fn trailers_go_before_headers_and_nothing_is_lost() {
    let mut telemetry = told(&[
        ("x-prompt-tokens", "9"),
        ("x-generated-tokens", "1"),
        ("x-queue-time", "bad"),
        ("x-kv-cache-hit", "false"),
        (
            "endpoint-load-metrics",
            "TEXT named_metrics.num_requests_waiting=1",
        ),
    ]);
    telemetry.update(&told(&[
        ("x-generated-tokens", "20"),
        ("x-total-time", "worse"),
        (
            "endpoint-load-metrics",
            "TEXT named_metrics.num_requests_waiting=3",
        ),
    ]));
    let expected = Telemetry {
        input_tokens: Some(9),
        output_tokens: Some(20),
        prompt_cache: Some(false),
        orca: Some(OrcaReport {
            requests_waiting: Some(3.0),
            ..OrcaReport::default()
        }),
        bad_values: 2,
        ..Telemetry::default()
    };
    assert_eq!(telemetry, expected);
    telemetry.update(&Telemetry::default());
    assert_eq!(telemetry, expected);

    let mut parts = told(&[("x-kv-cache-reused-input-tokens", "96")]);
    parts.update(&told(&[("x-kv-cache-uncached-input-tokens", "4")]));
    assert_eq!(parts.input_tokens, Some(100));
}

#[test]
fn names_of_a_configuration_are_found_again() {
    for meaning in Meaning::ALL {
        assert_eq!(Meaning::from_name(meaning.as_str()), Some(meaning));
        assert!(!meaning.units().is_empty());
    }
    for unit in Unit::ALL {
        assert_eq!(Unit::from_name(unit.as_str()), Some(unit));
        assert!(
            Meaning::ALL
                .iter()
                .any(|meaning| meaning.units().contains(&unit))
        );
    }
    assert_eq!(Meaning::from_name("Input_tokens"), None);
    assert_eq!(Unit::from_name("ms"), None);
}
