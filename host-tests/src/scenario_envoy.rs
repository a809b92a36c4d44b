//! Runs a scenario as real HTTP through real Envoy: a test client on one side, a scripted upstream on the other.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use envoy_harness::{HttpFilter, Listener, Route, Upstream};
use serde_json::json;

use crate::{
    capture_facts::{FIRST_TOKEN, Moved},
    envoy_rig::{EnvoyRig, RigPlan},
    metric_assert::Exposition,
    module::built_module,
    scenario::{Ending, Scenario},
    scenario_answer::Part,
    scenario_checks::differences,
    scripted_upstream::{AnswerFraming, Finish, Gate, Script, ScriptedUpstream, Step},
    test_client::{Answer, Ask, Http1Client, Http2Client, Leave, Upload},
};

/// The timeout of the route that scenarios of a route timeout take.
const ROUTE_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a client waits for a silent server before it leaves.
const IMPATIENCE: Duration = Duration::from_millis(80);

/// An Envoy with one listener for each special ending, and the upstream behind it.
#[derive(Debug)]
pub struct ScenarioBed {
    rig: EnvoyRig,
    upstream: ScriptedUpstream,
    listeners: BTreeMap<&'static str, SocketAddr>,
    http2: bool,
    before: Exposition,
}

impl ScenarioBed {
    /// Starts both, speaking HTTP/1 or HTTP/2 on both sides of Envoy. `models` are the names that are labels.
    ///
    /// # Errors
    ///
    /// As [`EnvoyRig::start`].
    pub async fn start(http2: bool, models: &[String]) -> Result<ScenarioBed> {
        let upstream = if http2 {
            ScriptedUpstream::http2().await?
        } else {
            ScriptedUpstream::http1().await?
        };
        let plan = RigPlan {
            observe: json!({"models": {"allow": models}}),
            http2_upstream: http2,
            ..RigPlan::default()
        };
        let mut options = plan.options(built_module()?, upstream.address());
        // A port below the range that the system hands out: one that was bound and given back could
        // come to another test's proxy.
        let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
        options.upstreams.push(Upstream::at("nobody", nobody));
        let observe = options
            .listeners
            .first()
            .context("a plan has an observing listener")?
            .clone();
        let route = |cluster: &str, timeout: Duration| Route::Upstream {
            cluster: cluster.to_owned(),
            timeout,
            host_rewrite: None,
        };
        let mut special = |name: &str, route: Route, filter: Option<HttpFilter>| {
            let mut listener: Listener = observe.clone();
            name.clone_into(&mut listener.name);
            listener.route = route;
            listener.filters.splice(0..0, filter);
            options.listeners.push(listener);
        };
        special("timed", route("upstream", ROUTE_TIMEOUT), None);
        // A refused connection is answered at once, which would race with the request's body.
        special(
            "unconnected",
            route("nobody", Duration::ZERO),
            Some(delaying_filter()),
        );
        special(
            "answering",
            route("upstream", Duration::ZERO),
            Some(answering_filter()),
        );
        let rig = EnvoyRig::start(options).await?;
        let mut listeners = BTreeMap::from([("observe", rig.observe)]);
        for name in ["timed", "unconnected", "answering"] {
            listeners.insert(name, rig.listener(name).await?);
        }
        let before = rig.scrape().await?;
        Ok(ScenarioBed {
            rig,
            upstream,
            listeners,
            http2,
            before,
        })
    }

    /// Runs one scenario and gives what differs from its expectation.
    ///
    /// # Errors
    ///
    /// When it cannot be run at all, or the module counts nothing.
    pub async fn differences(&mut self, scenario: &Scenario) -> Result<Vec<String>> {
        let script = script(scenario);
        let reaches_upstream =
            !matches!(scenario.ending, Ending::LocalReply | Ending::NoConnection);
        let report = reaches_upstream.then(|| self.upstream.next(script));
        let answer = self.ask(scenario).await?;
        if let Some(report) = report {
            report
                .within(Duration::from_secs(10))
                .await
                .with_context(|| format!("{answer:?}"))?;
        }
        let before = &self.before;
        let handled = |scrape: &Exposition| {
            scrape.total_or_zero("inference_requests_total", &[])
                + scrape.total_or_zero("inferometer_skipped_total", &[])
        };
        let more = |scrape: &Exposition| handled(scrape) > handled(before);
        let after = self.rig.scrape_until(&scenario.name, more).await?;
        let moved = Moved {
            before,
            after: &after,
        };
        let mut found = differences(moved, scenario);
        if let Some(least) = scenario.expect.first_token_ms {
            let measured = moved.total(&format!("{FIRST_TOKEN}_sum"), &[]) * 1e3;
            let most = (answer.ended - answer.started).as_secs_f64() * 1e3;
            // The upstream's pauses begin when it has the request, which is later than the module's zero.
            if measured < least as f64 - 1.0 || measured > most {
                found.push(format!(
                    "first token after {measured} ms, not between {least} and {most} ms"
                ));
            }
        }
        self.before = after;
        Ok(found)
    }

