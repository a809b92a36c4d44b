//! The series of one metric: their order, and series that look alike.

use metric_registry::{Family, Measured};

/// One series as it will be sent.
pub(crate) struct Row<'a> {
    /// The labels that are present, by name; two rows with the same labels are the same series.
    pub(crate) labels: Vec<(&'a str, &'a str)>,
    pub(crate) measured: Measured<'a>,
}

/// The rows of several entries of one metric, in the order of their labels.
///
/// Receivers refuse a series that stands twice, or has two writers, so those that look alike are added up.
pub(crate) fn rows<'a>(entries: impl Iterator<Item = Family<'a>>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for entry in entries {
        for series in entry.series() {
            let mut labels: Vec<_> = series.labels().collect();
            labels.sort_unstable();
            rows.push(Row {
                labels,
                measured: Measured::of(entry, series),
            });
        }
    }
    // Equal ones keep the order of their entries, which decides whose bounds stay.
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

/// What the rows have grown by since an earlier state, with whether each began anew. Those that have not are left out.
pub(crate) fn grown<'a>(rows: Vec<Row<'a>>, earlier: &[Row<'_>]) -> Vec<(Row<'a>, bool)> {
    let mut earlier = earlier.iter().peekable();
    let mut grown = Vec::with_capacity(rows.len());
    for row in rows {
        while earlier.next_if(|old| old.labels < row.labels).is_some() {}
        let old = earlier.next_if(|old| old.labels == row.labels);
        let since = old.map(|old| row.measured.since(&old.measured));
        let (measured, anew) = match since {
            Some(Some(measured)) => (measured, false),
            // A series that is new counts from nothing, as one does that began anew.
            Some(None) => (row.measured.clone(), true),
            None => (row.measured.clone(), false),
        };
        if !measured.value.is_zero() {
            grown.push((Row { measured, ..row }, anew));
        }
    }
    grown
}
