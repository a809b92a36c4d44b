//! The functions that a module exports for its host.

use anyhow::bail;
use wasmtime::{Instance, Store, TypedFunc, WasmParams, WasmResults};

use super::memory::GuestMemory;
use super::module::plain;
use super::vm_state::VmState;

/// A callback with these arguments and this result; a module may leave it out.
pub(super) type Callback<Arguments, Answer> = Option<TypedFunc<Arguments, Answer>>;

/// All callbacks that this host makes.
pub(super) struct Callbacks {
    pub(super) initialize: Callback<(), ()>,
    pub(super) context_create: Callback<(u32, u32), ()>,
    pub(super) vm_start: Callback<(u32, u32), u32>,
    pub(super) configure: Callback<(u32, u32), u32>,
    pub(super) tick: Callback<u32, ()>,
    pub(super) done: Callback<u32, u32>,
    pub(super) log: Callback<u32, ()>,
    pub(super) delete: Callback<u32, ()>,
    pub(super) request_headers: Callback<(u32, u32, u32), u32>,
    pub(super) request_body: Callback<(u32, u32, u32), u32>,
    pub(super) request_trailers: Callback<(u32, u32), u32>,
    pub(super) response_headers: Callback<(u32, u32, u32), u32>,
    pub(super) response_body: Callback<(u32, u32, u32), u32>,
    pub(super) response_trailers: Callback<(u32, u32), u32>,
    pub(super) http_call_response: Callback<(u32, u32, u32, u32, u32), ()>,
    pub(super) grpc_receive: Callback<(u32, u32, u32), ()>,
    pub(super) grpc_close: Callback<(u32, u32, u32), ()>,
}

impl Callbacks {
    /// Finds a module's callbacks.
    ///
    /// # Errors
    ///
    /// When the module does not speak the ABI, or a callback has another signature.
    pub(super) fn of(
        instance: &Instance,
        store: &mut Store<VmState>,
    ) -> anyhow::Result<(Callbacks, GuestMemory)> {
        let mut speaks = |version: &str| instance.get_func(&mut *store, version).is_some();
        if !speaks("proxy_abi_version_0_2_1") && !speaks("proxy_abi_version_0_2_0") {
            bail!("the module exports no proxy_abi_version_0_2_x");
        }
        let Some(memory) = instance.get_memory(&mut *store, "memory") else {
            bail!("the module exports no memory");
        };
        let allocate = match export(instance, store, "malloc")? {
            Some(allocate) => Some(allocate),
            None => export(instance, store, "proxy_on_memory_allocate")?,
        };
        let Some(allocate) = allocate else {
            bail!("the module exports neither malloc nor proxy_on_memory_allocate");
        };
        let callbacks = Callbacks {
            initialize: export(instance, store, "_initialize")?,
            context_create: export(instance, store, "proxy_on_context_create")?,
            vm_start: export(instance, store, "proxy_on_vm_start")?,
            configure: export(instance, store, "proxy_on_configure")?,
            tick: export(instance, store, "proxy_on_tick")?,
            done: export(instance, store, "proxy_on_done")?,
            log: export(instance, store, "proxy_on_log")?,
            delete: export(instance, store, "proxy_on_delete")?,
            request_headers: export(instance, store, "proxy_on_request_headers")?,
            request_body: export(instance, store, "proxy_on_request_body")?,
            request_trailers: export(instance, store, "proxy_on_request_trailers")?,
            response_headers: export(instance, store, "proxy_on_response_headers")?,
            response_body: export(instance, store, "proxy_on_response_body")?,
            response_trailers: export(instance, store, "proxy_on_response_trailers")?,
            http_call_response: export(instance, store, "proxy_on_http_call_response")?,
            grpc_receive: export(instance, store, "proxy_on_grpc_receive")?,
            grpc_close: export(instance, store, "proxy_on_grpc_close")?,
        };
        Ok((callbacks, GuestMemory { memory, allocate }))
    }
}

fn export<Arguments: WasmParams, Answer: WasmResults>(
    instance: &Instance,
    store: &mut Store<VmState>,
    name: &str,
) -> anyhow::Result<Callback<Arguments, Answer>> {
    if instance.get_func(&mut *store, name).is_none() {
        return Ok(None);
    }
    let function = instance.get_typed_func(&mut *store, name).map_err(plain)?;
    Ok(Some(function))
}
