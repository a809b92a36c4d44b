//! A deliberately naive reading of a whole body, to compare with.

/// A message: its byte of flags and its bytes.
pub(crate) type Message = (u8, Vec<u8>);

/// The whole messages of a body, and whether nothing is left over.
pub(crate) fn split_whole(body: &[u8]) -> (Vec<Message>, bool) {
    let mut messages = Vec::new();
    let mut rest = body;
    while rest.len() >= 5 {
        let length = u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
        let Some(message) = rest[5..].get(..length) else {
            break;
        };
        messages.push((rest[0] & 0b1000_0001, message.to_vec()));
        rest = &rest[5 + length..];
    }
    (messages, rest.is_empty())
}
