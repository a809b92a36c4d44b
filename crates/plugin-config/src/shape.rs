//! The one table of the configuration: which keys there are, and what each accepts.

use crate::foreign_words::{APIS, MEANINGS, UNITS};
use crate::metrics::{HISTOGRAMS, MIRRORED_METRICS};
use crate::near::nearest;
use crate::text::{listed, number};

/// Least and most milliseconds between two ticks.
pub(crate) const TICK_MILLIS: (u32, u32) = (100, 60_000);
/// Least and largest bucket bounds, in the metric's own unit.
pub(crate) const LARGEST_BOUND: f64 = 1_000_000_000.0;
/// Most bounds of one histogram.
pub(crate) const MOST_BOUNDS: usize = 32;

/// One key of an object.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// What a value must be.
pub(crate) enum Shape {
    /// `true` or `false`.
    Switch,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A whole number from the first to the second.
    Whole(u32, u32),
    /// A number from 0 to 1.
    Ratio,
    /// A text such as `"500ms"`, between these numbers of milliseconds.
    Duration(u32, u32),
    /// A text with a rule of its own.
    Text(TextRule),
    /// A name of a list too long for a message.
    Listed(&'static Listed),
    /// A list of such elements, at least one and at most so many, none twice.
    List(&'static Shape, usize),
    /// An object with these keys.
    Object(&'static [Key]),
    /// `true`, `false`, or an object with these keys.
    SwitchOrObject(&'static [Key]),
    /// An object from a histogram's name to its bounds.
    Buckets,
    /// An object from names of one's own to texts.
    Map(&'static Map),
}

/// Names of one's own, and what they stand for.
pub(crate) struct Map {
    pub(crate) name: TextRule,
    pub(crate) value: TextRule,
    /// Most names.
    pub(crate) most: usize,
}

/// Names that stand on a page of their own.
pub(crate) struct Listed {
    pub(crate) names: &'static [&'static str],
    /// What they are, in the plural.
    noun: &'static str,
    /// Which of those they are.
    which: &'static str,
}

/// Texts with a rule of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRule {
    /// A whole request path.
    Path,
    /// The end of a request path.
    PathSuffix,
    /// A provider's name, which becomes a label value.
    Provider,
    /// A model's name as requests give it.
    Model,
    /// A header's name as proxies hold it.
    Header,
    /// A cluster's name as the proxy has it.
    Cluster,
    /// The value of `:authority`.
    Authority,
    /// The name of a header that a call may carry.
    CallHeader,
    /// The value of such a header. It may be a secret, so it is never shown.
    Secret,
    /// The key of a resource attribute.
    AttributeKey,
    /// The value of a resource attribute.
    AttributeValue,
    /// A key of baggage.
    BaggageKey,
}

/// Headers that a call has of its own.
const CALLS_OWN: &[&str] = &[
    "host",
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "te",
    "grpc-timeout",
    "grpc-encoding",
    "user-agent",
];

const fn optional(name: &'static str, shape: Shape) -> Key {
    Key {
        name,
        shape,
        required: false,
    }
}

const fn required(name: &'static str, shape: Shape) -> Key {
    Key {
        name,
        shape,
        required: true,
    }
}

/// The keys of the whole configuration.
pub(crate) const TOP: &[Key] = &[
    optional("observe", Shape::Switch),
    optional("routes", Shape::List(&Shape::Object(ROUTE), 64)),
    optional("provider", Shape::Text(TextRule::Provider)),
    optional(
        "telemetry_headers",
        Shape::List(&Shape::Object(TELEMETRY_HEADER), 32),
    ),
    optional("profiles", Shape::List(&Shape::Choice(PROFILES), 2)),
    optional("semconv", Shape::Choice(SEMCONV)),
    optional("envoy_stats", Shape::SwitchOrObject(ENVOY_STATS)),
    optional("scrape", Shape::Object(SCRAPE)),
    optional("push", Shape::Object(PUSH)),
    optional("buckets", Shape::Buckets),
    optional("labels", Shape::Object(LABELS)),
    optional("models", Shape::Object(MODELS)),
    optional("limits", Shape::Object(LIMITS)),
    optional("tick", Shape::Duration(TICK_MILLIS.0, TICK_MILLIS.1)),
];

const ROUTE: &[Key] = &[
    required("path_suffix", Shape::Text(TextRule::PathSuffix)),
    required("api", Shape::Listed(&WATCHED_APIS)),
];
const TELEMETRY_HEADER: &[Key] = &[
    required("header", Shape::Text(TextRule::Header)),
    required("meaning", Shape::Choice(&MEANINGS)),
    required("unit", Shape::Choice(&UNITS)),
];
const ENVOY_STATS: &[Key] = &[required(
    "metrics",
    Shape::List(&Shape::Listed(&MIRRORED), 64),
)];
const SCRAPE: &[Key] = &[optional("path", Shape::Text(TextRule::Path))];
const PUSH: &[Key] = &[
    required("cluster", Shape::Text(TextRule::Cluster)),
    PROTOCOL,
    COMPRESSION,
    AUTHORITY,
    HEADERS,
    TIMEOUT,
    optional("interval", Shape::Duration(1_000, 3_600_000)),
    optional("resource", Shape::Map(&RESOURCE)),
    optional("metrics", Shape::SwitchOrObject(PUSH_METRICS)),
    optional("traces", Shape::SwitchOrObject(PUSH_TRACES)),
    optional("logs", Shape::SwitchOrObject(PUSH_LOGS)),
];
const PUSH_METRICS: &[Key] = &[
    optional("temporality", Shape::Choice(TEMPORALITIES)),
    optional("histograms", Shape::Choice(HISTOGRAM_AGGREGATIONS)),
    CLUSTER,
    PROTOCOL,
    COMPRESSION,
    AUTHORITY,
    PATH,
    HEADERS,
    TIMEOUT,
];
const PUSH_TRACES: &[Key] = &[
    optional("kind", Shape::Choice(SPAN_KINDS)),
    optional("ratio", Shape::Ratio),
    optional("follow_parent", Shape::Switch),
    optional("keep_errors", Shape::Switch),
    optional("keep_slower_than", Shape::Duration(1, 3_600_000)),
    optional(
        "baggage",
        Shape::List(&Shape::Text(TextRule::BaggageKey), 32),
    ),
    CLUSTER,
    PROTOCOL,
    COMPRESSION,
    AUTHORITY,
    PATH,
    HEADERS,
    TIMEOUT,
];
const PUSH_LOGS: &[Key] = &[
    CLUSTER,
    PROTOCOL,
    COMPRESSION,
    AUTHORITY,
    PATH,
    HEADERS,
    TIMEOUT,
];
// What each signal may have otherwise than the others.
const CLUSTER: Key = optional("cluster", Shape::Text(TextRule::Cluster));
const PROTOCOL: Key = optional("protocol", Shape::Choice(PROTOCOLS));
const COMPRESSION: Key = optional("compression", Shape::Choice(COMPRESSIONS));
const AUTHORITY: Key = optional("authority", Shape::Text(TextRule::Authority));
const PATH: Key = optional("path", Shape::Text(TextRule::Path));
const HEADERS: Key = optional("headers", Shape::Map(&CALL_HEADERS));
const TIMEOUT: Key = optional("timeout", Shape::Duration(100, 60_000));
const CALL_HEADERS: Map = Map {
    name: TextRule::CallHeader,
    value: TextRule::Secret,
    most: 32,
};
const RESOURCE: Map = Map {
    name: TextRule::AttributeKey,
    value: TextRule::AttributeValue,
    most: 64,
};
const LABELS: &[Key] = &[
    optional("server_address", Shape::Switch),
    optional("upstream_cluster", Shape::Switch),
    optional("upstream_endpoint", Shape::Switch),
    optional("route", Shape::Switch),
    optional("inference_objective", Shape::Switch),
    optional("inference_fairness_id", Shape::Switch),
    optional("inference_model_rewrite", Shape::Switch),
    optional("destination_endpoint", Shape::Switch),
];
const MODELS: &[Key] = &[
    optional("allow", Shape::List(&Shape::Text(TextRule::Model), 1_000)),
    optional("max", Shape::Whole(1, 10_000)),
];
const LIMITS: &[Key] = &[optional("series", Shape::Whole(100, 200_000))];

const WATCHED_APIS: Listed = Listed {
    names: &APIS,
    noun: "APIs",
    which: "that `docs/FORMATS.md` names",
};
const MIRRORED: Listed = Listed {
    names: MIRRORED_METRICS,
    noun: "metrics",
    which: "that `docs/METRICS.md` gives an Envoy stat",
};

/// The profiles that can be chosen; the third, `self`, is always on.
pub(crate) const PROFILES: &[&str] = &["gen_ai", "inference"];
/// How a receiver can be spoken to, in the words of `OTEL_EXPORTER_OTLP_PROTOCOL`.
const PROTOCOLS: &[&str] = &["grpc", "http/protobuf"];
/// The words of `OTEL_EXPORTER_OTLP_COMPRESSION`.
const COMPRESSIONS: &[&str] = &["none", "gzip"];
/// The words of `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE` that are known.
const TEMPORALITIES: &[&str] = &["cumulative", "delta"];
/// The words of `OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION`.
const HISTOGRAM_AGGREGATIONS: &[&str] = &[
    "explicit_bucket_histogram",
    "base2_exponential_bucket_histogram",
];
/// On which side of its request a span can stand.
const SPAN_KINDS: &[&str] = &["client", "server"];
/// The versions of the semantic conventions.
pub(crate) const SEMCONV: &[&str] = &["v1.41", "head"];

impl Shape {
    /// What would be accepted, as the end of a sentence that begins with "give".
    #[inline(never)]
    pub(crate) fn accepted(&self) -> String {
        match self {
            Shape::Switch => "`true` or `false`".to_owned(),
            Shape::Choice(words) => format!("one of {}", words_listed(words)),
            Shape::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Shape::Ratio => "a number from 0 to 1".to_owned(),
            Shape::Duration(least, most) => {
                let most = most.checked_div(1000).unwrap_or(*most);
                format!("a duration from {least}ms to {most}s, such as `\"1s\"`")
            }
            Shape::Text(rule) => rule.accepted().to_owned(),
            Shape::Listed(Listed { noun, which, .. }) => {
                format!("one of the {noun} {which}")
            }
            Shape::List(element, most) => {
                format!(
                    "a list of 1 to {most} elements, each {}",
                    element.accepted()
                )
            }
            Shape::Object(keys) => format!("an object with the {}", key_names(keys)),
            Shape::SwitchOrObject(keys) => {
                format!("`true`, `false`, or an object with the {}", key_names(keys))
            }
            Shape::Buckets => "an object from a histogram's name to a list of bounds".to_owned(),
            Shape::Map(map) => format!(
                "an object of 1 to {} members; as the name {}; as the value {}",
                map.most,
                map.name.accepted(),
                map.value.accepted()
            ),
        }
    }

    /// Whether a text in there must not be shown.
    pub(crate) fn holds_secrets(&self) -> bool {
        match self {
            Shape::Map(map) => map.value == TextRule::Secret,
            Shape::Text(rule) => *rule == TextRule::Secret,
            Shape::Object(keys) | Shape::SwitchOrObject(keys) => {
                keys.iter().any(|key| key.shape.holds_secrets())
            }
            _ => false,
        }
    }

    /// The same with a guess of what was meant by a text that was given.
    pub(crate) fn accepted_instead_of(&self, given: &str) -> String {
        match self {
            Shape::Listed(Listed { names, which, .. }) => {
                match nearest(given, &mut names.iter().copied()) {
                    Some(near) => format!("`{near}`, or another {which}"),
                    None => self.accepted(),
                }
            }
            _ => self.accepted(),
        }
    }
}

impl TextRule {
    /// Most bytes of the text.
    pub(crate) fn most_bytes(self) -> usize {
        match self {
            TextRule::Path
            | TextRule::PathSuffix
            | TextRule::Cluster
            | TextRule::Authority
            | TextRule::AttributeValue => 256,
            TextRule::Provider => 64,
            TextRule::Model
            | TextRule::Header
            | TextRule::CallHeader
            | TextRule::AttributeKey
            | TextRule::BaggageKey => 128,
            TextRule::Secret => 8_192,
        }
    }

    /// What would be accepted.
    pub(crate) fn accepted(self) -> &'static str {
        match self {
            TextRule::Path => {
                "a path that begins with `/`, of visible ASCII without `?` and `#`, at most 256 bytes"
            }
            TextRule::PathSuffix => {
                "the end of a path from a `/` on, of visible ASCII without `?` and `#`, 2 to 256 bytes"
            }
            TextRule::Provider => "a name of letters, digits, `.`, `_` and `-`, at most 64 bytes",
            TextRule::Model => "a model's name without control characters, 1 to 128 bytes",
            TextRule::Header => {
                "a header's name of lower-case letters, digits, `.`, `_` and `-`, at most 128 bytes"
            }
            TextRule::Cluster => {
                "a cluster's name as the proxy has it, of visible ASCII, at most 256 bytes"
            }
            TextRule::Authority => {
                "a host's name, with a port if need be, of visible ASCII without `/`, at most 256 bytes"
            }
            TextRule::CallHeader => {
                "a header's name of lower-case letters, digits, `.`, `_` and `-`, at most 128 bytes, none of those that \
                 the call has of its own, such as `content-type`"
            }
            TextRule::Secret => "a header's value without control characters, 1 to 8192 bytes",
            TextRule::AttributeKey => "an attribute's name of visible ASCII, at most 128 bytes",
            TextRule::AttributeValue => "a text without control characters, 1 to 256 bytes",
            TextRule::BaggageKey => {
                "a key of baggage of letters, digits and ``!#$%&'*+-.^_`|~``, at most 128 bytes"
            }
        }
    }

    /// Whether the text keeps the rule.
    pub(crate) fn accepts(self, text: &str) -> bool {
        let mut bytes = text.bytes();
        let fits = !text.is_empty() && text.len() <= self.most_bytes();
        fits && match self {
            TextRule::Path => is_path(text),
            // A lone slash would be the end of nearly every path.
            TextRule::PathSuffix => is_path(text) && text.len() > 1,
            TextRule::Provider => {
                bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            }
            TextRule::Model | TextRule::Secret | TextRule::AttributeValue => {
                !text.chars().any(char::is_control)
            }
            TextRule::Header => is_header(text),
            TextRule::CallHeader => is_header(text) && !CALLS_OWN.contains(&text),
            TextRule::Cluster | TextRule::AttributeKey => bytes.all(|byte| byte.is_ascii_graphic()),
            TextRule::Authority => bytes.all(|byte| byte.is_ascii_graphic() && byte != b'/'),
            TextRule::BaggageKey => {
                bytes.all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
            }
        }
    }
}

fn is_header(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
}

fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#')
}

/// The names of keys, listed.
pub(crate) fn key_names(keys: &[Key]) -> String {
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    format!("{noun} {}", listed(&mut keys.iter().map(|key| key.name)))
}

/// Words as they stand in JSON, listed.
pub(crate) fn words_listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    listed(&mut quoted.iter().map(String::as_str))
}

