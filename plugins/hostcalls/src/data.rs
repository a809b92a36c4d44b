//! Shared data: a map of keys that all virtual machines with one `vm_id` see.

use core::ptr;

use crate::abi;
use crate::error::{Call, HostError};

/// Reads a key: its value and its compare-and-swap number, or nothing where the key is absent.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`.
pub fn shared_data(key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
    let mut data = ptr::null_mut();
    let mut size = 0;
    let mut cas = 0;
    // SAFETY: the key is a live string; the host writes the three results.
    let status = unsafe {
        abi::proxy_get_shared_data(
            key.as_ptr(),
            key.len(),
            &raw mut data,
            &raw mut size,
            &raw mut cas,
        )
    };
    match HostError::check(Call::GetSharedData, status) {
        // SAFETY: the host filled both for this call.
        Ok(()) => Ok(Some((unsafe { abi::adopt(data, size) }, cas))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a key if its compare-and-swap number is still `cas`; where the key is absent the host does
/// not look at the number.
///
/// # Errors
///
/// [`HostError::is_cas_mismatch`] when it is not; other statuses when the host refuses.
pub fn set_shared_data(key: &str, value: &[u8], cas: u32) -> Result<(), HostError> {
    // SAFETY: key and value are live and only read.
    let status = unsafe {
        abi::proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas)
    };
    HostError::check(Call::SetSharedData, status)
}
