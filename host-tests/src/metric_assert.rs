//! Reads a scrape and compares it with what a test expects: name, labels, value or range.
//!
//! ```
//! use host_tests::metric_assert::{Exposition, between, equal};
//!
//! let scrape = Exposition::parse(
//!     "# TYPE requests_total counter\n\
//!      requests_total{model=\"a\",outcome=\"success\"} 2\n\
//!      requests_total{model=\"b\",outcome=\"success\"} 1\n",
//! )?;
//! scrape.check(&[
//!     equal("requests_total", &[("outcome", "success")], 3.0),
//!     between("requests_total", &[("model", "b")], 0.5, 1.5),
//! ])?;
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// How many series of a family a difference shows before it stops.
const SERIES_SHOWN: usize = 12;

/// Label pairs a series must carry; it may carry more.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// One line of a scrape.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name as written, with `_total`, `_bucket` and the like.
    pub name: String,
    /// The labels, escapes resolved.
    pub labels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
}

impl Sample {
    /// Whether the sample carries all of these labels.
    #[must_use]
    pub fn carries(&self, labels: Labels<'_>) -> bool {
        labels
            .iter()
            .all(|(name, value)| self.labels.get(*name).is_some_and(|own| own == value))
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.labels.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let series = series_text(&self.name, labels);
        write!(formatter, "{series} {}", self.value)
    }
}

/// A scrape in Prometheus text or OpenMetrics.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    samples: Vec<Sample>,
    kinds: BTreeMap<String, String>,
}

impl Exposition {
    /// Reads a scrape; time stamps and exemplars are skipped.
    ///
    /// # Errors
    ///
    /// When a line is not of the format, with that line; or when one series appears twice.
    pub fn parse(text: &str) -> Result<Exposition, String> {
        let mut exposition = Exposition::default();
        let mut seen = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(comment) = line.strip_prefix('#') {
                exposition.take_comment(comment);
            } else if !line.is_empty() {
                let sample = parse_sample(line)
                    .ok_or_else(|| format!("line {number} is no sample: {line}"))?;
                let key = (sample.name.clone(), sample.labels.clone());
                if let Some(first) = seen.insert(key, number) {
                    return Err(format!("lines {first} and {number} are one series: {line}"));
                }
                exposition.samples.push(sample);
            }
        }
        Ok(exposition)
    }

    /// An exposition of samples that came by another way than a scrape.
    #[must_use]
    pub fn of(samples: Vec<Sample>) -> Exposition {
        Exposition {
            samples,
            kinds: BTreeMap::new(),
        }
    }

    /// What is left when the samples with such names are left out.
    #[must_use]
    pub fn without(&self, is_left_out: impl Fn(&str) -> bool) -> Exposition {
        let kept = |sample: &&Sample| !is_left_out(&sample.name);
        Exposition {
            samples: self.samples.iter().filter(kept).cloned().collect(),
            kinds: self.kinds.clone(),
        }
    }

    fn take_comment(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        if words.next() == Some("TYPE")
            && let (Some(name), Some(kind)) = (words.next(), words.next())
        {
            self.kinds.insert(name.to_owned(), kind.to_owned());
        }
    }

    /// All samples, in the scrape's order.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The declared kind of a family, such as `counter`.
    #[must_use]
    pub fn kind(&self, family: &str) -> Option<&str> {
        self.kinds.get(family).map(String::as_str)
    }

    /// The samples of that name that carry these labels.
    pub fn matching<'a>(
        &'a self,
        name: &'a str,
        labels: Labels<'a>,
    ) -> impl Iterator<Item = &'a Sample> {
        self.samples
            .iter()
            .filter(move |sample| sample.name == name && sample.carries(labels))
    }

    /// The sum over the samples of that name that carry these labels; nothing where there is none.
    #[must_use]
    pub fn total(&self, name: &str, labels: Labels<'_>) -> Option<f64> {
        self.matching(name, labels)
            .map(|sample| sample.value)
            .reduce(|sum, value| sum + value)
    }

    /// As [`Exposition::total`], where a series that does not exist counts as zero.
    #[must_use]
    pub fn total_or_zero(&self, name: &str, labels: Labels<'_>) -> f64 {
        self.total(name, labels).unwrap_or(0.0)
    }

    /// Compares with all expectations and tells every difference at once.
    ///
    /// # Errors
    ///
    /// The differences, each followed by the series that the scrape holds under that name.
    pub fn check(&self, expectations: &[Expectation<'_>]) -> Result<(), String> {
        let mut report = String::new();
        for expectation in expectations {
            let found = self.total(expectation.name, expectation.labels);
            if !expectation.wanted.admits(found) {
                self.explain(expectation, found, &mut report);
            }
        }
        if report.is_empty() {
            Ok(())
        } else {
            Err(report)
        }
    }

    /// As [`Exposition::check`], for tests.
    ///
    /// # Panics
    ///
    /// When the scrape differs from an expectation.
    #[track_caller]
    pub fn assert(&self, expectations: &[Expectation<'_>]) {
        let outcome = self.check(expectations);
        let report = outcome.err().unwrap_or_default();
        assert!(report.is_empty(), "the scrape differs:\n{report}");
    }

    fn explain(&self, expectation: &Expectation<'_>, found: Option<f64>, report: &mut String) {
        let series = series_text(expectation.name, expectation.labels.iter().copied());
        let found = found.map_or_else(|| "no such series".to_owned(), |value| value.to_string());
        // Writing to a string cannot fail.
        let _infallible = writeln!(
            report,
            "- {series}: expected {}, found {found}",
            expectation.wanted
        );
        let family: Vec<&Sample> = self.matching(expectation.name, &[]).collect();
        for sample in family.iter().take(SERIES_SHOWN) {
            let _infallible = writeln!(report, "    {sample}");
        }
        if family.len() > SERIES_SHOWN {
            let _infallible = writeln!(report, "    … {} more", family.len() - SERIES_SHOWN);
        }
        if family.is_empty() {
            let _infallible = writeln!(report, "    (nothing of that name)");
        }
    }

    /// Every series whose value differs between two scrapes: its text, before and after. A series
    /// that one of them lacks counts as zero there.
    #[must_use]
    pub fn changes(&self, later: &Exposition) -> Vec<(String, f64, f64)> {
        let mut values: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for sample in &self.samples {
            values.entry(sample_key(sample)).or_default().0 = sample.value;
        }
        for sample in &later.samples {
            values.entry(sample_key(sample)).or_default().1 = sample.value;
        }
        values
            .into_iter()
            .filter(|(_, (before, after))| before.to_bits() != after.to_bits())
            .map(|(series, (before, after))| (series, before, after))
            .collect()
    }
}

/// What a test expects of the sum over the series with a name and some labels.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    name: &'a str,
    labels: Labels<'a>,
    wanted: Wanted,
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Between(f64, f64),
    NoSeries,
}

