//! Clocks and the timer.

use crate::abi;
use crate::error::{Call, HostError};

/// The monotonic clock, which is the same for all threads of the proxy.
///
/// # Errors
///
/// When the proxy's capability restrictions leave the clock out.
pub fn monotonic_nanos() -> Result<u64, HostError> {
    const MONOTONIC: u32 = 1;
    let mut time = 0;
    // SAFETY: the host writes one u64 to the given place.
    let status = unsafe { abi::clock_time_get(MONOTONIC, 0, &raw mut time) };
    HostError::check(Call::ClockTimeGet, status).map(|()| time)
}

/// The wall clock, in nanoseconds since 1970; it may jump.
///
/// # Errors
///
/// When the proxy's capability restrictions leave the clock out.
pub fn wall_nanos() -> Result<u64, HostError> {
    let mut time = 0;
    // SAFETY: the host writes one u64 to the given place.
    let status = unsafe { abi::proxy_get_current_time_nanoseconds(&raw mut time) };
    HostError::check(Call::GetCurrentTime, status).map(|()| time)
}

/// Sets the tick period of the current root context; 0 stops it.
///
/// # Errors
///
/// When the proxy's capability restrictions leave the timer out.
pub fn set_tick_period_millis(period: u32) -> Result<(), HostError> {
    // SAFETY: no pointer is passed.
    let status = unsafe { abi::proxy_set_tick_period_milliseconds(period) };
    HostError::check(Call::SetTickPeriod, status)
}
