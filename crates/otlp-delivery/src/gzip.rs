//! Messages in gzip.

use miniz_oxide::deflate::compress_to_vec;

/// The fastest: names and labels repeat so much that more effort gains little.
const LEVEL: u8 = 1;
/// Deflate, without a name, a time or a system.
const HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];

/// A message as one member of a gzip file.
pub(crate) fn gzip(message: &[u8]) -> Vec<u8> {
    let mut bytes = HEAD.to_vec();
    bytes.extend(compress_to_vec(message, LEVEL));
    bytes.extend(crc32fast::hash(message).to_le_bytes());
    // The format has room for the length modulo 2^32.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    bytes.extend(length.to_le_bytes());
    bytes
}
