//! A real Prometheus with its receiver of OTLP, built from its Go module, and what it says that it holds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::foreign_program::{ForeignProgram, free_address, home};
use crate::go_program::{built, install};
use crate::metric_assert::{Exposition, Sample};
use crate::test_client::{Ask, Http1Client};

/// The release.
const VERSION: &str = "v0.316.0";
/// Where it takes metrics.
pub const METRICS_PATH: &str = "/api/v1/otlp/v1/metrics";

/// A running Prometheus. It ends with this value.
#[derive(Debug)]
pub struct Prometheus {
    /// Where it listens.
    pub address: SocketAddr,
    _program: ForeignProgram,
    _data: tempfile::TempDir,
}

impl Prometheus {
    /// Starts one. It is built first where that has not been done.
    ///
    /// # Errors
    ///
    /// When it cannot be built or does not start; its log is in the message.
    pub fn start() -> Result<Prometheus> {
        let home = home("prometheus", VERSION)?;
        let what = format!("a Prometheus {VERSION}, for a quarter of an hour");
        let program = built(home.join("prometheus"), &what, || {
            let module = format!("github.com/prometheus/prometheus/cmd/prometheus@{VERSION}");
            install(&module, &home)
        })?;
        let data = tempfile::tempdir()?;
        let configuration = data.path().join("prometheus.yml");
        std::fs::write(&configuration, "global: {}\n")?;
        let address = free_address()?;
        let mut command = Command::new(program);
        command
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                data.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--web.enable-otlp-receiver");
        let log = home.join(format!("{}.log", address.port()));
        Ok(Prometheus {
            address,
            _program: ForeignProgram::start(&mut command, &log, &[address])?,
            _data: data,
        })
    }

    /// All series that are the module's and not about itself, without the labels that the receiver adds.
    ///
    /// # Errors
    ///
    /// When it does not answer as it should.
    pub async fn holds(&self) -> Result<Exposition> {
        // {__name__=~"inference_.*|gen_ai_.*|token_.*"}
        let query =
            "/api/v1/query?query=%7B__name__%3D~%22inference_.*%7Cgen_ai_.*%7Ctoken_.*%22%7D";
        let answer = Http1Client::once(self.address, &Ask::new("GET", query)).await?;
        let answer: Value = serde_json::from_str(&answer.text())?;
        let series = answer.pointer("/data/result").and_then(Value::as_array);
        let series = series.with_context(|| format!("an odd answer: {answer}"))?;
        let samples: Result<Vec<Sample>> = series.iter().map(sample).collect();
        Ok(Exposition::of(samples?))
    }
}

fn sample(series: &Value) -> Result<Sample> {
    let labels = series.get("metric").and_then(Value::as_object);
    let mut labels: BTreeMap<String, String> = labels
        .context("a series without labels")?
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    for added in ["job", "instance"] {
        labels.remove(added);
    }
    let value = series.pointer("/value/1").and_then(Value::as_str);
    Ok(Sample {
        name: labels.remove("__name__").unwrap_or_default(),
        labels,
        value: value.context("a series without a value")?.parse()?,
    })
}
