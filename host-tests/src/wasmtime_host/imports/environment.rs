//! The process's environment, as WASI shows it: variables closed by NUL, and a list of their places.

use wasmtime::Linker;

use super::{WASI, answer, wasi_written};
use crate::wasmtime_host::memory::{Guest, write};
use crate::wasmtime_host::vm_state::VmState;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        WASI,
        "environ_sizes_get",
        |mut guest: Guest<'_>, count_at: u32, size_at: u32| {
            answer(&mut guest, "environ_sizes_get", |guest| {
                let variables = variables(guest);
                let size: usize = variables.iter().map(Vec::len).sum();
                let count = u32::try_from(variables.len())?;
                let size = u32::try_from(size)?;
                let fits = write(guest, count_at, &count.to_le_bytes())
                    && write(guest, size_at, &size.to_le_bytes());
                Ok(wasi_written(fits))
            })
        },
    )?;
    linker.func_wrap(
        WASI,
        "environ_get",
        |mut guest: Guest<'_>, places_at: u32, bytes_at: u32| {
            answer(&mut guest, "environ_get", |guest| {
                let mut place_at = places_at;
                let mut at = bytes_at;
                let mut fits = true;
                for variable in variables(guest) {
                    fits &= write(guest, place_at, &at.to_le_bytes());
                    fits &= write(guest, at, &variable);
                    place_at = place_at.wrapping_add(4);
                    at = at.wrapping_add(u32::try_from(variable.len())?);
                }
                Ok(wasi_written(fits))
            })
        },
    )?;
    Ok(())
}

/// The variables with the NUL that closes each.
fn variables(guest: &Guest<'_>) -> Vec<Vec<u8>> {
    let process = guest.data().process.borrow();
    let variables = process.environment.iter();
    variables
        .map(|variable| [variable.as_bytes(), b"\0"].concat())
        .collect()
}
