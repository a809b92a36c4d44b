//! Hands on what was decompressed, as long as its bounds allow.

use crate::{GivenUp, Limits};

/// How much output is never too much for its input: about what a large answer is.
pub(crate) const RATIO_FREE_BYTES: u64 = 1 << 20;

/// Where decoders put their output.
pub(crate) struct Output<'a> {
    give: &'a mut dyn FnMut(&[u8]),
    given: u64,
    allowed: u64,
    beyond: GivenUp,
}

impl<'a> Output<'a> {
    /// For a body of which so much has been given, and of which so many bytes of input have come.
    pub(crate) fn new(
        give: &'a mut dyn FnMut(&[u8]),
        limits: &Limits,
        given: u64,
        input: u64,
    ) -> Self {
        let dense = input
            .saturating_mul(u64::from(limits.ratio))
            .max(RATIO_FREE_BYTES);
        Self {
            give,
            given,
            allowed: dense.min(limits.output_bytes),
            beyond: if dense < limits.output_bytes {
                GivenUp::TooDense
            } else {
                GivenUp::TooLarge
            },
        }
    }

    /// How much has been given.
    pub(crate) const fn given(&self) -> u64 {
        self.given
    }

    /// Hands on a part, or as much of it as is allowed.
    pub(crate) fn give(&mut self, part: &[u8]) -> Result<(), GivenUp> {
        let left = self.allowed.saturating_sub(self.given);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let allowed = part.get(..left).unwrap_or(part);
        if !allowed.is_empty() {
            (self.give)(allowed);
            self.given = self
                .given
                .saturating_add(u64::try_from(allowed.len()).unwrap_or(u64::MAX));
        }
        if part.len() > left {
            Err(self.beyond)
        } else {
            Ok(())
        }
    }
}

/// Whether more of a body may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The body has ended; what follows means nothing.
    Over,
}
