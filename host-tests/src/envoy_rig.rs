//! One real Envoy with the built module between a test client and a scripted upstream, and its scrapes.

use std::{
    io::Write as _,
    net::SocketAddr,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use envoy_harness::{
    EnvoyBinary, EnvoyOptions, EnvoyProcess, HttpFilter, Listener, Route, Upstream, WasmPlugin,
};
use serde_json::Value;

use crate::{
    metric_assert::Exposition,
    module::{built_module, workspace_root},
    test_client::{Answer, Ask, Http1Client},
};

/// The environment variable that asks for another Envoy than the newest.
pub const VERSION_VARIABLE: &str = "INFEROMETER_ENVOY";
/// How often a worker publishes in a test: the shortest that a configuration may ask for.
pub const TICK: Duration = Duration::from_millis(100);
/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a rig is made of.
#[derive(Clone, Debug)]
pub struct RigPlan {
    /// Worker threads.
    pub workers: u32,
    /// Members of the observing configuration besides the tick.
    pub observe: Value,
    /// Filters before the module.
    pub filters_before: Vec<Value>,
    /// The route's timeout; zero is none.
    pub route_timeout: Duration,
    /// The cluster's connect timeout.
    pub connect_timeout: Duration,
    /// HTTP/2 towards the upstream.
    pub http2_upstream: bool,
    /// A second listener, `plain`, to the same upstream without the module.
    pub plain_listener: bool,
    /// Listeners come from a file.
    pub dynamic_listeners: bool,
    /// `stats_config` of the bootstrap.
    pub stats_config: Option<Value>,
}

impl Default for RigPlan {
    fn default() -> RigPlan {
        RigPlan {
            workers: 2,
            observe: Value::Object(serde_json::Map::new()),
            filters_before: Vec::new(),
            route_timeout: Duration::ZERO,
            connect_timeout: Duration::from_secs(5),
            http2_upstream: false,
            plain_listener: false,
            dynamic_listeners: false,
            stats_config: None,
        }
    }
}

/// A running rig.
#[derive(Debug)]
pub struct EnvoyRig {
    /// The Envoy.
    pub envoy: EnvoyProcess,
    /// Its listeners, as they were started.
    pub listeners: Vec<Listener>,
    /// Where requests are observed.
    pub observe: SocketAddr,
    /// Where the metrics are.
    pub scrape: SocketAddr,
}

/// The Envoy that this run of the tests is about, found or fetched once.
///
/// # Errors
///
/// When there is none; the message says what to do.
pub fn envoy_binary() -> Result<EnvoyBinary> {
    static FOUND: Mutex<Option<EnvoyBinary>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(binary) = &*found {
        return Ok(binary.clone());
    }
    let asked = std::env::var(VERSION_VARIABLE).ok();
    // A binary that the caller names by hand is taken whatever its version.
    let version = match &asked {
        Some(version) => Some(version.as_str()),
        None if std::env::var_os("ENVOY_BIN").is_some() => None,
        None => Some(envoy_harness::NEWEST),
    };
    let tools = workspace_root().join("target/tools");
    let binary = envoy_harness::locate(version, &tools, &mut say)?;
    say(&format!(
        "Envoy {} from {}: {}",
        binary.version,
        binary.source,
        binary.path.display()
    ));
    *found = Some(binary.clone());
    Ok(binary)
}

/// A configuration with the test's short tick.
#[must_use]
pub fn with_tick(configuration: &Value) -> String {
    let mut configuration = configuration.clone();
    if let Some(members) = configuration.as_object_mut() {
        let tick = format!("{}ms", TICK.as_millis());
        members.entry("tick").or_insert_with(|| Value::from(tick));
    }
    configuration.to_string()
}

/// The configuration of a scrape listener.
#[must_use]
pub fn scrape_configuration() -> Value {
    serde_json::json!({"observe": false, "scrape": {"path": "/metrics"}})
}

impl RigPlan {
    /// The listeners of this plan, all in front of cluster `upstream`.
    #[must_use]
    pub fn listeners(&self, module: PathBuf) -> Vec<Listener> {
        let plugin = WasmPlugin::new(module);
        let mut plain = Listener::to_upstream("plain", "upstream");
        plain.route = Route::Upstream {
            cluster: "upstream".to_owned(),
            timeout: self.route_timeout,
            host_rewrite: None,
        };
        plain.filters = self
            .filters_before
            .iter()
            .cloned()
            .map(HttpFilter::Raw)
            .collect();
        let mut observe = plain.clone();
        observe.name = "observe".to_owned();
        let configured = plugin
            .clone()
            .rooted("observe")
            .configured(&with_tick(&self.observe));
        observe.filters.push(HttpFilter::Wasm(configured));
        let scraping = plugin
            .rooted("scrape")
            .configured(&with_tick(&scrape_configuration()));
        let scrape = Listener::replying("scrape", 404).with_filter(HttpFilter::Wasm(scraping));
        let mut listeners = vec![observe, scrape];
        if self.plain_listener {
            listeners.push(plain);
        }
        listeners
    }

    /// What Envoy is started with.
    #[must_use]
    pub fn options(&self, module: PathBuf, upstream: SocketAddr) -> EnvoyOptions {
        let mut cluster = Upstream::at("upstream", upstream);
        cluster.connect_timeout = self.connect_timeout;
        if self.http2_upstream {
            cluster = cluster.http2();
        }
        let mut options = EnvoyOptions::new();
        options.concurrency = self.workers;
        options.listeners = self.listeners(module);
        options.upstreams = vec![cluster];
        options.dynamic_listeners = self.dynamic_listeners;
        options.stats_config.clone_from(&self.stats_config);
        options
    }

    /// Starts Envoy with the built module in front of `upstream`.
    ///
    /// # Errors
    ///
    /// When there is no module or no Envoy, or Envoy does not serve.
    pub async fn start(&self, upstream: SocketAddr) -> Result<EnvoyRig> {
        EnvoyRig::start(self.options(built_module()?, upstream)).await
    }
}

impl EnvoyRig {
    /// Starts Envoy with options that have the listeners `observe` and `scrape` among theirs.
    ///
    /// # Errors
    ///
    /// When there is no Envoy, or it does not serve.
    pub async fn start(options: EnvoyOptions) -> Result<EnvoyRig> {
        let binary = tokio::task::spawn_blocking(envoy_binary).await??;
        let mut envoy = EnvoyProcess::start(&binary, &options)?;
        envoy.wait_ready(Duration::from_secs(30)).await?;
        let observe = listener(&envoy, "observe").await?;
        let scrape = listener(&envoy, "scrape").await?;
        Ok(EnvoyRig {
            envoy,
            listeners: options.listeners,
            observe,
            scrape,
        })
    }

    /// The address of a listener, waited for where listeners come from a file.
    ///
    /// # Errors
    ///
    /// When it does not appear.
    pub async fn listener(&self, name: &str) -> Result<SocketAddr> {
        listener(&self.envoy, name).await
    }

    /// The metrics page, with the `accept` header given.
    ///
    /// # Errors
    ///
    /// When it does not answer 200.
    pub async fn scrape_answer(&self, accept: Option<&str>) -> Result<Answer> {
        scrape_at(self.scrape, accept).await
    }

    /// The metrics page, read.
    ///
    /// # Errors
    ///
    /// When it does not answer 200, or holds what no scrape may hold.
    pub async fn scrape(&self) -> Result<Exposition> {
        let text = self.scrape_answer(None).await?.text();
        Exposition::parse(&text).map_err(|error| anyhow::anyhow!("{error}\nin:\n{text}"))
    }

    /// Scrapes until `enough` says so, and gives that scrape.
    ///
    /// # Errors
    ///
    /// When it does not within [`PATIENCE`]; `what` is in the message.
    pub async fn scrape_until(
        &self,
        what: &str,
        mut enough: impl FnMut(&Exposition) -> bool,
    ) -> Result<Exposition> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let scrape = self.scrape().await?;
            if enough(&scrape) {
                return Ok(scrape);
            }
            if Instant::now() > deadline {
                let samples: Vec<String> = scrape
                    .samples()
                    .iter()
                    .filter(|sample| !sample.name.ends_with("_bucket"))
                    .map(ToString::to_string)
                    .collect();
                bail!(
                    "{what} did not come; the scrape holds:\n{}",
                    samples.join("\n")
                );
            }
            tokio::time::sleep(TICK / 5).await;
        }
    }

    /// Waits until all workers have published all they know, and gives the scrape then.
    ///
    /// # Errors
    ///
    /// As [`EnvoyRig::scrape`].
    pub async fn scrape_settled(&self) -> Result<Exposition> {
        tokio::time::sleep(TICK * 5 / 2).await;
        self.scrape().await
    }

    /// Stops Envoy and looks for wasm failures in its log.
    ///
    /// # Errors
    ///
    /// When Envoy ended badly, or its log tells of a failure of the module.
    pub async fn stop(self) -> Result<String> {
        let log = self.envoy.stop().await?;
        refuse_failures(&log)?;
        Ok(log)
    }
}

