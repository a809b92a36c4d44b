//! Any headers and load reports are read without a panic, and what they tell is within reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use response_telemetry::{
    HeaderRule, Meaning, OrcaReport, Routing, TelemetryReader, Unit, built_in_headers,
};

const OTHERS: [&str; 8] = [
    "endpoint-load-metrics",
    "endpoint-load-metrics-bin",
    "x-llm-d-request-dropped-reason",
    "x-model-id",
    "x-gateway-destination-endpoint",
    "x-llm-d-inference-objective",
    "x-gateway-inference-objective",
    "unknown",
];

// Each line is a header: its first byte chooses the name, the rest is its value.
fuzz_target!(|input: &[u8]| {
    let built_in = built_in_headers();
    let extra: Vec<HeaderRule> = built_in
        .iter()
        .zip(Meaning::ALL.iter().zip(Unit::ALL.iter().cycle()))
        .take(usize::from(input.first().copied().unwrap_or_default() % 8))
        .map(|(rule, (meaning, unit))| HeaderRule::new(rule.header.to_string(), *meaning, *unit))
        .collect();
    let mut reader = TelemetryReader::new(&extra);
    let mut routing = Routing::default();
    for line in input.split(|byte| *byte == b'\n') {
        let Some((choice, value)) = line.split_first() else {
            continue;
        };
        let choice = usize::from(*choice) % (built_in.len() + OTHERS.len());
        let name: &str = match built_in.get(choice) {
            Some(rule) => &rule.header,
            None => OTHERS[choice - built_in.len()],
        };
        reader.read(name.as_bytes(), value);
        routing.read(name.as_bytes(), value);
        let mut bad_values = 0;
        check(&OrcaReport::parse_text(value, &mut bad_values));
        check(&OrcaReport::parse_json(value, &mut bad_values));
        check(&OrcaReport::parse_binary(value, &mut bad_values));
    }
    let telemetry = reader.finish();
    if let Some(report) = &telemetry.orca {
        check(report);
    }
    const DAY_NANOS: u64 = 24 * 60 * 60 * 1_000_000_000;
    for nanos in [
        telemetry.queue_nanos,
        telemetry.time_to_first_token_nanos,
        telemetry.processing_nanos,
        telemetry.total_nanos,
    ] {
        assert!(nanos.is_none_or(|nanos| nanos <= DAY_NANOS));
    }
    for tokens in [
        telemetry.input_tokens,
        telemetry.output_tokens,
        telemetry.cached_tokens,
    ] {
        assert!(tokens.is_none_or(|tokens| tokens <= 1_000_000_000));
    }
});

fn check(report: &OrcaReport) {
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
        assert!(value.is_none_or(|value| value.is_finite() && value >= 0.0));
    }
}
