//! Series as a reader is shown them: under labels, in their order, those that look alike added up.

use crate::measured::Measured;
use crate::snapshot::{Family, Series};

/// One series under the labels that it is shown with.
#[derive(Clone, Debug)]
pub struct Row<'a, L> {
    /// The labels, in whatever form they are shown; two rows with the same labels are the same series.
    pub labels: L,
    /// What the series holds.
    pub measured: Measured<'a>,
}

/// The rows of several families, in the order of the labels that `labels` gives for each series.
///
/// Families can hold series that look alike once absent labels are left out, as when a label was switched off while
/// counting went on. Readers refuse a series that stands twice, so such rows are added up.
pub fn rows<'a, L: Ord>(
    families: impl IntoIterator<Item = Family<'a>>,
    mut labels: impl FnMut(Series<'a>) -> L,
) -> Vec<Row<'a, L>> {
    let mut rows: Vec<Row<'a, L>> = Vec::new();
    for family in families {
        for series in family.series() {
            rows.push(Row {
                labels: labels(series),
                measured: Measured::of(family, series),
            });
        }
    }
    // Equal ones keep the order of their families, which decides whose bounds stay.
    rows.sort_by(|one, other| one.labels.cmp(&other.labels));
    rows.dedup_by(|later, kept| {
        let same = later.labels == kept.labels;
        if same {
            kept.measured.add(&later.measured);
        }
        same
    });
    rows
}
