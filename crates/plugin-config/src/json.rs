//! The JSON text as a tree that keeps repeated keys, so that they can be reported.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use crate::mistake::{Mistake, Problem};
use crate::text::{is_plain_key, shortened};

/// One JSON value. Numbers are floats: every range of the configuration lies well inside what they hold exactly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Switch(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// The members in the order of the text; a key may occur twice.
    Object(Vec<(String, Json)>),
}

/// Reads one JSON document.
pub(crate) fn read(bytes: &[u8]) -> Result<Json, Mistake> {
    serde_json::from_slice(bytes).map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        Mistake {
            path: format!("line {}, column {}", error.line(), error.column()),
            problem: Problem::NotJson,
            given: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
            accepted: "one JSON object".to_owned(),
        }
    })
}

impl Json {
    // The look-ups are never inlined, as the module has to be small and they run once a configuration.

    /// The value of a member, the first one where the key occurs twice.
    #[inline(never)]
    pub(crate) fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value below a dotted path of keys.
    #[inline(never)]
    pub(crate) fn at(&self, path: &str) -> Option<&Json> {
        path.split('.').try_fold(self, |json, key| json.member(key))
    }

    pub(crate) fn as_switch(&self) -> Option<bool> {
        match self {
            Json::Switch(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Json::Number(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(value) => Some(value),
            _ => None,
        }
    }

    /// The elements of a list; none for anything else.
    pub(crate) fn elements(&self) -> &[Json] {
        match self {
            Json::List(elements) => elements,
            _ => &[],
        }
    }

    /// The members of an object; none for anything else.
    pub(crate) fn members(&self) -> &[(String, Json)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }
}

/// The path of a member, written so that a key with dots stays one key.
#[inline(never)]
pub(crate) fn member_path(parent: &str, key: &str) -> String {
    let short = shortened(key);
    match (parent.is_empty(), is_plain_key(key)) {
        (true, true) => short,
        (false, true) => format!("{parent}.{short}"),
        (_, false) => format!("{parent}[\"{short}\"]"),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Json;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON value")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Switch(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Number(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = access.next_element()? {
                    elements.push(element);
                }
                Ok(Json::List(elements))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
