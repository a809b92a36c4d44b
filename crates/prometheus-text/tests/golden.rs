//! The exact text of snapshots, as people and scrapers see it.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod filled;

use expect_test::{Expect, expect};
use filled::{NANOS, family, help, served};
use metric_registry::{FamilyDef, FamilyId, Gauges, Kind, Limits, Registry, Snapshot};
use prometheus_text::{Format, content_type, encode, left_out};

fn check(snapshot: &Snapshot, format: Format, expected: Expect) {
    expected.assert_eq(&encode(snapshot, format, &help));
}

#[test]
fn every_kind_of_metric_in_prometheus_text() {
    check(
        &served(&["llama-3"], Limits::default()).snapshot(),
        Format::Prometheus,
        expect![[r##"
            # HELP gen_ai_client_token_usage Tokens of a request.
            # TYPE gen_ai_client_token_usage histogram
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="1"} 0
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="4"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="1.048576e+06"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="6.7108864e+07"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="+Inf"} 2
            gen_ai_client_token_usage_sum{gen_ai_request_model="llama-3",gen_ai_token_type="input"} 70000004
            gen_ai_client_token_usage_count{gen_ai_request_model="llama-3",gen_ai_token_type="input"} 2
            # HELP inference_output_tokens_rate_per_second Tokens in a second.
            # TYPE inference_output_tokens_rate_per_second histogram
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="0.001"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="0.5"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="10"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="+Inf"} 1
            inference_output_tokens_rate_per_second_sum{model="llama-3"} 41.25
            inference_output_tokens_rate_per_second_count{model="llama-3"} 1
            # HELP inference_prompt_cache_hit_ratio Cached part of the prompt.
            # TYPE inference_prompt_cache_hit_ratio histogram
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="0"} 0
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="0.1"} 0
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="1"} 1
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="+Inf"} 1
            inference_prompt_cache_hit_ratio_sum{model="llama-3"} 0.667
            inference_prompt_cache_hit_ratio_count{model="llama-3"} 1
            # HELP inference_request_duration_seconds From the first to the last byte,\nby the clock\\watch.
            # TYPE inference_request_duration_seconds histogram
            inference_request_duration_seconds_bucket{model="llama-3",le="0.1"} 0
            inference_request_duration_seconds_bucket{model="llama-3",le="1"} 1
            inference_request_duration_seconds_bucket{model="llama-3",le="10"} 1
            inference_request_duration_seconds_bucket{model="llama-3",le="+Inf"} 2
            inference_request_duration_seconds_sum{model="llama-3"} 20.123456789
            inference_request_duration_seconds_count{model="llama-3"} 2
            # HELP inference_requests_total Requests by "outcome".
            # TYPE inference_requests_total counter
            inference_requests_total{model="llama-3",outcome="success"} 1
            # HELP inference_requests_in_flight Requests now open.
            # TYPE inference_requests_in_flight gauge
            inference_requests_in_flight{model="llama-3",phase="decode"} -2
            # HELP inferometer_inspected_bytes_total Bytes read.
            # TYPE inferometer_inspected_bytes_total counter
            inferometer_inspected_bytes_total 9007199254740993
        "##]],
    );
}

