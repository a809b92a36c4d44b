//! An Envoy that pushes, with an ordinary load, and the comparison of what arrived with a scrape.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use envoy_harness::{EnvoyOptions, Upstream, WasmPlugin};
use otlp_receiver::{OtlpReceiver, Signal};
use serde_json::{Value, json};

use crate::envoy_rig::{EnvoyRig, RigPlan, say, with_tick};
use crate::metric_assert::Exposition;
use crate::module::built_module;
use crate::otlp_ledger::{Ledger, with_plain_bounds};
use crate::real_collector::Collector;
use crate::scripted_upstream::{Script, ScriptedUpstream};
use crate::test_client::{Ask, Http1Client};

/// How long what was pushed may take to arrive, back-offs of a receiver that was away included.
const PATIENCE: Duration = Duration::from_secs(40);
/// What the bootstrap's service calls itself: its environment says so, and its configuration where it is not alone.
pub const SERVICE: &str = "service-of-the-bootstrap";
/// How many requests are under way at once.
const CLIENTS: usize = 16;

/// An Envoy whose observing listener pushes as well.
pub struct PushRig {
    /// The Envoy and its listeners.
    pub rig: EnvoyRig,
    /// What each request has of headers, by its number.
    pub headers: fn(u32) -> Vec<(&'static str, String)>,
    /// What stands between it and a receiver of the test's, and ends with it.
    pub collector: Option<Collector>,
    upstream: ScriptedUpstream,
    sent: u32,
}

/// The observing configuration with these members of `push`, at a pace for tests.
#[must_use]
pub fn observing(push: &Value) -> Value {
    let mut push = push.clone();
    if let Some(members) = push.as_object_mut() {
        members.insert("cluster".to_owned(), json!("otel"));
        members.insert("interval".to_owned(), json!("1s"));
        members.insert("timeout".to_owned(), json!("2s"));
    }
    json!({ "push": push })
}

/// Whether a configuration of `push` speaks gRPC, for which its cluster must speak HTTP/2.
#[must_use]
pub fn is_grpc(push: &Value) -> bool {
    push.get("protocol") != Some(&json!("http/protobuf"))
}

impl PushRig {
    /// Starts one that pushes to a receiver at an address.
    ///
    /// # Errors
    ///
    /// When there is no Envoy, or it does not serve.
    pub async fn start(workers: u32, push: &Value, receiver: SocketAddr) -> Result<PushRig> {
        let upstream = ScriptedUpstream::http1().await?;
        let rig = EnvoyRig::start(options(workers, push, &upstream, receiver)?).await?;
        Ok(PushRig {
            rig,
            headers: |_| Vec::new(),
            collector: None,
            upstream,
            sent: 0,
        })
    }

    /// Starts one with a service of the bootstrap that pushes, of which there is one in the process. Its listeners push
    /// as well, or do not.
    ///
    /// # Errors
    ///
    /// When there is no Envoy, or it does not serve.
    pub async fn start_with_service(
        push: &Value,
        listeners_push: bool,
        receiver: SocketAddr,
    ) -> Result<PushRig> {
        let upstream = ScriptedUpstream::http1().await?;
        let mut options = options(2, push, &upstream, receiver)?;
        if !listeners_push {
            let plan = RigPlan {
                dynamic_listeners: true,
                ..RigPlan::default()
            };
            options.listeners = plan.listeners(built_module()?);
        }
        let mut pushing = observing(push);
        if let Some(members) = pushing.as_object_mut() {
            members.insert("observe".to_owned(), json!(false));
        }
        if listeners_push && let Some(Value::Object(members)) = pushing.get_mut("push") {
            // Its machine may be the one that a listener has made, with the listener's environment.
            members.insert("resource".to_owned(), json!({"service.name": SERVICE}));
        }
        let service = bootstrap_service(&built_module()?, &with_tick(&pushing));
        let extensions = json!([service]);
        options
            .extra
            .insert("bootstrap_extensions".to_owned(), extensions);
        let rig = EnvoyRig::start(options).await?;
        Ok(PushRig {
            rig,
            headers: |_| Vec::new(),
            collector: None,
            upstream,
            sent: 0,
        })
    }

