//! Sends a thousand mixed exchanges through one real Envoy twice, by a listener with the module and by one without,
//! and compares every byte and header that reaches either end.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use envoy_harness::HttpFilter;
use host_tests::{
    envoy_rig::{EnvoyRig, RigPlan, say},
    mixed_exchanges::{Exchange, exchange, large},
    module::built_module,
    scripted_upstream::{Lines, SCRIPT_HEADER, ScriptedUpstream, Served},
    test_client::{Answer, Ending, Http1Client, Http2Client},
};
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinSet};

/// How many exchanges are compared with HTTP/1 on both sides, and how many with HTTP/2.
const HTTP1: u64 = 700;
const HTTP2: u64 = 300;
/// How many run at once.
const AT_ONCE: usize = 12;
/// How long a piece may take to the client before the next one may leave the upstream.
const PIECE_LIMIT: Duration = Duration::from_secs(10);
/// The same where it is expected not to come.
const IMPATIENT: Duration = Duration::from_secs(1);

/// Differs from run to run by its nature.
const MASKED: [&str; 5] = [
    "x-request-id",
    "date",
    "x-envoy-upstream-service-time",
    "x-envoy-expected-rq-timeout-ms",
    SCRIPT_HEADER,
];

/// What both ends of one exchange saw, run-to-run differences masked.
#[derive(Debug, PartialEq, Eq)]
struct BothEnds {
    status: u16,
    interim: Vec<u16>,
    headers: Lines,
    body: Vec<u8>,
    trailers: Lines,
    ending: Ending,
    request_line: String,
    request_headers: Lines,
    request_body: Vec<u8>,
    request_trailers: Lines,
}

impl BothEnds {
    fn new(answer: Answer, served: Served) -> BothEnds {
        BothEnds {
            status: answer.status,
            interim: answer.interim,
            headers: masked(answer.headers),
            body: answer.body,
            trailers: answer.trailers,
            ending: answer.ending,
            request_line: served.request_line,
            request_headers: masked(served.headers),
            request_body: served.body,
            request_trailers: served.trailers,
        }
    }

    /// The differences, without the bodies' bytes.
    fn differences(&self, other: &BothEnds) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, same: bool, mine: String, others: String| {
            if !same {
                found.push(format!("{what}: {mine} with, {others} without"));
            }
        };
        macro_rules! field {
            ($($name:ident),*) => {$(
                compare(
                    stringify!($name),
                    self.$name == other.$name,
                    format!("{:?}", self.$name),
                    format!("{:?}", other.$name),
                );
            )*};
        }
        field!(
            status,
            interim,
            headers,
            trailers,
            ending,
            request_line,
            request_headers,
            request_trailers
        );
        let sizes = |body: &Vec<u8>| format!("{} bytes", body.len());
        compare(
            "body",
            self.body == other.body,
            sizes(&self.body),
            sizes(&other.body),
        );
        let (mine, others) = (&self.request_body, &other.request_body);
        compare("request body", mine == others, sizes(mine), sizes(others));
        found
    }
}

fn masked(lines: Lines) -> Lines {
    lines
        .into_iter()
        .map(|(name, value)| {
            let hidden = MASKED
                .iter()
                .any(|masked| name.eq_ignore_ascii_case(masked));
            (name, if hidden { "…".to_owned() } else { value })
        })
        .collect()
}

/// One way through the proxy.
#[derive(Clone, Copy)]
struct Way {
    listener: SocketAddr,
    http2: bool,
    patience: Duration,
}

/// Runs one exchange one way. Each piece after the first leaves the upstream only when the client has all before it.
async fn run(
    made: &Exchange,
    name: String,
    way: Way,
    upstream: &ScriptedUpstream,
) -> Result<BothEnds> {
    let report = upstream.named(&name, made.script.clone());
    let (sender, mut received) = tokio::sync::watch::channel(0);
    let mut ask = made.ask.clone().header(SCRIPT_HEADER, &name);
    ask.received = Some(sender);
    let asking = async {
        if way.http2 {
            Http2Client::once(way.listener, &ask).await
        } else {
            Http1Client::once(way.listener, &ask).await
        }
    };
    let opening = async {
        for (bytes, gate) in &made.gates {
            let there = received.wait_for(|received| received >= bytes);
            let there = tokio::time::timeout(way.patience, there).await;
            let there = there.map(|there| there.is_ok());
            ensure!(
                there == Ok(true),
                "{bytes} bytes did not reach the client before the next left"
            );
            gate.open();
        }
        Ok(())
    };
    let both = async { tokio::try_join!(asking, opening) };
    let (answer, ()) = both
        .await
        .with_context(|| format!("{} {name}", made.kind))?;
    let served = report
        .within(PIECE_LIMIT)
        .await
        .with_context(|| format!("{} {name}", made.kind))?;
    Ok(BothEnds::new(answer, served))
}

