//! OpenTelemetry names and units as Prometheus names.
//!
//! The rules are those of OpenTelemetry's page on compatibility with Prometheus and OpenMetrics
//! (<https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/>).

use metric_registry::Kind;

/// Units and their words.
const UNIT_WORDS: [(&str, &str); 22] = [
    ("%", "percent"),
    ("A", "amperes"),
    ("By", "bytes"),
    ("Cel", "celsius"),
    ("GBy", "gigabytes"),
    ("GiBy", "gibibytes"),
    ("Hz", "hertz"),
    ("J", "joules"),
    ("KiBy", "kibibytes"),
    ("MBy", "megabytes"),
    ("MiBy", "mebibytes"),
    ("V", "volts"),
    ("W", "watts"),
    ("d", "days"),
    ("g", "grams"),
    ("h", "hours"),
    ("kBy", "kilobytes"),
    ("m", "meters"),
    ("min", "minutes"),
    ("ms", "milliseconds"),
    ("ns", "nanoseconds"),
    ("us", "microseconds"),
];

/// Units of time as they stand after "per".
const PER_WORDS: [(&str, &str); 4] = [
    ("d", "day"),
    ("h", "hour"),
    ("min", "minute"),
    ("s", "second"),
];

/// The name of a metric's samples, without the `_bucket`, `_sum` and `_count` of a histogram.
///
/// Characters that Prometheus does not know become `_`, runs of them one; the unit follows in words unless the name
/// ends with it already; a counter ends in `_total`.
///
/// ```
/// use metric_registry::Kind;
/// use prometheus_text::metric_name;
///
/// assert_eq!(
///     metric_name("inference.request.duration", "s", Kind::Histogram),
///     "inference_request_duration_seconds",
/// );
/// assert_eq!(metric_name("inference.requests", "{request}", Kind::Counter), "inference_requests_total");
/// ```
#[must_use]
pub fn metric_name(otel_name: &str, unit: &str, kind: Kind) -> String {
    let mut name = family_name(otel_name, unit, kind);
    if kind == Kind::Counter {
        name.push_str("_total");
    }
    name
}

/// The name without the counter's `_total`, as OpenMetrics names the family.
pub(crate) fn family_name(otel_name: &str, unit: &str, kind: Kind) -> String {
    let mut name = with_valid_characters(otel_name, |c| c.is_ascii_alphanumeric() || c == ':');
    name.truncate(name.trim_end_matches('_').len());
    if kind == Kind::Counter {
        let stem = name.strip_suffix("_total").unwrap_or(&name).len();
        name.truncate(stem);
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    let suffix = unit_suffix(unit, kind);
    if !suffix.is_empty() && !ends_with_word(&name, &suffix) {
        if !name.ends_with('_') {
            name.push('_');
        }
        name.push_str(&suffix);
    }
    name
}

/// Whether a name ends with this suffix after an underscore.
pub(crate) fn ends_with_word(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix)
        .is_some_and(|stem| stem.ends_with('_'))
}

/// The words of a unit; empty where it has none.
///
/// What stands in braces is a remark and falls away, so `{token}/s` is `per_second`. `1` is a ratio, but says nothing
/// about a counter.
pub(crate) fn unit_suffix(unit: &str, kind: Kind) -> String {
    let unit = without_remarks(unit);
    let (main, per) = match unit.split_once('/') {
        Some((main, per)) => (main.trim(), per.trim()),
        None => (unit.trim(), ""),
    };
    let main = match main {
        "1" if per.is_empty() && kind != Kind::Counter => "ratio",
        "1" => "",
        "s" => "seconds",
        other => word_of(&UNIT_WORDS, other),
    };
    let mut suffix = with_valid_characters(main, |c| c.is_ascii_alphanumeric());
    if !per.is_empty() {
        suffix.push_str("_per_");
        suffix.push_str(&with_valid_characters(word_of(&PER_WORDS, per), |c| {
            c.is_ascii_alphanumeric()
        }));
    }
    suffix.trim_matches('_').to_owned()
}

/// A label's name: characters that Prometheus does not know become `_`, runs of them one.
///
/// `le` belongs to the buckets, so a label of that name becomes `exported_le`.
pub(crate) fn label_name(otel_name: &str) -> String {
    let mut name = with_valid_characters(otel_name, |c| c.is_ascii_alphanumeric());
    if name.is_empty() {
        name.push('_');
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "key_");
    } else if name == "le" {
        name.insert_str(0, "exported_");
    }
    name
}

fn with_valid_characters(text: &str, valid: fn(char) -> bool) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if valid(c) {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name
}

fn word_of<'a>(words: &[(&str, &'static str)], unit: &'a str) -> &'a str {
    words
        .iter()
        .find(|(short, _)| *short == unit)
        .map_or(unit, |(_, word)| word)
}