#[test]
fn every_kind_of_metric_in_open_metrics() {
    check(
        &served(&["llama-3"], Limits::default()).snapshot(),
        Format::OpenMetrics,
        expect![[r##"
            # HELP gen_ai_client_token_usage Tokens of a request.
            # TYPE gen_ai_client_token_usage histogram
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="1.0"} 0
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="4.0"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="1.048576e+06"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="6.7108864e+07"} 1
            gen_ai_client_token_usage_bucket{gen_ai_request_model="llama-3",gen_ai_token_type="input",le="+Inf"} 2
            gen_ai_client_token_usage_sum{gen_ai_request_model="llama-3",gen_ai_token_type="input"} 70000004
            gen_ai_client_token_usage_count{gen_ai_request_model="llama-3",gen_ai_token_type="input"} 2
            # HELP inference_output_tokens_rate_per_second Tokens in a second.
            # TYPE inference_output_tokens_rate_per_second histogram
            # UNIT inference_output_tokens_rate_per_second per_second
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="0.001"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="0.5"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="10.0"} 0
            inference_output_tokens_rate_per_second_bucket{model="llama-3",le="+Inf"} 1
            inference_output_tokens_rate_per_second_sum{model="llama-3"} 41.25
            inference_output_tokens_rate_per_second_count{model="llama-3"} 1
            # HELP inference_prompt_cache_hit_ratio Cached part of the prompt.
            # TYPE inference_prompt_cache_hit_ratio histogram
            # UNIT inference_prompt_cache_hit_ratio ratio
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="0.0"} 0
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="0.1"} 0
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="1.0"} 1
            inference_prompt_cache_hit_ratio_bucket{model="llama-3",le="+Inf"} 1
            inference_prompt_cache_hit_ratio_sum{model="llama-3"} 0.667
            inference_prompt_cache_hit_ratio_count{model="llama-3"} 1
            # HELP inference_request_duration_seconds From the first to the last byte,\nby the clock\\watch.
            # TYPE inference_request_duration_seconds histogram
            # UNIT inference_request_duration_seconds seconds
            inference_request_duration_seconds_bucket{model="llama-3",le="0.1"} 0
            inference_request_duration_seconds_bucket{model="llama-3",le="1.0"} 1
            inference_request_duration_seconds_bucket{model="llama-3",le="10.0"} 1
            inference_request_duration_seconds_bucket{model="llama-3",le="+Inf"} 2
            inference_request_duration_seconds_sum{model="llama-3"} 20.123456789
            inference_request_duration_seconds_count{model="llama-3"} 2
            # HELP inference_requests Requests by \"outcome\".
            # TYPE inference_requests counter
            inference_requests_total{model="llama-3",outcome="success"} 1
            # HELP inference_requests_in_flight Requests now open.
            # TYPE inference_requests_in_flight gauge
            inference_requests_in_flight{model="llama-3",phase="decode"} -2
            # HELP inferometer_inspected_bytes Bytes read.
            # TYPE inferometer_inspected_bytes counter
            # UNIT inferometer_inspected_bytes bytes
            inferometer_inspected_bytes_total 9007199254740993
            # EOF
        "##]],
    );
}

#[test]
fn overflow_series_carry_their_mark_alone() {
    let limits = Limits {
        series: 6,
        ..Limits::default()
    };
    let mut snapshot = served(&["llama-3", "mistral"], limits).snapshot();
    snapshot.drop_levels();
    let text = encode(&snapshot, Format::Prometheus, &|_| None);
    let counters: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("total{"))
        .collect();
    assert_eq!(
        counters,
        [
            "inference_requests_total{model=\"llama-3\",outcome=\"success\"} 1",
            "inference_requests_total{otel_metric_overflow=\"true\"} 2",
        ]
    );
}

/// A snapshot of these families, each moved once by the closure.
fn snapshot_of(
    families: Vec<FamilyDef>,
    mut fill: impl FnMut(&mut Registry, FamilyId),
) -> Snapshot {
    let mut registry = Registry::new(families, Limits::default(), 0);
    let mut place = 0;
    while registry.family(FamilyId(place)).is_some() {
        fill(&mut registry, FamilyId(place));
        place += 1;
    }
    registry.snapshot()
}

