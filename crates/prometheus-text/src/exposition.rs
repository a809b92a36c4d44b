//! The text itself: families in order, their head lines and their samples.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use metric_registry::{Family, Kind, SeriesValue, Snapshot};

use crate::Format;
use crate::escape::write_help;
use crate::name::{ends_with_word, family_name, unit_suffix};
use crate::number::{write_bound, write_scaled, write_signed, write_whole};
use crate::rows::{Row, rows};

/// The entries of a snapshot that are exposed under one name.
pub(crate) struct Group<'a> {
    /// Name without a counter's `_total`.
    name: String,
    kind: Kind,
    entries: Vec<Family<'a>>,
}

/// All groups in the order of their names, and how many series had to be left out because their names are taken.
///
/// A family takes its own name and those of its samples. Which family comes first does not depend on the order in
/// the snapshot, so the same series are left out at every scrape.
pub(crate) fn groups(snapshot: &Snapshot) -> (Vec<Group<'_>>, usize) {
    let mut named: Vec<(String, Family<'_>)> = snapshot
        .families()
        .filter(|family| family.series().next().is_some())
        .map(|family| {
            (
                family_name(family.name(), family.unit(), family.kind()),
                family,
            )
        })
        .collect();
    named.sort_by(|(one_name, one), (other_name, other)| {
        (one_name, one.kind(), one.name(), one.unit(), one.scale())
            .cmp(&(
                other_name,
                other.kind(),
                other.name(),
                other.unit(),
                other.scale(),
            ))
            .then_with(|| one.label_names().cmp(other.label_names()))
    });
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut taken = BTreeSet::new();
    let mut left_out: usize = 0;
    for (name, family) in named {
        if let Some(last) = groups.last_mut()
            && (last.name == name && last.kind == family.kind())
        {
            last.entries.push(family);
            continue;
        }
        let names = names_taken_by(&name, family.kind());
        if names.iter().any(|name| taken.contains(name)) {
            left_out = left_out.saturating_add(family.series().count());
            continue;
        }
        taken.extend(names);
        groups.push(Group {
            name,
            kind: family.kind(),
            entries: vec![family],
        });
    }
    (groups, left_out)
}

/// The family's name and those of its samples, reserved ones included.
fn names_taken_by(name: &str, kind: Kind) -> Vec<String> {
    let suffixes: &[&str] = match kind {
        Kind::Counter => &["", "_total", "_created"],
        Kind::Gauge | Kind::Reading => &[""],
        Kind::Histogram => &["", "_bucket", "_sum", "_count", "_created"],
    };
    suffixes
        .iter()
        .map(|suffix| [name, suffix].concat())
        .collect()
}

/// Writes one group: its head lines once, then its series.
pub(crate) fn write_group(
    out: &mut impl Write,
    group: &Group<'_>,
    format: Format,
    help: &dyn Fn(&str) -> Option<&'static str>,
) -> fmt::Result {
    write_head(out, group, format, help)?;
    let mut bounds = BoundTexts::default();
    for row in rows(&group.entries) {
        let Row { labels, measured } = &row;
        let scale = &measured.scale;
        match &measured.value {
            SeriesValue::Counter(sum) => {
                write_sample_name(out, &group.name, "_total", labels)?;
                write_scaled(out, *sum, *scale)?;
                out.write_char('\n')?;
            }
            SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } => {
                write_sample_name(out, &group.name, "", labels)?;
                write_signed(out, *level, *scale)?;
                out.write_char('\n')?;
            }
            SeriesValue::Histogram { counts, sum } => {
                bounds.prepare(measured.bounds, *scale, format)?;
                write_histogram(out, &group.name, &row, (counts, *sum), &bounds)?;
            }
        }
    }
    Ok(())
}

fn write_head(
    out: &mut impl Write,
    group: &Group<'_>,
    format: Format,
    help: &dyn Fn(&str) -> Option<&'static str>,
) -> fmt::Result {
    let open_metrics = format == Format::OpenMetrics;
    let Group {
        name,
        kind,
        entries,
    } = group;
    // Text 0.0.4 describes samples, so a counter's head lines carry the suffix; OpenMetrics describes families.
    let suffix = if *kind == Kind::Counter && !open_metrics {
        "_total"
    } else {
        ""
    };
    if let Some(text) = entries.iter().find_map(|entry| help(entry.name())) {
        write!(out, "# HELP {name}{suffix} ")?;
        write_help(out, text, open_metrics)?;
        out.write_char('\n')?;
    }
    writeln!(out, "# TYPE {name}{suffix} {}", kind.as_str())?;
    let unit = entries
        .first()
        .map_or_else(String::new, |entry| unit_suffix(entry.unit(), *kind));
    if open_metrics && !unit.is_empty() && ends_with_word(name, &unit) {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    Ok(())
}

fn write_histogram(
    out: &mut impl Write,
    name: &str,
    row: &Row<'_>,
    value: (&[u64], u64),
    bounds: &BoundTexts<'_>,
) -> fmt::Result {
    let (counts, sum) = value;
    let comma = if row.labels.is_empty() { "" } else { "," };
    let head = [name, "_bucket{", &row.labels, comma].concat();
    let mut cumulative: u64 = 0;
    for (place, count) in counts.iter().enumerate() {
        cumulative = cumulative.saturating_add(*count);
        out.write_str(&head)?;
        out.write_str(bounds.text(place))?;
        write_whole(out, cumulative)?;
        out.write_char('\n')?;
    }
    write_sample_name(out, name, "_sum", &row.labels)?;
    write_scaled(out, sum, row.measured.scale)?;
    out.write_char('\n')?;
    write_sample_name(out, name, "_count", &row.labels)?;
    write_whole(out, cumulative)?;
    out.write_char('\n')
}

/// The ends of bucket names, from `le` on: all series of a family have the same, but for changes of settings.
#[derive(Default)]
struct BoundTexts<'a> {
    of: Option<(&'a [u64], u64)>,
    texts: Vec<String>,
}

impl<'a> BoundTexts<'a> {
    fn prepare(&mut self, bounds: &'a [u64], scale: u64, format: Format) -> fmt::Result {
        if self.of == Some((bounds, scale)) {
            return Ok(());
        }
        self.of = Some((bounds, scale));
        self.texts.clear();
        for bound in bounds {
            let mut text = String::from("le=\"");
            write_bound(&mut text, *bound, scale, format == Format::OpenMetrics)?;
            text.push_str("\"} ");
            self.texts.push(text);
        }
        Ok(())
    }

    fn text(&self, place: usize) -> &str {
        self.texts
            .get(place)
            .map_or("le=\"+Inf\"} ", String::as_str)
    }
}

fn write_sample_name(out: &mut impl Write, name: &str, suffix: &str, labels: &str) -> fmt::Result {
    out.write_str(name)?;
    out.write_str(suffix)?;
    if !labels.is_empty() {
        out.write_char('{')?;
        out.write_str(labels)?;
        out.write_char('}')?;
    }
    out.write_char(' ')
}
