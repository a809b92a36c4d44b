//! Who sends: the attributes of the resource, from several sources that overrule one another.

use crate::attributes::key_text;
use crate::messages::Resource;

/// The most attributes of a resource; more are left out.
const LIMIT: usize = 128;

/// The attributes of a resource, all of them text; each key stands once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceAttributes {
    pairs: Vec<(String, String)>,
}

/// `OTEL_RESOURCE_ATTRIBUTES` is not what it should be, and is left out as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedVariable;

impl ResourceAttributes {
    /// Sets an attribute; the last value of a key counts. Empty keys and empty texts set nothing.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        if key.is_empty() || value.is_empty() {
            return;
        }
        if let Some((_, known)) = self.pairs.iter_mut().find(|(known, _)| known == key) {
            *known = value;
        } else if self.pairs.len() < LIMIT {
            self.pairs.push((key.to_owned(), value));
        }
    }

    /// Sets what the variable `OTEL_RESOURCE_ATTRIBUTES` says: `key=value` pairs between commas, percent-encoded.
    ///
    /// # Errors
    ///
    /// When a pair has no `=`, no key or a broken encoding; the specification asks to leave out all of them then.
    pub fn set_variable(&mut self, text: &str) -> Result<(), MalformedVariable> {
        let mut decoded = Vec::new();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair.split_once('=').ok_or(MalformedVariable)?;
            let [key, value] = [key, value].map(|part| percent_decoded(part.trim()));
            let (key, value) = key.zip(value).ok_or(MalformedVariable)?;
            if key.is_empty() {
                return Err(MalformedVariable);
            }
            decoded.push((key, value));
        }
        for (key, value) in decoded {
            self.set(&key, value);
        }
        Ok(())
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let pair = self.pairs.iter().find(|(known, _)| known == key);
        pair.map(|(_, value)| value.as_str())
    }

    pub(crate) fn message(&self) -> Resource {
        let pairs = self.pairs.iter();
        Resource {
            attributes: pairs.map(|(key, value)| key_text(key, value)).collect(),
        }
    }
}

/// The text that is percent-encoded; nothing where the encoding is broken or gives no UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_counts() {
        let mut attributes = ResourceAttributes::default();
        attributes.set("service.name", "first");
        attributes
            .set_variable("service.name=second,a=b%2Cc , k8s.pod.name=p%20q,")
            .unwrap();
        attributes.set("empty", "");
        attributes.set("", "no key");
        assert_eq!(attributes.get("service.name"), Some("second"));
        assert_eq!(attributes.get("a"), Some("b,c"));
        assert_eq!(attributes.get("k8s.pod.name"), Some("p q"));
        assert_eq!(attributes.pairs.len(), 3);
    }

    #[test]
    fn a_malformed_variable_is_left_out_as_a_whole() {
        for text in ["a=b,c", "=b", "a=%4", "a=%zz", "a=%+1", "a=%ff"] {
            let mut attributes = ResourceAttributes::default();
            assert_eq!(attributes.set_variable(text), Err(MalformedVariable));
            assert_eq!(attributes, ResourceAttributes::default(), "{text}");
        }
    }

    #[test]
    fn there_are_not_more_than_the_limit() {
        let mut attributes = ResourceAttributes::default();
        for number in 0..LIMIT * 2 {
            attributes.set(&number.to_string(), "x");
        }
        assert_eq!(attributes.message().attributes.len(), LIMIT);
    }
}
