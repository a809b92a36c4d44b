//! The JSON schema of the configuration, for editors and for manifests.

use serde_json::{Map, Value, json};

use super::note_on;
use crate::metrics::HISTOGRAMS;
use crate::shape::{Key, LARGEST_BOUND, MOST_BOUNDS, Shape, TOP, TextRule};

/// The JSON schema (draft 2020-12). It knows every key, word and range; what it cannot say (bounds that ascend, rules
/// between keys) only [`crate::parse`] knows.
pub fn schema() -> Value {
    let mut schema = of_object(TOP, "");
    if let Value::Object(members) = &mut schema {
        members.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        members.insert(
            "title".to_owned(),
            json!("Inferometer plugin configuration"),
        );
    }
    schema
}

fn of_object(keys: &[Key], parent: &str) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let path = super::child(parent, key.name);
            let note = note_on(&path);
            let mut schema = of_shape(&key.shape, &path);
            if let Value::Object(members) = &mut schema {
                members.insert("description".to_owned(), json!(note.meaning));
                if let Ok(default) = serde_json::from_str::<Value>(note.default) {
                    members.insert("default".to_owned(), default);
                }
            }
            (key.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut schema =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (Value::Object(members), false) = (&mut schema, required.is_empty()) {
        members.insert("required".to_owned(), json!(required));
    }
    schema
}

fn of_shape(shape: &Shape, path: &str) -> Value {
    match shape {
        Shape::Switch => json!({"type": "boolean"}),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Ratio => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Shape::Duration(..) => json!({"type": "string", "pattern": "^[0-9]+(ms|s)$"}),
        Shape::Text(rule) => of_text(*rule),
        Shape::Listed(listed) => json!({"enum": listed.names}),
        Shape::List(element, most) => json!({
            "type": "array",
            "items": of_shape(element, &format!("{path}[]")),
            "minItems": 1,
            "maxItems": most,
            "uniqueItems": true,
        }),
        Shape::Object(keys) => of_object(keys, path),
        Shape::SwitchOrObject(keys) => {
            json!({"anyOf": [{"type": "boolean"}, of_object(keys, path)]})
        }
        Shape::Buckets => of_buckets(),
        Shape::Map(map) => json!({
            "type": "object",
            "propertyNames": of_text(map.name),
            "additionalProperties": of_text(map.value),
            "minProperties": 1,
            "maxProperties": map.most,
        }),
    }
}

fn of_text(rule: TextRule) -> Value {
    let pattern = match rule {
        TextRule::Path => r##"^/[!-"$->@-~]*$"##,
        TextRule::PathSuffix => r##"^/[!-"$->@-~]+$"##,
        TextRule::Provider => r"^[A-Za-z0-9._-]+$",
        TextRule::Header | TextRule::CallHeader => r"^[a-z0-9._-]+$",
        TextRule::Cluster | TextRule::AttributeKey => "^[!-~]+$",
        TextRule::Authority => "^[!-.0-~]+$",
        TextRule::Model | TextRule::Secret | TextRule::AttributeValue => {
            r"^[^\u0000-\u001f\u007f-\u009f]+$"
        }
        TextRule::BaggageKey => r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    };
    json!({"type": "string", "maxLength": rule.most_bytes(), "pattern": pattern})
}

fn of_buckets() -> Value {
    let properties: Map<String, Value> = HISTOGRAMS
        .iter()
        .map(|histogram| {
            let kind = if histogram.per_unit == 1 { "integer" } else { "number" };
            let bound = json!({"type": kind, "minimum": histogram.least_bound(), "maximum": LARGEST_BOUND});
            let list = json!({"type": "array", "items": bound, "minItems": 1, "maxItems": MOST_BOUNDS, "uniqueItems": true});
            (histogram.name.to_owned(), list)
        })
        .collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}
