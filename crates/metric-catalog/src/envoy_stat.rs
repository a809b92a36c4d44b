//! Names and numbers of the proxy's own stats.
//!
//! A stat has no labels. They are written into its name in the form that Istio's bootstrap takes out again,
//! `tag=.=value;.;`, by one regular expression a tag: `(tag=\.=(.*?);\.;)`. It is searched anywhere in the name, so
//! neither a value nor another tag may look like one. Istio searches for a few patterns of its own, too.

use crate::definition::Metric;
use crate::label;
use crate::table;

/// Words before a dot that Istio's bootstrap takes for a tag of its own, wherever they stand.
const TAKEN_BEFORE_A_DOT: &[&str] = &["cache", "component", "tag", "wasm_filter", "rbac"];
/// Words behind a dot that it takes.
const TAKEN_BEHIND_A_DOT: &[&str] = &["istio_dry_run_", "shadow_"];

/// The stat's name for the metric of that name with these labels.
pub(crate) fn name<'a>(
    metric: &str,
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let mirror = table::metric(metric)?.envoy?;
    let mut out = String::new();
    for (name, value) in labels {
        let Some(tag) = label::tag(name).filter(|_| !value.is_empty()) else {
            continue;
        };
        out.push_str(tag);
        out.push_str("=.=");
        push_value(value, &mut out);
        out.push_str(";.;");
    }
    out.push_str(mirror.name);
    Some(out)
}

/// A value of the metric in the whole numbers of its stat, rounded to the nearest.
pub(crate) fn amount(metric: &Metric, value: u64) -> Option<u64> {
    let divisor = metric.scale.checked_div(metric.envoy?.per_unit)?;
    value
        .saturating_add(divisor.checked_div(2)?)
        .checked_div(divisor)
}

/// A value in which nothing can be taken for a tag or for its end.
fn push_value(value: &str, out: &mut String) {
    let mut rest = value;
    while let Some(character) = rest.chars().next() {
        let before = value
            .get(..value.len().saturating_sub(rest.len()))
            .unwrap_or_default();
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        let is_taken = match character {
            ';' | '=' => true,
            '.' => {
                TAKEN_BEFORE_A_DOT.iter().any(|word| before.ends_with(word))
                    || TAKEN_BEHIND_A_DOT.iter().any(|word| rest.starts_with(word))
            }
            other => other.is_control(),
        };
        out.push(if is_taken { '_' } else { character });
    }
}
