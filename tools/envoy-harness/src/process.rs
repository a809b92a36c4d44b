//! One running Envoy: started, asked, and ended in every case.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use hyper::Method;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::{
    EnvoyBinary, EnvoyOptions, Listener,
    admin::{self, listener_address},
    bootstrap::{self, ACCESS_LOG_FILE, LISTENERS_FILE},
    guardian::Guardian,
    python_venv::last_lines,
};

/// How often a state that is waited for is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How long an Envoy that was asked to end may take before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A running Envoy with a directory of its own, killed when dropped.
///
/// Three nets keep an Envoy from being left behind: [`EnvoyProcess::stop`], the drop of this value, and a
/// small shell that kills it when the program that started it dies by whatever means.
#[derive(Debug)]
pub struct EnvoyProcess {
    child: Child,
    process_id: u32,
    guardian: Guardian,
    run_dir: TempDir,
    admin: Option<SocketAddr>,
}

impl EnvoyProcess {
    /// Starts Envoy with `options`; it is not ready yet, see [`EnvoyProcess::wait_ready`].
    ///
    /// # Errors
    ///
    /// When the run directory cannot be written or the binary cannot be started.
    pub fn start(binary: &EnvoyBinary, options: &EnvoyOptions) -> Result<EnvoyProcess> {
        let run_dir = new_run_dir()?;
        write_listeners(run_dir.path(), &options.listeners)?;
        let bootstrap = options.bootstrap(run_dir.path());
        EnvoyProcess::launch(binary, options, run_dir, &bootstrap.to_string())
    }

    /// Starts Envoy with a configuration in YAML or JSON; of `options` only the concurrency, the log level
    /// and the drain time count.
    ///
    /// # Errors
    ///
    /// As [`EnvoyProcess::start`].
    pub fn start_with(
        binary: &EnvoyBinary,
        options: &EnvoyOptions,
        configuration: &str,
    ) -> Result<EnvoyProcess> {
        EnvoyProcess::launch(binary, options, new_run_dir()?, configuration)
    }

    fn launch(
        binary: &EnvoyBinary,
        options: &EnvoyOptions,
        run_dir: TempDir,
        configuration: &str,
    ) -> Result<EnvoyProcess> {
        // Envoy chooses the parser by the file's name, and JSON is YAML too.
        let path = run_dir.path().join("bootstrap.yaml");
        fs::write(&path, configuration).context("cannot write the bootstrap")?;
        let log =
            File::create(run_dir.path().join("envoy.log")).context("cannot create the log")?;
        let errors = log.try_clone().context("cannot share the log")?;
        let child = Command::new(&binary.path)
            .arg("--config-path")
            .arg(&path)
            .arg("--admin-address-path")
            .arg(run_dir.path().join("admin.address"))
            .args(["--concurrency", &options.concurrency.to_string()])
            .args(["--log-level", &options.log_level])
            .args(["--drain-time-s", &options.drain.as_secs().to_string()])
            // Hot restart would tie all Envoys of one base id together through shared memory.
            .arg("--disable-hot-restart")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // An interrupt typed at the terminal is for the program that started Envoy, which then stops it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.path.display()))?;
        let process_id = child.id().context("Envoy ended before it was looked at")?;
        let guardian = Guardian::over(process_id)?;
        Ok(EnvoyProcess {
            child,
            process_id,
            guardian,
            run_dir,
            admin: None,
        })
    }

