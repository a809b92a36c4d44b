//! What accepted configurations mean, and what they are warned of.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use expect_test::{Expect, expect};
use llm_payloads::Api;
use plugin_config::{
    Config, HISTOGRAMS, MIRRORED_METRICS, PushHistograms, PushSpanKind, PushTemporality, Receiver,
    Semconv, parse,
};
use response_telemetry::{HeaderRule, Meaning, Unit};

fn config(json: &str) -> Config {
    parse(json.as_bytes())
        .unwrap_or_else(|mistakes| panic!("{json}: {mistakes}"))
        .config
}

#[test]
fn the_empty_configuration_observes_and_mirrors_and_serves_nothing() {
    for json in ["", "{}", " \n\t", " { } "] {
        let config = config(json);
        assert_eq!(config, Config::default());
        assert!(config.observes());
        assert_eq!(config.envoy_stats(), Some(MIRRORED_METRICS));
        assert_eq!(config.scrape_path(), None);
        assert!(config.profiles().gen_ai() && config.profiles().inference());
        assert_eq!(config.semconv(), Semconv::V1_41);
        assert_eq!(config.tick_millis(), 1000);
        assert_eq!(config.limits().series(), 20_000);
        assert_eq!(config.models().max(), 100);
        assert!(config.models().allow().is_empty());
        assert_eq!(config.provider(), None);
        assert!(config.labels().upstream_cluster());
        assert!(
            !config.labels().upstream_endpoint()
                && !config.labels().route()
                && !config.labels().server_address()
        );
        assert!(
            !config.labels().inference_objective()
                && !config.labels().inference_fairness_id()
                && !config.labels().inference_model_rewrite()
                && !config.labels().destination_endpoint()
        );
        assert!(config.telemetry_headers().is_empty());
        assert!(config.routes().is_empty() && config.buckets().is_empty());
    }
}

#[test]
fn every_key_reaches_its_accessor() {
    let config = config(
        r#"{
            "observe": true,
            "routes": [{"path_suffix": "/my/chat", "api": "chat_completions"}, {"path_suffix": "/m", "api": "messages"}],
            "provider": "vllm",
            "telemetry_headers": [
                {"header": "x-waited", "meaning": "queue_time", "unit": "microseconds"},
                {"header": "x-hit", "meaning": "prompt_cache_hit", "unit": "flag"}
            ],
            "profiles": ["inference"],
            "semconv": "head",
            "envoy_stats": {"metrics": ["inference.requests"]},
            "scrape": {"path": "/inferometer/metrics"},
            "buckets": {"inference.request.duration": [0.5, 1, 2e1]},
            "labels": {"server_address": true, "upstream_cluster": false, "upstream_endpoint": true, "route": true,
                "inference_objective": true, "inference_fairness_id": true, "inference_model_rewrite": true,
                "destination_endpoint": true},
            "models": {"allow": ["a", "b"], "max": 7},
            "limits": {"series": 500},
            "tick": "250ms"
        }"#,
    );
    let routes: Vec<_> = config
        .routes()
        .iter()
        .map(|route| (route.path_suffix(), route.api()))
        .collect();
    assert_eq!(
        routes,
        [("/my/chat", Api::ChatCompletions), ("/m", Api::Messages)]
    );
    assert_eq!(config.provider(), Some("vllm"));
    assert!(!config.profiles().gen_ai() && config.profiles().inference());
    assert_eq!(config.semconv(), Semconv::Head);
    assert!(config.envoy_stats() == Some(&["inference.requests"]));
    assert_eq!(config.scrape_path(), Some("/inferometer/metrics"));
    assert_eq!(
        config.buckets(),
        [("inference.request.duration", vec![0.5, 1.0, 20.0])]
    );
    let labels = config.labels();
    assert!(
        labels.server_address()
            && !labels.upstream_cluster()
            && labels.upstream_endpoint()
            && labels.route()
            && labels.inference_objective()
            && labels.inference_fairness_id()
            && labels.inference_model_rewrite()
            && labels.destination_endpoint()
    );
    assert_eq!(
        config.telemetry_headers(),
        [
            HeaderRule::new("x-waited", Meaning::QueueTime, Unit::Microseconds),
            HeaderRule::new("x-hit", Meaning::PromptCacheHit, Unit::Flag)
        ]
    );
    assert_eq!(config.models().allow(), ["a", "b"]);
    assert_eq!(
        (
            config.models().max(),
            config.limits().series(),
            config.tick_millis()
        ),
        (7, 500, 250)
    );
}