impl Wanted {
    fn admits(self, found: Option<f64>) -> bool {
        match (self, found) {
            (Wanted::Between(low, high), Some(value)) => (low..=high).contains(&value),
            (Wanted::NoSeries, None) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::NoSeries => formatter.write_str("no such series"),
            Wanted::Between(low, high) if low.to_bits() == high.to_bits() => {
                write!(formatter, "{low}")
            }
            Wanted::Between(low, high) if high.is_infinite() => {
                write!(formatter, "{low} or more")
            }
            Wanted::Between(low, high) => write!(formatter, "{low} to {high}"),
        }
    }
}

/// Exactly this value.
#[must_use]
pub fn equal<'a>(name: &'a str, labels: Labels<'a>, value: f64) -> Expectation<'a> {
    between(name, labels, value, value)
}

/// A value within both bounds.
#[must_use]
pub fn between<'a>(name: &'a str, labels: Labels<'a>, low: f64, high: f64) -> Expectation<'a> {
    let wanted = Wanted::Between(low, high);
    Expectation {
        name,
        labels,
        wanted,
    }
}

/// This value or more.
#[must_use]
pub fn at_least<'a>(name: &'a str, labels: Labels<'a>, low: f64) -> Expectation<'a> {
    between(name, labels, low, f64::INFINITY)
}

/// No series with these labels.
#[must_use]
pub fn absent<'a>(name: &'a str, labels: Labels<'a>) -> Expectation<'a> {
    Expectation {
        name,
        labels,
        wanted: Wanted::NoSeries,
    }
}

fn sample_key(sample: &Sample) -> String {
    let labels = sample.labels.iter().map(|(n, v)| (n.as_str(), v.as_str()));
    series_text(&sample.name, labels)
}

