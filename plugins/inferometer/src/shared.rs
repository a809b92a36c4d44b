//! The proxy's shared data, as the slot protocol wants to see it.

use hostcalls::HostError;
use snapshot_slots::{SharedData, Written};

/// The proxy's map of keys.
pub(crate) struct HostData;

impl SharedData for HostData {
    type Error = HostError;

    fn get(&mut self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        hostcalls::shared_data(key)
    }

    fn set(&mut self, key: &str, value: &[u8], cas: u32) -> Result<Written, HostError> {
        match hostcalls::set_shared_data(key, value, cas) {
            Ok(()) => Ok(Written::Done),
            Err(error) if error.is_cas_mismatch() => Ok(Written::Refused),
            Err(error) => Err(error),
        }
    }
}
