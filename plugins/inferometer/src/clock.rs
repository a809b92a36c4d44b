//! The stamp of the current callback.

use hostcalls::HostError;
use request_observer::Stamp;

/// One reading of the clock.
pub(crate) struct Reading {
    /// When the callback runs.
    pub(crate) stamp: Stamp,
    /// The monotonic clock was refused, so that the stamp is the wall clock's, or 0 without one.
    pub(crate) refused: Option<HostError>,
}

/// Reads the monotonic clock, or the wall clock where the proxy withholds the former.
pub(crate) fn read() -> Reading {
    match hostcalls::monotonic_nanos() {
        Ok(nanos) => Reading {
            stamp: Stamp(nanos),
            refused: None,
        },
        Err(error) => Reading {
            stamp: Stamp(hostcalls::wall_nanos().unwrap_or(0)),
            refused: Some(error),
        },
    }
}
