//! The task `demo`: the whole way from streamed answers to scraped metrics, held against what the clients measured.

mod live;
mod report;
mod row;
mod screen;
pub(crate) mod stage;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use load_generator::{Api, Case, Load, Truth, Until, everything};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::build;
use crate::run::told_to_stop;
use stage::Stage;

/// The models that the simulated server serves.
const MODELS: [&str; 2] = ["llama-8b", "qwen-32b"];

/// How often the module publishes with its default configuration.
const TICK: Duration = Duration::from_secs(1);

/// The figures are final after two ticks; so many are waited for at most before they are judged.
const MOST_TICKS: u32 = 8;

/// What to show.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// How long the load runs.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// A file for the figures of both sides and the verdicts, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Clients at the same time; more than two cores can serve makes the clients' own clocks late.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: u32,
    /// Envoy's worker threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// The Envoy version to use; without it, what `ENVOY_BIN` or PATH names, else the newest tested one.
    #[arg(long, value_name = "VERSION")]
    envoy: Option<String>,
}

/// The task: succeeds only when the scrape and the clients agree.
///
/// # Errors
///
/// When something cannot be built, fetched or started, and when the two sides disagree.
pub(crate) fn run(args: DemoArgs) -> Result<()> {
    let built = build::build(build::Parts::All, &mut |line| println!("{line}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let stage = Stage::set(&built.path, args.workers, args.envoy.as_deref(), &MODELS).await?;
        let outcome = tokio::select! {
            outcome = perform(&args, &stage) => outcome,
            signal = told_to_stop() => signal.and_then(|signal| bail!("{signal}: stopped before the end")),
        };
        // Whatever came out, Envoy's own end is looked at too: a proxy that crashed has shown nothing.
        let stopped = stage.clear().await;
        outcome.and(stopped)
    })
}

async fn perform(args: &DemoArgs, stage: &Stage) -> Result<()> {
    println!("scrape it yourself: curl {}", stage.scrape_url());
    let truth = Arc::new(Truth::default());
    warm_up(stage, &truth).await?;
    let load = Load {
        cases: everything(),
        until: Until::Elapsed(Duration::from_secs(args.seconds)),
        concurrency: usize::try_from(args.clients)?,
        ..load(stage)
    };
    let task = {
        let truth = Arc::clone(&truth);
        tokio::spawn(async move { load.run(&truth).await })
    };
    live::show(stage, &truth, task).await?;
    let ticks = settle(stage, &truth).await?;
    let text = stage.scrape_text().await?;
    let verdict = verdict::judge(&stage::read(&text)?, &truth.models());
    println!("{}", report::table(&verdict));
    let faults = truth.faults();
    for fault in &faults {
        println!("unforeseen: {fault}");
    }
    let agrees = faults.is_empty() && verdict.iter().all(|check| check.agrees);
    if let Some(file) = &args.json {
        let document = report::document(stage, args, &text, &truth, &verdict, agrees)?;
        std::fs::write(file, document)
            .with_context(|| format!("cannot write {}", file.display()))?;
        println!("both sides and the verdicts: {}", file.display());
    }
    if !agrees {
        let wrong = verdict.iter().filter(|check| !check.agrees).count();
        bail!(
            "the scrape and the clients disagree: {wrong} of {} checks, {} unforeseen faults",
            verdict.len(),
            faults.len()
        );
    }
    println!(
        "the scrape and the clients agree in all {} checks, {ticks} ticks after the last request",
        verdict.len()
    );
    Ok(())
}

/// One accepted request for each model. Only such a request brings a new name into the list of admitted models; a
/// name that came with a refused request before would be counted as `other`, as it should be.
async fn warm_up(stage: &Stage, truth: &Arc<Truth>) -> Result<()> {
    let requests = Load {
        cases: vec![Case::new("first of its model", 1, Api::Chat).streamed()],
        until: Until::Requests(u64::try_from(MODELS.len())?),
        ..load(stage)
    };
    requests.run(truth).await;
    if let Some(fault) = truth.faults().first() {
        bail!("the first requests failed: {fault}");
    }
    // Each worker reads the shared list once a tick.
    sleep(TICK + TICK / 2).await;
    Ok(())
}

fn load(stage: &Stage) -> Load {
    Load {
        target: stage.observed(),
        http2: false,
        concurrency: 1,
        until: Until::Requests(0),
        cases: Vec::new(),
        models: MODELS.map(str::to_owned).to_vec(),
        seed: 1,
    }
}

/// Waits until two ticks have passed, and for a late worker a few more; tells how many it was.
async fn settle(stage: &Stage, truth: &Truth) -> Result<u32> {
    println!("the load has ended; waiting for every worker to publish its last figures");
    let started = Instant::now();
    let mut ticks = 2;
    loop {
        sleep(TICK * ticks + TICK / 5 - started.elapsed()).await;
        let scrape = stage.scrape().await?;
        let is_complete = truth
            .models()
            .iter()
            .all(|(model, truth)| row::requests(&scrape, model) >= row::exact(truth.finished()));
        if is_complete || ticks >= MOST_TICKS {
            return Ok(ticks);
        }
        ticks += 1;
    }
}

/// What the demonstration sets, for its report.
fn settings(args: &DemoArgs) -> serde_json::Value {
    json!({"seconds": args.seconds, "clients": args.clients, "workers": args.workers})
}