#[test]
fn each_label_has_its_own_switch() {
    let switches = |json: &str| {
        let labels = config(json).labels();
        [
            labels.server_address(),
            labels.upstream_cluster(),
            labels.upstream_endpoint(),
            labels.route(),
            labels.inference_objective(),
            labels.inference_fairness_id(),
            labels.inference_model_rewrite(),
            labels.destination_endpoint(),
        ]
    };
    let by_default = switches("{}");
    for (place, name) in [
        "server_address",
        "upstream_cluster",
        "upstream_endpoint",
        "route",
        "inference_objective",
        "inference_fairness_id",
        "inference_model_rewrite",
        "destination_endpoint",
    ]
    .into_iter()
    .enumerate()
    {
        let mut expected = by_default;
        expected[place] = !expected[place];
        let json = format!(r#"{{"labels": {{"{name}": {}}}}}"#, expected[place]);
        assert_eq!(switches(&json), expected, "{json}");
    }
}

#[test]
fn every_meaning_is_accepted_in_its_units_and_in_no_other() {
    for meaning in Meaning::ALL {
        for unit in Unit::ALL {
            let json = format!(
                r#"{{"telemetry_headers": [{{"header": "h", "meaning": "{}", "unit": "{}"}}]}}"#,
                meaning.as_str(),
                unit.as_str()
            );
            let rules = parse(json.as_bytes())
                .map(|parsed| parsed.config.telemetry_headers().to_vec())
                .ok();
            let expected = meaning
                .units()
                .contains(&unit)
                .then(|| vec![HeaderRule::new("h", meaning, unit)]);
            assert_eq!(rules, expected, "{json}");
        }
    }
}

#[test]
fn every_api_word_names_its_api() {
    for api in Api::ALL {
        let json = format!(
            r#"{{"routes": [{{"path_suffix": "/x", "api": "{}"}}]}}"#,
            api.as_str()
        );
        assert_eq!(config(&json).routes()[0].api(), api);
    }
}

#[test]
fn every_listed_metric_is_accepted_where_it_is_listed() {
    for histogram in HISTOGRAMS {
        let json = format!(r#"{{"buckets": {{"{}": [1, 2]}}}}"#, histogram.name);
        assert_eq!(config(&json).buckets(), [(histogram.name, vec![1.0, 2.0])]);
    }
    for name in MIRRORED_METRICS {
        let json = format!(r#"{{"envoy_stats": {{"metrics": ["{name}"]}}}}"#);
        assert_eq!(config(&json).envoy_stats(), Some(&[*name][..]));
    }
    assert_eq!(
        config(r#"{"envoy_stats": true}"#).envoy_stats(),
        Some(MIRRORED_METRICS)
    );
    assert_eq!(config(r#"{"envoy_stats": false}"#).envoy_stats(), None);
}

#[test]
fn the_summary_names_the_roles() {
    assert_eq!(
        config("{}").summary(),
        "observe on; scrape off; push off; envoy_stats 23 metrics; tick 1000ms"
    );
    assert_eq!(
        config(r#"{"observe": false, "scrape": {}, "tick": "5s"}"#).summary(),
        "observe off; scrape /metrics; push off; envoy_stats off; tick 5000ms"
    );
    assert_eq!(
        config(
            r#"{"observe": false, "push": {"cluster": "otel", "headers": {"x-key": "hunter2"}}}"#
        )
        .summary(),
        "observe off; scrape off; push metrics to otel by grpc, every 5000ms; envoy_stats off; tick 1000ms"
    );
}

#[test]
fn a_scrape_listener_needs_no_path_and_mirrors_nothing() {
    let config = config(r#"{"observe": false, "scrape": {}}"#);
    assert!(!config.observes());
    assert_eq!(config.scrape_path(), Some("/metrics"));
    assert_eq!(config.envoy_stats(), None);
}

#[test]
fn every_key_of_push_reaches_its_accessor_and_no_secret_is_printed() {
    let config = config(
        r#"{"push": {
            "cluster": "outbound|4317||otel.ns.svc", "protocol": "http/protobuf", "compression": "gzip",
            "headers": {"authorization": "Bearer hunter2"}, "timeout": "3s", "interval": "1800s",
            "resource": {"service.name": "gateway"},
            "metrics": {
                "path": "/otlp/v1/metrics", "temporality": "delta", "histograms": "base2_exponential_bucket_histogram"
            },
            "traces": {
                "cluster": "tempo", "protocol": "grpc", "compression": "none", "headers": {"x-key": "hunter2"}, "timeout": "1s", "kind": "server",
                "ratio": 0.25, "follow_parent": false, "keep_errors": true, "keep_slower_than": "30s",
                "baggage": ["tenant", "user.id"]
            },
            "logs": {"authority": "loki:4318"}
        }}"#,
    );
    let push = config.push().unwrap();
    assert_eq!(push.interval_millis(), 1_800_000);
    assert_eq!(
        push.resource(),
        [("service.name".to_owned(), "gateway".to_owned())]
    );
    let shown = |receiver: &Receiver| {
        let [(name, secret)] = receiver.headers() else {
            panic!("{receiver:?}")
        };
        format!(
            "{} {:?} {:?} {} {} {name}={} {}ms",
            receiver.cluster(),
            receiver.protocol(),
            receiver.compression(),
            receiver.authority(),
            receiver.path(),
            secret.reveal(),
            receiver.timeout_millis()
        )
    };
    let metrics = push.metrics().unwrap();
    assert_eq!(
        shown(metrics.receiver()),
        "outbound|4317||otel.ns.svc HttpProtobuf Gzip outbound_4317__otel.ns.svc /otlp/v1/metrics \
         authorization=Bearer hunter2 3000ms"
    );
    assert_eq!(metrics.temporality(), PushTemporality::Delta);
    assert_eq!(metrics.histograms(), PushHistograms::Exponential);
    let traces = push.traces().unwrap();
    assert_eq!(
        shown(traces.receiver()),
        "tempo Grpc None tempo /v1/traces x-key=hunter2 1000ms"
    );
    assert_eq!(traces.kind(), Some(PushSpanKind::Server));
    assert_eq!(traces.ratio(), 0.25);
    assert!(!traces.follow_parent() && traces.keep_errors());
    assert_eq!(traces.keep_slower_than_millis(), Some(30_000));
    assert_eq!(traces.baggage(), ["tenant", "user.id"]);
    assert_eq!(
        shown(push.logs().unwrap()),
        "outbound|4317||otel.ns.svc HttpProtobuf Gzip loki:4318 /v1/logs authorization=Bearer hunter2 3000ms"
    );
    assert!(!format!("{config:?} {}", config.summary()).contains("hunter2"));

    let off = parse(br#"{"push": {"cluster": "c", "metrics": false, "traces": true}}"#).unwrap();
    let push = off.config.push().unwrap();
    assert!(push.metrics().is_none() && push.traces().is_some() && push.logs().is_none());

    let both = parse(br#"{"observe": false, "push": {"cluster": "c"}, "scrape": {}}"#).unwrap();
    assert_eq!(both.warnings.len(), 1, "{:?}", both.warnings);
}

#[test]
fn whole_numbers_may_be_written_as_floats_as_some_control_planes_do() {
    assert_eq!(
        config(r#"{"limits": {"series": 500.0}, "models": {"max": 1e2}}"#)
            .limits()
            .series(),
        500
    );
}

#[test]
fn all_lists_up_to_the_limits_are_accepted() {
    let bounds: Vec<String> = (1..=32).map(|bound| bound.to_string()).collect();
    let json = format!(
        r#"{{"buckets": {{"gen_ai.client.token.usage": [{}]}}}}"#,
        bounds.join(",")
    );
    assert_eq!(config(&json).buckets()[0].1.len(), 32);
    config(r#"{"buckets": {"inference.request.duration": [0.000001, 1000000000]}}"#);
    let headers: Vec<String> = (0..32)
        .map(|index| {
            format!(r#"{{"header": "h{index}", "meaning": "total_time", "unit": "seconds"}}"#)
        })
        .collect();
    let json = format!(r#"{{"telemetry_headers": [{}]}}"#, headers.join(","));
    assert_eq!(config(&json).telemetry_headers().len(), 32);
}

fn check_warnings(json: &str, expected: Expect) {
    let parsed = parse(json.as_bytes()).unwrap_or_else(|mistakes| panic!("{json}: {mistakes}"));
    expected.assert_eq(&parsed.warnings.join("\n"));
}

#[test]
fn what_is_probably_not_meant_gives_a_warning() {
    check_warnings(
        r#"{"scrape": {"path": "/inferometer/metrics"}}"#,
        expect![[
            r#"`scrape` and `envoy_stats` are both on: a backend that reads this page and the proxy's own stats gets every mirrored metric twice"#
        ]],
    );
    check_warnings(
        r#"{"observe": false, "scrape": {}, "tick": "2s", "labels": {}, "envoy_stats": true,
            "telemetry_headers": [{"header": "h", "meaning": "queue_time", "unit": "seconds"}]}"#,
        expect![[
            r#"without effect while `observe` is `false`: `telemetry_headers`, `envoy_stats`, `labels`"#
        ]],
    );
    check_warnings(
        r#"{"profiles": ["inference"], "buckets": {"gen_ai.server.request.duration": [1]}}"#,
        expect![[
            r#"key `buckets["gen_ai.server.request.duration"]` is without effect: the profile `gen_ai` is not on"#
        ]],
    );
    check_warnings(
        r#"{"profiles": ["gen_ai"], "envoy_stats": {"metrics": ["gen_ai.server.time_to_first_token", "inference.usage"]}}"#,
        expect![[
            r#"key `envoy_stats.metrics[1]` is without effect: the profile `inference` is not on"#
        ]],
    );
    check_warnings(
        r#"{"buckets": {"gen_ai.client.inference.operation.input_tokens": [1], "gen_ai.client.token.usage": [1]}}"#,
        expect![[
            r#"key `buckets["gen_ai.client.inference.operation.input_tokens"]` is without effect: the metric belongs to `semconv` `"head"`"#
        ]],
    );
    check_warnings(
        r#"{"semconv": "head", "buckets": {"gen_ai.client.token.usage": [1]}}"#,
        expect![[
            r#"key `buckets["gen_ai.client.token.usage"]` is without effect: the metric belongs to `semconv` `"v1.41"`"#
        ]],
    );
}