    /// Sends so many requests, which are answered well.
    ///
    /// # Errors
    ///
    /// When one is not.
    pub async fn serve(&mut self, times: u32) -> Result<()> {
        let mut running = tokio::task::JoinSet::new();
        for number in self.sent..self.sent + times {
            self.upstream.standing(Script::reply(
                200,
                "application/json",
                "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\
                 \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}",
            ));
            let observe = self.rig.observe;
            let ask = self.ask(number);
            running.spawn(async move { Http1Client::once(observe, &ask).await });
            if running.len() >= CLIENTS
                && let Some(answer) = running.join_next().await
            {
                ensure!(answer??.status == 200);
            }
        }
        while let Some(answer) = running.join_next().await {
            ensure!(answer??.status == 200);
        }
        self.sent += times;
        Ok(())
    }

    /// Sends one request, which is refused.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub async fn fail(&mut self) -> Result<()> {
        self.upstream.standing(Script::reply(
            503,
            "application/json",
            "{\"error\":{\"message\":\"overloaded\"}}",
        ));
        let ask = self.ask(self.sent);
        let answer = Http1Client::once(self.rig.observe, &ask).await?;
        ensure!(answer.status == 503);
        self.sent += 1;
        Ok(())
    }

    fn ask(&self, number: u32) -> Ask {
        let mut ask = Ask::post("/v1/chat/completions", "{\"model\":\"m\"}");
        // No trace has the number 0.
        for (name, value) in (self.headers)(number + 1) {
            ask = ask.header(name, &value);
        }
        ask
    }

    /// Waits until a receiver has all requests, and gives its books.
    ///
    /// # Errors
    ///
    /// When they do not come.
    pub async fn delivered(&self, receiver: &OtlpReceiver) -> Result<Ledger> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut ledger = Ledger::default();
            for received in receiver.metrics() {
                ledger.take(&received.request);
            }
            let exposition = ledger.exposition();
            let got = exposition.total_or_zero("inference_requests_total", &[]);
            let in_flight = exposition.total_or_zero("inference_requests_in_flight", &[]);
            if got >= f64::from(self.sent) && in_flight == 0.0 {
                return Ok(ledger);
            }
            if Instant::now() > deadline {
                let calls = receiver.calls(Signal::Metrics);
                bail!("{got} of {} requests after {calls} calls", self.sent);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Holds the books against a scrape, series by series and value by value, and gives the scrape. What the module says
    /// of itself is left out, as each export changes it.
    ///
    /// # Errors
    ///
    /// When anything differs, or the sequence of points was not an honest one.
    pub async fn check(&self, ledger: &Ledger) -> Result<Exposition> {
        let own = |name: &str| name.starts_with("inferometer_");
        let scrape = self.rig.scrape_settled().await?;
        let shown = with_plain_bounds(&scrape.without(own));
        let received = ledger.exposition().without(own);
        let mut differences = received.changes(&shown);
        // Sums of deltas are sums of rounded numbers.
        differences.retain(|(_, one, other)| (one - other).abs() > 1e-6);
        ensure!(differences.is_empty(), "{differences:?}");
        ensure!(ledger.faults().is_empty(), "{:?}", ledger.faults());
        ensure!(ledger.instances().len() == 1, "{:?}", ledger.instances());
        let requests = scrape.total_or_zero("inference_requests_total", &[]);
        ensure!(requests == f64::from(self.sent), "{requests} requests");
        let (taken, points) = ledger.counts();
        say(&format!(
            "{requests} requests, {taken} exports with {points} points: {} series equal to the scrape's",
            shown.samples().len()
        ));
        Ok(scrape)
    }
}

/// A singleton of the bootstrap with the filters' module and shared data.
fn bootstrap_service(module: &Path, configuration: &str) -> Value {
    let plugin = WasmPlugin::new(module);
    json!({
        "name": "envoy.bootstrap.wasm",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.wasm.v3.WasmService",
            "singleton": true,
            "config": {
                "name": plugin.name,
                "root_id": "push",
                "vm_config": {
                    "vm_id": plugin.vm_id,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": module}},
                    "environment_variables": {
                        "key_values": {"OTEL_SERVICE_NAME": SERVICE},
                    },
                },
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration,
                },
            },
        },
    })
}

fn options(
    workers: u32,
    push: &Value,
    upstream: &ScriptedUpstream,
    receiver: SocketAddr,
) -> Result<EnvoyOptions> {
    let plan = RigPlan {
        workers,
        observe: observing(push),
        dynamic_listeners: true,
        ..RigPlan::default()
    };
    let mut options = plan.options(built_module()?, upstream.address());
    let cluster = Upstream::at("otel", receiver);
    options.upstreams.push(if is_grpc(push) {
        cluster.http2()
    } else {
        cluster
    });
    Ok(options)
}
