//! Who sends: the identity that all workers of one process share.

use hostcalls::HostError;
use snapshot_slots::{CREATE_IF_ABSENT, SharedData, Written};

use crate::shared::HostData;

const ID_KEY: &str = "inferometer/1/push/instance";
const START_KEY: &str = "inferometer/1/push/start";

/// The process as `service.instance.id` tells it: a UUID of version 4. It lives as long as the counters do, in the same
/// shared data.
pub(crate) fn instance_id() -> Result<String, HostError> {
    let number = u128::from_be_bytes(agreed(ID_KEY, random())?);
    let version = 0x4 << 76;
    let variant = 0x8 << 60;
    let number = number & !(0xF << 76) & !(0xC << 60) | version | variant;
    let hex = format!("{number:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part));
    Ok(parts.map(Option::unwrap_or_default).join("-"))
}

/// When counting began. It is agreed on once, so that a series has one start whoever sends it.
pub(crate) fn start_unix_nanos(own: u64) -> Result<u64, HostError> {
    agreed(START_KEY, own.to_le_bytes()).map(u64::from_le_bytes)
}

/// What the workers have agreed on; the first to ask decides.
fn agreed<const N: usize>(key: &str, own: [u8; N]) -> Result<[u8; N], HostError> {
    let known = |stored: Option<&(Vec<u8>, u32)>| {
        stored.and_then(|(bytes, _)| <[u8; N]>::try_from(bytes.as_slice()).ok())
    };
    let stored = HostData.get(key)?;
    if let Some(known) = known(stored.as_ref()) {
        return Ok(known);
    }
    let cas = stored.map_or(CREATE_IF_ABSENT, |(_, cas)| cas);
    if HostData.set(key, &own, cas)? == Written::Done {
        return Ok(own);
    }
    // Another worker was faster.
    Ok(known(HostData.get(key)?.as_ref()).unwrap_or(own))
}

/// Random bytes; where the proxy withholds them, the clocks, which no two processes on a node read alike.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    hostcalls::random_bytes().unwrap_or_else(|_| {
        let wall = hostcalls::wall_nanos().unwrap_or_default();
        let monotonic = hostcalls::monotonic_nanos().unwrap_or_default();
        let mut mixed = u128::from(wall) << 64 | u128::from(monotonic);
        [0; N].map(|_: u8| {
            // An odd factor keeps numbers apart that differ in their low bits only.
            mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            let [.., high] = mixed.to_le_bytes();
            high
        })
    })
}

/// A random number.
pub(crate) fn random_number() -> u64 {
    u64::from_le_bytes(random())
}
