//! What comes out of a collector of others, held against a scrape and against what was sent.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use otlp_receiver::OtlpReceiver;
use serde_json::{Value, json};

use crate::envoy_rig::say;
use crate::metric_assert::Sample;
use crate::push_rig::{PushRig, is_grpc};
use crate::real_collector::Collector;
use crate::span_checks::{log_complaints, span_complaints};

/// How long spans and log records may take on their way.
const PATIENCE: Duration = Duration::from_secs(40);
/// How many requests a part of a load has.
const PART: u32 = 100;

/// How a collector is started that sends to an address.
pub type Start = fn(SocketAddr) -> Result<Collector>;

/// Holds all that a collector passes on against what was measured; metrics in each of these ways.
///
/// # Errors
///
/// When anything differs.
pub async fn all_passes(start: Start, metrics: &[Value]) -> Result<()> {
    for push in metrics {
        metrics_equal_the_scrape(start, push).await?;
    }
    exponential_counts_and_sums_equal_the_scrape(start).await?;
    for push in [
        json!({}),
        json!({"protocol": "http/protobuf", "compression": "gzip"}),
    ] {
        spans_and_log_records_pass(start, &push).await?;
    }
    Ok(())
}

/// Pushes an ordinary load through a collector: metrics must equal a scrape's, series by series.
async fn metrics_equal_the_scrape(start: Start, push: &Value) -> Result<()> {
    let (sink, mut pushing) = started(start, 4, push).await?;
    for _ in 0..4 {
        pushing.serve(PART).await?;
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    let ledger = pushing.delivered(&sink).await?;
    let scrape = pushing.check(&ledger).await?;
    let exports = scrape.matching("inferometer_export_total", &[]);
    let is_bad = |export: &&Sample| export.value > 0.0 && !export.carries(&[("result", "success")]);
    let failed: Vec<_> = exports.filter(is_bad).collect();
    ensure!(failed.is_empty(), "{failed:?}");
    pushing.rig.stop().await?;
    Ok(())
}

/// Pushes exponential histograms through a collector: counts and sums must equal a scrape's.
async fn exponential_counts_and_sums_equal_the_scrape(start: Start) -> Result<()> {
    let push = json!({"metrics": {"histograms": "base2_exponential_bucket_histogram"}});
    let (sink, mut pushing) = started(start, 2, &push).await?;
    pushing.serve(PART).await?;
    let ledger = pushing.delivered(&sink).await?;
    ensure!(ledger.faults().is_empty(), "{:?}", ledger.faults());
    let scrape = pushing.rig.scrape_settled().await?;
    let is_other = |name: &str| name.starts_with("inferometer_") || name.ends_with("_bucket");
    let received = ledger.exposition().without(is_other);
    let differences = received.changes(&scrape.without(is_other));
    ensure!(differences.is_empty(), "{differences:?}");
    say(&format!("{} series equal", received.samples().len()));
    pushing.rig.stop().await?;
    Ok(())
}

/// Pushes a load with one failure through a collector: each request must be one span below its caller's, the failure
/// one log record, and every attribute one of the conventions'.
async fn spans_and_log_records_pass(start: Start, push: &Value) -> Result<()> {
    let mut push = push.clone();
    if let Some(members) = push.as_object_mut() {
        members.insert("traces".to_owned(), json!(true));
        members.insert("logs".to_owned(), json!(true));
    }
    let (sink, mut pushing) = started(start, 4, &push).await?;
    pushing.headers = |number| vec![("traceparent", format!("00-{number:032x}-{number:016x}-01"))];
    pushing.serve(PART).await?;
    pushing.fail().await?;
    let spans = spans_when(&sink, PART as usize + 1).await?;
    let mut parents = BTreeSet::new();
    for span in &spans {
        let faults = span_complaints(span, &[]);
        ensure!(faults.is_empty(), "{faults:?}: {span:?}");
        parents.insert((&span.trace_id, &span.parent_span_id));
    }
    let different = parents.len();
    ensure!(different == spans.len() && different == PART as usize + 1);
    let records = log_records_of(&sink);
    ensure!(records.len() == 1, "{records:?}");
    for record in &records {
        let faults = log_complaints(record, &[]);
        ensure!(faults.is_empty(), "{faults:?}: {record:?}");
        let is_its = |span: &Span| span.span_id == record.span_id && span.status.is_some();
        ensure!(spans.iter().any(is_its), "{record:?} points to no span");
    }
    say(&format!(
        "{} spans and {} log record arrived",
        spans.len(),
        records.len()
    ));
    pushing.rig.stop().await?;
    Ok(())
}

/// The spans that a receiver took, as soon as there are so many and a log record.
///
/// # Errors
///
/// When they do not come.
pub async fn spans_when(receiver: &OtlpReceiver, count: usize) -> Result<Vec<Span>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let requests = receiver.traces().into_iter();
        let spans: Vec<Span> = requests
            .flat_map(|received| received.request.resource_spans)
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans)
            .collect();
        if spans.len() >= count && !receiver.logs().is_empty() {
            return Ok(spans);
        }
        let came = spans.len();
        ensure!(Instant::now() < deadline, "{came} spans came");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The log records that a receiver took.
#[must_use]
pub fn log_records_of(receiver: &OtlpReceiver) -> Vec<LogRecord> {
    let requests = receiver.logs().into_iter();
    requests
        .flat_map(|received| received.request.resource_logs)
        .flat_map(|resource| resource.scope_logs)
        .flat_map(|scope| scope.log_records)
        .collect()
}

/// A receiver, and an Envoy that pushes to a collector before it.
async fn started(start: Start, workers: u32, push: &Value) -> Result<(OtlpReceiver, PushRig)> {
    let sink = OtlpReceiver::start()?;
    let address = sink.http();
    let collector = tokio::task::spawn_blocking(move || start(address)).await??;
    let to = if is_grpc(push) {
        collector.grpc
    } else {
        collector.http
    };
    say(&format!("through {}, {push}:", collector.name));
    let mut pushing = PushRig::start(workers, push, to).await?;
    pushing.collector = Some(collector);
    Ok((sink, pushing))
}
