//! A small reader of Prometheus text, for comparing a scrape with the truth.

use std::collections::BTreeMap;

use crate::truth::rank;

/// One line with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name of the series.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

impl Sample {
    /// Whether it has these labels; as in PromQL, an empty value asks for the label's absence.
    fn has(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let value = |key: &str| self.labels.get(key).map_or("", String::as_str);
        self.name == name && labels.iter().all(|(key, wanted)| value(key) == *wanted)
    }
}

/// A scrape, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrape {
    /// Its samples in the order of the text.
    pub samples: Vec<Sample>,
}

impl Scrape {
    /// Reads Prometheus text 0.0.4 or OpenMetrics 1.0; exemplars and time stamps are passed over.
    ///
    /// # Errors
    /// Quotes the first line that is not understood.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples = lines.map(|line| {
            read_line(line).ok_or_else(|| anyhow::anyhow!("not a line of metrics: {line}"))
        });
        Ok(Self {
            samples: samples.collect::<anyhow::Result<_>>()?,
        })
    }

    /// The sum of all samples of a name that have these labels; `None` when there are none.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = self
            .samples
            .iter()
            .filter(|sample| sample.has(name, labels))
            .peekable();
        found.peek()?;
        Some(found.map(|sample| sample.value).sum())
    }

    /// Sums of all samples of a name that have these labels, by the value of another label.
    #[must_use]
    pub fn sums_by(&self, name: &str, labels: &[(&str, &str)], by: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for sample in self
            .samples
            .iter()
            .filter(|sample| sample.has(name, labels))
        {
            let key = sample.labels.get(by).cloned().unwrap_or_default();
            *sums.entry(key).or_insert(0.0) += sample.value;
        }
        sums
    }

    /// The histogram of a name, series with these labels added up; `None` when there are none.
    #[must_use]
    pub fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Option<Histogram> {
        let count = self.sum(&format!("{name}_count"), labels)?;
        let sum = self.sum(&format!("{name}_sum"), labels)?;
        let bucket = format!("{name}_bucket");
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for sample in self
            .samples
            .iter()
            .filter(|sample| sample.has(&bucket, labels))
        {
            let bound = read_number(sample.labels.get("le")?)?;
            match buckets
                .iter_mut()
                .find(|(known, _)| known.total_cmp(&bound).is_eq())
            {
                Some((_, up_to)) => *up_to += sample.value,
                None => buckets.push((bound, sample.value)),
            }
        }
        buckets.sort_by(|left, right| left.0.total_cmp(&right.0));
        Some(Histogram {
            buckets,
            sum,
            count,
        })
    }
}

/// A histogram as a scrape has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Upper bounds with the count of samples up to each, ascending; the last bound is infinite.
    pub buckets: Vec<(f64, f64)>,
    /// The sum of the samples.
    pub sum: f64,
    /// How many there are.
    pub count: f64,
}

impl Histogram {
    /// The mean of its samples.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// The place, from 0, of the bucket that a value belongs to.
    #[must_use]
    pub fn bucket_of(&self, value: f64) -> Option<usize> {
        self.buckets.iter().position(|(bound, _)| value <= *bound)
    }

    /// The place, from 0, of the bucket that holds a quantile of its samples.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "counts of samples are far below 2^52"
    )]
    pub fn quantile_bucket(&self, quantile: f64) -> Option<usize> {
        let rank = rank(self.count.max(0.0) as usize, quantile)? as f64;
        self.buckets.iter().position(|(_, up_to)| *up_to >= rank)
    }

    /// A quantile by even spread within its bucket, as PromQL's `histogram_quantile` has it.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let place = self.quantile_bucket(quantile)?;
        let (bound, up_to) = *self.buckets.get(place)?;
        let (lower, before) = match place.checked_sub(1) {
            Some(previous) => *self.buckets.get(previous)?,
            None => (0.0, 0.0),
        };
        if bound.is_infinite() {
            return Some(lower);
        }
        let share = (quantile * self.count - before) / (up_to - before);
        Some(lower + (bound - lower) * share.clamp(0.0, 1.0))
    }
}

