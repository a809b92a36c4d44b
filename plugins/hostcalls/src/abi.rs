//! The host's functions as they are: pointers, sizes and a `u32` status.

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    pub(crate) fn proxy_log(level: u32, message: *const u8, size: usize) -> u32;
    pub(crate) fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
    pub(crate) fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    pub(crate) fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        max_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    pub(crate) fn proxy_get_header_map_value(
        map: u32,
        key: *const u8,
        key_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    pub(crate) fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, size: *mut usize)
    -> u32;
    pub(crate) fn proxy_get_property(
        path: *const u8,
        path_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    pub(crate) fn proxy_get_shared_data(
        key: *const u8,
        key_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
        cas: *mut u32,
    ) -> u32;
    pub(crate) fn proxy_set_shared_data(
        key: *const u8,
        key_size: usize,
        value: *const u8,
        value_size: usize,
        cas: u32,
    ) -> u32;
    pub(crate) fn proxy_define_metric(
        kind: u32,
        name: *const u8,
        name_size: usize,
        id: *mut u32,
    ) -> u32;
    pub(crate) fn proxy_increment_metric(id: u32, offset: i64) -> u32;
    pub(crate) fn proxy_record_metric(id: u32, value: u64) -> u32;
    pub(crate) fn proxy_send_local_response(
        status_code: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: i32,
    ) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub(crate) fn clock_time_get(id: u32, precision: u64, time: *mut u64) -> u32;
    pub(crate) fn random_get(bytes: *mut u8, size: usize) -> u32;
    pub(crate) fn environ_sizes_get(count: *mut usize, size: *mut usize) -> u32;
    pub(crate) fn environ_get(places: *mut usize, bytes: *mut u8) -> u32;
}

/// Takes over what the host has put into this module's memory.
///
/// # Safety
///
/// `data` must be null or come from this call's host, which got it from this module's allocator
/// with exactly `size` bytes.
pub(crate) unsafe fn adopt(data: *mut u8, size: usize) -> Vec<u8> {
    if data.is_null() || size == 0 {
        Vec::new()
    } else {
        // SAFETY: promised by the caller; the allocator export hands out vectors of that capacity.
        unsafe { Vec::from_raw_parts(data, size, size) }
    }
}
