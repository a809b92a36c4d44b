//! The headers of one message, one after the other.

use crate::Sink;

/// The longest name that the format allows.
const NAME_BYTES: usize = 255;
/// How much of a value is handed on.
const VALUE_BYTES: usize = 128;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    NameLength,
    Name { left: u8 },
    Type,
    LengthHigh,
    LengthLow { high: u8 },
    Value { left: u32 },
}

/// Reads headers in whatever pieces they come.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    place: Place,
    name: [u8; NAME_BYTES],
    name_len: usize,
    value: [u8; VALUE_BYTES],
    value_len: usize,
    is_text: bool,
}

/// A type of header that the format does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownType;

impl Headers {
    pub(crate) const fn new() -> Self {
        Self {
            place: Place::NameLength,
            name: [0; NAME_BYTES],
            name_len: 0,
            value: [0; VALUE_BYTES],
            value_len: 0,
            is_text: false,
        }
    }

    /// Whether the headers may end here.
    pub(crate) fn at_border(&self) -> bool {
        self.place == Place::NameLength
    }

    /// Takes the next bytes of the headers.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), UnknownType> {
        bytes.iter().try_for_each(|byte| self.take(*byte, sink))
    }

    fn take(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), UnknownType> {
        self.place = match self.place {
            Place::NameLength => {
                self.name_len = 0;
                self.value_len = 0;
                if byte == 0 {
                    Place::Type
                } else {
                    Place::Name { left: byte }
                }
            }
            Place::Name { left } => {
                hold(&mut self.name, &mut self.name_len, byte);
                match left.saturating_sub(1) {
                    0 => Place::Type,
                    left => Place::Name { left },
                }
            }
            Place::Type => {
                self.is_text = byte == 7;
                match byte {
                    0 | 1 => Place::NameLength,
                    2 => Place::Value { left: 1 },
                    3 => Place::Value { left: 2 },
                    4 => Place::Value { left: 4 },
                    5 | 8 => Place::Value { left: 8 },
                    6 | 7 => Place::LengthHigh,
                    9 => Place::Value { left: 16 },
                    _ => return Err(UnknownType),
                }
            }
            Place::LengthHigh => Place::LengthLow { high: byte },
            Place::LengthLow { high } => match u16::from_be_bytes([high, byte]) {
                0 => self.end(sink),
                length => Place::Value {
                    left: u32::from(length),
                },
            },
            Place::Value { left } => {
                hold(&mut self.value, &mut self.value_len, byte);
                match left.saturating_sub(1) {
                    0 => self.end(sink),
                    left => Place::Value { left },
                }
            }
        };
        Ok(())
    }

    fn end(&self, sink: &mut impl Sink) -> Place {
        if self.is_text {
            sink.header(
                self.name.get(..self.name_len).unwrap_or_default(),
                self.value.get(..self.value_len).unwrap_or_default(),
            );
        }
        Place::NameLength
    }
}

/// Appends a byte as long as there is room.
fn hold(held: &mut [u8], len: &mut usize, byte: u8) {
    if let Some(place) = held.get_mut(*len) {
        *place = byte;
        *len = len.saturating_add(1);
    }
}
