//! Distinct strings in one buffer, found by their text without an allocation.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Stands for the empty string in every table; as a label value it says that the label is absent.
pub(crate) const EMPTY: u32 = 0;

/// Stands in the label values of an overflow series; no string ever has this id.
pub(crate) const OVERFLOW_MARK: u32 = u32::MAX;

/// Strings by id.
///
/// The index by text is built at the first [`StringTable::intern`] and kept from then on, so a table that is
/// only read does not pay for it.
#[derive(Clone, Default)]
pub(crate) struct StringTable {
    text: String,
    /// Where the string of id `n + 1` ends in the text.
    ends: Vec<u32>,
    index: Option<HashTable<u32>>,
    hasher: DefaultHashBuilder,
}

impl StringTable {
    /// A table with its index, which lets [`StringTable::find`] work from the start.
    pub(crate) fn indexed() -> StringTable {
        StringTable {
            index: Some(HashTable::new()),
            ..StringTable::default()
        }
    }

    /// The same strings under the same ids, in buffers without slack and without an index.
    pub(crate) fn plain_copy(&self) -> StringTable {
        StringTable {
            text: self.text.clone(),
            ends: self.ends.clone(),
            index: None,
            hasher: self.hasher.clone(),
        }
    }

    /// How many ids there are, the empty string's included.
    pub(crate) fn len(&self) -> usize {
        self.ends.len().saturating_add(1)
    }

    /// Bytes of text held.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// The string of an id; empty where there is none.
    pub(crate) fn get(&self, id: u32) -> &str {
        text_of(&self.text, &self.ends, id)
    }

    /// The strings from id 1 on, in the order of their ids.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let range = start..*end as usize;
            start = range.end;
            self.text.get(range).unwrap_or_default()
        })
    }

    /// The id of a text, if it is here; never found in a table without an index.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        if text.is_empty() {
            return Some(EMPTY);
        }
        let index = self.index.as_ref()?;
        index
            .find(self.hasher.hash_one(text), |id| self.get(*id) == text)
            .copied()
    }

    /// The id of a text, which is added where it is not here yet.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        self.build_index();
        if let Some(id) = self.find(text) {
            return id;
        }
        let Some(id) = self.push(text) else {
            return EMPTY;
        };
        let StringTable {
            text: all,
            ends,
            index,
            hasher,
        } = self;
        if let Some(index) = index {
            index.insert_unique(hasher.hash_one(text), id, |id| {
                hasher.hash_one(text_of(all, ends, *id))
            });
        }
        id
    }

    /// Appends a text under the next id without looking whether it is here; `None` past four gigabytes of text.
    pub(crate) fn push(&mut self, text: &str) -> Option<u32> {
        let end = u32::try_from(self.text.len().checked_add(text.len())?).ok()?;
        let id = u32::try_from(self.len())
            .ok()
            .filter(|id| *id != OVERFLOW_MARK)?;
        self.text.push_str(text);
        self.ends.push(end);
        Some(id)
    }

    /// Makes [`StringTable::find`] work.
    pub(crate) fn build_index(&mut self) {
        if self.index.is_some() {
            return;
        }
        let StringTable {
            text, ends, hasher, ..
        } = self;
        let mut index = HashTable::with_capacity(ends.len());
        for id in (1_u32..).take(ends.len()) {
            let one = text_of(text, ends, id);
            // A foreign table may hold a text twice; the first id then stands for both.
            if !one.is_empty()
                && index
                    .find(hasher.hash_one(one), |other| {
                        text_of(text, ends, *other) == one
                    })
                    .is_none()
            {
                index.insert_unique(hasher.hash_one(one), id, |other| {
                    hasher.hash_one(text_of(text, ends, *other))
                });
            }
        }
        self.index = Some(index);
    }
}

fn text_of<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let Some(place) = (id as usize).checked_sub(1) else {
        return "";
    };
    let start = place
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .map_or(0, |end| *end as usize);
    ends.get(place)
        .and_then(|end| text.get(start..*end as usize))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_id() {
        let mut table = StringTable::indexed();
        let ids: Vec<u32> = ["a", "", "bc", "a", "ü", "bc"]
            .iter()
            .map(|text| table.intern(text))
            .collect();
        assert_eq!(ids, [1, EMPTY, 2, 1, 3, 2]);
        assert_eq!(table.iter().collect::<Vec<_>>(), ["a", "bc", "ü"]);
        assert_eq!(
            (table.get(3), table.get(4), table.get(OVERFLOW_MARK)),
            ("ü", "", "")
        );
        assert_eq!((table.find("bc"), table.find("b")), (Some(2), None));
    }

    #[test]
    fn a_copy_without_an_index_builds_it_when_a_text_is_added() {
        let mut table = StringTable::indexed();
        table.intern("a");
        let mut copy = table.plain_copy();
        assert_eq!(copy.find("a"), None);
        assert_eq!((copy.intern("b"), copy.intern("a")), (2, 1));
    }
}
