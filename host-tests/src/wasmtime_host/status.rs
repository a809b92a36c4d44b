//! The statuses that hostcalls answer with.

/// It worked.
pub const OK: u32 = 0;
/// There is no such thing.
pub const NOT_FOUND: u32 = 1;
/// An argument is wrong, or the thing is not available in this callback.
pub const BAD_ARGUMENT: u32 = 2;
/// A message could not be read.
pub const PARSE_FAILURE: u32 = 4;
/// A pointer leads out of the module's memory.
pub const INVALID_MEMORY_ACCESS: u32 = 6;
/// Another write of the key came first.
pub const CAS_MISMATCH: u32 = 8;
/// What the host answers for a function that capability restrictions leave out.
pub const INTERNAL_FAILURE: u32 = 10;

/// WASI: a pointer leads out of the module's memory.
pub const WASI_FAULT: u32 = 21;
/// WASI: there is no such clock.
pub const WASI_NOT_SUPPORTED: u32 = 58;
/// WASI: what the host answers for a function that capability restrictions leave out.
pub const WASI_NOT_CAPABLE: u32 = 76;
