//! The functions a module may import: those of the ABI, and a handful of WASI's.

mod calls;
mod environment;
mod left_out;
mod outside;
mod shared;
mod stream;
mod time;

use wasmtime::{Linker, Module, bail};

use super::memory::Guest;
use super::vm_state::VmState;

/// The import module of the ABI's functions.
const ENV: &str = "env";
/// The import module of WASI's functions.
const WASI: &str = "wasi_snapshot_preview1";

/// Every function this host has, by the name that refusals and traces use.
pub const HOSTCALLS: &[&str] = &[
    "proxy_log",
    "proxy_get_log_level",
    "proxy_get_current_time_nanoseconds",
    "proxy_set_tick_period_milliseconds",
    "proxy_get_buffer_bytes",
    "proxy_set_buffer_bytes",
    "proxy_get_header_map_pairs",
    "proxy_set_header_map_pairs",
    "proxy_get_header_map_value",
    "proxy_add_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_remove_header_map_value",
    "proxy_get_property",
    "proxy_set_property",
    "proxy_get_shared_data",
    "proxy_set_shared_data",
    "proxy_define_metric",
    "proxy_get_metric",
    "proxy_record_metric",
    "proxy_increment_metric",
    "proxy_register_shared_queue",
    "proxy_resolve_shared_queue",
    "proxy_enqueue_shared_queue",
    "proxy_dequeue_shared_queue",
    "proxy_send_local_response",
    "proxy_continue_stream",
    "proxy_close_stream",
    "proxy_http_call",
    "proxy_grpc_call",
    "proxy_grpc_stream",
    "proxy_grpc_send",
    "proxy_grpc_close",
    "proxy_grpc_cancel",
    "proxy_get_status",
    "proxy_set_effective_context",
    "proxy_done",
    "proxy_call_foreign_function",
    "clock_time_get",
    "random_get",
    "environ_sizes_get",
    "environ_get",
];

/// What the real host lets through while a module starts or allocates.
const UNRESTRICTED: &[&str] = &["proxy_log", "clock_time_get", "random_get"];

/// A linker with every function.
///
/// # Errors
///
/// Never, unless two functions have one name.
pub(super) fn linker(module: &Module) -> wasmtime::Result<Linker<VmState>> {
    let mut linker = Linker::new(module.engine());
    stream::link(&mut linker)?;
    shared::link(&mut linker)?;
    outside::link(&mut linker)?;
    calls::link(&mut linker)?;
    left_out::link(&mut linker)?;
    time::link(&mut linker)?;
    environment::link(&mut linker)?;
    Ok(linker)
}

/// The imports of a module that this host lacks; Envoy would not load it either, or this host has
/// to learn them.
pub(super) fn missing(module: &Module) -> Vec<String> {
    let known = |from: &str, name: &str| {
        let is_wasi = !name.starts_with("proxy_");
        HOSTCALLS.contains(&name) && from == if is_wasi { WASI } else { ENV }
    };
    module
        .imports()
        .filter(|import| !known(import.module(), import.name()))
        .map(|import| format!("{}.{}", import.module(), import.name()))
        .collect()
}

/// Runs one hostcall: it is traced, it may be forbidden now, it may be refused, or it works.
fn answer(
    guest: &mut Guest<'_>,
    name: &'static str,
    work: impl FnOnce(&mut Guest<'_>) -> wasmtime::Result<u32>,
) -> wasmtime::Result<u32> {
    answer_unless(guest, name, |_| false, work)
}

/// As [`answer`], where some refusals would be lies that no host can tell.
fn answer_unless(
    guest: &mut Guest<'_>,
    name: &'static str,
    is_a_lie: impl FnOnce(u32) -> bool,
    work: impl FnOnce(&mut Guest<'_>) -> wasmtime::Result<u32>,
) -> wasmtime::Result<u32> {
    let state = guest.data_mut();
    state.trace.hostcall(name);
    if state.restricted && !UNRESTRICTED.contains(&name) {
        bail!("restricted_callback: {name} may not be called while the module starts or allocates");
    }
    let refused = state.process.borrow_mut().refusals.take(name, state.number);
    match refused {
        Some(status) if !is_a_lie(status) => Ok(status),
        _ => work(guest),
    }
}

/// The bytes at a place, or the end of the hostcall.
macro_rules! read_or_return {
    ($read:expr) => {
        match $read {
            Some(value) => value,
            None => return Ok($crate::wasmtime_host::status::INVALID_MEMORY_ACCESS),
        }
    };
}
use read_or_return;

/// The status of one of WASI's functions for a write that did or did not fit.
fn wasi_written(fits: bool) -> u32 {
    if fits {
        super::status::OK
    } else {
        super::status::WASI_FAULT
    }
}

/// The status for a write that did or did not fit.
fn written(fits: bool) -> u32 {
    if fits {
        super::status::OK
    } else {
        super::status::INVALID_MEMORY_ACCESS
    }
}
