//! Versioned bytes of a snapshot: what workers leave for each other in shared memory.

use postcard::ser_flavors::Size;
use serde::Deserialize;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::family::{Kind, MAX_LABELS};
use crate::snapshot::{FamilyData, Snapshot};
use crate::strings::{OVERFLOW_MARK, StringTable};

/// What every snapshot begins with, before the byte of its version.
const MAGIC: [u8; 3] = *b"IFM";

/// The one version that this build writes and reads; any change of the layout below needs the next number.
const VERSION: u8 = 2;

/// Why bytes are not a snapshot that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes do not begin as a snapshot does.
    NotASnapshot,
    /// The snapshot is of a version that this build does not know.
    UnknownVersion {
        /// The version found.
        found: u8,
    },
    /// The bytes end early, go on too long, or contradict themselves; what was being read when that showed.
    Malformed(&'static str),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecodeError::NotASnapshot => f.write_str("these bytes are not a metric snapshot"),
            DecodeError::UnknownVersion { found } => {
                write!(
                    f,
                    "metric snapshot of version {found}, this build reads version {VERSION}"
                )
            }
            DecodeError::Malformed(part) => write!(f, "malformed metric snapshot at its {part}"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl Snapshot {
    /// The snapshot in versioned bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.encoded_size());
        bytes.extend(MAGIC);
        bytes.push(VERSION);
        // Neither fails: the lengths of all lists are known and a vector takes every byte. Were that ever to
        // change, readers would refuse the empty bytes rather than believe half a snapshot.
        postcard::to_extend(self, bytes).unwrap_or_default()
    }

    /// How many bytes [`Snapshot::encode`] gives, found without writing them.
    #[must_use]
    pub fn encoded_size(&self) -> usize {
        let head = MAGIC.len().saturating_add(1);
        let body = postcard::serialize_with_flavor::<Self, Size, usize>(self, Size::default());
        body.unwrap_or(0).saturating_add(head)
    }

    /// Reads what [`Snapshot::encode`] wrote.
    ///
    /// Nothing is believed: lists are at most as long as bytes are left, so memory stays within a small multiple of
    /// the input, and all cross-references are checked.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub fn decode(bytes: &[u8]) -> Result<Snapshot, DecodeError> {
        let rest = bytes
            .strip_prefix(&MAGIC)
            .ok_or(DecodeError::NotASnapshot)?;
        let (version, rest) = rest.split_first().ok_or(DecodeError::NotASnapshot)?;
        if *version != VERSION {
            return Err(DecodeError::UnknownVersion { found: *version });
        }
        let mut reader = Reader { rest };
        let start_unix_nanos = reader.take("start time")?;
        let strings = reader.strings()?;
        let count = reader.length("families")?;
        let mut families = Vec::new();
        for _ in 0..count {
            families.push(reader.family(&strings)?);
        }
        if !reader.rest.is_empty() {
            return Err(DecodeError::Malformed("end"));
        }
        Ok(Snapshot {
            start_unix_nanos,
            strings,
            families,
        })
    }
}

/// The layout is postcard's of these three fields; `Reader` reads the same by hand, to bound every list.
impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Snapshot", 3)?;
        fields.serialize_field("start_unix_nanos", &self.start_unix_nanos)?;
        fields.serialize_field("strings", &self.strings)?;
        fields.serialize_field("families", &self.families)?;
        fields.end()
    }
}

/// Written as a list of texts; ids are their places, counted from one.
impl Serialize for StringTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The bytes not read yet.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<T: Deserialize<'a>>(&mut self, part: &'static str) -> Result<T, DecodeError> {
        let (value, rest) =
            postcard::take_from_bytes(self.rest).map_err(|_| DecodeError::Malformed(part))?;
        self.rest = rest;
        Ok(value)
    }

    /// The length of a list, whose elements take at least one byte each.
    fn length(&mut self, part: &'static str) -> Result<usize, DecodeError> {
        let length: u32 = self.take(part)?;
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.rest.len())
            .ok_or(DecodeError::Malformed(part))
    }

    fn list<T: Deserialize<'a>>(&mut self, part: &'static str) -> Result<Vec<T>, DecodeError> {
        let length = self.length(part)?;
        let mut list = Vec::with_capacity(length);
        for _ in 0..length {
            list.push(self.take(part)?);
        }
        Ok(list)
    }

    fn strings(&mut self) -> Result<StringTable, DecodeError> {
        const PART: &str = "strings";
        let mut strings = StringTable::default();
        for _ in 0..self.length(PART)? {
            let text: &str = self.take(PART)?;
            strings.push(text).ok_or(DecodeError::Malformed(PART))?;
        }
        Ok(strings)
    }

    fn family(&mut self, strings: &StringTable) -> Result<FamilyData, DecodeError> {
        let family = FamilyData {
            name: self.take("family name")?,
            unit: self.take("unit")?,
            kind: self.take::<Kind>("kind")?,
            scale: self.take("scale")?,
            label_names: self.list("label names")?,
            bounds: self.list("bounds")?,
            label_values: self.list("label values")?,
            values: self.list("values")?,
        };
        match flaw_of(&family, strings) {
            Some(part) => Err(DecodeError::Malformed(part)),
            None => Ok(family),
        }
    }
}

/// The part of a family that contradicts the rest, if any does.
fn flaw_of(family: &FamilyData, strings: &StringTable) -> Option<&'static str> {
    let known = |id: &u32| (*id as usize) < strings.len();
    let width = family.label_names.len();
    let ascending = family.bounds.is_sorted_by(|low, high| low < high);
    let series = family.series_count();
    let whole_series = series.checked_mul(family.words()) == Some(family.values.len());
    let marked = |row: &[u32]| row.iter().all(|id| *id == OVERFLOW_MARK);
    if !known(&family.name) || !known(&family.unit) {
        Some("family name")
    } else if family.scale == 0 {
        Some("scale")
    } else if width > MAX_LABELS || !family.label_names.iter().all(known) {
        Some("label names")
    } else if !ascending || (family.kind != Kind::Histogram && !family.bounds.is_empty()) {
        Some("bounds")
    } else if !whole_series || (width == 0 && series > 1) {
        Some("values")
    } else if series.checked_mul(width) != Some(family.label_values.len())
        || !family
            .label_values
            .chunks_exact(width.max(1))
            .all(|row| row.iter().all(known) || marked(row))
    {
        Some("label values")
    } else {
        None
    }
}
