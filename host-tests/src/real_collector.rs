//! Real collectors, which send on what they get to a receiver of the test's: the OpenTelemetry Collector, built from its
//! Go modules, and Rotel, which Python's index has as a package.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use envoy_harness::python_venv;

use crate::envoy_rig::say;
use crate::foreign_program::{ForeignProgram, free_address, home};
use crate::go_program::{built, install, run};
use crate::module::workspace_root;

/// The collector's release; its modules go by the same number.
const VERSION: &str = "v0.165.0";

/// Rotel's release.
const ROTEL: &str = "rotel==0.0.1a15";

/// A running collector. It ends with this value.
#[derive(Debug)]
pub struct Collector {
    /// Which, and of what version.
    pub name: String,
    /// Where it takes OTLP over gRPC.
    pub grpc: SocketAddr,
    /// Where it takes OTLP over HTTP.
    pub http: SocketAddr,
    _program: ForeignProgram,
}

impl Collector {
    /// Starts the OpenTelemetry Collector, which sends all on to `sink`, over HTTP. It is built first where that has
    /// not been done.
    ///
    /// # Errors
    ///
    /// When it cannot be built or does not start; its log is in the message.
    pub fn opentelemetry(sink: SocketAddr) -> Result<Collector> {
        let home = home("otel-collector", VERSION)?;
        let program = program(&home)?;
        let [grpc, http] = [free_address()?, free_address()?];
        let configuration = home.join(format!("{}.yaml", grpc.port()));
        std::fs::write(&configuration, configured(grpc, http, sink))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&configuration);
        let log = home.join(format!("{}.log", grpc.port()));
        Ok(Collector {
            name: format!("an OpenTelemetry Collector {VERSION}"),
            grpc,
            http,
            _program: ForeignProgram::start(&mut command, &log, &[grpc, http])?,
        })
    }

    /// Starts Rotel, which sends all on to `sink`, over HTTP. It is fetched first where that has not been done.
    ///
    /// # Errors
    ///
    /// When it cannot be had or does not start; its log is in the message.
    pub fn rotel(sink: SocketAddr) -> Result<Collector> {
        let tools = workspace_root().join("target/tools");
        let environment = python_venv::ensure(&tools, &ROTEL.replace("==", "-"), ROTEL, &mut say)?;
        let [grpc, http] = [free_address()?, free_address()?];
        let files = home("rotel-runs", "logs")?;
        let mut command = Command::new(rotel_program(&environment)?);
        command
            .args(["start", "--exporter", "otlp"])
            .args(["--otlp-exporter-protocol", "http"])
            .args(["--otlp-exporter-compression", "none"])
            .arg(format!("--otlp-exporter-endpoint=http://{sink}"))
            .arg(format!("--otlp-grpc-endpoint={grpc}"))
            .arg(format!("--otlp-http-endpoint={http}"))
            .arg("--pid-file")
            .arg(files.join(format!("{}.pid", grpc.port())));
        let log = files.join(format!("{}.log", grpc.port()));
        Ok(Collector {
            name: ROTEL.replace("==", " "),
            grpc,
            http,
            _program: ForeignProgram::start(&mut command, &log, &[grpc, http])?,
        })
    }
}

/// The program in Rotel's package, wherever this Python keeps its packages.
fn rotel_program(environment: &Path) -> Result<PathBuf> {
    let script =
        "import rotel, pathlib; print(pathlib.Path(rotel.__file__).with_name('rotel-agent'))";
    let output = Command::new(python_venv::interpreter(environment))
        .args(["-c", script])
        .output()
        .context("cannot run Python")?;
    let path = String::from_utf8(output.stdout)?;
    Ok(PathBuf::from(path.trim_end()))
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
    traces: {{receivers: [otlp], exporters: [otlp_http]}}
    logs: {{receivers: [otlp], exporters: [otlp_http]}}
"
    )
}

fn program(home: &Path) -> Result<PathBuf> {
    let what = format!("an OpenTelemetry Collector {VERSION}, for about four minutes");
    built(home.join("build/collector"), &what, || {
        let manifest = home.join("manifest.yaml");
        let text = format!(
            "dist: {{name: collector, output_path: {}, version: {}}}
receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}}}]
exporters: [{{gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter {VERSION}}}]
",
            home.join("build").display(),
            VERSION.trim_start_matches('v'),
        );
        std::fs::write(&manifest, text)?;
        install(
            &format!("go.opentelemetry.io/collector/cmd/builder@{VERSION}"),
            home,
        )?;
        run(Command::new(home.join("builder"))
            .arg("--config")
            .arg(&manifest))
    })
}
