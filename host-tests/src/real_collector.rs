//! A real OpenTelemetry Collector, built from its Go modules, which sends on what it gets to a receiver of the test's.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::envoy_rig::say;
use crate::module::workspace_root;

/// The release; its modules go by the same number.
const VERSION: &str = "v0.165.0";

/// A running collector. It ends with this value.
#[derive(Debug)]
pub struct Collector {
    /// Where it takes OTLP over gRPC.
    pub grpc: SocketAddr,
    /// Where it takes OTLP over HTTP.
    pub http: SocketAddr,
    child: Child,
    log: PathBuf,
}

impl Collector {
    /// Whether there is a Go to build it with.
    #[must_use]
    pub fn can_be_built() -> bool {
        let go = Command::new("go").arg("version").output();
        go.is_ok_and(|output| output.status.success())
    }

    /// Starts one that sends all metrics on to `sink`, over HTTP. It is built first where that has not been done.
    ///
    /// # Errors
    ///
    /// When it cannot be built or does not start; its log is in the message.
    pub fn start(sink: SocketAddr) -> Result<Collector> {
        let home = workspace_root()
            .join("target/tools")
            .join(format!("otel-collector-{VERSION}"));
        let program = built(&home)?;
        let [grpc, http] = [free_address()?, free_address()?];
        let configuration = home.join(format!("{}.yaml", grpc.port()));
        std::fs::write(&configuration, configured(grpc, http, sink))?;
        let log = home.join(format!("{}.log", grpc.port()));
        let errors = std::fs::File::create(&log)?;
        let child = Command::new(program)
            .arg("--config")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .context("cannot start the collector")?;
        let mut collector = Collector {
            grpc,
            http,
            child,
            log,
        };
        collector.wait()?;
        Ok(collector)
    }

    fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        for address in [self.grpc, self.http] {
            while TcpStream::connect(address).is_err() {
                let has_ended = self.child.try_wait()?.is_some();
                if has_ended || Instant::now() > deadline {
                    let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                    bail!("the collector does not listen; its log:\n{log}");
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configured(grpc: SocketAddr, http: SocketAddr, sink: SocketAddr) -> String {
    format!(
        "receivers:
  otlp:
    protocols:
      grpc: {{endpoint: \"{grpc}\"}}
      http: {{endpoint: \"{http}\"}}
exporters:
  otlp_http: {{endpoint: \"http://{sink}\", compression: none, sending_queue: {{enabled: false}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    metrics: {{receivers: [otlp], exporters: [otlp_http]}}
"
    )
}

/// The program, built where it is not there.
fn built(home: &Path) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let program = home.join("build/collector");
    if program.exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(home)?;
    let manifest = home.join("manifest.yaml");
    std::fs::write(
        &manifest,
        format!(
            "dist: {{name: collector, output_path: {}, version: {}}}
receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}}}]
exporters: [{{gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter {VERSION}}}]
",
            home.join("build").display(),
            VERSION.trim_start_matches('v'),
        ),
    )?;
    say(&format!(
        "building an OpenTelemetry Collector {VERSION}: about four minutes, once"
    ));
    let builder = format!("go.opentelemetry.io/collector/cmd/builder@{VERSION}");
    run(Command::new("go")
        .args(["install", &builder])
        .env("GOBIN", home))?;
    run(Command::new(home.join("builder"))
        .arg("--config")
        .arg(&manifest))?;
    ensure!(program.exists(), "the builder has made no collector");
    Ok(program)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// An address that nobody listens at. Between this and its use somebody else may take it, and the test then fails.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}
