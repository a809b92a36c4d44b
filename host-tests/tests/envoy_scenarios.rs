//! Runs every scenario through the built module in real Envoy, with HTTP/1 and with HTTP/2 on both sides: each ending
//! gives exactly one record with its outcome.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex},
    time::Instant,
};

use host_tests::{
    envoy_rig::say,
    scenario::{Scenario, load},
    scenario_envoy::ScenarioBed,
};

/// How many Envoys run scenarios at once.
const BEDS: usize = 2;

/// The names that scenarios expect, so that those of refused requests are themselves and not `other`.
fn models(scenarios: &[Scenario]) -> Vec<String> {
    let names: BTreeSet<_> = scenarios
        .iter()
        .flat_map(|scenario| {
            [
                &scenario.expect.request_model,
                &scenario.expect.response_model,
            ]
        })
        .flatten()
        .cloned()
        .collect();
    names.into_iter().collect()
}

async fn run_all(http2: bool) {
    let started = Instant::now();
    let mut scenarios = load().unwrap();
    scenarios.retain(|scenario| {
        if http2 {
            !scenario.http1_only
        } else {
            !scenario.http2_only
        }
    });
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    for scenario in &scenarios {
        let outcome = scenario
            .expect
            .skipped
            .as_ref()
            .map_or(scenario.expect.outcome.clone(), |_| "skipped".to_owned());
        *outcomes.entry(outcome).or_default() += 1;
    }
    let count = scenarios.len();
    let models = models(&scenarios);
    let queue: Arc<Mutex<VecDeque<Scenario>>> = Arc::new(Mutex::new(scenarios.into()));
    let mut beds = tokio::task::JoinSet::new();
    for _ in 0..BEDS {
        let queue = Arc::clone(&queue);
        let models = models.clone();
        beds.spawn(async move {
            let mut bed = ScenarioBed::start(http2, &models).await.unwrap();
            let mut bad = Vec::new();
            loop {
                let Some(scenario) = queue.lock().unwrap().pop_front() else {
                    break;
                };
                match bed.differences(&scenario).await {
                    Ok(found) if found.is_empty() => {}
                    Ok(found) => bad.push(format!("{}:\n  {}", scenario.name, found.join("\n  "))),
                    Err(error) => bad.push(format!("{}: {error:#}", scenario.name)),
                }
            }
            (bad, bed.stop().await)
        });
    }
    let mut bad = Vec::new();
    let mut stops = Vec::new();
    while let Some(done) = beds.join_next().await {
        let (more, stopped) = done.unwrap();
        bad.extend(more);
        stops.push(stopped);
    }
    assert!(
        bad.is_empty(),
        "{} of {count} scenarios differ:\n{}",
        bad.len(),
        bad.join("\n")
    );
    for stopped in stops {
        stopped.unwrap();
    }
    let protocol = if http2 { "HTTP/2" } else { "HTTP/1" };
    say(&format!(
        "{count} scenarios over {protocol} in {:.1} s: {outcomes:?}",
        started.elapsed().as_secs_f64()
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_gives_its_one_record_over_http1() {
    run_all(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_gives_its_one_record_over_http2() {
    run_all(true).await;
}
