//! A real llama.cpp server behind a real Envoy with the module: what the module counts is what the server counts.
//!
//! Left out of a plain run, since it fetches the server: `cargo xtask test --real` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking, and tells what it ran"
)]

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use host_tests::{
    capture_facts::{FIRST_TOKEN, Moved},
    envoy_rig::{EnvoyRig, PATIENCE, RigPlan, TICK, say},
    metric_assert::Exposition,
    real_llamacpp::{Endpoint, LlamaServer, OwnCounts, Told},
    test_client::{Answer, Ending, Http1Client},
};
use serde_json::json;

/// A time to first token may differ this much from the client's.
const NEAR: f64 = 0.005;
/// How often something is tried that depends on the machine's mood.
const TRIES: usize = 3;
/// How many clients ask at once where many do.
const CLIENTS: usize = 4;
/// How often each of them asks for everything.
const ROUNDS: usize = 3;

/// Held by each test while it runs: their times would suffer from one another.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The server, the Envoy in front of it, and what both counted before.
struct Bench {
    server: LlamaServer,
    rig: EnvoyRig,
    before: Exposition,
    own_before: OwnCounts,
}

/// What one exchange, or several, moved.
#[derive(Debug, PartialEq)]
struct Counted {
    requests: u64,
    input: u64,
    cached: u64,
    output: u64,
}

impl Counted {
    /// How the server counts the same.
    fn by_server(&self) -> OwnCounts {
        OwnCounts {
            computed_input: self.input - self.cached,
            cached_input: self.cached,
            output: self.output,
        }
    }
}

impl Bench {
    async fn start() -> Result<Bench> {
        let server = tokio::task::spawn_blocking(LlamaServer::start).await??;
        say(&format!(
            "llama.cpp at {} by {}",
            server.address, server.versions
        ));
        let plan = RigPlan {
            observe: json!({"models": {"allow": [host_tests::real_llamacpp::MODEL]}}),
            ..RigPlan::default()
        };
        let rig = plan.start(server.address).await?;
        let before = rig.scrape().await?;
        let own_before = server.own_counts().await?;
        Ok(Bench {
            server,
            rig,
            before,
            own_before,
        })
    }

    /// Asks once and gives the answer, with what it moved in the module.
    async fn ask(
        &mut self,
        endpoint: Endpoint,
        prompt: &str,
        tokens: u64,
        stream: bool,
    ) -> Result<(Answer, Exposition)> {
        let answer =
            Http1Client::once(self.rig.observe, &endpoint.ask(prompt, tokens, stream)).await?;
        check_whole(endpoint, &answer)?;
        let after = self.settled(1).await?;
        Ok((answer, after))
    }

    /// The scrape when so many requests more were counted.
    async fn settled(&self, requests: u64) -> Result<Exposition> {
        let before = handled(&self.before);
        let what = format!("{requests} requests counted by the module");
        self.rig
            .scrape_until(&what, |scrape| handled(scrape) >= before + requests as f64)
            .await
    }

    /// What the server counted since, when it has counted so many generated tokens: it does so after its answer.
    async fn own(&self, told: &Counted) -> Result<OwnCounts> {
        let expected = told.by_server();
        let deadline = std::time::Instant::now() + PATIENCE / 5;
        loop {
            let own = self.server.own_counts().await?.since(self.own_before);
            if own == expected || std::time::Instant::now() > deadline {
                return Ok(own);
            }
            tokio::time::sleep(TICK / 10).await;
        }
    }
}

fn handled(scrape: &Exposition) -> f64 {
    scrape.total_or_zero("inference_requests_total", &[])
        + scrape.total_or_zero("inferometer_skipped_total", &[])
}

fn check_whole(endpoint: Endpoint, answer: &Answer) -> Result<()> {
    anyhow::ensure!(
        answer.status == 200 && answer.ending == Ending::Complete,
        "{} answered {} ({:?}): {}",
        endpoint.path(),
        answer.status,
        answer.ending,
        answer.text()
    );
    Ok(())
}

/// What the module counted between two scrapes.
fn counted(before: &Exposition, after: &Exposition) -> Counted {
    let moved = Moved { before, after };
    let reported = [("source", "reported")];
    let total = |name: &str, labels: &[(&str, &str)]| moved.total(name, labels) as u64;
    Counted {
        requests: total("inference_requests_total", &[("outcome", "success")]),
        input: total("inference_input_tokens_total", &reported),
        cached: total("inference_cached_input_tokens_total", &reported),
        output: total("inference_output_tokens_total", &reported),
    }
}

/// The same from what the answers said.
fn summed(answers: &[Told]) -> Counted {
    Counted {
        requests: answers.len() as u64,
        input: answers.iter().map(|told| told.input).sum(),
        cached: answers.iter().filter_map(|told| told.cached).sum(),
        output: answers.iter().filter_map(|told| told.output).sum(),
    }
}

