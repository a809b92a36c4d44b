//! Whatever stands in headers, reading them neither panics nor depends on their order.

use proptest::prelude::*;
use response_telemetry::{
    HeaderRule, Meaning, OrcaReport, Routing, TelemetryReader, Unit, built_in_headers,
};

fn any_name() -> impl Strategy<Value = String> {
    let mut known: Vec<String> = built_in_headers()
        .iter()
        .map(|rule| rule.header.to_string())
        .collect();
    known.extend(
        [
            "endpoint-load-metrics",
            "endpoint-load-metrics-bin",
            "x-llm-d-request-dropped-reason",
            "x-model-id",
            "x-gateway-destination-endpoint",
            "x-llm-d-inference-objective",
            "x-gateway-inference-objective",
            "mine",
        ]
        .map(str::to_owned),
    );
    prop_oneof![8 => proptest::sample::select(known), 1 => "[a-zA-Z-]{0,70}"]
}

fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80),
        "[+-]?[0-9]{0,12}(\\.[0-9]{0,12})?(e-?[0-9]{1,3})?".prop_map(String::into_bytes),
        "(TEXT|JSON|BIN) [a-z_.={}\":,0-9 ]{0,60}".prop_map(String::into_bytes),
        "(TEXT ((named_metrics.kv_cache_usage_perc|eps|rps|a)[=:][0-9.-]{1,4},?){0,5})"
            .prop_map(String::into_bytes),
        "(BIN )?[A-Za-z0-9+/]{0,60}={0,2}".prop_map(String::into_bytes),
    ]
}

fn any_rule() -> impl Strategy<Value = HeaderRule> {
    let meaning = proptest::sample::select(&Meaning::ALL[..]);
    let unit = proptest::sample::select(&Unit::ALL[..]);
    (any_name(), meaning, unit)
        .prop_map(|(name, meaning, unit)| HeaderRule::new(name, meaning, unit))
}

proptest! {
    #[test]
    fn no_headers_make_it_panic_and_unrelated_order_says_nothing(
        headers in proptest::collection::btree_map(any_name(), any_value(), 0..12),
        rules in proptest::collection::vec(any_rule(), 0..4),
    ) {
        let read = |headers: &mut dyn Iterator<Item = (&String, &Vec<u8>)>| {
            let mut reader = TelemetryReader::new(&rules);
            let mut routing = Routing::default();
            for (name, value) in headers {
                reader.read(name.as_bytes(), value);
                routing.read(name.as_bytes(), value);
            }
            (reader.finish(), format!("{routing:?}"))
        };
        // Names that differ in nothing but their case are one name, of which the first counts.
        let mut lower: Vec<String> = headers.keys().map(|name| name.to_ascii_lowercase()).collect();
        lower.sort();
        lower.dedup();
        let forwards = read(&mut headers.iter());
        let backwards = read(&mut headers.iter().rev());
        if lower.len() == headers.len() {
            prop_assert_eq!(forwards, backwards);
        }
    }

    #[test]
    fn whatever_is_reported_is_finite_and_not_negative(value in any_value()) {
        let mut bad = 0;
        for report in [
            OrcaReport::parse_text(&value, &mut bad),
            OrcaReport::parse_json(&value, &mut bad),
            OrcaReport::parse_binary(&value, &mut bad),
        ] {
            for value in [
                report.cpu_utilization,
                report.mem_utilization,
                report.application_utilization,
                report.requests_per_second,
                report.errors_per_second,
                report.kv_cache_utilization,
                report.requests_waiting,
                report.requests_running,
                report.max_token_capacity,
            ] {
                prop_assert!(value.is_none_or(|value| value.is_finite() && value >= 0.0));
            }
        }
    }
}
