//! The binary form of a report: a message of protocol buffers, held as a whole and thus read in one pass.

use super::{Gathering, Quantity};

/// Reads all fields of `message` up to its end or to a flaw of the encoding.
pub(super) fn parse(message: &[u8], report: &mut Gathering<'_>) {
    let mut fields = Fields { rest: message };
    while let Some((number, value)) = fields.next_field() {
        let quantity = match number {
            1 => Quantity::Cpu,
            2 => Quantity::Memory,
            3 => Quantity::OldRequestsPerSecond,
            5 | 8 => {
                entry(value, report);
                continue;
            }
            6 => Quantity::RequestsPerSecond,
            7 => Quantity::ErrorsPerSecond,
            9 => Quantity::Application,
            _ => continue,
        };
        report.take(quantity, value.number(number));
    }
    if !fields.rest.is_empty() {
        report.bad();
    }
}

/// Reads one entry of a map: its name is field 1, its value field 2. A value that is not there is 0.
fn entry(value: Value<'_>, report: &mut Gathering<'_>) {
    let Value::Bytes(message) = value else {
        return report.bad();
    };
    let mut fields = Fields { rest: message };
    let (mut name, mut number): (&[u8], _) = (&[], Some(0.0));
    while let Some(field) = fields.next_field() {
        match field {
            (1, Value::Bytes(bytes)) => name = bytes,
            (2, value) => number = value.number(2),
            _ => {}
        }
    }
    if !fields.rest.is_empty() {
        return report.bad();
    }
    if let Some(quantity) = Quantity::of_metric(name) {
        report.take(quantity, number);
    }
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Varint(u64),
    Double(f64),
    Bytes(&'a [u8]),
    /// Four bytes, which no wanted field has.
    Other,
}

impl Value<'_> {
    /// The number in this value of this field, where it has the type that it should have.
    fn number(self, field: u64) -> Option<f64> {
        match self {
            Self::Double(number) if field != 3 => Some(number),
            // Beyond 2^53 the nearest double is near enough.
            Self::Varint(number) if field == 3 => Some(number as f64),
            _ => None,
        }
    }
}

struct Fields<'a> {
    /// Empty when all was read; not empty when nothing more can be.
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn next_field(&mut self) -> Option<(u64, Value<'a>)> {
        let (key, rest) = varint(self.rest)?;
        let (value, rest) = match key & 7 {
            0 => {
                let (number, rest) = varint(rest)?;
                (Value::Varint(number), rest)
            }
            1 => {
                let (bytes, rest) = rest.split_first_chunk::<8>()?;
                (Value::Double(f64::from_le_bytes(*bytes)), rest)
            }
            2 => {
                let (length, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => {
                let (_, rest) = rest.split_first_chunk::<4>()?;
                (Value::Other, rest)
            }
            _ => return None,
        };
        self.rest = rest;
        Some((key >> 3, value))
    }
}

/// A number of up to ten bytes of seven bits, and what follows it.
fn varint(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    for shift in (0u32..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((number, bytes));
        }
    }
    None
}
