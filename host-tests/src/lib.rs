//! Runs the built module: in a wasmtime host that is a value per test, and in real Envoy.
//!
//! Nothing here uses a plugin as Rust code: what is tested is the file that a proxy loads.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "this is a test bed and no data path: an overflow fails a test, loudly"
)]

pub mod capture_facts;
pub mod capture_replay;
pub mod captures;
pub mod collector_checks;
pub mod envoy_rig;
mod foreign_program;
pub mod go_program;
pub mod http1_message;
pub mod http2_lines;
pub mod metric_assert;
pub mod mixed_exchanges;
pub mod mixed_load;
pub mod module;
pub mod otlp_ledger;
pub mod push_rig;
pub mod real_collector;
pub mod real_llamacpp;
pub mod real_prometheus;
pub mod scenario;
pub mod scenario_answer;
pub mod scenario_bytes;
pub mod scenario_callbacks;
pub mod scenario_checks;
pub mod scenario_envoy;
pub mod scenario_native;
pub mod scenario_protobuf;
pub mod scripted_upstream;
pub mod span_checks;
pub mod test_client;
pub mod wasmtime_host;