/// A unit without its parts in braces; an open brace ends it.
fn without_remarks(unit: &str) -> String {
    let mut depth = 0_usize;
    unit.chars()
        .filter(|c| {
            match c {
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(otel_name: &str, unit: &str, kind: Kind, expected: &str) {
        assert_eq!(
            metric_name(otel_name, unit, kind),
            expected,
            "{otel_name} in {unit:?}"
        );
    }

    #[test]
    fn names_of_the_catalogue_are_as_documented() {
        check(
            "inference.request.duration",
            "s",
            Kind::Histogram,
            "inference_request_duration_seconds",
        );
        check(
            "gen_ai.server.time_to_first_token",
            "s",
            Kind::Histogram,
            "gen_ai_server_time_to_first_token_seconds",
        );
        check(
            "gen_ai.client.token.usage",
            "{token}",
            Kind::Histogram,
            "gen_ai_client_token_usage",
        );
        check(
            "inference.input_tokens",
            "{token}",
            Kind::Counter,
            "inference_input_tokens_total",
        );
        check(
            "inference.requests.in_flight",
            "{request}",
            Kind::Gauge,
            "inference_requests_in_flight",
        );
        check(
            "inference.output_tokens.rate",
            "{token}/s",
            Kind::Histogram,
            "inference_output_tokens_rate_per_second",
        );
        check(
            "inference.prompt_cache.hit_ratio",
            "1",
            Kind::Histogram,
            "inference_prompt_cache_hit_ratio",
        );
        check(
            "inference.kv_cache.utilization",
            "1",
            Kind::Gauge,
            "inference_kv_cache_utilization_ratio",
        );
        check(
            "inferometer.inspected.bytes",
            "By",
            Kind::Counter,
            "inferometer_inspected_bytes_total",
        );
        check(
            "inferometer.vm.memory",
            "By",
            Kind::Gauge,
            "inferometer_vm_memory_bytes",
        );
        check(
            "inferometer.build.info",
            "",
            Kind::Gauge,
            "inferometer_build_info",
        );
    }

    #[test]
    fn units_become_words() {
        check("x", "ms", Kind::Gauge, "x_milliseconds");
        check("x", "%", Kind::Gauge, "x_percent");
        check("x", "1", Kind::Gauge, "x_ratio");
        check("x", "1", Kind::Counter, "x_total");
        check("x", "1/s", Kind::Gauge, "x_per_second");
        check("x", "By/s", Kind::Gauge, "x_bytes_per_second");
        check("x", "{a}s{b}", Kind::Gauge, "x_seconds");
        check("x", "{token}/{request}", Kind::Gauge, "x");
        check("x", "furlong", Kind::Gauge, "x_furlong");
        check(
            "x",
            "k-furlong/fort night",
            Kind::Gauge,
            "x_k_furlong_per_fort_night",
        );
        check("x", "{never closed", Kind::Gauge, "x");
        check("x", "", Kind::Gauge, "x");
    }

    #[test]
    fn suffixes_are_not_repeated() {
        check("x.seconds", "s", Kind::Histogram, "x_seconds");
        check("x.seconds.total", "s", Kind::Counter, "x_seconds_total");
        check("x.total", "s", Kind::Counter, "x_seconds_total");
        check("x.total", "", Kind::Gauge, "x_total");
        check("x.milliseconds", "s", Kind::Gauge, "x_milliseconds_seconds");
        check("seconds", "s", Kind::Gauge, "seconds_seconds");
    }

    #[test]
    fn any_name_becomes_a_valid_one() {
        check("a..b--c__d", "", Kind::Gauge, "a_b_c_d");
        check("a.", "s", Kind::Gauge, "a_seconds");
        check(".a", "", Kind::Gauge, "_a");
        check("1a", "", Kind::Gauge, "_1a");
        check("", "", Kind::Gauge, "_");
        check("ü", "s", Kind::Counter, "_seconds_total");
        check("total", "", Kind::Counter, "total_total");
        check("a\n# EOF", "", Kind::Gauge, "a_EOF");
        check("job:a", "", Kind::Gauge, "job:a");
    }

    #[test]
    fn label_names_are_valid_and_leave_le_to_the_buckets() {
        for (label, expected) in [
            ("gen_ai.request.model", "gen_ai_request_model"),
            ("otel.metric.overflow", "otel_metric_overflow"),
            ("model", "model"),
            ("a..b", "a_b"),
            ("__name__", "_name_"),
            ("le", "exported_le"),
            ("1", "key_1"),
            ("", "_"),
            ("a:b", "a_b"),
        ] {
            assert_eq!(label_name(label), expected, "{label}");
        }
    }
}
