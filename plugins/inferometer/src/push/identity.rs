//! Who sends: the identity that all workers of one process share.

use hostcalls::HostError;
use snapshot_slots::{CREATE_IF_ABSENT, SharedData, Written};

use crate::shared::HostData;

const KEY: &str = "inferometer/1/instance";
const FORMAT: u8 = 1;

/// The process as a receiver sees it. It lives as long as the counters do, in the same shared data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instance {
    id: [u8; 16],
    /// When counting began. It is agreed on once, so that a series has one start whoever sends it.
    pub(crate) start_unix_nanos: u64,
}

impl Instance {
    /// The identity that the workers have agreed on. The first to ask proposes one.
    pub(crate) fn agreed(start_unix_nanos: u64) -> Result<Instance, HostError> {
        let stored = HostData.get(KEY)?;
        let known = stored.as_ref().map(|(bytes, _)| Instance::decode(bytes));
        if let Some(Some(instance)) = known {
            return Ok(instance);
        }
        let own = Instance {
            id: random_id(),
            start_unix_nanos,
        };
        let cas = stored.map_or(CREATE_IF_ABSENT, |(_, cas)| cas);
        if HostData.set(KEY, &own.encode(), cas)? == Written::Done {
            return Ok(own);
        }
        // Another worker was faster.
        let stored = HostData.get(KEY)?;
        Ok(stored
            .and_then(|(bytes, _)| Instance::decode(&bytes))
            .unwrap_or(own))
    }

    /// The identity as `service.instance.id` wants it: a UUID of version 4.
    pub(crate) fn uuid(&self) -> String {
        let number = u128::from_be_bytes(self.id);
        let version = 0x4 << 76;
        let variant = 0x8 << 60;
        let number = number & !(0xF << 76) & !(0xC << 60) | version | variant;
        let hex = format!("{number:032x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part));
        parts.map(Option::unwrap_or_default).join("-")
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(self.id);
        bytes.extend(self.start_unix_nanos.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Instance> {
        let (&FORMAT, rest) = bytes.split_first()? else {
            return None;
        };
        let (id, rest) = rest.split_first_chunk()?;
        Some(Instance {
            id: *id,
            start_unix_nanos: u64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// Random bytes; where the proxy withholds them, the clocks, which no two processes on a node read alike.
pub(crate) fn random_id() -> [u8; 16] {
    hostcalls::random_bytes().unwrap_or_else(|_| {
        let wall = hostcalls::wall_nanos().unwrap_or_default();
        let monotonic = hostcalls::monotonic_nanos().unwrap_or_default();
        let mixed = u128::from(wall) << 64 | u128::from(monotonic);
        // An odd factor keeps numbers apart that differ in their low bits only.
        mixed
            .wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
            .to_le_bytes()
    })
}
