//! The bytes of a scenario that are no text: messages of AWS event streams and of gRPC, compressed bodies.

use std::io::Write;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A coding of a body.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, in a zlib stream.
    Deflate,
    /// `br`.
    Br,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// The name in `content-encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Br => "br",
            Coding::Zstd => "zstd",
        }
    }
}

/// A message of an AWS event stream with these headers besides its type, its checksums right.
#[must_use]
pub fn aws_message(message_type: &str, told: &[(&str, &str)], payload: &str) -> Bytes {
    let mut headers = Vec::new();
    let first = [(":message-type", message_type)];
    let last = [(":content-type", "application/json")];
    let last = last.iter().filter(|_| !payload.is_empty());
    for (name, value) in first.iter().chain(told).chain(last) {
        headers.push(name.len() as u8);
        headers.extend(name.bytes());
        headers.push(7);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend(value.bytes());
    }
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

/// Puts pieces into a coding, flushed after each; what only the end brings comes with the last.
pub fn compress(coding: Coding, pieces: &mut [&mut Bytes]) {
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
        Coding::Zstd => {
            // Level and window are a server's, and right ones, so there is an encoder.
            if let Ok(encoder) = zstd::Encoder::new(Vec::new(), 3) {
                encode(encoder, pieces, zstd::Encoder::get_mut, |encoder| {
                    encoder.finish().unwrap_or_default()
                });
            }
        }
    }
}

fn encode<W: Write>(
    mut encoder: W,
    pieces: &mut [&mut Bytes],
    output: impl Fn(&mut W) -> &mut Vec<u8>,
    finish: impl FnOnce(W) -> Vec<u8>,
) {
    let mut encoded = Vec::new();
    for piece in pieces.iter() {
        // A Vec refuses nothing.
        let _ = encoder.write_all(piece).and_then(|()| encoder.flush());
        encoded.push(std::mem::take(output(&mut encoder)));
    }
    let rest = finish(encoder);
    if let Some(last) = encoded.last_mut() {
        last.extend(rest);
    }
    for (piece, bytes) in pieces.iter_mut().zip(encoded) {
        **piece = Bytes::from(bytes);
    }
}

/// The bytes that hexadecimal digits stand for; white space says nothing.
///
/// # Errors
///
/// When something is no digit, or a digit lacks its pair.
pub fn from_hex(digits: &str) -> Result<Vec<u8>> {
    let digits: Vec<u32> = digits
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16).context("no hexadecimal digit"))
        .collect::<Result<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Ok(u8::try_from(high * 16 + low)?),
            _ => bail!("an odd number of hexadecimal digits"),
        })
        .collect()
}
