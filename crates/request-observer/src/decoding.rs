//! Undoes the compression of an answer, for reading only, as long as its bounds allow.

use body_decompression::{Coding, Decompressor, GivenUp, Limits};

use crate::{AnomalyKind, Settings};

/// What stands between the bytes of a body and those that are read.
#[derive(Debug)]
pub(crate) enum Decoding {
    /// Nothing: the body is not compressed.
    Identity,
    /// A coding that is undone.
    Compressed(Box<Decompressor>),
}

impl Decoding {
    /// What the header `content-encoding` asks for.
    pub(crate) fn from_header(
        content_encoding: &[u8],
        settings: &Settings,
    ) -> Result<Self, DecodingFailure> {
        match Coding::from_header(content_encoding) {
            Ok(None) => Ok(Self::Identity),
            Ok(Some(coding)) => {
                Decompressor::new(coding, Limits::default(), &settings.decompression)
                    .map(|decompressor| Self::Compressed(Box::new(decompressor)))
                    .map_err(DecodingFailure::GivenUp)
            }
            Err(_) => Err(DecodingFailure::UnknownCoding),
        }
    }
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodingFailure {
    /// Its coding is not known.
    UnknownCoding,
    /// It was given up.
    GivenUp(GivenUp),
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
