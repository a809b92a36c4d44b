//! The two text formats, and which of them a scraper asks for.

/// A text format of the Prometheus world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text 0.0.4, which every scraper reads.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// The `Content-Type` of a format.
#[must_use]
pub const fn content_type(format: Format) -> &'static str {
    match format {
        Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
    }
}

/// How well an `Accept` header likes a format; later fields only decide where earlier ones are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Liking {
    /// Quality in thousandths; zero is a refusal.
    quality: u16,
    /// Whether the format was named, rather than matched by a wildcard.
    named: bool,
    /// Counts down from the first range, so that of two equal ones the first wins.
    earliness: usize,
}

/// The best match of one format so far: the most specific range decides, whatever its quality.
#[derive(Clone, Copy, Debug, Default)]
struct Match {
    specificity: u8,
    liking: Liking,
}

impl Format {
    /// The format that an `Accept` header asks for, by its quality values.
    ///
    /// [`Format::Prometheus`] where the header is absent (empty), unreadable, leaves the choice, or asks for neither:
    /// a scraper is better served by text it did not ask for than by a refusal.
    #[must_use]
    pub fn from_accept(accept: &[u8]) -> Format {
        let accept = str::from_utf8(accept).unwrap_or_default();
        let (mut text, mut open_metrics) = (Match::default(), Match::default());
        for (place, range) in accept.split(',').enumerate() {
            let Some(range) = Range::parse(range) else {
                continue;
            };
            let earliness = usize::MAX.saturating_sub(place);
            text.consider(
                range.specificity("text", "plain", "0.0.4"),
                &range,
                earliness,
            );
            open_metrics.consider(
                range.specificity("application", "openmetrics-text", "1.0.0"),
                &range,
                earliness,
            );
        }
        if open_metrics.liking.quality > 0 && open_metrics.liking > text.liking {
            Format::OpenMetrics
        } else {
            Format::Prometheus
        }
    }
}

impl Match {
    fn consider(&mut self, specificity: u8, range: &Range<'_>, earliness: usize) {
        if specificity > self.specificity {
            *self = Match {
                specificity,
                liking: Liking {
                    quality: range.quality,
                    named: specificity >= Range::NAMED,
                    earliness,
                },
            };
        }
    }
}

/// One media range of an `Accept` header.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    version: Option<&'a str>,
    quality: u16,
}

impl<'a> Range<'a> {
    /// Specificity from which on a range names the format itself.
    const NAMED: u8 = 3;

    fn parse(text: &'a str) -> Option<Range<'a>> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let mut range = Range {
            kind,
            subtype,
            version: None,
            quality: 1000,
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("q") {
                range.quality = thousandths(value)?;
            } else if name.eq_ignore_ascii_case("version") {
                range.version = Some(value);
            }
        }
        Some(range)
    }

    /// How closely this range describes a format; zero where it does not match.
    ///
    /// Another version than ours is another format. Exact version, any version, any subtype, anything: 4 to 1.
    fn specificity(&self, kind: &str, subtype: &str, version: &str) -> u8 {
        let is_kind = self.kind.eq_ignore_ascii_case(kind);
        if is_kind && self.subtype.eq_ignore_ascii_case(subtype) {
            match self.version {
                Some(asked) if asked == version => 4,
                Some(_) => 0,
                None => Range::NAMED,
            }
        } else if is_kind && self.subtype == "*" {
            2
        } else {
            u8::from(self.kind == "*" && self.subtype == "*")
        }
    }
}

/// A quality value in thousandths; `None` where it is none.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let padded = fraction.bytes().chain(*b"000").take(3);
    let fraction = padded.fold(0_u16, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(u16::from(digit.saturating_sub(b'0')))
    });
    match (whole, fraction) {
        ("0", fraction) => Some(fraction),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, expected: Format) {
        assert_eq!(Format::from_accept(accept.as_bytes()), expected, "{accept}");
    }

    #[test]
    fn what_known_scrapers_send_is_understood() {
        check(
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            Format::OpenMetrics,
        );
        check(
            "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            Format::Prometheus,
        );
        check(
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
            Format::Prometheus,
        );
        check(
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            Format::Prometheus,
        );
        check("*/*", Format::Prometheus);
        check("", Format::Prometheus);
    }

    #[test]
    fn the_higher_quality_wins() {
        check(
            "application/openmetrics-text;q=0.3,text/plain;q=0.5",
            Format::Prometheus,
        );
        check(
            "application/openmetrics-text;q=0.5,text/plain;q=0.3",
            Format::OpenMetrics,
        );
        check(
            "text/plain;q=0.300,application/openmetrics-text;q=0.301",
            Format::OpenMetrics,
        );
        check(
            "application/openmetrics-text;q=0.2,*/*;q=0.9",
            Format::Prometheus,
        );
        check(
            "application/openmetrics-text;q=0,*/*;q=0.1",
            Format::Prometheus,
        );
        check("application/openmetrics-text;q=0", Format::Prometheus);
    }

    #[test]
    fn of_equal_qualities_the_named_one_wins_then_the_first() {
        check("*/*,application/openmetrics-text", Format::OpenMetrics);
        check("application/*", Format::OpenMetrics);
        check("text/*,application/*", Format::Prometheus);
        check(
            "application/openmetrics-text,text/plain",
            Format::OpenMetrics,
        );
        check(
            "text/plain,application/openmetrics-text",
            Format::Prometheus,
        );
    }

    #[test]
    fn the_most_specific_range_decides() {
        check(
            "application/openmetrics-text;q=0.9,application/openmetrics-text;version=1.0.0;q=0.1,text/plain;q=0.5",
            Format::Prometheus,
        );
        check(
            "text/plain;q=0.1,text/*;q=1,application/openmetrics-text;q=0.5",
            Format::OpenMetrics,
        );
    }

    #[test]
    fn case_spaces_and_quotes_do_not_matter() {
        check(
            " Application/OpenMetrics-Text ; Version = \"1.0.0\" ; Q = 1 ",
            Format::OpenMetrics,
        );
    }

    #[test]
    fn what_cannot_be_read_asks_for_nothing() {
        for q in ["2", "1.1", "-1", "0.1234", ".5", "x", ""] {
            check(
                &format!("application/openmetrics-text;q={q}"),
                Format::Prometheus,
            );
        }
        check(
            "application/openmetrics-text;version=2.0.0",
            Format::Prometheus,
        );
        check("openmetrics-text", Format::Prometheus);
        assert_eq!(
            Format::from_accept(b"application/openmetrics-text,\xff"),
            Format::Prometheus
        );
    }
}
