//! Reads and writes of a module's linear memory, all of them checked.

use wasmtime::{AsContext as _, AsContextMut as _, Caller, Memory, TypedFunc};

use super::calls::Pairs;
use super::vm_state::VmState;

/// A module that has called into the host.
pub(super) type Guest<'a> = Caller<'a, VmState>;

/// What the host needs of an instance to hand bytes over.
#[derive(Clone)]
pub(super) struct GuestMemory {
    pub(super) memory: Memory,
    /// The module's own allocator.
    pub(super) allocate: TypedFunc<u32, u32>,
}

/// The bytes at a place; nothing where the place leads out of the memory.
pub(super) fn read(guest: &Guest<'_>, at: u32, size: u32) -> Option<Vec<u8>> {
    let memory = guest.data().guest.as_ref()?.memory;
    let start = usize::try_from(at).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    let bytes = memory.data(guest.as_context()).get(start..end)?;
    Some(bytes.to_vec())
}

/// The bytes at a place as text, with U+FFFD where they are not UTF-8.
pub(super) fn read_text(guest: &Guest<'_>, at: u32, size: u32) -> Option<String> {
    let bytes = read(guest, at, size)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes bytes to a place and says whether the place lies in the memory.
pub(super) fn write(guest: &mut Guest<'_>, at: u32, bytes: &[u8]) -> bool {
    let Some(memory) = guest.data().guest.as_ref().map(|guest| guest.memory) else {
        return false;
    };
    let Ok(start) = usize::try_from(at) else {
        return false;
    };
    memory.write(guest.as_context_mut(), start, bytes).is_ok()
}

/// Hands bytes over: the module's allocator gives the room, and the two results tell where it is
/// and how much. Nothing is allocated for nothing.
///
/// # Errors
///
/// When the module's allocator traps.
pub(super) fn give(
    guest: &mut Guest<'_>,
    bytes: &[u8],
    data_at: u32,
    size_at: u32,
) -> wasmtime::Result<bool> {
    let size = u32::try_from(bytes.len())?;
    let place = if bytes.is_empty() {
        0
    } else {
        let Some(allocate) = guest.data().guest.as_ref().map(|g| g.allocate.clone()) else {
            return Ok(false);
        };
        // The real host lets almost no hostcall through while the allocator runs.
        guest.data_mut().restricted = true;
        let place = allocate.call(guest.as_context_mut(), size)?;
        guest.data_mut().restricted = false;
        place
    };
    Ok(write(guest, place, bytes)
        && write(guest, data_at, &place.to_le_bytes())
        && write(guest, size_at, &size.to_le_bytes()))
}

/// A header list as the ABI passes it: the count, all sizes, then all texts closed by NUL.
pub(super) fn encode_pairs(pairs: &Pairs) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = word(pairs.len()).to_vec();
    for (name, value) in pairs {
        bytes.extend(word(name.len()));
        bytes.extend(word(value.len()));
    }
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(text);
        bytes.push(0);
    }
    bytes
}

/// The inverse of [`encode_pairs`]; nothing where the bytes are no header list.
pub(super) fn decode_pairs(bytes: &[u8]) -> Option<Pairs> {
    let word = |index: usize| {
        let at = index.checked_mul(4)?;
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    if bytes.is_empty() {
        return Some(Pairs::new());
    }
    let count = word(0)?;
    let mut at = count.checked_mul(8)?.checked_add(4)?;
    let mut text = |size: usize| {
        let end = at.checked_add(size)?;
        let text = bytes.get(at..end)?.to_vec();
        at = (bytes.get(end) == Some(&0)).then_some(end.checked_add(1)?)?;
        Some(text)
    };
    (0..count)
        .map(|pair| {
            let name = text(word(pair.checked_mul(2)?.checked_add(1)?)?)?;
            let value = text(word(pair.checked_mul(2)?.checked_add(2)?)?)?;
            Some((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_list_survives_its_encoding() {
        let pairs: Pairs = vec![
            (b"name".to_vec(), b"value".to_vec()),
            (b"".to_vec(), b"\xff\x00".to_vec()),
        ];
        let encoded = encode_pairs(&pairs);
        assert_eq!(
            encoded,
            b"\x02\0\0\0\x04\0\0\0\x05\0\0\0\0\0\0\0\x02\0\0\0name\0value\0\0\xff\0\0"
        );
        assert_eq!(decode_pairs(&encoded), Some(pairs));
        assert_eq!(decode_pairs(b""), Some(Pairs::new()));
    }

    #[test]
    fn bytes_that_are_no_header_list_are_refused() {
        for bytes in [
            b"\x01\0\0".as_slice(),
            b"\xff\xff\xff\xff",
            b"\x01\0\0\0\x04\0\0\0\0\0\0\0nam",
            b"\x01\0\0\0\x01\0\0\0\x01\0\0\0n\0vx",
        ] {
            assert_eq!(decode_pairs(bytes), None, "{bytes:?}");
        }
    }
}
