//! The series of one exposed family, under their label text.

use metric_registry::{Family, Series};

use crate::escape::write_label_value;
use crate::name::label_name;

/// One series as it will stand in the text: its labels in their final form and order, without braces.
pub(crate) type Row<'a> = metric_registry::Row<'a, String>;

/// The rows of several entries of one family, in the order of their labels.
pub(crate) fn rows<'a>(entries: &[Family<'a>]) -> Vec<Row<'a>> {
    let mut names = LabelNames::default();
    metric_registry::rows(entries.iter().copied(), |series| {
        label_text(series, &mut names)
    })
}

/// The final names of the labels met so far.
#[derive(Default)]
struct LabelNames<'a>(Vec<(&'a str, String)>);

impl<'a> LabelNames<'a> {
    fn learn(&mut self, otel_name: &'a str) {
        if !self.0.iter().any(|(known, _)| *known == otel_name) {
            self.0.push((otel_name, label_name(otel_name)));
        }
    }

    fn get(&self, otel_name: &str) -> &str {
        self.0
            .iter()
            .find(|(known, _)| *known == otel_name)
            .map_or("", |(_, name)| name)
    }
}

/// The labels of a series sorted by name; labels whose names have become one share their values, joined by `;`.
fn label_text<'a>(series: Series<'a>, names: &mut LabelNames<'a>) -> String {
    for (name, _) in series.labels() {
        names.learn(name);
    }
    let mut labels: Vec<(&str, &str, &str)> = series
        .labels()
        .map(|(name, value)| (names.get(name), name, value))
        .collect();
    labels.sort_unstable();
    let mut text = String::new();
    for same in labels.chunk_by(|one, next| one.0 == next.0) {
        if !text.is_empty() {
            text.push(',');
        }
        for (place, (name, _, value)) in same.iter().enumerate() {
            if place == 0 {
                text.push_str(name);
                text.push_str("=\"");
            } else {
                text.push(';');
            }
            // Writing into a string cannot fail.
            let _ = write_label_value(&mut text, value);
        }
        text.push('"');
    }
    text
}
