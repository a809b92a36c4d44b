//! A header map in the ABI's form: the count, all sizes, then all texts closed by NUL.

/// The headers of a map, as the host has written them.
#[derive(Debug, Default)]
pub struct HeaderPairs(pub(crate) Vec<u8>);

impl HeaderPairs {
    /// Each name with its value, in the order of the map; a name may come more than once.
    #[must_use]
    pub fn iter(&self) -> HeaderIter<'_> {
        const SIZES_OF_ONE: usize = 8;
        let split = take_word(&self.0).and_then(|(count, rest)| {
            let sizes = count.checked_mul(SIZES_OF_ONE)?;
            rest.split_at_checked(sizes)
        });
        let (sizes, texts) = split.unwrap_or_default();
        HeaderIter { sizes, texts }
    }
}

impl<'a> IntoIterator for &'a HeaderPairs {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = HeaderIter<'a>;

    fn into_iter(self) -> HeaderIter<'a> {
        self.iter()
    }
}

/// What is left of a map.
#[derive(Clone, Debug)]
pub struct HeaderIter<'a> {
    sizes: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name_size, rest) = take_word(self.sizes)?;
        let (value_size, rest) = take_word(rest)?;
        self.sizes = rest;
        Some((self.take_text(name_size)?, self.take_text(value_size)?))
    }
}

impl<'a> HeaderIter<'a> {
    fn take_text(&mut self, size: usize) -> Option<&'a [u8]> {
        let (text, rest) = self.texts.split_at_checked(size)?;
        self.texts = rest.get(1..)?;
        Some(text)
    }
}

fn take_word(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_le_bytes(*word)).ok()?, rest))
}
