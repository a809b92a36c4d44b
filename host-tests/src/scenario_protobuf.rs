//! Messages of protocol buffers in a scenario: hexadecimal digits, or a list of fields that can be read.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::scenario_bytes::from_hex;

/// A message.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Message {
    /// In hexadecimal digits.
    Hex(String),
    /// By its fields, in order.
    Fields(Vec<Field>),
}

/// A field: its number, its kind, its value. `[2, "text", "Hi"]` is one.
#[derive(Clone, Debug, Deserialize)]
pub struct Field(u32, Kind, Value);

/// How the value of a field is written.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// A number that is not negative.
    Varint,
    /// Several of them in one field.
    Packed,
    /// A number of 32 bits with a binary point.
    Float,
    /// A text.
    Text,
    /// Bytes in hexadecimal digits.
    Bytes,
    /// A message of its own, as a list of fields.
    Message,
}

impl Message {
    /// The message as it is sent.
    ///
    /// # Errors
    ///
    /// When a value is not of its field's kind.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        match self {
            Message::Hex(digits) => from_hex(digits),
            Message::Fields(fields) => {
                let encoded: Vec<_> = fields.iter().map(Field::bytes).collect::<Result<_>>()?;
                Ok(encoded.concat())
            }
        }
    }
}

impl Field {
    fn bytes(&self) -> Result<Vec<u8>> {
        const VARINT: u8 = 0;
        const LENGTH: u8 = 2;
        const FIXED32: u8 = 5;
        let Field(number, kind, value) = self;
        let described = || format!("field {number} has a value that is not {kind:?}: {value}");
        let (wire_type, content) = match kind {
            Kind::Varint => (VARINT, varint(value.as_u64().with_context(described)?)),
            Kind::Float => {
                let number = value.as_f64().with_context(described)? as f32;
                (FIXED32, number.to_le_bytes().to_vec())
            }
            Kind::Packed => {
                let numbers = value.as_array().with_context(described)?;
                let encoded: Vec<_> = numbers
                    .iter()
                    .map(|number| Ok(varint(number.as_u64().with_context(described)?)))
                    .collect::<Result<_>>()?;
                (LENGTH, encoded.concat())
            }
            Kind::Text => {
                let text = value.as_str().with_context(described)?;
                (LENGTH, text.as_bytes().to_vec())
            }
            Kind::Bytes => (LENGTH, from_hex(value.as_str().with_context(described)?)?),
            Kind::Message => match Message::deserialize(value) {
                Ok(message) => (LENGTH, message.bytes()?),
                Err(error) => bail!("{}: {error}", described()),
            },
        };
        let mut bytes = varint(u64::from(*number) << 3 | u64::from(wire_type));
        if wire_type == LENGTH {
            bytes.extend(varint(content.len() as u64));
        }
        bytes.extend(content);
        Ok(bytes)
    }
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &str, hex: &str) {
        let message: Message = serde_json::from_str(fields).unwrap();
        assert_eq!(message.bytes().unwrap(), from_hex(hex).unwrap(), "{fields}");
    }

    /// The examples of the description of the format, and one of each kind.
    #[test]
    fn fields_are_encoded_as_the_format_has_them() {
        check(r#"[[1, "varint", 150]]"#, "08 96 01");
        check(r#"[[2, "text", "testing"]]"#, "12 07 74657374696e67");
        check(r#"[[3, "message", [[1, "varint", 150]]]]"#, "1a 03 089601");
        check(
            r#"[[6, "packed", [3, 270, 86942]]]"#,
            "32 06 03 8e02 9ea705",
        );
        check(r#"[[16, "bytes", "00ff"]]"#, "8201 02 00ff");
        check(r#"[[1, "float", 1.5]]"#, "0d 0000c03f");
        check(r#"[[1, "message", []]]"#, "0a 00");
        check(r#""0a00""#, "0a00");
        check("[]", "");
    }
}