    /// Waits until Envoy says that it serves.
    ///
    /// # Errors
    ///
    /// When Envoy ends first (its last log lines are in the message) or is not ready within `limit`.
    pub async fn wait_ready(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().context("cannot wait for Envoy")? {
                bail!(
                    "Envoy ended with {status} instead of serving:\n{}",
                    self.log_tail()
                );
            }
            if self.is_ready().await {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "Envoy is not ready after {} s:\n{}",
                    limit.as_secs(),
                    self.log_tail()
                );
            }
            sleep(POLL).await;
        }
    }

    async fn is_ready(&mut self) -> bool {
        if self.admin.is_none() {
            let written = fs::read_to_string(self.run_dir.path().join("admin.address"));
            self.admin = written.ok().and_then(|text| text.trim().parse().ok());
        }
        match self.admin {
            Some(address) => admin::ask(address, Method::GET, "/ready")
                .await
                .is_ok_and(|answer| answer.status.is_success()),
            None => false,
        }
    }

    /// The address of the admin page, known once Envoy is ready.
    ///
    /// # Errors
    ///
    /// When Envoy has not said its admin address yet.
    pub fn admin_address(&self) -> Result<SocketAddr> {
        self.admin
            .context("the admin address is known once Envoy is ready")
    }

    /// The address that the listener of this name got.
    ///
    /// # Errors
    ///
    /// When there is no such listener, or the admin page does not answer.
    pub async fn listener_address(&self, name: &str) -> Result<SocketAddr> {
        let listeners = self.admin_get("/listeners?format=json").await?;
        listener_address(&listeners, name)
    }

    /// The port that the listener of this name got.
    ///
    /// # Errors
    ///
    /// As [`EnvoyProcess::listener_address`].
    pub async fn listener_port(&self, name: &str) -> Result<u16> {
        Ok(self.listener_address(name).await?.port())
    }

    /// The body of an admin page.
    ///
    /// # Errors
    ///
    /// When the page does not answer with success.
    pub async fn admin_get(&self, path: &str) -> Result<String> {
        self.admin_ask(Method::GET, path).await
    }

    /// The answer to a `POST` to an admin page, such as `/logging?wasm=debug`.
    ///
    /// # Errors
    ///
    /// When the page does not answer with success.
    pub async fn admin_post(&self, path: &str) -> Result<String> {
        self.admin_ask(Method::POST, path).await
    }

    async fn admin_ask(&self, method: Method, path: &str) -> Result<String> {
        let answer = admin::ask(self.admin_address()?, method, path).await?;
        if !answer.status.is_success() {
            bail!(
                "the admin page {path} answered {}: {}",
                answer.status,
                answer.body
            );
        }
        Ok(answer.body)
    }

    /// Replaces the list of listeners of an Envoy started with
    /// [`EnvoyOptions::dynamic_listeners`](crate::EnvoyOptions); the change is in force a moment later.
    ///
    /// # Errors
    ///
    /// When the list cannot be written.
    pub fn set_listeners(&self, listeners: &[Listener]) -> Result<()> {
        write_listeners(self.run_dir.path(), listeners)
    }

    /// The process id.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process_id
    }

    /// The directory of this run: bootstrap, logs, listener list. It goes when this value goes.
    #[must_use]
    pub fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    /// The path of Envoy's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.run_dir.path().join("envoy.log")
    }

    /// All that Envoy logged so far, the module's lines included.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// All that the access log holds so far.
    #[must_use]
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.run_dir.path().join(ACCESS_LOG_FILE)).unwrap_or_default()
    }

    /// Whether the process still runs.
    #[must_use]
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until Envoy ends by itself.
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().await.context("cannot wait for Envoy")
    }

    /// Ends Envoy by SIGTERM, after ten seconds by SIGKILL, and gives its whole log.
    ///
    /// # Errors
    ///
    /// When it had to be killed, or ended with anything but success; the message holds its last log lines.
    pub async fn stop(mut self) -> Result<String> {
        self.guardian.send("TERM")?;
        let Ok(ended) = timeout(STOP_LIMIT, self.child.wait()).await else {
            self.child.kill().await.context("cannot kill Envoy")?;
            bail!(
                "Envoy did not end within {} s:\n{}",
                STOP_LIMIT.as_secs(),
                self.log_tail()
            );
        };
        let status = ended.context("cannot wait for Envoy")?;
        if !status.success() {
            bail!("Envoy ended with {status}:\n{}", self.log_tail());
        }
        Ok(self.log())
    }

    fn log_tail(&self) -> String {
        last_lines(&self.log(), 20)
    }
}

/// Asks `binary` whether it accepts `configuration`, without serving.
///
/// # Errors
///
/// When Envoy refuses it; the message holds Envoy's reason.
pub async fn validate(binary: &EnvoyBinary, configuration: &str) -> Result<()> {
    let run_dir = new_run_dir()?;
    let path = run_dir.path().join("bootstrap.yaml");
    fs::write(&path, configuration).context("cannot write the configuration")?;
    let output = Command::new(&binary.path)
        .args([
            "--mode",
            "validate",
            "--disable-hot-restart",
            "--config-path",
        ])
        .arg(&path)
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("cannot start {}", binary.path.display()))?;
    if !output.status.success() {
        bail!(
            "Envoy refuses it: {}",
            last_lines(&String::from_utf8_lossy(&output.stderr), 6)
        );
    }
    Ok(())
}

fn new_run_dir() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("envoy-run-")
        .tempdir()
        .context("cannot create a directory for the run")
}

/// Writes the listener list beside its place and moves it there: Envoy watches for the move.
fn write_listeners(run_dir: &Path, listeners: &[Listener]) -> Result<()> {
    let list = bootstrap::listener_list(listeners, run_dir);
    let fresh = run_dir.join("listeners.fresh");
    fs::write(&fresh, list.to_string()).context("cannot write the listener list")?;
    fs::rename(&fresh, run_dir.join(LISTENERS_FILE)).context("cannot place the listener list")
}