/// Runs one exchange both ways and compares.
async fn compare(
    made: impl Fn() -> Exchange,
    name: &str,
    ways: (Way, Way),
    upstream: &ScriptedUpstream,
) -> Result<&'static str> {
    let (observed, plain) = ways;
    let exchange = made();
    let with = run(&exchange, format!("{name}-observed"), observed, upstream).await?;
    // Gates are used up, so the exchange is made a second time.
    let exchange = made();
    let without = run(&exchange, format!("{name}-plain"), plain, upstream).await?;
    let found = with.differences(&without);
    ensure!(
        found.is_empty(),
        "{} {name}:\n  {}",
        exchange.kind,
        found.join("\n  ")
    );
    ensure!(
        with.body == exchange.body,
        "{} {name}: not the upstream's body",
        exchange.kind
    );
    ensure!(
        with.ending == Ending::Complete,
        "{} {name}: {:?}",
        exchange.kind,
        with.ending
    );
    Ok(exchange.kind)
}

/// An Envoy with both listeners; `meddling` is Lua of a filter that only the observing one has.
async fn start(
    http2: bool,
    meddling: Option<&str>,
) -> (EnvoyRig, Arc<ScriptedUpstream>, (Way, Way)) {
    let upstream = if http2 {
        ScriptedUpstream::http2().await
    } else {
        ScriptedUpstream::http1().await
    };
    let upstream = Arc::new(upstream.unwrap());
    let plan = RigPlan {
        plain_listener: true,
        http2_upstream: http2,
        ..RigPlan::default()
    };
    let mut options = plan.options(built_module().unwrap(), upstream.address());
    options.listeners[0].filters.extend(meddling.map(|code| {
        HttpFilter::Raw(json!({
            "name": "envoy.filters.http.lua",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
                "default_source_code": {"inline_string": code},
            },
        }))
    }));
    let rig = EnvoyRig::start(options).await.unwrap();
    let plain = rig.listener("plain").await.unwrap();
    let patience = if meddling.is_some() {
        IMPATIENT
    } else {
        PIECE_LIMIT
    };
    let way = |listener| Way {
        listener,
        http2,
        patience,
    };
    let ways = (way(rig.observe), way(plain));
    (rig, upstream, ways)
}

async fn compare_many(http2: bool, seeds: std::ops::Range<u64>) -> BTreeMap<&'static str, u32> {
    let count = seeds.clone().count() as f64;
    let (rig, upstream, ways) = start(http2, None).await;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for seed in seeds {
        let (places, upstream) = (Arc::clone(&places), Arc::clone(&upstream));
        running.spawn(async move {
            let _place = places.acquire().await;
            compare(|| exchange(seed, http2), &seed.to_string(), ways, &upstream).await
        });
    }
    let mut kinds = BTreeMap::new();
    let mut bad = Vec::new();
    while let Some(done) = running.join_next().await {
        match done.unwrap() {
            Ok(kind) => *kinds.entry(kind).or_insert(0) += 1,
            Err(error) => bad.push(format!("{error:#}")),
        }
    }
    let scrape = rig.scrape_settled().await.unwrap();
    let total = |name: &str| scrape.total_or_zero(name, &[]);
    let handled = total("inference_requests_total") + total("inferometer_skipped_total");
    let errors = total("inferometer_host_errors_total");
    let log = rig.stop().await;
    assert!(
        bad.is_empty(),
        "{} exchanges differ:\n{}",
        bad.len(),
        bad.join("\n")
    );
    log.unwrap();
    assert!(errors == 0.0, "the module counted {errors} host errors");
    assert_eq!(handled, count, "the module did not see every exchange");
    kinds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_module_changes_no_byte_and_holds_none_back_over_http1() {
    let started = Instant::now();
    let kinds = compare_many(false, 0..HTTP1).await;
    say(&format!(
        "{HTTP1} exchanges over HTTP/1, both ways, in {:.1} s: {kinds:?}",
        started.elapsed().as_secs_f64()
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_module_changes_no_byte_and_holds_none_back_over_http2() {
    let started = Instant::now();
    let kinds = compare_many(true, HTTP1..HTTP1 + HTTP2).await;
    say(&format!(
        "{HTTP2} exchanges over HTTP/2, both ways, in {:.1} s: {kinds:?}",
        started.elapsed().as_secs_f64()
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_megabytes_pass_both_ways_unchanged() {
    const LENGTH: usize = 50_000_000;
    let started = Instant::now();
    for http2 in [false, true] {
        let (rig, upstream, ways) = start(http2, None).await;
        for seed in [1, 2] {
            compare(
                || large(seed, LENGTH),
                &format!("large-{seed}"),
                ways,
                &upstream,
            )
            .await
            .unwrap();
        }
        rig.stop().await.unwrap();
    }
    say(&format!(
        "4 exchanges of {LENGTH} bytes up and down, both ways, in {:.1} s",
        started.elapsed().as_secs_f64()
    ));
}

/// The comparison itself must notice a filter that changes something or holds something back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_meddles_is_noticed() {
    for (code, sign) in [
        (
            "function envoy_on_response(handle) handle:headers():add('x-more', '1') end",
            "headers: ",
        ),
        (
            "function envoy_on_request(handle) handle:headers():add('x-more', '1') end",
            "request_headers: ",
        ),
        (
            "function envoy_on_response(handle) handle:body() end",
            "did not reach the client before the next left",
        ),
    ] {
        let (rig, upstream, ways) = start(false, Some(code)).await;
        // Seed 1 is a stream of several pieces.
        let noticed = compare(|| exchange(1, false), "1", ways, &upstream)
            .await
            .unwrap_err();
        assert!(format!("{noticed:#}").contains(sign), "{code}: {noticed:#}");
        rig.stop().await.unwrap();
    }
}
