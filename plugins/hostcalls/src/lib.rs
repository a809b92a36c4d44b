//! The only door to the proxy: hostcalls with their statuses as values and their data as bytes.
//!
//! The wrappers of the `proxy-wasm` crate panic on a status they do not expect and on text that is
//! not UTF-8, and a panic ends every stream of the worker. So this crate declares the host's
//! functions itself, takes each status as the `u32` it is on the wire, and never interprets text.
//!
//! # What this crate does not do
//!
//! It sends no gRPC calls: the proxy shows of their failures a code and a text, but not the trailers that tell when to
//! try again. A gRPC request is an HTTP call here, framed by the caller.
#![allow(
    unsafe_code,
    reason = "the ABI passes raw pointers; nothing outside this crate may"
)]

mod abi;
mod call;
mod clock;
mod data;
mod error;
mod header_pairs;
mod metric;
mod process;
mod stream;

pub use call::{HttpRequest, dispatch_http_call};
pub use clock::{monotonic_nanos, set_tick_period_millis, wall_nanos};
pub use data::{set_shared_data, shared_data};
pub use error::{Call, HostError};
pub use header_pairs::{HeaderIter, HeaderPairs};
pub use metric::{MetricKind, define_metric, increment_metric, record_metric};
pub use process::{environment, random_bytes};
pub use stream::{
    Body, Headers, body, header, headers, plugin_configuration, property, property_u64,
    send_local_response,
};

/// How loud a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LogLevel {
    /// Shown at the proxy's level `info` and below.
    Info = 2,
    /// Something works less well than it should.
    Warn = 3,
    /// Something was refused.
    Error = 4,
}

/// Writes a line to the proxy's log; a host that refuses leaves nothing else to do.
pub fn log(level: LogLevel, message: &str) {
    // SAFETY: the pointer and length describe a live string, and the host only reads it.
    let _refused = unsafe { abi::proxy_log(level as u32, message.as_ptr(), message.len()) };
}
