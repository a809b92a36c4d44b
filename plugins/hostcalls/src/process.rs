//! What the proxy's process gives: random bytes, and the environment that its configuration lets through.

use crate::abi;
use crate::error::{Call, HostError};

/// The largest environment that is read; a larger one counts as refused.
const ENVIRONMENT_LIMIT_BYTES: usize = 1 << 20;

/// The status with which WASI says that a buffer would be too large.
const TOO_LARGE: u32 = 61;

/// Random bytes.
///
/// # Errors
///
/// When the proxy's capability restrictions leave them out.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], HostError> {
    let mut bytes = [0; N];
    // SAFETY: the host writes as many bytes as there are.
    let status = unsafe { abi::random_get(bytes.as_mut_ptr(), N) };
    HostError::check(Call::RandomGet, status).map(|()| bytes)
}

/// The environment's variables, each as `NAME=value`.
///
/// # Errors
///
/// When the proxy's capability restrictions leave the environment out, or it is larger than a mebibyte.
pub fn environment() -> Result<Vec<Vec<u8>>, HostError> {
    let mut count = 0;
    let mut size = 0;
    // SAFETY: the host writes both numbers.
    let status = unsafe { abi::environ_sizes_get(&raw mut count, &raw mut size) };
    HostError::check(Call::EnvironGet, status)?;
    if count == 0 || size == 0 {
        return Ok(Vec::new());
    }
    if size > ENVIRONMENT_LIMIT_BYTES || count > size {
        return Err(HostError {
            call: Call::EnvironGet,
            status: TOO_LARGE,
        });
    }
    let mut places = vec![0_usize; count];
    let mut bytes = vec![0_u8; size];
    // SAFETY: the host writes as many places and bytes as it has just announced, and nothing runs in between that
    // could change either number.
    let status = unsafe { abi::environ_get(places.as_mut_ptr(), bytes.as_mut_ptr()) };
    HostError::check(Call::EnvironGet, status)?;
    let variables = bytes.split(|byte| *byte == 0);
    Ok(variables
        .filter(|variable| !variable.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}
