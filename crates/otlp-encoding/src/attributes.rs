//! Attributes: names with typed values.

use crate::messages::{AnyValue, ArrayValue, KeyValue, Value};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Yes or no.
    Bool(bool),
    /// Several texts.
    Texts(Vec<String>),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> AttributeValue {
        AttributeValue::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> AttributeValue {
        AttributeValue::Text(text)
    }
}

/// An attribute as it is sent.
pub(crate) fn key_value(key: &str, value: AttributeValue) -> KeyValue {
    let value = match value {
        AttributeValue::Text(text) => Value::Text(text),
        AttributeValue::Int(number) => Value::Int(number),
        AttributeValue::Double(number) => Value::Double(number),
        AttributeValue::Bool(is) => Value::Bool(is),
        AttributeValue::Texts(texts) => Value::Array(ArrayValue {
            values: texts.into_iter().map(text_value).collect(),
        }),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

fn text_value(text: String) -> AnyValue {
    AnyValue {
        value: Some(Value::Text(text)),
    }
}

/// A label of a series as an attribute. Labels are text; the conventions want a port to be a number and the mark of
/// an overflow series to be true.
pub(crate) fn label(name: &str, value: &str) -> KeyValue {
    let typed = match name {
        "server.port" => value.parse().ok().map(AttributeValue::Int),
        metric_registry::OVERFLOW_LABEL => value.parse().ok().map(AttributeValue::Bool),
        _ => None,
    };
    key_value(name, typed.unwrap_or_else(|| value.into()))
}
