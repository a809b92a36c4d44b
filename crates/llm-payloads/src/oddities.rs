//! What is odd about a request or a payload, and tolerated.

/// What is odd, counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Keys that stood twice in one object; the last one counted.
    pub duplicate_keys: u32,
    /// Names in which control characters or invalid UTF-8 were replaced.
    pub mended_texts: u32,
    /// Request bodies that were empty, or JSON but no object.
    pub not_an_object: u32,
}

impl Oddities {
    pub(crate) const NONE: Self = Self {
        duplicate_keys: 0,
        mended_texts: 0,
        not_an_object: 0,
    };
}
