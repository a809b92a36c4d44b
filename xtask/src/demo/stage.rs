//! What stands on the stage: the simulated server, Envoy with the module before it, and the way to the scrape.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use envoy_harness::{EnvoyOptions, EnvoyProcess, Upstream, WasmPlugin};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use inference_simulator::{Behaviour, Settings, Simulator};
use load_generator::exposition::Scrape;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::workspace;

/// The configuration of the listener that is scraped.
pub(crate) const SCRAPE_CONFIGURATION: &str = r#"{"observe": false, "scrape": {}}"#;
/// Where that listener answers.
pub(crate) const SCRAPE_PATH: &str = "/metrics";

/// How long Envoy may take to compile the module and to serve.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// How long a scrape may take.
const SCRAPE_LIMIT: Duration = Duration::from_secs(10);

/// Everything that runs during the demonstration.
pub(super) struct Stage {
    simulator: Simulator,
    envoy: EnvoyProcess,
    envoy_version: String,
    observed: SocketAddr,
    scraped: SocketAddr,
}

impl Stage {
    /// Starts it all.
    pub(super) async fn set(
        module: &Path,
        workers: u32,
        envoy_version: Option<&str>,
        models: &[&str],
    ) -> Result<Stage> {
        let binary = envoy_harness::locate(envoy_version, &workspace::tools(), &mut |line| {
            println!("{line}")
        })?;
        println!(
            "Envoy {} from {}: {}",
            binary.version,
            binary.source,
            binary.path.display()
        );
        let simulator = Simulator::start(Settings {
            behaviour: behaviour(),
            models: models.iter().map(ToString::to_string).collect(),
            ..Settings::default()
        })
        .await
        .context("cannot start the simulated server")?;
        println!("simulated inference server: http://{}", simulator.address());
        let plugin = WasmPlugin::new(module);
        let upstream = Upstream::at("inference", simulator.address());
        let mut options = EnvoyOptions::observed(upstream, plugin.clone(), "{}")
            .with_scrape(plugin, SCRAPE_CONFIGURATION);
        options.concurrency = workers;
        let mut envoy = EnvoyProcess::start(&binary, &options)?;
        println!("Envoy is starting with {workers} workers");
        envoy.wait_ready(READY_LIMIT).await?;
        let observed = envoy.listener_address("observe").await?;
        let scraped = envoy.listener_address("scrape").await?;
        println!("observed listener: http://{observed}");
        Ok(Stage {
            simulator,
            envoy,
            envoy_version: binary.version,
            observed,
            scraped,
        })
    }

    /// The listener that the load goes to.
    pub(super) fn observed(&self) -> SocketAddr {
        self.observed
    }

    /// Envoy's version.
    pub(super) fn envoy_version(&self) -> &str {
        &self.envoy_version
    }

    /// What the simulated server counted by itself.
    pub(super) fn served(&self) -> inference_simulator::Counts {
        self.simulator.counts()
    }

    /// Where the metrics are.
    pub(super) fn scrape_url(&self) -> String {
        format!("http://{}{SCRAPE_PATH}", self.scraped)
    }

    /// A fresh scrape.
    pub(super) async fn scrape(&self) -> Result<Scrape> {
        read(&self.scrape_text().await?)
    }

    /// A fresh scrape as it came.
    pub(super) async fn scrape_text(&self) -> Result<String> {
        let answer = timeout(SCRAPE_LIMIT, fetch(self.scraped)).await;
        answer
            .context("the scrape took too long")
            .flatten()
            .with_context(|| {
                format!(
                    "no scrape from {}; Envoy's last lines:\n{}",
                    self.scraped,
                    self.log_end()
                )
            })
    }

    fn log_end(&self) -> String {
        last_lines(&self.envoy.log(), 20)
    }

    /// Stops Envoy, then the server.
    pub(super) async fn clear(self) -> Result<()> {
        self.envoy.stop().await?;
        drop(self.simulator);
        Ok(())
    }
}

/// Times like those of a small model on a good accelerator, varied so that the histograms have some width.
fn behaviour() -> Behaviour {
    Behaviour {
        time_to_first_token_ms: 60.0,
        prefill_ms_per_token: 0.1,
        inter_token_ms: 15.0,
        jitter: 0.4,
        output_tokens: 30,
        ..Behaviour::default()
    }
}

/// Reads a scrape.
pub(super) fn read(text: &str) -> Result<Scrape> {
    Scrape::parse(text).context("the scrape cannot be read")
}

async fn fetch(address: SocketAddr) -> Result<String> {
    let socket = TcpStream::connect(address).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    let driving = tokio::spawn(connection);
    let request = hyper::Request::get(SCRAPE_PATH)
        .header(HOST, address.to_string())
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    driving.abort();
    let text = String::from_utf8(body.to_vec()).context("the scrape is not text")?;
    if !status.is_success() {
        bail!("status {status}: {text}");
    }
    Ok(text)
}

/// The end of a log.
pub(crate) fn last_lines(log: &str, count: usize) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let skipped = lines.len().saturating_sub(count);
    lines
        .into_iter()
        .skip(skipped)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scrape_listeners_configuration_is_accepted() {
        let parsed = plugin_config::parse(SCRAPE_CONFIGURATION.as_bytes()).unwrap();
        assert_eq!(parsed.config.scrape_path(), Some(SCRAPE_PATH));
        assert!(!parsed.config.observes() && parsed.warnings.is_empty());
    }

    #[test]
    fn the_end_of_a_log_is_its_last_lines() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }

    #[tokio::test]
    async fn an_answer_that_is_no_success_is_an_error() {
        let simulator = Simulator::start(Settings::default()).await.unwrap();
        let error = fetch(simulator.address()).await.unwrap_err();
        assert!(format!("{error:#}").contains("404"), "{error:#}");
    }
}
