//! Attributes: names with typed values, each name once.

use std::borrow::Cow;

use llm_payloads::Text;

/// A text that is either a word of this crate or was read of a request.
pub type Words = Cow<'static, str>;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(Words),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Yes or no.
    Bool(bool),
    /// Several texts.
    TextList(Vec<Words>),
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub key: Words,
    /// The value.
    pub value: Value,
}

impl Attribute {
    pub(crate) fn new(key: impl Into<Words>, value: Value) -> Self {
        Self {
            key: key.into(),
            value,
        }
    }
}

const NANOS_PER_SECOND: f64 = 1e9;

/// Attributes as they are gathered: what is not known is left out.
#[derive(Default)]
pub(crate) struct Attributes(Vec<Attribute>);

impl Attributes {
    /// A word of this crate's own.
    pub(crate) fn word(&mut self, key: &'static str, word: &'static str) {
        self.push(key, Value::Text(word.into()));
    }

    /// A text from elsewhere, bounded and without control characters; an empty one tells nothing.
    pub(crate) fn text(&mut self, key: impl Into<Words>, text: Option<&Text>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.push(key, Value::Text(text.as_str().to_owned().into()));
        }
    }

    pub(crate) fn int(&mut self, key: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.push(key, Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
        }
    }

    /// Nanoseconds as seconds, the unit of all durations in the conventions.
    pub(crate) fn seconds(&mut self, key: &'static str, nanos: Option<u64>) {
        if let Some(nanos) = nanos {
            self.push(key, Value::Double(nanos as f64 / NANOS_PER_SECOND));
        }
    }

    /// Adds an attribute, unless its name is taken: names must be unique, and ours go before configured ones.
    pub(crate) fn push(&mut self, key: impl Into<Words>, value: Value) {
        let attribute = Attribute::new(key, value);
        if !self.0.iter().any(|other| other.key == attribute.key) {
            self.0.push(attribute);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Attribute> {
        self.0
    }
}
