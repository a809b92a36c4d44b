//! Shared data: one map of keys per `vm_id`, with compare-and-swap numbers from one counter.

use std::collections::BTreeMap;

use super::status;

/// A value and the number that a conditional write must name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) value: Vec<u8>,
    pub(super) cas: u32,
}

/// All keys of the process.
#[derive(Debug, Default)]
pub(super) struct SharedData {
    spaces: BTreeMap<String, BTreeMap<Vec<u8>, Entry>>,
    last_cas: u32,
}

impl SharedData {
    pub(super) fn get(&self, vm_id: &str, key: &[u8]) -> Option<&Entry> {
        self.spaces.get(vm_id)?.get(key)
    }

    /// Writes a key and answers with a status. A `cas` of 0 writes in any case; so does any `cas`
    /// where the key is absent, which makes a number that no key has an atomic create-if-absent.
    pub(super) fn set(&mut self, vm_id: &str, key: &[u8], value: &[u8], cas: u32) -> u32 {
        let space = self.spaces.entry(vm_id.to_owned()).or_default();
        if let Some(present) = space.get(key)
            && cas != 0
            && cas != present.cas
        {
            return status::CAS_MISMATCH;
        }
        // The numbers run over the whole process and are never 0.
        self.last_cas = self.last_cas.wrapping_add(1).max(1);
        let entry = Entry {
            value: value.to_vec(),
            cas: self.last_cas,
        };
        space.insert(key.to_vec(), entry);
        status::OK
    }

    pub(super) fn keys(&self, vm_id: &str) -> Vec<Vec<u8>> {
        let space = self.spaces.get(vm_id);
        space.map_or_else(Vec::new, |space| space.keys().cloned().collect())
    }

    /// What happens when the last virtual machine of a `vm_id` goes.
    pub(super) fn erase(&mut self, vm_id: &str) {
        self.spaces.remove(vm_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_absent_key_is_ignored_and_that_of_a_present_key_is_checked() {
        let mut data = SharedData::default();
        assert_eq!(data.set("vm", b"key", b"first", u32::MAX), status::OK);
        assert_eq!(
            data.set("vm", b"key", b"second", u32::MAX),
            status::CAS_MISMATCH
        );
        let cas = data.get("vm", b"key").unwrap().cas;
        assert_eq!(data.set("vm", b"key", b"third", cas), status::OK);
        assert_eq!(data.set("vm", b"key", b"fourth", cas), status::CAS_MISMATCH);
        assert_eq!(data.set("vm", b"key", b"fifth", 0), status::OK);
        assert_eq!(data.get("vm", b"key").unwrap().value, b"fifth");
    }

    #[test]
    fn numbers_come_from_one_counter_for_all_keys_and_are_never_zero() {
        let mut data = SharedData {
            last_cas: u32::MAX - 1,
            ..SharedData::default()
        };
        let mut write = |key: &[u8]| {
            data.set("vm", key, b"", 0);
            data.get("vm", key).unwrap().cas
        };
        assert_eq!([write(b"a"), write(b"b"), write(b"a")], [u32::MAX, 1, 2]);
    }

    #[test]
    fn spaces_are_apart_and_go_as_a_whole() {
        let mut data = SharedData::default();
        data.set("one", b"key", b"value", 0);
        assert!(data.get("two", b"key").is_none());
        data.set("two", b"key", b"other", 0);
        data.erase("one");
        assert!(data.get("one", b"key").is_none());
        assert_eq!(data.keys("two"), [b"key".to_vec()]);
    }
}