    async fn ask(&self, scenario: &Scenario) -> Result<Answer> {
        let name = match scenario.ending {
            Ending::RouteTimeout => "timed",
            Ending::NoConnection => "unconnected",
            Ending::LocalReply => "answering",
            _ => "observe",
        };
        let address = *self.listeners.get(name).context("no such listener")?;
        let mut ask = Ask::new(scenario.request.method(), scenario.request.path());
        ask.headers = scenario.request.lines();
        if scenario.request.method() != "GET" {
            ask.upload = Upload::Whole(scenario.request.body());
        }
        if scenario.ending == Ending::ClientLeaves {
            ask.leave = match &scenario.answer {
                Some(answer) if answer.body_bytes() > 0 => Leave::AfterBody(answer.body_bytes()),
                Some(_) => Leave::AfterHead,
                None => leave_later(),
            };
        }
        if self.http2 {
            Http2Client::once(address, &ask).await
        } else {
            Http1Client::once(address, &ask).await
        }
    }

    /// Waits until nothing moves any more, and ends both.
    ///
    /// # Errors
    ///
    /// When a request is counted late or stays in flight, or Envoy's log tells of failures.
    pub async fn stop(self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(3);
        loop {
            let after = self.rig.scrape_settled().await?;
            let moved = Moved {
                before: &self.before,
                after: &after,
            };
            let late = moved.samples("inference_requests_total").len();
            ensure!(
                late == 0,
                "requests were counted late, so one of them twice"
            );
            let in_flight = after.total_or_zero("inference_requests_in_flight", &[]);
            if in_flight == 0.0 {
                break;
            }
            ensure!(
                Instant::now() < deadline,
                "{in_flight} requests are still in flight"
            );
        }
        self.rig.stop().await?;
        Ok(())
    }
}

/// A filter of Envoy's own that answers every request by itself.
fn answering_filter() -> HttpFilter {
    HttpFilter::Raw(json!({
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string":
                "function envoy_on_request(handle) handle:respond({[\":status\"] = \"403\"}, \"no\") end"},
        },
    }))
}

/// A filter of Envoy's own that holds every request until all of it is there.
fn delaying_filter() -> HttpFilter {
    HttpFilter::Raw(json!({
        "name": "envoy.filters.http.fault",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault",
            "delay": {"fixed_delay": "0.05s", "percentage": {"numerator": 100}},
        },
    }))
}

/// A client that gives up on a silent server.
fn leave_later() -> Leave {
    let gate = Gate::closed();
    let opened = gate.clone();
    tokio::spawn(async move {
        tokio::time::sleep(IMPATIENCE).await;
        opened.open();
    });
    Leave::When(gate)
}

/// What the upstream does in a scenario.
fn script(scenario: &Scenario) -> Script {
    let mut steps = Vec::new();
    if let Some(answer) = &scenario.answer {
        let whole = scenario.ending == Ending::Complete
            && answer.trailers().is_none()
            && !scenario.expect.stream
            && answer.content_type.as_deref() != Some("text/event-stream");
        let framing = if whole {
            AnswerFraming::Length(answer.body_bytes())
        } else {
            AnswerFraming::Chunked
        };
        steps.push(Step::Wait(Duration::from_millis(answer.wait)));
        steps.push(Step::Head {
            status: answer.status,
            headers: answer.lines(),
            framing,
        });
        steps.extend(answer.parts().into_iter().map(|part| match part {
            Part::Wait(pause) => Step::Wait(pause),
            Part::Data(bytes) => Step::Data(bytes),
            Part::Trailers(lines) => Step::Trailers(lines),
        }));
    }
    let finish = match scenario.ending {
        Ending::ClientLeaves | Ending::RouteTimeout => Finish::Stall,
        Ending::UpstreamResets => Finish::Reset,
        Ending::UpstreamCloses => Finish::Close,
        _ => Finish::Complete,
    };
    Script::new(steps).finishing(finish)
}
