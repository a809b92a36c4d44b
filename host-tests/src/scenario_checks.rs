//! Compares what a scrape moved by with all that a scenario expects of it.

use crate::{
    capture_facts::{self, Moved},
    scenario::Scenario,
};

/// The differences, none when all is as expected.
#[must_use]
pub fn differences(moved: Moved<'_>, scenario: &Scenario) -> Vec<String> {
    let mut found = capture_facts::scenario_differences(moved, scenario);
    found.extend(provider(moved, scenario));
    found.extend(server_times(moved, scenario));
    found
}

fn provider(moved: Moved<'_>, scenario: &Scenario) -> Option<String> {
    let provider = scenario.expect.provider.as_deref()?;
    let labels = [("gen_ai_provider_name", provider)];
    let name = "gen_ai_server_request_duration_seconds_count";
    let requests = moved.total(name, &labels);
    (requests != 1.0).then(|| format!("{requests} requests of the provider {provider}"))
}

/// What headers tell is whole milliseconds or less, so a sum of one sample is exact.
fn server_times(moved: Moved<'_>, scenario: &Scenario) -> Vec<String> {
    let expected = &scenario.expect.server;
    let mut found = Vec::new();
    for (name, milliseconds) in [
        ("queue_time", expected.queue_ms),
        ("time_to_first_token", expected.first_token_ms),
        ("processing_time", expected.processing_ms),
    ] {
        let name = format!("inference_server_{name}_seconds");
        let samples = moved.total(&format!("{name}_count"), &[]);
        let seen = moved.total(&format!("{name}_sum"), &[]) * 1e3;
        let right_count = samples == f64::from(u8::from(milliseconds.is_some()));
        if !right_count || (seen - milliseconds.unwrap_or(0) as f64).abs() > 1e-3 {
            found.push(format!(
                "{name}: expected {milliseconds:?} ms, is {seen} ms of {samples} samples"
            ));
        }
    }
    found
}
