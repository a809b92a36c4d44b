//! Clocks, the timer, and random bytes.

use wasmtime::Linker;

use super::{ENV, WASI, answer, wasi_written, written};
use crate::wasmtime_host::context::Timer;
use crate::wasmtime_host::memory::{Guest, write};
use crate::wasmtime_host::status;
use crate::wasmtime_host::vm_state::VmState;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;
/// The most random bytes that one call may ask for.
const RANDOM_LIMIT_BYTES: u32 = 64 * 1024;
const NANOS_PER_MILLISECOND: u64 = 1_000_000;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_get_current_time_nanoseconds",
        |mut guest: Guest<'_>, time: u32| {
            answer(&mut guest, "proxy_get_current_time_nanoseconds", |guest| {
                let now = guest.data().process.borrow().clock.wall;
                Ok(written(write(guest, time, &now.to_le_bytes())))
            })
        },
    )?;
    linker.func_wrap(
        WASI,
        "clock_time_get",
        |mut guest: Guest<'_>, clock: u32, _precision: u64, time: u32| {
            answer(&mut guest, "clock_time_get", |guest| {
                let clocks = guest.data().process.borrow().clock;
                let now = match clock {
                    REALTIME => clocks.wall,
                    MONOTONIC => clocks.monotonic,
                    _ => return Ok(status::WASI_NOT_SUPPORTED),
                };
                Ok(wasi_written(write(guest, time, &now.to_le_bytes())))
            })
        },
    )?;
    linker.func_wrap(
        WASI,
        "random_get",
        |mut guest: Guest<'_>, place: u32, size: u32| {
            answer(&mut guest, "random_get", |guest| {
                if size > RANDOM_LIMIT_BYTES {
                    return Ok(status::WASI_NOT_SUPPORTED);
                }
                let count = usize::try_from(size)?;
                let bytes = guest.data().process.borrow_mut().random_bytes(count);
                Ok(wasi_written(write(guest, place, &bytes)))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_tick_period_milliseconds",
        |mut guest: Guest<'_>, period_ms: u32| {
            answer(&mut guest, "proxy_set_tick_period_milliseconds", |guest| {
                set_tick_period(guest.data_mut(), period_ms);
                Ok(status::OK)
            })
        },
    )?;
    Ok(())
}

/// The timer is the root's, whichever context asks.
fn set_tick_period(state: &mut VmState, period_ms: u32) {
    let now = state.process.borrow().clock.elapsed();
    let root = state.root_id();
    if let Some(root) = state.root_mut(root) {
        let period = u64::from(period_ms) * NANOS_PER_MILLISECOND;
        root.timer = (period > 0).then_some(Timer {
            period,
            due: now + period,
        });
    }
}
