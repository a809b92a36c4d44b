//! The series of one exposed family: their label text, their order, and series that look alike.

use metric_registry::{Family, Series, SeriesValue, rebin};

use crate::escape::write_label_value;
use crate::name::label_name;

/// One series as it will stand in the text.
pub(crate) struct Row<'a> {
    /// Labels in their final form and order, without braces; two rows with the same text are the same series.
    pub(crate) labels: String,
    pub(crate) scale: u64,
    pub(crate) bounds: &'a [u64],
    pub(crate) value: SeriesValue<'a>,
}

/// The rows of several entries of one family, in the order of their labels.
///
/// Entries can hold series that look alike once absent labels are left out, as when a label was switched off while
/// counting went on. Readers refuse a series that stands twice, so such rows are added up.
pub(crate) fn rows<'a>(entries: &[Family<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut names = LabelNames::default();
    for entry in entries {
        for series in entry.series() {
            rows.push(Row {
                labels: label_text(series, &mut names),
                scale: entry.scale(),
                bounds: entry.bounds(),
                value: series.value(),
            });
        }
    }
    // Equal ones keep the order of their entries, which decides whose bounds stay.
    rows.sort_by(|one, other| one.labels.cmp(&other.labels));
    rows.dedup_by(|later, kept| {
        let same = later.labels == kept.labels;
        if same {
            kept.add(later);
        }
        same
    });
    rows
}

impl Row<'_> {
    /// Adds a row of the same kind in this row's scale and bounds.
    fn add(&mut self, other: &Row<'_>) {
        let convert = |value: u64| rescaled(value, other.scale, self.scale);
        match (&mut self.value, &other.value) {
            (SeriesValue::Counter(sum), SeriesValue::Counter(more)) => {
                *sum = sum.saturating_add(convert(*more));
            }
            (SeriesValue::Gauge(level), SeriesValue::Gauge(more)) => {
                let size = i64::try_from(convert(more.unsigned_abs())).unwrap_or(i64::MAX);
                *level = if *more < 0 {
                    level.saturating_sub(size)
                } else {
                    level.saturating_add(size)
                };
            }
            (
                SeriesValue::Histogram { counts, sum },
                SeriesValue::Histogram {
                    counts: more,
                    sum: more_sum,
                },
            ) => {
                let bounds: Vec<u64> = other.bounds.iter().map(|bound| convert(*bound)).collect();
                let counts = counts.to_mut();
                rebin(&bounds, more, self.bounds, |bucket, more| {
                    if let Some(count) = counts.get_mut(bucket) {
                        *count = count.saturating_add(more);
                    }
                });
                *sum = sum.saturating_add(convert(*more_sum));
            }
            _ => {}
        }
    }
}

/// A value of one scale in another, rounded to the nearest.
fn rescaled(value: u64, from: u64, to: u64) -> u64 {
    if from == to {
        return value;
    }
    let (from, to) = (u128::from(from.max(1)), u128::from(to));
    let half = from / 2;
    let scaled = u128::from(value).saturating_mul(to).saturating_add(half);
    u64::try_from(scaled.checked_div(from).unwrap_or(0)).unwrap_or(u64::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_change_their_scale_to_the_nearest() {
        for (value, from, to, expected) in [
            (5, 7, 7, 5),
            (1_500, 1_000, 1, 2),
            (1_499, 1_000, 1, 1),
            (3, 1, 1_000_000_000, 3_000_000_000),
            (u64::MAX, 1, 1_000, u64::MAX),
            (u64::MAX, u64::MAX, 1, 1),
        ] {
            assert_eq!(
                rescaled(value, from, to),
                expected,
                "{value} from {from} to {to}"
            );
        }
    }
}