/// The metrics page at an address.
///
/// # Errors
///
/// When it does not answer 200.
pub async fn scrape_at(scrape: SocketAddr, accept: Option<&str>) -> Result<Answer> {
    let mut ask = Ask::new("GET", "/metrics");
    if let Some(accept) = accept {
        ask = ask.header("accept", accept);
    }
    let answer = Http1Client::once(scrape, &ask).await?;
    if answer.status != 200 {
        bail!(
            "the scrape answered {} ({:?}): {}",
            answer.status,
            answer.ending,
            answer.text()
        );
    }
    Ok(answer)
}

/// Looks for what Envoy logs when a wasm VM fails or a module complains of itself.
///
/// # Errors
///
/// When the log holds such a line, with the lines.
pub fn refuse_failures(log: &str) -> Result<()> {
    const SIGNS: [&str; 7] = [
        "[critical]",
        "Uncaught RuntimeError",
        "wasm_fail_stream",
        "panicked at",
        "Proxy-Wasm plugin in-VM backtrace",
        "Wasm VM failed",
        "failed to load",
    ];
    let bad: Vec<&str> = log
        .lines()
        .filter(|line| SIGNS.iter().any(|sign| line.contains(sign)))
        .collect();
    if !bad.is_empty() {
        bail!("Envoy's log tells of failures:\n{}", bad.join("\n"));
    }
    Ok(())
}

async fn listener(envoy: &EnvoyProcess, name: &str) -> Result<SocketAddr> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match envoy.listener_address(name).await {
            Ok(address) => return Ok(address),
            Err(error) if Instant::now() > deadline => return Err(error).context(envoy.log()),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Says what a test really runs, past the capture of the test's output, so that nobody has to guess it from a line of
/// dots.
pub fn say(line: &str) {
    // Where nobody can read it, nothing is lost.
    let _ = writeln!(std::io::stderr(), "{line}");
}
