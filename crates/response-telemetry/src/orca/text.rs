//! The text form of a report: a list of keys and values.

use super::{Gathering, MAPS, Quantity};
use crate::decimal::{self, split};

/// Reads all entries of `text`.
pub(super) fn parse(text: &[u8], report: &mut Gathering<'_>) {
    for entry in text.split(|byte| *byte == b',') {
        let entry = entry.trim_ascii();
        if entry.is_empty() {
            // What a list of no entries, and a comma at its end, leave.
            continue;
        }
        let Some((key, value)) = key_and_value(entry) else {
            report.bad();
            continue;
        };
        if let Some(quantity) = quantity(key.trim_ascii()) {
            report.take(quantity, decimal::real(value));
        }
    }
}

/// The names of some metrics have a colon in them, so an equals sign goes before, and the last colon is the border.
fn key_and_value(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    split(entry, |byte| byte == b'=').or_else(|| {
        let at = entry.iter().rposition(|byte| *byte == b':')?;
        let (key, rest) = entry.split_at_checked(at)?;
        Some((key, rest.get(1..)?))
    })
}

fn quantity(key: &[u8]) -> Option<Quantity> {
    Quantity::of_field(key).or_else(|| {
        let (map, name) = split(key, |byte| byte == b'.')?;
        MAPS.contains(&map).then(|| Quantity::of_metric(name))?
    })
}
