//! Envoy's own stats, which hold whole numbers only and are never removed.

use crate::abi;
use crate::error::{Call, HostError};

/// What an Envoy stat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MetricKind {
    /// Only grows.
    Counter = 0,
    /// Is set.
    Gauge = 1,
    /// Takes samples.
    Histogram = 2,
}

/// Makes or finds a stat by name; every call gives a new number, so keep it.
///
/// # Errors
///
/// When the host refuses.
pub fn define_metric(kind: MetricKind, name: &str) -> Result<u32, HostError> {
    let mut id = 0;
    // SAFETY: the name is a live string; the host writes one u32.
    let status =
        unsafe { abi::proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &raw mut id) };
    HostError::check(Call::DefineMetric, status).map(|()| id)
}

/// Moves a counter up; an offset of 0 is left out, because the host refuses it.
///
/// # Errors
///
/// When the host refuses.
pub fn increment_metric(id: u32, offset: u64) -> Result<(), HostError> {
    let Ok(offset) = i64::try_from(offset) else {
        return Ok(());
    };
    if offset == 0 {
        return Ok(());
    }
    // SAFETY: no pointer is passed.
    let status = unsafe { abi::proxy_increment_metric(id, offset) };
    HostError::check(Call::IncrementMetric, status)
}

/// Sets a gauge or adds a sample to a histogram.
///
/// # Errors
///
/// When the host refuses.
pub fn record_metric(id: u32, value: u64) -> Result<(), HostError> {
    // SAFETY: no pointer is passed.
    let status = unsafe { abi::proxy_record_metric(id, value) };
    HostError::check(Call::RecordMetric, status)
}
