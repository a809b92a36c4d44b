//! Calls that the proxy sends to another server for this module.

use core::time::Duration;

use crate::error::{Call, HostError};

/// A request for the proxy to send.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The proxy's cluster to send it to.
    pub cluster: &'a str,
    /// The headers; the host demands `:method`, `:path` and `:authority`.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; the host copies it.
    pub body: &'a [u8],
    /// The time after which the host gives the call up; zero is never.
    pub timeout_millis: u32,
}

/// Sends a request; gives the number by which `on_http_call_response` of the same root context names its answer.
///
/// This is the one wrapper of the `proxy-wasm` crate in use, because its dispatcher traps on the answer to a call that
/// the wrapper has not sent. The wrapper knows the statuses that Envoy has for this call (`Ok`, `BadArgument` and
/// `InternalFailure`) and traps on any other.
///
/// # Errors
///
/// `BadArgument` where this thread does not know the cluster (it may be about to), `InternalFailure` where no host of
/// it can be reached or the proxy's capability restrictions leave calls out.
pub fn dispatch_http_call(request: &HttpRequest<'_>) -> Result<u32, HostError> {
    proxy_wasm::hostcalls::dispatch_http_call(
        request.cluster,
        request.headers.to_vec(),
        Some(request.body),
        Vec::new(),
        Duration::from_millis(u64::from(request.timeout_millis)),
    )
    .map_err(|status| HostError {
        call: Call::HttpCall,
        status: status as u32,
    })
}