#[test]
fn label_values_are_escaped_and_absent_labels_left_out() {
    let counter = family("c", Kind::Counter, "", 1, &["z.last", "a-first", "le"], &[]);
    let snapshot = snapshot_of(vec![counter], |registry, id| {
        for values in [
            ["q\"uote", "back\\slash", "x"],
            ["", "only\nthis", ""],
            ["", "", ""],
        ] {
            let series = registry.series(id, &values);
            registry.add(series, 1);
        }
    });
    check(
        &snapshot,
        Format::Prometheus,
        expect![[r##"
        # TYPE c_total counter
        c_total 1
        c_total{a_first="back\\slash",exported_le="x",z_last="q\"uote"} 1
        c_total{a_first="only_this"} 1
    "##]],
    );
}

#[test]
fn labels_whose_names_become_one_share_their_values() {
    let counter = family("c", Kind::Counter, "", 1, &["a_b", "a.b", "c"], &[]);
    let snapshot = snapshot_of(vec![counter], |registry, id| {
        let series = registry.series(id, &["under", "dot", "c"]);
        registry.add(series, 1);
    });
    check(
        &snapshot,
        Format::Prometheus,
        expect![[r##"
        # TYPE c_total counter
        c_total{a_b="dot;under",c="c"} 1
    "##]],
    );
}

#[test]
fn entries_of_one_name_stand_under_one_head_and_series_that_look_alike_are_added() {
    let seconds = |labels: &[&'static str], scale, bounds: &[u64]| {
        family("d", Kind::Histogram, "s", scale, labels, bounds)
    };
    let mut all = Snapshot::default();
    let entries = [
        seconds(&["model"], NANOS, &[NANOS, 2 * NANOS]),
        seconds(&["model", "route"], NANOS, &[NANOS, 2 * NANOS]),
        seconds(&["model"], 1000, &[1500, 3000]),
    ];
    for entry in entries {
        let scale = entry.scale;
        let part = snapshot_of(vec![entry], |registry, id| {
            let series = registry.series(id, &["m", ""]);
            registry.observe(series, scale + scale / 4);
            let series = registry.series(id, &["m", "r"]);
            registry.observe(series, scale);
        });
        all.merge(&part, Gauges::Add);
    }
    check(
        &all,
        Format::OpenMetrics,
        expect![[r##"
        # TYPE d_seconds histogram
        # UNIT d_seconds seconds
        d_seconds_bucket{model="m",le="1.5"} 3
        d_seconds_bucket{model="m",le="3.0"} 5
        d_seconds_bucket{model="m",le="+Inf"} 5
        d_seconds_sum{model="m"} 5.75
        d_seconds_count{model="m"} 5
        d_seconds_bucket{model="m",route="r",le="1.0"} 1
        d_seconds_bucket{model="m",route="r",le="2.0"} 1
        d_seconds_bucket{model="m",route="r",le="+Inf"} 1
        d_seconds_sum{model="m",route="r"} 1
        d_seconds_count{model="m",route="r"} 1
        # EOF
    "##]],
    );
}

#[test]
fn a_taken_name_is_not_exposed_twice() {
    let families = vec![
        family("x", Kind::Gauge, "", 1, &[], &[]),
        family("x", Kind::Histogram, "", 1, &[], &[5]),
        family("x.count", Kind::Gauge, "", 1, &[], &[]),
        family("y.total", Kind::Gauge, "", 1, &[], &[]),
        family("y", Kind::Counter, "", 1, &["l"], &[]),
    ];
    let fill = |registry: &mut Registry, id| {
        let series = registry.series(id, &[]);
        registry.add(series, 1);
        registry.set_gauge(series, 1);
        registry.observe(series, 1);
    };
    let forward = snapshot_of(families.clone(), fill);
    let backward = snapshot_of(families.into_iter().rev().collect(), fill);
    assert_eq!((left_out(&forward), left_out(&backward)), (2, 2));
    assert_eq!(
        encode(&forward, Format::Prometheus, &help),
        encode(&backward, Format::Prometheus, &help)
    );
    check(
        &forward,
        Format::Prometheus,
        expect![[r#"
        # TYPE x gauge
        x 1
        # TYPE x_count gauge
        x_count 1
        # TYPE y_total counter
        y_total 1
    "#]],
    );
}

#[test]
fn equal_snapshots_give_equal_text() {
    let models = ["b", "a", "ü", "", "a\"", "Z"];
    let mut forward = served(&models, Limits::default());
    let mut backward = served(&[], Limits::default()).snapshot();
    for model in models.iter().rev() {
        // Series come in another order, with the values that the same place gave them.
        let place = models.iter().position(|other| other == model).unwrap();
        let mut padded = vec!["unused"; place];
        padded.push(model);
        let part = served(&padded, Limits::default()).snapshot();
        backward.merge(&part, Gauges::Add);
    }
    let lines = |snapshot: &Snapshot| {
        let text = encode(snapshot, Format::Prometheus, &help);
        let kept = text
            .lines()
            .filter(|line| !line.contains("unused") && !line.contains("inspected"));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&forward.snapshot()), lines(&backward));
}

#[test]
fn nothing_is_a_valid_exposition() {
    let nothing = Snapshot::default();
    assert_eq!(encode(&nothing, Format::Prometheus, &help), "");
    assert_eq!(encode(&nothing, Format::OpenMetrics, &help), "# EOF\n");
}

#[test]
fn the_text_takes_one_allocation_of_its_own_size() {
    let snapshot = served(&["llama-3", "mistral"], Limits::default()).snapshot();
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let text = encode(&snapshot, format, &help);
        assert_eq!(text.capacity(), text.len());
        assert!(content_type(format).contains("charset=utf-8"));
    }
}
