//! The other parser: serde_json reads the document, and a plain walk says which calls it should have made.

use std::fmt;

use json_scan::{Container, Flaw, Node, Outcome};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::recorder::{Call, Tag, cut, scan, scan_pieces, text};

const LEAVES: &[Node<Tag>] = &[
    Node::leaf("a", "a"),
    Node::leaf("é\n", "é"),
    Node::leaf("", "empty"),
    Node::leaf("[]", "element"),
];

/// A tree with the keys that the made-up documents use, so that they often meet.
static TREE: Node<Tag> = Node::tagged_root(
    "root",
    &[
        Node::tagged("a", "a", LEAVES),
        Node::branch("b", LEAVES),
        Node::tagged(
            "[]",
            "element",
            &[
                Node::tagged("[]", "element of element", LEAVES),
                Node::branch("a", &[Node::tagged("a", "a in a", LEAVES)]),
            ],
        ),
        Node::leaf("é\n", "é"),
        Node::leaf("", "empty"),
    ],
);

/// Compares the verdict and the calls with serde_json's, and the whole document with its cuttings.
///
/// The stated exceptions are handled one by one: invalid UTF-8 inside strings and lone surrogates are replaced before
/// serde_json sees them, a number that it finds out of range is accepted here, and its own limit of nesting, which is
/// another one than the scanner's, is lifted.
pub(crate) fn check(document: &[u8], cuts: &[usize]) {
    let shown = || String::from_utf8_lossy(document).into_owned();
    let report = scan(&TREE, document);
    for pieces in [cut(document, cuts), document.chunks(1).collect()] {
        let in_pieces = scan_pieces(&TREE, pieces);
        assert_eq!(in_pieces.calls, report.calls, "{}", shown());
        assert_eq!(in_pieces.outcome, report.outcome, "{}", shown());
    }

    let document = without_lone_surrogates(document);
    let document = document.as_slice();
    let valid_utf8 = String::from_utf8_lossy(document);
    let value = read::<serde_json::Value>(valid_utf8.as_bytes());
    match value {
        Ok(_) if report.outcome == Outcome::Malformed(Flaw::NumberTooLong) => {}
        Ok(_) if report.outcome == Outcome::Malformed(Flaw::TooDeep) => {}
        Ok(_) => {
            assert_eq!(report.outcome, Outcome::Complete, "{}", shown());
            // Replacing bad bytes changes texts, so calls are compared where nothing was replaced.
            if valid_utf8.as_bytes() == document {
                let expected = read::<Document>(document).unwrap().expected_calls(&TREE);
                assert_eq!(with_numbers_read(report.calls), expected, "{}", shown());
            }
        }
        Err(error) if error.to_string().starts_with("number out of range") => {}
        Err(error) => match report.outcome {
            Outcome::Complete => panic!("accepted in spite of {error}: {}", shown()),
            Outcome::Empty => assert!(error.is_eof() && document.trim_ascii().is_empty()),
            Outcome::Truncated => assert!(error.is_eof(), "{error}: {}", shown()),
            Outcome::Malformed(_) => {}
        },
    }
}

/// What serde_json makes of a document, however deep it is.
fn read<T: DeserializeOwned>(document: &[u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(document);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The document with each escaped half of a surrogate pair that lacks its other half written as a replacement.
fn without_lone_surrogates(document: &[u8]) -> Vec<u8> {
    let unit = |escape: &[u8]| -> Option<u16> {
        let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
        let digits = std::str::from_utf8(digits).ok()?;
        let all_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        all_digits.then(|| u16::from_str_radix(digits, 16).unwrap())
    };
    let mut written = Vec::new();
    let mut rest = document;
    while let Some(byte) = rest.first() {
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                written.extend(b"\\ufffd");
                rest = &rest[6..];
                continue;
            }
            _ if *byte == b'\\' => rest.len().min(2),
            _ => 1,
        };
        written.extend(&rest[..length]);
        rest = &rest[length..];
    }
    written
}

/// A document as serde_json reads it, with every occurrence of a duplicate key kept in order.
#[derive(Debug, Clone)]
enum Document {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    Array(Vec<Document>),
    Object(Vec<(String, Document)>),
}

impl Document {
    /// The calls that a scanner with this tree makes.
    fn expected_calls(&self, root: &'static Node<Tag>) -> Vec<Call> {
        let mut calls = Vec::new();
        self.walk(Some(root), &mut calls);
        calls
    }

    fn walk(&self, place: Option<&'static Node<Tag>>, calls: &mut Vec<Call>) {
        let Some(place) = place else { return };
        let open = |calls: &mut Vec<Call>, kind| {
            calls.extend(place.tag.map(|tag| Call::Open(tag, kind)));
        };
        let close = |calls: &mut Vec<Call>, kind, items: usize| {
            calls.extend(place.tag.map(|tag| Call::Close(tag, kind, items as u64)));
        };
        let child = |key: &str| place.children.iter().find(|child| child.key == key);
        match self {
            Self::Null => calls.extend(place.tag.map(Call::Null)),
            Self::Bool(value) => calls.extend(place.tag.map(|tag| Call::Bool(tag, *value))),
            Self::Number(value) => {
                calls.extend(place.tag.map(|tag| Call::Number(tag, value.to_string())));
            }
            Self::Text(value) => calls.extend(place.tag.map(|tag| text(tag, value))),
            Self::Array(items) => {
                open(calls, Container::Array);
                items.iter().for_each(|item| item.walk(child("[]"), calls));
                close(calls, Container::Array, items.len());
            }
            Self::Object(members) => {
                open(calls, Container::Object);
                for (key, value) in members {
                    value.walk(child(key).filter(|_| key != "[]"), calls);
                }
                close(calls, Container::Object, members.len());
            }
        }
    }
}

/// Numbers are compared as serde_json understands them, since it does not keep their spelling.
fn with_numbers_read(calls: Vec<Call>) -> Vec<Call> {
    let read = |call| match call {
        Call::Number(tag, text) => {
            let number: serde_json::Number = serde_json::from_str(&text).unwrap();
            Call::Number(tag, number.to_string())
        }
        other => other,
    };
    calls.into_iter().map(read).collect()
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyDocument)
    }
}

struct AnyDocument;

impl<'de> Visitor<'de> for AnyDocument {
    type Value = Document;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
        Ok(Document::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
        Ok(Document::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
        Ok(Document::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
        Ok(Document::Number(
            serde_json::Number::from_f64(value).unwrap(),
        ))
    }

    fn visit_str<E>(self, value: &str) -> Result<Document, E> {
        Ok(Document::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Document, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Document::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Document, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Document::Object(members))
    }
}