fn read_line(line: &str) -> Option<Sample> {
    let name_end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at_checked(name_end)?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => read_labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = read_number(rest.split_whitespace().next()?)?;
    (!name.is_empty()).then(|| Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// The labels up to the closing brace, and what follows it.
fn read_labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (key, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        loop {
            match characters.next()? {
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (end, '"') => {
                    rest = after.get(end + 1..)?;
                    break;
                }
                (_, other) => value.push(other),
            }
        }
        labels.insert(key.trim().to_owned(), value);
    }
}

fn read_number(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP requests_total Requests, "quoted".
# TYPE requests_total counter
requests_total{model="a",outcome="success"} 3
requests_total{model="a",outcome="x\"y\\z\nw, }"} 4 1700000000000
requests_total{model="b",outcome="success"} 5
up 1
wait_seconds_bucket{model="a",le="0.1"} 2
wait_seconds_bucket{model="a",le="0.5"} 8
wait_seconds_bucket{model="a",le="+Inf"} 10 # {trace_id="t"} 0.9
wait_seconds_sum{model="a"} 3.5
wait_seconds_count{model="a"} 10
wait_seconds_bucket{model="b",le="0.1"} 1
wait_seconds_bucket{model="b",le="0.5"} 1
wait_seconds_bucket{model="b",le="+Inf"} 1
wait_seconds_sum{model="b"} 0.05
wait_seconds_count{model="b"} 1
# EOF
"#;

    #[test]
    fn samples_are_added_by_their_labels() {
        let scrape = Scrape::parse(TEXT).unwrap();
        assert_eq!(scrape.sum("requests_total", &[]), Some(12.0));
        assert_eq!(scrape.sum("requests_total", &[("model", "a")]), Some(7.0));
        assert_eq!(
            scrape.sum("requests_total", &[("outcome", "x\"y\\z\nw, }")]),
            Some(4.0)
        );
        assert_eq!(scrape.sum("requests_total", &[("model", "c")]), None);
        assert_eq!(scrape.sum("up", &[]), Some(1.0));
        assert_eq!(scrape.sum("up", &[("model", "")]), Some(1.0));
        assert_eq!(scrape.sum("requests_total", &[("model", "")]), None);
        let by_model = scrape.sums_by("requests_total", &[("outcome", "success")], "model");
        assert_eq!(
            by_model,
            BTreeMap::from([("a".to_owned(), 3.0), ("b".to_owned(), 5.0)])
        );
    }

    #[test]
    fn histograms_are_added_and_their_quantiles_found() {
        let scrape = Scrape::parse(TEXT).unwrap();
        let both = scrape.histogram("wait_seconds", &[]).unwrap();
        assert_eq!(
            both.buckets,
            [(0.1, 3.0), (0.5, 9.0), (f64::INFINITY, 11.0)]
        );
        let one = scrape.histogram("wait_seconds", &[("model", "a")]).unwrap();
        assert_eq!(one.mean(), Some(0.35));
        assert_eq!(
            (one.quantile_bucket(0.2), one.quantile_bucket(0.21)),
            (Some(0), Some(1))
        );
        assert_eq!(
            (one.bucket_of(0.1), one.bucket_of(0.11), one.bucket_of(9.0)),
            (Some(0), Some(1), Some(2))
        );
        assert!((one.quantile(0.5).unwrap() - 0.3).abs() < 1e-9);
        assert_eq!(
            one.quantile(0.99),
            Some(0.5),
            "an open bucket gives its lower bound"
        );
        assert_eq!(scrape.histogram("other", &[]), None);
    }

    #[test]
    fn what_is_no_metric_is_refused() {
        for text in [
            "novalue",
            "name{a=\"b\" 1",
            "name{a=b} 1",
            "name x",
            "{a=\"b\"} 1",
        ] {
            assert!(Scrape::parse(text).is_err(), "{text}");
        }
    }
}
