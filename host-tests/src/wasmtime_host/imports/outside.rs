//! The log, and what concerns contexts as such.

use wasmtime::Linker;

use super::{ENV, answer, read_or_return, written};
use crate::wasmtime_host::memory::{Guest, read_text, write};
use crate::wasmtime_host::process::LogLine;
use crate::wasmtime_host::status;
use crate::wasmtime_host::vm_state::VmState;

/// The ABI's highest log level.
const CRITICAL: u32 = 5;
/// What this host says it logs: all levels from `info` on.
const LOG_LEVEL: u32 = 2;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_log",
        |mut guest: Guest<'_>, level: u32, text: u32, size: u32| {
            answer(&mut guest, "proxy_log", |guest| {
                if level > CRITICAL {
                    return Ok(status::BAD_ARGUMENT);
                }
                let text = read_or_return!(read_text(guest, text, size));
                let vm = guest.data().number;
                let line = LogLine { vm, level, text };
                guest.data().process.borrow_mut().log.push(line);
                Ok(status::OK)
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_log_level",
        |mut guest: Guest<'_>, level: u32| {
            answer(&mut guest, "proxy_get_log_level", |guest| {
                Ok(written(write(guest, level, &LOG_LEVEL.to_le_bytes())))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_effective_context",
        |mut guest: Guest<'_>, context: u32| {
            answer(&mut guest, "proxy_set_effective_context", |guest| {
                if guest.data_mut().set_effective(context) {
                    Ok(status::OK)
                } else {
                    Ok(status::BAD_ARGUMENT)
                }
            })
        },
    )?;
    linker.func_wrap(ENV, "proxy_done", |mut guest: Guest<'_>| {
        answer(&mut guest, "proxy_done", |guest| {
            let root = guest.data().root_id();
            match guest.data_mut().root_mut(root) {
                Some(root) if root.pending_done => {
                    root.pending_done = false;
                    Ok(status::OK)
                }
                _ => Ok(status::NOT_FOUND),
            }
        })
    })?;
    Ok(())
}
