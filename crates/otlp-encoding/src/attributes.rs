//! Attributes: names with typed values.

use inference_span::Value;

use crate::messages::{self, AnyValue, ArrayValue, KeyValue};

/// An attribute as it is sent.
pub(crate) fn key_value(key: &str, value: Value) -> KeyValue {
    let value = match value {
        Value::Text(text) => text_value(&text),
        Value::Int(number) => any(messages::Value::Int(number)),
        Value::Double(number) => any(messages::Value::Double(number)),
        Value::Bool(is) => any(messages::Value::Bool(is)),
        Value::TextList(texts) => any(messages::Value::Array(ArrayValue {
            values: texts.iter().map(|text| text_value(text)).collect(),
        })),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(value),
    }
}

/// An attribute whose value is text.
pub(crate) fn key_text(key: &str, text: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(text_value(text)),
    }
}

fn text_value(text: &str) -> AnyValue {
    any(messages::Value::Text(text.to_owned()))
}

fn any(value: messages::Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

/// A label of a series as an attribute. Labels are text; the conventions want a port to be a number and the mark of
/// an overflow series to be true.
pub(crate) fn label(name: &str, value: &str) -> KeyValue {
    let typed = match name {
        "server.port" => value.parse().ok().map(Value::Int),
        metric_registry::OVERFLOW_LABEL => value.parse().ok().map(Value::Bool),
        _ => None,
    };
    match typed {
        Some(typed) => key_value(name, typed),
        None => key_text(name, value),
    }
}
