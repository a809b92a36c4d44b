//! Shared data and the proxy's own stats.

use wasmtime::Linker;

use super::{ENV, answer, answer_unless, read_or_return, written};
use crate::wasmtime_host::memory::{Guest, give, read, read_text, write};
use crate::wasmtime_host::stats::StatKey;
use crate::wasmtime_host::status;
use crate::wasmtime_host::vm_state::VmState;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    link_shared_data(linker)?;
    link_stats(linker)
}

fn link_shared_data(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_get_shared_data",
        |mut guest: Guest<'_>, key: u32, key_size: u32, data: u32, size: u32, cas: u32| {
            answer(&mut guest, "proxy_get_shared_data", |guest| {
                let key = read_or_return!(read(guest, key, key_size));
                let state = guest.data();
                let process = state.process.borrow();
                let Some(entry) = process.shared_data.get(&state.vm_id, &key).cloned() else {
                    return Ok(status::NOT_FOUND);
                };
                drop(process);
                let fits = give(guest, &entry.value, data, size)?
                    && write(guest, cas, &entry.cas.to_le_bytes());
                Ok(written(fits))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_shared_data",
        |mut guest: Guest<'_>, key: u32, key_size: u32, value: u32, value_size: u32, cas: u32| {
            // A key that is absent can be written by anybody: that cannot be lost to another write.
            let absent = is_absent(&guest, key, key_size);
            let is_a_lie = |refusal| absent && refusal == status::CAS_MISMATCH;
            answer_unless(&mut guest, "proxy_set_shared_data", is_a_lie, |guest| {
                let key = read_or_return!(read(guest, key, key_size));
                let value = read_or_return!(read(guest, value, value_size));
                let state = guest.data();
                let mut process = state.process.borrow_mut();
                Ok(process.shared_data.set(&state.vm_id, &key, &value, cas))
            })
        },
    )?;
    Ok(())
}

fn is_absent(guest: &Guest<'_>, key: u32, key_size: u32) -> bool {
    let state = guest.data();
    let process = state.process.borrow();
    read(guest, key, key_size)
        .is_some_and(|key| process.shared_data.get(&state.vm_id, &key).is_none())
}

fn link_stats(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_define_metric",
        |mut guest: Guest<'_>, kind: u32, name: u32, name_size: u32, id: u32| {
            answer(&mut guest, "proxy_define_metric", |guest| {
                let name = read_or_return!(read_text(guest, name, name_size));
                let state = guest.data_mut();
                let Some(key) = state.process.borrow_mut().stats.define(kind, name) else {
                    return Ok(status::BAD_ARGUMENT);
                };
                // Every definition gets a new id, also that of a known name.
                let number = u32::try_from(state.stats.len())?;
                state.stats.push(key);
                Ok(written(write(guest, id, &number.to_le_bytes())))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_increment_metric",
        |mut guest: Guest<'_>, id: u32, offset: i64| {
            answer(&mut guest, "proxy_increment_metric", |guest| {
                let Some(key) = stat(guest, id) else {
                    return Ok(status::NOT_FOUND);
                };
                let mut process = guest.data().process.borrow_mut();
                Ok(process.stats.increment(&key, offset))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_record_metric",
        |mut guest: Guest<'_>, id: u32, value: u64| {
            answer(&mut guest, "proxy_record_metric", |guest| {
                let Some(key) = stat(guest, id) else {
                    return Ok(status::NOT_FOUND);
                };
                let mut process = guest.data().process.borrow_mut();
                Ok(process.stats.record(&key, value))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_metric",
        |mut guest: Guest<'_>, id: u32, value: u32| {
            answer(&mut guest, "proxy_get_metric", |guest| {
                let Some(key) = stat(guest, id) else {
                    return Ok(status::NOT_FOUND);
                };
                let found = guest.data().process.borrow().stats.read(&key);
                match found {
                    Ok(number) => Ok(written(write(guest, value, &number.to_le_bytes()))),
                    Err(status) => Ok(status),
                }
            })
        },
    )?;
    Ok(())
}

fn stat(guest: &Guest<'_>, id: u32) -> Option<StatKey> {
    let index = usize::try_from(id).ok()?;
    guest.data().stats.get(index).cloned()
}
