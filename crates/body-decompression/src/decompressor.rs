//! One body's decompressor.

use std::fmt;
use std::io::Write;

use brotli_decompressor::DecompressorWriter;

use crate::budget::Share;
use crate::collector::Collector;
use crate::inflate::{Container, Corrupt, Inflate};
use crate::{Budget, Coding};

/// How much is decoded at once, so that little can become much no more often than once a step.
const STEP_BYTES: usize = 256;
/// What a decoder of gzip or deflate takes: its window, its tables, its buffer.
const DEFLATE_BYTES: usize = 80 << 10;
/// What a decoder of br takes besides its window.
const BROTLI_BYTES: usize = 64 << 10;
/// The logarithm of the largest window of br that is followed, which is also its encoders' default.
const MAX_WINDOW_BITS: u32 = 22;

/// The bounds of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most output.
    pub output_bytes: u64,
}

impl Default for Limits {
    /// 256 MiB.
    fn default() -> Self {
        Self {
            output_bytes: 256 << 20,
        }
    }
}

/// Why a body is not decompressed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It is not what its coding says.
    Corrupt,
    /// Its output is larger than it may be.
    TooLarge,
    /// Too much came out of too little.
    TooDense,
    /// It needs more memory than one body may take.
    StateTooLarge,
    /// All bodies together take what they may.
    BudgetSpent,
}

/// Decompresses one body, in whatever pieces it comes.
pub struct Decompressor {
    decoder: Decoder,
    limits: Limits,
    output_bytes: u64,
    budget: Budget,
    share: Option<Share>,
}

/// What the coding needs; those whose first byte tells more are made when it comes.
enum Decoder {
    NotBegun(Coding),
    Inflate(Box<Inflate>),
    Brotli(Box<DecompressorWriter<Collector>>),
    GivenUp(GivenUp),
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Decompressor")
            .field("output_bytes", &self.output_bytes)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Decompressor {
    /// At the beginning of a body.
    ///
    /// # Errors
    ///
    /// When the budget has not even room for the smallest decoder.
    pub fn new(coding: Coding, limits: Limits, budget: &Budget) -> Result<Self, GivenUp> {
        if budget.left() < DEFLATE_BYTES {
            return Err(GivenUp::BudgetSpent);
        }
        Ok(Self {
            decoder: Decoder::NotBegun(coding),
            limits,
            output_bytes: 0,
            budget: budget.clone(),
            share: None,
        })
    }

    /// Takes the next bytes and gives what comes out of them.
    ///
    /// # Errors
    ///
    /// Why the body is not decompressed any further; the same again for everything that follows.
    pub fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(&[u8])) -> Result<(), GivenUp> {
        if let Some(first) = bytes.first() {
            self.begin(*first);
        }
        for step in bytes.chunks(STEP_BYTES) {
            self.step(step, give)?;
        }
        Ok(())
    }

    fn begin(&mut self, first: u8) {
        let Decoder::NotBegun(coding) = self.decoder else {
            return;
        };
        let needed = match coding {
            Coding::Gzip | Coding::Deflate => Some(DEFLATE_BYTES),
            Coding::Brotli => window_bits(first)
                .filter(|bits| *bits <= MAX_WINDOW_BITS)
                .and_then(|bits| 1_usize.checked_shl(bits))
                .and_then(|window| window.checked_add(BROTLI_BYTES)),
        };
        let Some(needed) = needed else {
            self.decoder = Decoder::GivenUp(GivenUp::StateTooLarge);
            return;
        };
        self.share = self.budget.take(needed);
        let inflate = |container| Decoder::Inflate(Box::new(Inflate::new(container)));
        self.decoder = match coding {
            _ if self.share.is_none() => Decoder::GivenUp(GivenUp::BudgetSpent),
            Coding::Gzip => inflate(Container::Gzip),
            // A zlib stream begins with the method 8; a raw one that does so begins with an empty block of a kind that
            // no encoder sends first.
            Coding::Deflate if first & 0x0f == 8 => inflate(Container::Zlib),
            Coding::Deflate => inflate(Container::Raw),
            Coding::Brotli => Decoder::Brotli(Box::new(DecompressorWriter::new(
                Collector::default(),
                4096,
            ))),
        };
    }

    fn step(&mut self, bytes: &[u8], give: &mut impl FnMut(&[u8])) -> Result<(), GivenUp> {
        let mut output = 0_u64;
        let mut count = |part: &[u8]| {
            output = output.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
            give(part);
        };
        let decoded = match &mut self.decoder {
            Decoder::NotBegun(_) => Ok(()),
            Decoder::GivenUp(why) => Err(*why),
            Decoder::Inflate(inflate) => inflate
                .push(bytes, &mut count)
                .map_err(|Corrupt| GivenUp::Corrupt),
            Decoder::Brotli(decoder) => {
                let written = write(&mut **decoder, bytes);
                let collector = decoder.get_mut();
                collector.hand_on(&mut count);
                match written {
                    _ if collector.is_full() => Err(GivenUp::TooDense),
                    written => written.map_err(|_| GivenUp::Corrupt),
                }
            }
        };
        self.output_bytes = self.output_bytes.saturating_add(output);
        let verdict = decoded.and(if self.output_bytes > self.limits.output_bytes {
            Err(GivenUp::TooLarge)
        } else {
            Ok(())
        });
        if let Err(why) = verdict {
            self.decoder = Decoder::GivenUp(why);
            self.share = None;
        }
        verdict
    }
}

/// Writes, and has the decoder give all that it can give.
fn write(decoder: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    decoder.write_all(bytes)?;
    decoder.flush()
}

/// The logarithm of the window that the first byte of a body in br asks for; none where it asks for one beyond the
/// standard.
fn window_bits(first: u8) -> Option<u32> {
    let field = |shift: u32| u32::from(first >> shift & 0b111);
    match (first & 1, field(1), field(4)) {
        (0, _, _) => Some(16),
        (_, 0, 0) => Some(17),
        (_, 0, 1) => None,
        (_, 0, small) => small.checked_add(8),
        (_, large, _) => large.checked_add(17),
    }
}
