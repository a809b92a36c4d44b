//! The codings that are known.

/// A coding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

/// A coding that is not known, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCoding;

impl Coding {
    /// Every coding, for tables and tests.
    pub const ALL: [Self; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// The coding as headers name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The coding that a header `content-encoding` names; none where it is absent or `identity`.
    ///
    /// # Errors
    ///
    /// When it names another, or several.
    pub fn from_header(value: &[u8]) -> Result<Option<Self>, UnknownCoding> {
        let name = value.trim_ascii();
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            return Ok(None);
        }
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Ok(Some(Self::Gzip));
        }
        Self::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.as_str().as_bytes()))
            .map(Some)
            .ok_or(UnknownCoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_one_known_coding_or_none() {
        assert_eq!(Coding::from_header(b""), Ok(None));
        assert_eq!(Coding::from_header(b" Identity"), Ok(None));
        assert_eq!(Coding::from_header(b"GZIP "), Ok(Some(Coding::Gzip)));
        assert_eq!(Coding::from_header(b"x-gzip"), Ok(Some(Coding::Gzip)));
        assert_eq!(Coding::from_header(b"br"), Ok(Some(Coding::Brotli)));
        assert_eq!(Coding::from_header(b"zstd"), Ok(Some(Coding::Zstd)));
        for unknown in ["compress", "dcz", "gzip, br", "\u{e9}"] {
            assert_eq!(Coding::from_header(unknown.as_bytes()), Err(UnknownCoding));
        }
    }
}
