//! What an export of two thousand series costs the threads of a real Envoy, by Envoy's own clocks.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use envoy_harness::Upstream;
use host_tests::envoy_rig::{EnvoyRig, RigPlan, say};
use host_tests::metric_assert::Exposition;
use host_tests::module::built_module;
use host_tests::scripted_upstream::{Script, ScriptedUpstream};
use host_tests::test_client::{Ask, Http1Client};
use otlp_receiver::{OtlpReceiver, Signal};
use serde_json::{Value, json};

/// How long is measured, with no requests under way.
const MEASURED: Duration = Duration::from_secs(12);
/// As many models as make two thousand series of requests that are answered whole.
const MODELS: u32 = 170;
/// The most that one export may take of all threads together.
const MILLIS_PER_EXPORT: f64 = 15.0;

/// What the event loops of all threads did: microseconds of work, and turns by their upper bound.
struct Loops {
    worked: f64,
    turns: BTreeMap<String, f64>,
}

impl Loops {
    async fn read(rig: &EnvoyRig) -> Loops {
        let text = rig
            .envoy
            .admin_get("/stats/prometheus?filter=dispatcher.loop_duration_us")
            .await
            .unwrap();
        let page = Exposition::parse(&text).unwrap();
        let mut loops = Loops {
            worked: 0.0,
            turns: BTreeMap::new(),
        };
        for sample in page.samples() {
            if sample.name.ends_with("dispatcher_loop_duration_us_sum") {
                loops.worked += sample.value;
            }
            if sample.name.ends_with("dispatcher_loop_duration_us_bucket") {
                let bound = sample.labels.get("le").unwrap().clone();
                *loops.turns.entry(bound).or_default() += sample.value;
            }
        }
        assert!(loops.worked > 0.0, "{text}");
        loops
    }
}

struct Idle {
    exports: usize,
    series: usize,
    /// Milliseconds that all threads worked in a second.
    millis_a_second: f64,
    /// How many turns took longer than 2 ms.
    long_turns: f64,
}

/// What an Envoy without traffic does, with two thousand series behind it.
async fn idle(push: &Value) -> Idle {
    let receiver = OtlpReceiver::start().unwrap();
    let upstream = ScriptedUpstream::http1().await.unwrap();
    let plan = RigPlan {
        workers: 2,
        observe: json!({"models": {"max": 1_000}, "push": push}),
        stats_config: Some(json!({
            "histogram_bucket_settings": [
                {"match": {"suffix": "dispatcher.loop_duration_us"}, "buckets": [500, 1_000, 2_000, 5_000]},
            ],
        })),
        ..RigPlan::default()
    };
    let mut options = plan.options(built_module().unwrap(), upstream.address());
    options
        .upstreams
        .push(Upstream::at("otel", receiver.grpc()).http2());
    // Histograms are shown as they were at the last flush.
    let stats = [
        ("enable_dispatcher_stats".to_owned(), json!(true)),
        ("stats_flush_interval".to_owned(), json!("1s")),
    ];
    options.extra.extend(stats);
    let rig = EnvoyRig::start(options).await.unwrap();
    for model in 0..MODELS {
        upstream.standing(Script::reply(
            200,
            "application/json",
            "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\
             \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
        ));
        let body = format!("{{\"model\":\"model-{model}\"}}");
        let ask = Ask::post("/v1/chat/completions", body);
        let answer = Http1Client::once(rig.observe, &ask).await.unwrap();
        assert_eq!(answer.status, 200);
    }
    let page = rig.scrape_settled().await.unwrap();
    let is_point = |name: &str| !name.ends_with("_bucket") && !name.ends_with("_sum");
    let points = page
        .samples()
        .iter()
        .filter(|sample| is_point(&sample.name));
    let series = points.count();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (before, calls) = (Loops::read(&rig).await, receiver.calls(Signal::Metrics));
    tokio::time::sleep(MEASURED).await;
    let (after, calls_after) = (Loops::read(&rig).await, receiver.calls(Signal::Metrics));
    rig.stop().await.unwrap();
    let long = |loops: &Loops| {
        let turns = |bound: &str| loops.turns.get(bound).copied().unwrap();
        turns("+Inf") - turns("2000")
    };
    Idle {
        exports: calls_after - calls,
        series,
        millis_a_second: (after.worked - before.worked) / 1_000.0 / MEASURED.as_secs_f64(),
        long_turns: long(&after) - long(&before),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_of_two_thousand_series_takes_few_milliseconds_of_envoys_threads() {
    let often = idle(&json!({"cluster": "otel", "interval": "1s"})).await;
    let seldom = idle(&json!({"cluster": "otel", "interval": "3600s"})).await;
    let seconds = MEASURED.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "some twenty")]
    let exports = often.exports as f64;
    let millis = (often.millis_a_second - seldom.millis_a_second) * seconds / exports;
    say(&format!(
        "{} series: {} exports in {seconds} s took {millis:.1} ms each beyond the {:.1} ms a second without any; {} turns \
         of an event loop above 2 ms, without exports {}",
        often.series, often.exports, seldom.millis_a_second, often.long_turns, seldom.long_turns
    ));
    assert!((1_900..2_300).contains(&often.series), "{}", often.series);
    assert!(often.exports >= 6, "{}", often.exports);
    assert!(millis <= MILLIS_PER_EXPORT, "{millis} ms");
    // Whatever else the machine does makes some long that are not.
    let long_turns = often.long_turns - seldom.long_turns;
    assert!(long_turns <= exports / 2.0, "{long_turns}");
}
