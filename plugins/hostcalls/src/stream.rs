//! What belongs to one stream: headers, bodies, attributes, and an answer of our own.

use core::ptr;

use crate::abi;
use crate::error::{Call, HostError};
use crate::header_pairs::HeaderPairs;

/// Which header map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Headers {
    /// The request's; readable in request callbacks and in the log callback.
    Request = 0,
    /// The response's; readable from its callback on.
    Response = 2,
    /// The response's trailers; readable in their callback.
    ResponseTrailers = 3,
    /// Those of the answer to an HTTP call; readable in its callback.
    CallResponse = 6,
    /// The trailers of that answer.
    CallTrailers = 7,
}

/// Which body; readable in its own callback only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Body {
    /// The request's.
    Request = 0,
    /// The response's.
    Response = 1,
    /// That of the answer to an HTTP call.
    CallResponse = 4,
}

/// The first value of a header, or nothing where it is absent.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`; `BadArgument` in a callback that may not read the map.
pub fn header(map: Headers, name: &str) -> Result<Option<Vec<u8>>, HostError> {
    let mut data = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the name is a live string; the host writes both results.
    let status = unsafe {
        abi::proxy_get_header_map_value(
            map as u32,
            name.as_ptr(),
            name.len(),
            &raw mut data,
            &raw mut size,
        )
    };
    found(Call::GetHeader, status, data, size)
}

/// All headers of a map in one copy. A map that may not be read now is empty, and no error.
///
/// # Errors
///
/// When the host refuses.
pub fn headers(map: Headers) -> Result<HeaderPairs, HostError> {
    let mut data = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the host writes both results.
    let status =
        unsafe { abi::proxy_get_header_map_pairs(map as u32, &raw mut data, &raw mut size) };
    HostError::check(Call::GetHeaders, status)?;
    // SAFETY: the host filled both for this call.
    Ok(HeaderPairs(unsafe { abi::adopt(data, size) }))
}

/// Bytes of the current body chunk, in one copy.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`.
pub fn body(which: Body, start: usize, size: usize) -> Result<Option<Vec<u8>>, HostError> {
    buffer(which as u32, start, size)
}

/// The configuration of the current root context, as it was written.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`.
pub fn plugin_configuration(size: usize) -> Result<Option<Vec<u8>>, HostError> {
    const PLUGIN_CONFIGURATION: u32 = 7;
    buffer(PLUGIN_CONFIGURATION, 0, size)
}

fn buffer(which: u32, start: usize, max_size: usize) -> Result<Option<Vec<u8>>, HostError> {
    let mut data = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the host writes both results.
    let status = unsafe {
        abi::proxy_get_buffer_bytes(which, start, max_size, &raw mut data, &raw mut size)
    };
    found(Call::GetBuffer, status, data, size)
}

/// An attribute by its path, whose parts are separated by NUL.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`.
pub fn property(path: &str) -> Result<Option<Vec<u8>>, HostError> {
    let mut data = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the path is a live string; the host writes both results.
    let status =
        unsafe { abi::proxy_get_property(path.as_ptr(), path.len(), &raw mut data, &raw mut size) };
    found(Call::GetProperty, status, data, size)
}

/// A whole-number attribute; one of another width is taken for absent.
///
/// # Errors
///
/// Any status but `Ok` and `NotFound`.
pub fn property_u64(path: &str) -> Result<Option<u64>, HostError> {
    let bytes = property(path)?;
    Ok(bytes
        .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
        .map(u64::from_le_bytes))
}

fn found(
    call: Call,
    status: u32,
    data: *mut u8,
    size: usize,
) -> Result<Option<Vec<u8>>, HostError> {
    match HostError::check(call, status) {
        // SAFETY: the host filled both for the call whose status this is.
        Ok(()) => Ok(Some(unsafe { abi::adopt(data, size) })),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers the current request in place of the upstream; to be called once a stream.
///
/// # Errors
///
/// When the host refuses.
pub fn send_local_response(
    status_code: u32,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<(), HostError> {
    const DETAILS: &str = "inferometer_scrape";
    const NO_GRPC_STATUS: i32 = -1;
    let map = encode_headers(headers);
    // SAFETY: all four buffers are live and only read.
    let status = unsafe {
        abi::proxy_send_local_response(
            status_code,
            DETAILS.as_ptr(),
            DETAILS.len(),
            body.as_ptr(),
            body.len(),
            map.as_ptr(),
            map.len(),
            NO_GRPC_STATUS,
        )
    };
    HostError::check(Call::SendLocalResponse, status)
}

/// The ABI's form of a header list: the count, all sizes, then all texts closed by NUL.
fn encode_headers(headers: &[(&str, &str)]) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut map = Vec::new();
    map.extend(word(headers.len()));
    for (name, value) in headers {
        map.extend(word(name.len()));
        map.extend(word(value.len()));
    }
    for (name, value) in headers {
        map.extend(name.as_bytes());
        map.push(0);
        map.extend(value.as_bytes());
        map.push(0);
    }
    map
}
