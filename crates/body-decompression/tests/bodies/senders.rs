//! Senders of every coding, by the libraries that others use.

use std::io::Write;

use body_decompression::{Coding, GivenUp, Limits};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::oracle;

/// How a test compresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sender {
    Gzip,
    Zlib,
    RawDeflate,
    Brotli { quality: u32, window_bits: u32 },
    Zstd { level: i32 },
}

pub(crate) const SENDERS: [Sender; 8] = [
    Sender::Gzip,
    Sender::Zlib,
    Sender::RawDeflate,
    Sender::Brotli {
        quality: 5,
        window_bits: 22,
    },
    Sender::Brotli {
        quality: 11,
        window_bits: 10,
    },
    Sender::Zstd { level: 1 },
    Sender::Zstd { level: 3 },
    Sender::Zstd { level: 19 },
];

impl Sender {
    pub(crate) fn coding(self) -> Coding {
        match self {
            Sender::Gzip => Coding::Gzip,
            Sender::Zlib | Sender::RawDeflate => Coding::Deflate,
            Sender::Brotli { .. } => Coding::Brotli,
            Sender::Zstd { .. } => Coding::Zstd,
        }
    }

    /// Compresses the events, flushing after each; gives the pieces.
    pub(crate) fn send(self, events: &[&[u8]]) -> Vec<Vec<u8>> {
        let level = Compression::default();
        match self {
            Sender::Gzip => pieces(
                GzEncoder::new(Vec::new(), level),
                events,
                GzEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::Zlib => pieces(
                ZlibEncoder::new(Vec::new(), level),
                events,
                ZlibEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::RawDeflate => pieces(
                DeflateEncoder::new(Vec::new(), level),
                events,
                DeflateEncoder::get_mut,
                |encoder| encoder.finish().unwrap(),
            ),
            Sender::Brotli {
                quality,
                window_bits,
            } => pieces(
                brotli::CompressorWriter::new(Vec::new(), 4096, quality, window_bits),
                events,
                brotli::CompressorWriter::get_mut,
                brotli::CompressorWriter::into_inner,
            ),
            Sender::Zstd { level } => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level).unwrap();
                encoder.include_checksum(level == 3).unwrap();
                pieces(
                    encoder,
                    events,
                    |encoder| encoder.get_mut(),
                    |encoder| encoder.finish().unwrap(),
                )
            }
        }
    }

    /// Compresses one text.
    pub(crate) fn body(self, text: &[u8]) -> Vec<u8> {
        self.send(&[text]).concat()
    }
}

fn pieces<W: Write>(
    mut encoder: W,
    events: &[&[u8]],
    output: impl Fn(&mut W) -> &mut Vec<u8>,
    finish: impl FnOnce(W) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut pieces: Vec<_> = events
        .iter()
        .map(|event| {
            encoder.write_all(event).unwrap();
            encoder.flush().unwrap();
            std::mem::take(output(&mut encoder))
        })
        .collect();
    pieces.push(finish(encoder));
    pieces
}

/// What comes out of a body in these pieces, and the verdict.
pub(crate) fn decompress<'a>(
    coding: Coding,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<(), GivenUp>) {
    oracle::run(coding, Limits::default(), pieces)
}

/// Text with long and short repetitions, and with bytes that do not compress in between.
pub(crate) fn mixed_text(length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length);
    let mut seed = 1_u32;
    while text.len() < length {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let number = usize::try_from(seed >> 8).unwrap();
        match number % 5 {
            0 => text.extend(
                format!("data: {{\"token\":\"{}\",\"id\":{seed}}}\n\n", number % 900).bytes(),
            ),
            1 => text.extend((0..number % 40).map(|at| (number >> (at % 16)) as u8)),
            2 => text.resize(text.len() + number % 300, b' '),
            _ => {
                let back = 1 + number % text.len().max(1);
                for at in text.len().saturating_sub(back)
                    ..text
                        .len()
                        .min(text.len().saturating_sub(back) + number % 90)
                {
                    text.push(text[at]);
                }
            }
        }
    }
    text.truncate(length);
    text
}
