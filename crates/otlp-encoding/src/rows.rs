//! The series of one metric, and what they have grown by.

use metric_registry::Family;

/// One series as it will be sent: the labels that are present, by name.
pub(crate) type Row<'a> = metric_registry::Row<'a, Vec<(&'a str, &'a str)>>;

/// The rows of several entries of one metric, in the order of their labels.
pub(crate) fn rows<'a>(entries: impl Iterator<Item = Family<'a>>) -> Vec<Row<'a>> {
    metric_registry::rows(entries, |series| {
        let mut labels: Vec<_> = series.labels().collect();
        labels.sort_unstable();
        labels
    })
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
