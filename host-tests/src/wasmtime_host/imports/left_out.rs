//! What a module may import and this host withholds, as capability restrictions do: the call is
//! traced and answered with `InternalFailure`.
//!
//! The dispatcher of the `proxy-wasm` crate holds all of it, so every module that uses the crate
//! imports it, called or not.

use wasmtime::Linker;

use super::{ENV, answer};
use crate::wasmtime_host::memory::Guest;
use crate::wasmtime_host::status::INTERNAL_FAILURE;
use crate::wasmtime_host::vm_state::VmState;

/// Links functions of one number of arguments.
macro_rules! withhold {
    ($linker:ident, $($name:literal)|+, $($argument:ident)+) => {
        for name in [$($name),+] {
            $linker.func_wrap(
                ENV,
                name,
                move |mut guest: Guest<'_>, $($argument: u32),+| {
                    let _unread = ($($argument),+,);
                    answer(&mut guest, name, |_| Ok(INTERNAL_FAILURE))
                },
            )?;
        }
    };
}

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    withhold!(
        linker,
        "proxy_continue_stream" | "proxy_close_stream" | "proxy_grpc_close",
        a
    );
    withhold!(
        linker,
        "proxy_set_header_map_pairs"
            | "proxy_remove_header_map_value"
            | "proxy_register_shared_queue"
            | "proxy_enqueue_shared_queue"
            | "proxy_dequeue_shared_queue",
        a b c
    );
    withhold!(linker, "proxy_grpc_send", a b c d);
    withhold!(
        linker,
        "proxy_add_header_map_value"
            | "proxy_replace_header_map_value"
            | "proxy_set_buffer_bytes"
            | "proxy_resolve_shared_queue",
        a b c d e
    );
    withhold!(linker, "proxy_call_foreign_function", a b c d e f);
    withhold!(linker, "proxy_grpc_stream", a b c d e f g h i);
    Ok(())
}