/// The names of all histograms.
pub(crate) fn histogram_names() -> impl Iterator<Item = &'static str> {
    HISTOGRAMS.iter().map(|histogram| histogram.name)
}

/// A range of bounds, as the end of a sentence.
pub(crate) fn bound_range(least: f64) -> String {
    let kind = if least >= 1.0 {
        "a whole number"
    } else {
        "a number"
    };
    format!("{kind} from {} to {}", number(least), number(LARGEST_BOUND))
}

/// Milliseconds of a duration such as `250ms` or `2s`, if they lie in the range.
pub(crate) fn duration_millis(text: &str, least: u32, most: u32) -> Option<u32> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s')?, 1000),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let millis = digits
        .parse::<u32>()
        .ok()
        .filter(|_| plain)?
        .checked_mul(unit)?;
    (least..=most).contains(&millis).then_some(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_milliseconds_or_seconds_within_the_range() {
        for (text, expected) in [
            ("100ms", Some(100)),
            ("1s", Some(1000)),
            ("60s", Some(60_000)),
            ("60000ms", Some(60_000)),
            ("99ms", None),
            ("60001ms", None),
            ("61s", None),
            ("1.5s", None),
            ("+1s", None),
            ("-1s", None),
            ("1 s", None),
            ("1m", None),
            ("s", None),
            ("ms", None),
            ("", None),
            ("4294967296s", None),
            ("9999999s", None),
        ] {
            let (least, most) = TICK_MILLIS;
            assert_eq!(duration_millis(text, least, most), expected, "{text}");
        }
    }

    #[test]
    fn texts_keep_their_rules_at_the_borders() {
        let long = |length: usize| format!("/{}", "a".repeat(length - 1));
        for (rule, text, expected) in [
            (TextRule::Path, "/".to_owned(), true),
            (TextRule::Path, "metrics".to_owned(), false),
            (TextRule::Path, "/a b".to_owned(), false),
            (TextRule::Path, "/a?b".to_owned(), false),
            (TextRule::Path, "/a#b".to_owned(), false),
            (TextRule::Path, "/ä".to_owned(), false),
            (TextRule::Path, long(256), true),
            (TextRule::Path, long(257), false),
            (TextRule::PathSuffix, "/".to_owned(), false),
            (TextRule::PathSuffix, "/x".to_owned(), true),
            (TextRule::Provider, "aws.bedrock".to_owned(), true),
            (TextRule::Provider, "a b".to_owned(), false),
            (TextRule::Provider, String::new(), false),
            (TextRule::Model, "Qwen/Qwen3-8B é".to_owned(), true),
            (TextRule::Model, "a\nb".to_owned(), false),
            (TextRule::Model, "m".repeat(129), false),
            (TextRule::Header, "x-queue_time.2".to_owned(), true),
            (TextRule::Header, "X-Queue".to_owned(), false),
            (TextRule::Header, ":status".to_owned(), false),
            (TextRule::Header, "x y".to_owned(), false),
            (TextRule::Header, String::new(), false),
            (TextRule::Header, "h".repeat(128), true),
            (TextRule::Header, "h".repeat(129), false),
            (TextRule::CallHeader, "authorization".to_owned(), true),
            (TextRule::CallHeader, "te".to_owned(), false),
            (TextRule::CallHeader, ":path".to_owned(), false),
            (
                TextRule::Cluster,
                "outbound|4317||otel.ns.svc".to_owned(),
                true,
            ),
            (TextRule::Cluster, "a cluster".to_owned(), false),
            (TextRule::Authority, "otel:4317".to_owned(), true),
            (TextRule::Authority, "http://otel".to_owned(), false),
            (TextRule::Secret, "Bearer a b".to_owned(), true),
            (TextRule::Secret, "a\r\nb".to_owned(), false),
            (TextRule::AttributeKey, "k8s.pod.name".to_owned(), true),
            (TextRule::AttributeKey, "a b".to_owned(), false),
            (TextRule::AttributeValue, "größe".to_owned(), true),
            (TextRule::BaggageKey, "tenant.id|a".to_owned(), true),
            (TextRule::BaggageKey, "tenant=id".to_owned(), false),
        ] {
            assert_eq!(rule.accepts(&text), expected, "{text}");
        }
    }
}
