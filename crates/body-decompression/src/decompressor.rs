//! One body's decompressor.

use std::fmt;

use crate::brotli::Brotli;
use crate::inflate::{Container, Inflate};
use crate::output::{Output, Progress};
use crate::zstd::Zstd;
use crate::{Budget, Coding};

/// Input is decoded in steps that begin at multiples of this in the body, so that what may come out of it does not
/// depend on how it is cut.
const STEP_BYTES: usize = 1 << 10;

/// The bounds of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most output.
    pub output_bytes: u64,
    /// The most output for a byte of input, once there is more than a megabyte of output. Input counts in steps of 1 KiB.
    pub ratio: u32,
}

impl Default for Limits {
    /// 256 MiB, and 256 bytes for one: a stream of events becomes five to fifty times as large.
    fn default() -> Self {
        Self {
            output_bytes: 256 << 20,
            ratio: 256,
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

impl GivenUp {
    /// The reason in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::TooLarge => "too_large",
            Self::TooDense => "too_dense",
            Self::StateTooLarge => "state_too_large",
            Self::BudgetSpent => "budget_spent",
        }
    }
}

/// Decompresses one body, in whatever pieces it comes.
pub struct Decompressor {
    decoder: Decoder,
    limits: Limits,
    input_bytes: u64,
    output_bytes: u64,
    budget: Budget,
}

/// What the coding needs; made when the first byte tells how much that is.
enum Decoder {
    NotBegun(Coding),
    Inflate(Box<Inflate>),
    Brotli(Box<Brotli>),
    Zstd(Box<Zstd>),
    Over,
    GivenUp(GivenUp),
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Decompressor")
            .field("input_bytes", &self.input_bytes)
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
    /// When nothing of the budget is left.
    pub fn new(coding: Coding, limits: Limits, budget: &Budget) -> Result<Self, GivenUp> {
        if budget.left() == 0 {
            return Err(GivenUp::BudgetSpent);
        }
        Ok(Self {
            decoder: Decoder::NotBegun(coding),
            limits,
            input_bytes: 0,
            output_bytes: 0,
            budget: budget.clone(),
        })
    }

    /// Takes the next bytes and gives what comes out of them.
    ///
    /// # Errors
    ///
    /// Why the body is not decompressed any further; the same again for everything that follows.
    pub fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(&[u8])) -> Result<(), GivenUp> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let (step, later) = rest
                .split_at_checked(self.to_the_next_step())
                .unwrap_or((rest, &[]));
            rest = later;
            match self.step(*first, step, give) {
                Ok(Progress::More) => {}
                Ok(Progress::Over) => self.decoder = Decoder::Over,
                Err(why) => self.decoder = Decoder::GivenUp(why),
            }
            if let Decoder::GivenUp(why) = self.decoder {
                return Err(why);
            }
        }
        Ok(())
    }

    fn to_the_next_step(&self) -> usize {
        let into = usize::try_from(self.input_bytes).unwrap_or_default() % STEP_BYTES;
        STEP_BYTES.saturating_sub(into)
    }

    fn step(
        &mut self,
        first: u8,
        bytes: &[u8],
        give: &mut dyn FnMut(&[u8]),
    ) -> Result<Progress, GivenUp> {
        if let Decoder::NotBegun(coding) = self.decoder {
            self.decoder = Decoder::new(coding, first, &self.budget)?;
        }
        let length = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        // Judged by the whole step, of which more may come later.
        let judged = self
            .input_bytes
            .saturating_add(length(self.to_the_next_step()));
        self.input_bytes = self.input_bytes.saturating_add(length(bytes.len()));
        let mut output = Output::new(give, &self.limits, self.output_bytes, judged);
        let result = match &mut self.decoder {
            Decoder::NotBegun(_) | Decoder::Over => Ok(Progress::Over),
            Decoder::GivenUp(why) => Err(*why),
            Decoder::Inflate(inflate) => inflate.push(bytes, &mut output),
            Decoder::Brotli(brotli) => brotli.push(bytes, &mut output),
            Decoder::Zstd(zstd) => zstd.push(bytes, &mut output),
        };
        self.output_bytes = output.given();
        result
    }
}

impl Decoder {
    fn new(coding: Coding, first: u8, budget: &Budget) -> Result<Self, GivenUp> {
        let inflate = |container| {
            Inflate::new(container, budget).map(|inflate| Self::Inflate(Box::new(inflate)))
        };
        match coding {
            Coding::Gzip => inflate(Container::Gzip),
            // A zlib stream begins with the method 8; a raw one that does so begins with an empty block of a kind that
            // no encoder sends first.
            Coding::Deflate if first & 0x0f == 8 => inflate(Container::Zlib),
            Coding::Deflate => inflate(Container::Raw),
            Coding::Brotli => Ok(Self::Brotli(Box::new(Brotli::new(first, budget)?))),
            Coding::Zstd => Ok(Self::Zstd(Box::new(Zstd::new(budget)?))),
        }
    }
}
