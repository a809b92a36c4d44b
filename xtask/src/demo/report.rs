//! The end of the demonstration: every check with both values, for eyes and as JSON.

use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use load_generator::{ModelTruth, Truth};
use serde_json::{Map, Value, json};

use super::stage::Stage;
use super::verdict::{Check, models};
use super::{DemoArgs, settings};

/// One line a check.
pub(super) fn table(checks: &[Check]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["model", "what", "scrape", "clients", "must be", "agrees"]);
    for check in checks {
        table.add_row([
            check.model.as_str(),
            &check.what,
            &shown(check.scraped),
            &shown(check.measured),
            check.rule,
            if check.agrees { "yes" } else { "NO" },
        ]);
    }
    table.to_string()
}

/// Both sides and the verdicts.
pub(super) fn document(
    stage: &Stage,
    args: &DemoArgs,
    scrape: &str,
    truth: &Truth,
    checks: &[Check],
    agrees: bool,
) -> Result<String> {
    let served = stage.served();
    let models_checked = models(checks);
    let truths: Map<String, Value> = truth
        .models()
        .iter()
        .map(|(model, truth)| (model.clone(), measured(truth)))
        .collect();
    let document = json!({
        "agrees": agrees,
        "settings": settings(args),
        "envoy": stage.envoy_version(),
        "models": models_checked,
        "checks": checks,
        "clients": {"models": truths, "unforeseen": truth.faults()},
        "server": {"received": served.received, "played": served.played, "abandoned": served.abandoned},
        "scrape": scrape,
    });
    Ok(serde_json::to_string_pretty(&document)?)
}

fn measured(truth: &ModelTruth) -> Value {
    let requests: Vec<Value> = truth
        .requests
        .iter()
        .map(|((outcome, stream), count)| json!({"outcome": outcome, "stream": stream, "count": count}))
        .collect();
    let times = |samples: &load_generator::Samples| {
        json!({
            "samples": samples.count(),
            "mean_seconds": samples.mean_seconds(),
            "p50_seconds": samples.quantile_seconds(0.5),
            "p95_seconds": samples.quantile_seconds(0.95),
            "p99_seconds": samples.quantile_seconds(0.99),
        })
    };
    let cases: Map<String, Value> = truth
        .cases
        .iter()
        .map(|(case, durations)| ((*case).to_owned(), times(durations)))
        .collect();
    let outcomes: Map<String, Value> = truth
        .durations
        .iter()
        .map(|(outcome, durations)| (outcome.as_str().to_owned(), times(durations)))
        .collect();
    json!({
        "requests": requests,
        "duration_by_case": cases,
        "input_tokens": truth.input_tokens,
        "cached_input_tokens": truth.cached_input_tokens,
        "output_tokens": truth.output_tokens,
        "reasoning_tokens": truth.reasoning_tokens,
        "unstated_output_events": truth.unstated_output_events,
        "time_to_first_token": times(&truth.time_to_first_token),
        "inter_token": times(&truth.inter_token),
        "duration_by_outcome": outcomes,
    })
}

/// Whole numbers as such, times to a tenth of a millisecond.
fn shown(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.4}"),
    }
}
