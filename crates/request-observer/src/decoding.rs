//! Undoes the compression of an answer, for reading only, as long as its bounds allow.

use body_decompression::{Coding, Decompressor, GivenUp, Limits};

use crate::{AnomalyKind, Settings};

/// How many compressed bytes are undone between two questions whether there is time for more.
pub(crate) const PIECE_BYTES: usize = 512;

/// What undoes the coding that the header `content-encoding` names; nothing where there is none to undo.
pub(crate) fn decompressor(
    content_encoding: &[u8],
    settings: &Settings,
) -> Result<Option<Box<Decompressor>>, DecodingFailure> {
    let coding =
        Coding::from_header(content_encoding).map_err(|_| DecodingFailure::UnknownCoding)?;
    coding
        .map(|coding| Decompressor::new(coding, Limits::default(), &settings.decompression))
        .transpose()
        .map(|decompressor| decompressor.map(Box::new))
        .map_err(DecodingFailure::GivenUp)
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodingFailure {
    /// Its coding is not known.
    UnknownCoding,
    /// It was given up.
    GivenUp(GivenUp),
    /// It took longer than its reader may be held up.
    TooSlow,
}

/// What a body that was given up is counted as.
pub(crate) const fn anomaly(given_up: GivenUp) -> AnomalyKind {
    match given_up {
        GivenUp::Corrupt => AnomalyKind::CompressionCorrupt,
        GivenUp::TooLarge | GivenUp::TooDense | GivenUp::StateTooLarge | GivenUp::BudgetSpent => {
            AnomalyKind::CompressionLimit
        }
    }
}