/// Every endpoint, streamed and whole where it can be both.
fn every_way() -> impl Iterator<Item = (Endpoint, bool)> {
    Endpoint::ALL
        .into_iter()
        .flat_map(|endpoint| [(endpoint, true), (endpoint, false)])
        .filter(|(endpoint, stream)| endpoint.streams() || !stream)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_counts_what_the_server_counts() {
    let _alone = ALONE.lock().await;
    let mut bench = Bench::start().await.unwrap();
    let mut wrong = Vec::new();
    let mut answers = 0;
    // Twice each, so that the second finds a part of its prompt in the server's cache.
    for round in 0..2 {
        for (endpoint, stream) in every_way() {
            let prompt = format!("The server counts the tokens of request {round}");
            let (answer, after) = bench.ask(endpoint, &prompt, 9, stream).await.unwrap();
            let told = endpoint.told(&answer).unwrap();
            let own = bench.own(&summed(&[told])).await.unwrap();
            let seen = counted(&bench.before, &after);
            let name = format!("{} stream={stream} round {round}", endpoint.path());
            say(&format!("{name}: the answer says {told:?}"));
            if seen != summed(&[told]) {
                wrong.push(format!("{name}: {told:?} but the module has {seen:?}"));
            }
            if own != summed(&[told]).by_server() {
                wrong.push(format!("{name}: {told:?} but the server's metrics {own:?}"));
            }
            bench.before = after;
            bench.own_before = bench.server.own_counts().await.unwrap();
            answers += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    bench.rig.stop().await.unwrap();
    say(&format!(
        "{answers} answers: the module, the answer and the server's /metrics agree in each"
    ));
}

/// Asks for everything several times over one connection; gives what the answers said, and how many requests were
/// asked for again: the server closes a connection after a streamed answer without saying so before, and now and then
/// a proxy has sent the next request into it by then.
async fn ask_for_everything(observe: SocketAddr, client: usize) -> Result<(Vec<Told>, u64)> {
    let mut connection = Http1Client::connect(observe).await?;
    let (mut told, mut refused) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        for (endpoint, stream) in every_way() {
            let prompt = format!("Client {client} asks for the time, round {round}");
            let ask = endpoint.ask(&prompt, (3 + client * 5 + round) as u64, stream);
            let mut answer = connection.exchange(&ask).await;
            for _ in 0..TRIES {
                if answer.status == 503 && answer.text().ends_with("connection termination") {
                    refused += 1;
                    answer = connection.exchange(&ask).await;
                }
            }
            check_whole(endpoint, &answer)?;
            told.push(endpoint.told(&answer)?);
        }
    }
    Ok((told, refused))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_over_many_clients_are_the_server_s_sums() {
    let _alone = ALONE.lock().await;
    let bench = Bench::start().await.unwrap();
    let observe = bench.rig.observe;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(ask_for_everything(observe, client));
    }
    let (mut told, mut refused) = (Vec::new(), 0);
    while let Some(client) = clients.join_next().await {
        let (told_to_it, refused_to_it) = client.unwrap().unwrap();
        told.extend(told_to_it);
        refused += refused_to_it;
    }
    let requests = told.len() as u64 + refused;
    let after = bench.settled(requests).await.unwrap();
    assert_eq!(counted(&bench.before, &after), summed(&told));
    assert_eq!(handled(&after) - handled(&bench.before), requests as f64);
    let sums = summed(&told);
    let own = bench.own(&sums).await.unwrap();
    assert_eq!(own, sums.by_server());
    assert_eq!(
        after.total_or_zero("inference_requests_in_flight", &[]),
        0.0
    );
    bench.rig.stop().await.unwrap();
    say(&format!(
        "{} answers to {CLIENTS} clients at once, {refused} asked for again: {sums:?}, and the server's own sums are {own:?}",
        told.len()
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_to_the_first_token_is_the_client_s() {
    let _alone = ALONE.lock().await;
    let mut bench = Bench::start().await.unwrap();
    let mut all = Vec::new();
    for round in 0..4 {
        for (endpoint, _) in every_way().filter(|(_, stream)| *stream) {
            let mut tried = Vec::new();
            while tried.len() < TRIES && tried.last().is_none_or(|late: &f64| late.abs() > NEAR) {
                // Another prompt each time, or the server's cache would make it shorter.
                let prompt = format!("{round} {} {endpoint:?} ", tried.len()).repeat(8);
                tried.push(late(&mut bench, endpoint, &prompt).await.unwrap());
            }
            let last = tried.last().copied().unwrap_or_default();
            assert!(
                last.abs() <= NEAR,
                "{}: the client's stamps minus the module's time: {tried:?} s",
                endpoint.path()
            );
            all.extend(tried);
        }
    }
    bench.rig.stop().await.unwrap();
    all.sort_by(f64::total_cmp);
    let [least, median, most] = [0, all.len() / 2, all.len() - 1].map(|place| all[place] * 1e3);
    let outside = all.iter().filter(|late| late.abs() > NEAR).count();
    say(&format!(
        "{} times to first token: the client's stamp is later by {median:.2} ms at the median, {least:.2} to {most:.2} ms; \
         {outside} were further off than {} ms at first",
        all.len(),
        NEAR * 1e3
    ));
}

/// Asks for a stream; how much later the client had the first token than the module.
async fn late(bench: &mut Bench, endpoint: Endpoint, prompt: &str) -> Result<f64> {
    // So many tokens that a stamp of the answer's end would be far off.
    let (answer, after) = bench.ask(endpoint, prompt, 64, true).await?;
    let end = endpoint
        .first_token_end(&answer.body)
        .context("the answer has no text")?;
    let received = answer.body_at(end).context("the answer is too short")?;
    let moved = Moved {
        before: &bench.before,
        after: &after,
    };
    let measured = moved.total(&format!("{FIRST_TOKEN}_sum"), &[]);
    let count = moved.total(&format!("{FIRST_TOKEN}_count"), &[]);
    anyhow::ensure!(count == 1.0, "{} first tokens", count);
    bench.before = after;
    let client: Duration = received - answer.started;
    Ok(client.as_secs_f64() - measured)
}
