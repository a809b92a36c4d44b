//! Holds attributes against the table of the semantic conventions in `testdata/conventions`.
//!
//! It knows no library of ours, so that any test can use it: of a library, or of what a receiver got.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../../testdata/conventions/gen-ai-spans.toml");

/// The namespace of what the conventions have no name for.
const OWN: &str = "inference.";

/// One attribute as somebody met it.
#[derive(Clone, Debug)]
pub(crate) struct Met<'a> {
    pub(crate) key: &'a str,
    /// `string`, `int`, `double`, `boolean` or `string[]`.
    pub(crate) value_type: &'static str,
    /// The text or the texts, where it is one of these.
    pub(crate) texts: Vec<&'a str>,
}

/// What the attributes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Span,
    ExceptionEvent,
    FailureLog,
}

impl Signal {
    /// The parts of the table whose attributes it may have, and those whose required ones it must.
    fn parts(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Signal::Span => (&["span"], &["span"]),
            Signal::ExceptionEvent => (&["exception"], &["exception"]),
            Signal::FailureLog => (&["exception", "span"], &["exception", "span"]),
        }
    }
}

/// What is wrong with the attributes of one signal in a version of the conventions, `v1.41` or `head`. Attributes whose
/// keys are `configured` are an operator's.
pub(crate) fn complaints(
    signal: Signal,
    version: &str,
    met: &[Met<'_>],
    configured: &[&str],
) -> Vec<String> {
    let table: toml::Table = TABLE.parse().unwrap();
    let (may, must) = signal.parts();
    let mut complaints = Vec::new();
    let mut keys = BTreeSet::new();
    for attribute in met {
        if !keys.insert(attribute.key) {
            complaints.push(format!("{} stands twice", attribute.key));
        }
        if attribute.key.starts_with(OWN) || configured.contains(&attribute.key) {
            continue;
        }
        match may.iter().find_map(|part| table[*part].get(attribute.key)) {
            Some(row) => complaints.extend(flaws(row, version, attribute, met)),
            None => complaints.push(format!("{} is unknown", attribute.key)),
        }
    }
    for part in must {
        for (key, row) in table[*part].as_table().unwrap() {
            if row["requirement"].as_str() == Some("required") && !keys.contains(key.as_str()) {
                complaints.push(format!("{key} is missing"));
            }
        }
    }
    complaints
}

fn flaws(row: &toml::Value, version: &str, attribute: &Met<'_>, met: &[Met<'_>]) -> Vec<String> {
    let key = attribute.key;
    let mut flaws = Vec::new();
    if row["requirement"].as_str() == Some("opt_in") {
        flaws.push(format!("{key} holds content"));
    }
    if row["type"].as_str() != Some(attribute.value_type) {
        flaws.push(format!(
            "{key} is {} and not {}",
            attribute.value_type, row["type"]
        ));
    }
    let versions = words(row, "versions");
    if !versions.is_empty() && !versions.contains(&version) {
        flaws.push(format!("{key} is not in {version}"));
    }
    if let Some(with) = row.get("with").and_then(toml::Value::as_str)
        && !met.iter().any(|other| other.key == with)
    {
        flaws.push(format!("{key} stands without {with}"));
    }
    let allowed = [words(row, "values"), words(row, "own_values")].concat();
    for text in &attribute.texts {
        if text.is_empty() {
            flaws.push(format!("{key} is empty"));
        } else if !allowed.is_empty() && !allowed.contains(text) {
            flaws.push(format!("{key} is {text:?}, which is not listed"));
        }
    }
    flaws
}

fn words<'a>(row: &'a toml::Value, column: &str) -> Vec<&'a str> {
    row.get(column)
        .and_then(toml::Value::as_array)
        .map(|words| words.iter().filter_map(toml::Value::as_str).collect())
        .unwrap_or_default()
}