fn series_text<'a>(name: &str, labels: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let labels: Vec<String> = labels.map(|(n, v)| format!("{n}={v:?}")).collect();
    if labels.is_empty() {
        name.to_owned()
    } else {
        format!("{name}{{{}}}", labels.join(","))
    }
}

fn parse_sample(line: &str) -> Option<Sample> {
    let name_end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(name_end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => parse_labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    // What follows the value is a time stamp or an exemplar.
    let value = parse_value(rest.split_whitespace().next()?)?;
    let name_is_sound = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
    name_is_sound.then(|| Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

fn parse_value(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        number => number.parse().ok(),
    }
}

/// The labels up to the closing brace, and what stands after it.
fn parse_labels(mut text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let (value, rest) = parse_label_value(rest)?;
        if labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// A value up to its closing quote, escapes resolved, and what stands after it.
fn parse_label_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(index + 1..)?)),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                _ => return None,
            }),
            plain => value.push(plain),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAPE: &str = "\
# HELP requests_total Requests, with a \\\\ in the help.
# TYPE requests_total counter
requests_total{model=\"a\",outcome=\"success\"} 2
requests_total{model=\"a\",outcome=\"timeout\"} 1
requests_total{model=\"b \\\"quoted\\\" \\\\ \\n}\",outcome=\"success\"} 4 1700000000
# TYPE latency histogram
latency_bucket{le=\"+Inf\"} 3 # {trace_id=\"x\"} 0.2
latency_sum 0.25
gauge -1
# EOF
";

    fn scrape() -> Exposition {
        Exposition::parse(SCRAPE).unwrap()
    }

    #[test]
    fn values_of_series_with_the_labels_are_summed() {
        let scrape = scrape();
        assert_eq!(scrape.total("requests_total", &[]), Some(7.0));
        assert_eq!(scrape.total("requests_total", &[("model", "a")]), Some(3.0));
        assert_eq!(scrape.total("requests_total", &[("model", "c")]), None);
        assert_eq!(scrape.total("gauge", &[]), Some(-1.0));
        assert_eq!(scrape.kind("latency"), Some("histogram"));
    }

    #[test]
    fn escapes_time_stamps_and_exemplars_are_understood() {
        let scrape = scrape();
        let label = "b \"quoted\" \\ \n}";
        assert_eq!(
            scrape.total("requests_total", &[("model", label)]),
            Some(4.0)
        );
        assert_eq!(scrape.total("latency_bucket", &[("le", "+Inf")]), Some(3.0));
    }

    #[test]
    fn a_difference_names_the_series_and_shows_what_is_there() {
        let difference = scrape().check(&[
            equal("requests_total", &[("model", "a")], 3.0),
            equal("requests_total", &[("outcome", "timeout")], 2.0),
            absent("gauge", &[]),
            at_least("missing", &[], 1.0),
        ]);
        assert_eq!(
            difference.unwrap_err(),
            "\
- requests_total{outcome=\"timeout\"}: expected 2, found 1
    requests_total{model=\"a\",outcome=\"success\"} 2
    requests_total{model=\"a\",outcome=\"timeout\"} 1
    requests_total{model=\"b \\\"quoted\\\" \\\\ \\n}\",outcome=\"success\"} 4
- gauge: expected no such series, found -1
    gauge -1
- missing: expected 1 or more, found no such series
    (nothing of that name)
"
        );
    }

    #[test]
    fn lines_that_are_no_samples_are_refused() {
        fn check(text: &str) {
            assert!(
                Exposition::parse(text).is_err(),
                "{text:?} should be refused"
            );
        }
        check("name");
        check("name x");
        check("na-me 1");
        check("name{a=\"1} 1");
        check("name{a=\"1\",a=\"2\"} 1");
        check("name{a=\"\\x\"} 1");
        check("{a=\"1\"} 1");
        check("twice 1\ntwice 2");
    }

    #[test]
    fn changes_between_scrapes_are_listed_by_series() {
        let later = SCRAPE
            .replace("latency_sum 0.25", "latency_sum 0.5")
            .replace("gauge -1\n", "fresh 1\n");
        let later = Exposition::parse(&later).unwrap();
        assert_eq!(
            scrape().changes(&later),
            [
                ("fresh".to_owned(), 0.0, 1.0),
                ("gauge".to_owned(), -1.0, 0.0),
                ("latency_sum".to_owned(), 0.25, 0.5),
            ]
        );
    }
}
