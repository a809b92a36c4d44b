//! The bytes of a scenario's answer that are no text: messages of AWS event streams, compressed bodies.

use std::{io::Write, time::Duration};

use bytes::Bytes;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::scenario::Coding;

/// A message of an AWS event stream, its checksums right.
#[must_use]
pub fn aws_message(message_type: &str, kind: &str, payload: &Value) -> Bytes {
    let kind_header = if message_type == "event" {
        ":event-type"
    } else {
        ":exception-type"
    };
    let mut headers = Vec::new();
    for (name, value) in [
        (":message-type", message_type),
        (kind_header, kind),
        (":content-type", "application/json"),
    ] {
        headers.push(name.len() as u8);
        headers.extend(name.bytes());
        headers.push(7);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend(value.bytes());
    }
    let payload = payload.to_string();
    let total = headers.len() + payload.len() + 16;
    let mut message = Vec::new();
    message.extend((total as u32).to_be_bytes());
    message.extend((headers.len() as u32).to_be_bytes());
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message.extend(headers);
    message.extend(payload.bytes());
    message.extend(crc32fast::hash(&message).to_be_bytes());
    Bytes::from(message)
}

/// A message with gRPC's head before it.
#[must_use]
pub fn grpc_message(flags: u8, message: &[u8]) -> Bytes {
    let mut bytes = vec![flags];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend(message);
    Bytes::from(bytes)
}

/// What Bedrock's invoke stream makes of a model's own event.
#[must_use]
pub fn wrapped_in_base64(model_event: &Value) -> Value {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in model_event.to_string().as_bytes().chunks(3) {
        let mut bytes = [0; 3];
        for (place, byte) in bytes.iter_mut().zip(group) {
            *place = *byte;
        }
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for digit in 0..4 {
            if digit > group.len() {
                text.push('=');
            } else {
                let index = (bits >> (18 - 6 * digit)) & 63;
                text.extend(DIGITS.get(index as usize).map(|digit| char::from(*digit)));
            }
        }
    }
    json!({"bytes": text, "p": "abcdefghijklmnopqrstuvwxyz"})
}

/// The same pieces in a coding, flushed after each; what only the end brings comes with the last.
#[must_use]
pub fn compress(coding: Coding, pieces: &[(Duration, Bytes)]) -> Vec<(Duration, Bytes)> {
    match coding {
        Coding::Gzip => encode(
            GzEncoder::new(Vec::new(), Compression::default()),
            pieces,
            GzEncoder::get_mut,
            |encoder| encoder.finish().unwrap_or_default(),
        ),
        Coding::Deflate => encode(
            ZlibEncoder::new(Vec::new(), Compression::default()),
            pieces,
            ZlibEncoder::get_mut,
            |encoder| encoder.finish().unwrap_or_default(),
        ),
        Coding::Br => encode(
            brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20),
            pieces,
            brotli::CompressorWriter::get_mut,
            brotli::CompressorWriter::into_inner,
        ),
    }
}

fn encode<W: Write>(
    mut encoder: W,
    pieces: &[(Duration, Bytes)],
    output: impl Fn(&mut W) -> &mut Vec<u8>,
    finish: impl FnOnce(W) -> Vec<u8>,
) -> Vec<(Duration, Bytes)> {
    let mut encoded = Vec::new();
    for (at, piece) in pieces {
        // A Vec refuses nothing.
        let _ = encoder.write_all(piece).and_then(|()| encoder.flush());
        encoded.push((*at, std::mem::take(output(&mut encoder))));
    }
    let rest = finish(encoder);
    if let Some((_, last)) = encoded.last_mut() {
        last.extend(rest);
    }
    encoded
        .into_iter()
        .map(|(at, piece)| (at, Bytes::from(piece)))
        .collect()
}
