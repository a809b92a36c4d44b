//! A real OpenTelemetry Collector, built from its Go modules, which sends on what it gets to a receiver of the test's.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::go_program::{GoProgram, built, free_address, home, install, run};

/// The release; its modules go by the same number.
const VERSION: &str = "v0.165.0";

/// A running collector. It ends with this value.
#[derive(Debug)]
pub struct Collector {
    /// Where it takes OTLP over gRPC.
    pub grpc: SocketAddr,
    /// Where it takes OTLP over HTTP.
    pub http: SocketAddr,
    _program: GoProgram,
}

impl Collector {
    /// Starts one that sends all metrics on to `sink`, over HTTP. It is built first where that has not been done.
    ///
    /// # Errors
    ///
    /// When it cannot be built or does not start; its log is in the message.
    pub fn start(sink: SocketAddr) -> Result<Collector> {
        let home = home("otel-collector", VERSION)?;
        let program = program(&home)?;
        let [grpc, http] = [free_address()?, free_address()?];
        let configuration = home.join(format!("{}.yaml", grpc.port()));
        std::fs::write(&configuration, configured(grpc, http, sink))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&configuration);
        let log = home.join(format!("{}.log", grpc.port()));
        Ok(Collector {
            grpc,
            http,
            _program: GoProgram::start(&mut command, &log, &[grpc, http])?,
        })
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
