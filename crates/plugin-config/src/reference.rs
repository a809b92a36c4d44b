//! What each key is for, and the page and the schema made of that and of the table of shapes.

#[cfg(any(test, feature = "schema"))]
pub(crate) mod schema;
#[cfg(test)]
mod tests;

use response_telemetry::built_in_headers;

use crate::foreign_words::APIS;
use crate::metrics::{HISTOGRAMS, MIRRORED_METRICS};
use crate::shape::{Key, MOST_BOUNDS, Shape, TOP};

/// One key's documentation. It stands apart from the shapes, so that the module does not carry it.
#[derive(Clone, Copy)]
struct Note {
    /// The key, with `[]` for the element of a list.
    path: &'static str,
    /// The value that leaving the key out amounts to, as JSON; empty where there is none.
    default: &'static str,
    meaning: &'static str,
}

const fn note(path: &'static str, default: &'static str, meaning: &'static str) -> Note {
    Note {
        path,
        default,
        meaning,
    }
}

/// The notes on what each signal may have otherwise than the others.
macro_rules! signal {
    ($section:literal, $path:literal) => {
        [
            note(
                concat!($section, ".cluster"),
                "",
                "The cluster of this signal's receiver, where it is another than `push.cluster`.",
            ),
            note(
                concat!($section, ".protocol"),
                "",
                "The protocol of this signal, where it is another than `push.protocol`.",
            ),
            note(
                concat!($section, ".compression"),
                "",
                "The compression of this signal, where it is another than `push.compression`.",
            ),
            note(
                concat!($section, ".authority"),
                "",
                "What this signal's receiver is called. Without it `push.authority`; where this signal has a cluster of its \
                 own, that cluster's name.",
            ),
            note(
                concat!($section, ".path"),
                $path,
                "The path of this signal over `http/protobuf`.",
            ),
            note(
                concat!($section, ".headers"),
                "",
                "The headers of this signal, in place of all of `push.headers`. Where it has a cluster of its own, it has \
                 these alone.",
            ),
            note(
                concat!($section, ".timeout"),
                "",
                "How long an answer to this signal is waited for, where it is another time than `push.timeout`.",
            ),
        ]
    };
}

const SIGNALS: [[Note; 7]; 3] = [
    signal!("push.metrics", "\"/v1/metrics\""),
    signal!("push.traces", "\"/v1/traces\""),
    signal!("push.logs", "\"/v1/logs\""),
];

const NOTES: &[Note] = &[
    note(
        "observe",
        "true",
        "Watch the requests that pass, and count them.",
    ),
    note(
        "routes",
        "",
        "Routes to watch besides those of `docs/FORMATS.md`. Tried before those, in their order.",
    ),
    note(
        "routes[].path_suffix",
        "",
        "How the path of such a request ends, its query left out.",
    ),
    note(
        "routes[].api",
        "",
        "The API that is spoken there: it says how requests and answers are read.",
    ),
    note(
        "provider",
        "",
        "The value of the labels `provider` and `gen_ai.provider.name`. Without it the API decides, as \
         `docs/FORMATS.md` says.",
    ),
    note(
        "telemetry_headers",
        "",
        "Headers and trailers of answers that tell of the inference, besides the well-known ones listed below. A header \
         that is named here means what is said here. What they tell is the server's own word; the body's numbers go first.",
    ),
    note("telemetry_headers[].header", "", "The header's name."),
    note("telemetry_headers[].meaning", "", "What its value is."),
    note(
        "telemetry_headers[].unit",
        "",
        "How it is written: numbers of tokens and requests as a `count`, times in `seconds`, `milliseconds`, \
         `microseconds` or `nanoseconds`, `kv_cache_utilization` as a `ratio` (up to 1) or a `percent`, \
         `prompt_cache_hit` as a `flag` (`true` or `false`, `1` or `0`, `yes` or `no`, `hit` or `miss`).",
    ),
    note(
        "profiles",
        r#"["gen_ai", "inference"]"#,
        "The groups of metrics to keep. The module's metrics about itself are always kept.",
    ),
    note(
        "semconv",
        r#""v1.41""#,
        "The version of the semantic conventions that names the `gen_ai` metrics.",
    ),
    note(
        "envoy_stats",
        "true",
        "Mirror metrics to the proxy's own stats: all that have a stat, none, or those in `metrics`. A stat, once made, \
         stays until the proxy ends.",
    ),
    note(
        "envoy_stats.metrics",
        "",
        "The metrics to mirror, by the names in `docs/METRICS.md`.",
    ),
    note(
        "scrape",
        "",
        "Answer `GET` on a path with the metrics of all workers. Being there turns the role on. A backend that reads \
         both this page and the proxy's own stats gets every mirrored metric twice.",
    ),
    note(
        "scrape.path",
        r#""/metrics""#,
        "The path. Where the same configuration observes it must be given and may not be `/metrics`, which is the \
         engine's own.",
    ),
    note(
        "push",
        "",
        "Send metrics, and if asked spans and log records, to an OpenTelemetry collector or another receiver of OTLP. Being \
         there turns the role on: for metrics in the configuration that observes or in one of its own, a bootstrap service's \
         with the same `vm_id` among them; for spans and log records in the one that observes. `docs/PUSH.md` says more. A \
         backend that gets these metrics and reads the scrape page too has every metric twice.",
    ),
    note(
        "push.cluster",
        "",
        "The proxy's cluster that the receiver is in. For `grpc` it must speak HTTP/2.",
    ),
    note(
        "push.protocol",
        r#""grpc""#,
        "How the receiver is spoken to: `grpc` (usually port 4317) or `http/protobuf` (4318).",
    ),
    note(
        "push.compression",
        r#""none""#,
        "How requests are compressed. `gzip` makes them three to ten times smaller, and about as much dearer to make; inside \
         a cluster `none` is the better choice.",
    ),
    note(
        "push.authority",
        "",
        "What the receiver is called in `:authority`. Without it the cluster's name, with `_` for what no host name has.",
    ),
    note(
        "push.headers",
        "",
        "Headers besides, as for authentication. Their values are in no log line and no message of this module; the proxy's \
         own dump of its configuration shows them.",
    ),
    note(
        "push.timeout",
        r#""10s""#,
        "How long an answer is waited for.",
    ),
    note(
        "push.interval",
        r#""5s""#,
        "The time between two exports; a little more, by chance, so that many proxies do not send at one moment.",
    ),
    note(
        "push.resource",
        "",
        "Attributes of the resource. They overrule `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` of the proxy's \
         environment, as far as the proxy lets the module see it, and those that overrule what the module finds itself.",
    ),
    note(
        "push.metrics",
        "true",
        "Send the metrics of all workers. One worker sends for all; where the receiver cannot be reached nothing is lost, it \
         only comes later.",
    ),
    note(
        "push.metrics.temporality",
        r#""cumulative""#,
        "Whether a point covers the time since counting began, or (`delta`) since the one before. Only the former survives \
         a lost call, or a change of the worker that sends, without a point too many or too few.",
    ),
    note(
        "push.metrics.histograms",
        r#""explicit_bucket_histogram""#,
        "The form of histograms. As base-2 exponential ones they have the exact count and sum, and each count stands in the \
         bucket that holds its explicit bound.",
    ),
    SIGNALS[0][0],
    SIGNALS[0][1],
    SIGNALS[0][2],
    SIGNALS[0][3],
    SIGNALS[0][4],
    SIGNALS[0][5],
    SIGNALS[0][6],
    note(
        "push.traces",
        "false",
        "Send a span of each request, from the worker that served it. A worker holds at most 2,048 spans and 2 MiB of them; \
         what it has no room for is dropped, the oldest first, and counted.",
    ),
    note(
        "push.traces.kind",
        "",
        "On which side of its request a span stands. Without it `server` where the listener's traffic direction is inbound \
         (as in a sidecar of the server), and `client` elsewhere (as in a gateway).",
    ),
    note(
        "push.traces.ratio",
        "1",
        "The part of traces without a parent that is kept. Which ones, the trace's id decides, as \
         `parentbased_traceidratio` has it.",
    ),
    note(
        "push.traces.follow_parent",
        "true",
        "Make a span part of the trace that the request's `traceparent` names, and keep it if that is sampled and only then. \
         Whoever may send that header decides what is kept; where that is not wanted, `false` gives each span a trace of its \
         own.",
    ),
    note(
        "push.traces.keep_errors",
        "false",
        "Keep the span of every request that failed, whatever was decided of its trace.",
    ),
    note(
        "push.traces.keep_slower_than",
        "",
        "Keep the span of every request that took longer, whatever was decided of its trace.",
    ),
    note(
        "push.traces.baggage",
        "",
        "Keys of the request's `baggage` whose values become attributes of these names. No other key is read.",
    ),
    SIGNALS[1][0],
    SIGNALS[1][1],
    SIGNALS[1][2],
    SIGNALS[1][3],
    SIGNALS[1][4],
    SIGNALS[1][5],
    SIGNALS[1][6],
    note(
        "push.logs",
        "false",
        "Send a log record of each request that failed. It has no text of the request, of the answer or of the error.",
    ),
    SIGNALS[2][0],
    SIGNALS[2][1],
    SIGNALS[2][2],
    SIGNALS[2][3],
    SIGNALS[2][4],
    SIGNALS[2][5],
    SIGNALS[2][6],
    note(
        "buckets",
        "",
        "Bounds that replace the ones of a histogram, in its unit: ascending, the last one not being infinity.",
    ),
    note(
        "labels",
        "",
        "Labels that can be switched. Each one on multiplies the number of series.",
    ),
    note(
        "labels.server_address",
        "false",
        "`server.address` and `server.port` on the `gen_ai` metrics.",
    ),
    note(
        "labels.upstream_cluster",
        "true",
        "`upstream_cluster` on the `inference` metrics.",
    ),
    note(
        "labels.upstream_endpoint",
        "false",
        "`upstream_endpoint` on the `inference` metrics.",
    ),
    note(
        "labels.route",
        "false",
        "`route` on the `inference` metrics.",
    ),
    note(
        "labels.inference_objective",
        "false",
        "`inference_objective` on the `inference` metrics: the request's header `x-llm-d-inference-objective` or \
         `x-gateway-inference-objective`. At most 100 values, then `other`.",
    ),
    note(
        "labels.inference_fairness_id",
        "false",
        "`inference_fairness_id` on the `inference` metrics: the request's header `x-llm-d-inference-fairness-id` or \
         `x-gateway-inference-fairness-id`. At most 100 values, then `other`.",
    ),
    note(
        "labels.inference_model_rewrite",
        "false",
        "`inference_model_rewrite` on the `inference` metrics: the request's header `x-llm-d-model-name-rewrite` or \
         `x-gateway-model-name-rewrite`. At most 100 values, then `other`.",
    ),
    note(
        "labels.destination_endpoint",
        "false",
        "`destination_endpoint` on the `inference` metrics: the first endpoint of the request's header \
         `x-gateway-destination-endpoint`. At most 1,000 values, then `other`.",
    ),
    note(
        "models",
        "",
        "Which model names may become label values; every other one counts as `other`.",
    ),
    note(
        "models.allow",
        "",
        "The only names that may. Without it the first ones that an upstream accepted, up to `models.max`.",
    ),
    note("models.max", "100", "Most distinct model names."),
    note("limits", "", "Limits of one worker."),
    note(
        "limits.series",
        "20000",
        "Most series that a worker keeps, a histogram counting as one; what comes after goes to one overflow series a metric.",
    ),
    note(
        "tick",
        r#""1s""#,
        "How often a worker publishes what it has counted.",
    ),
];

/// One example of the page.
struct Example {
    title: &'static str,
    json: &'static str,
}

const EXAMPLES: &[Example] = &[
    Example {
        title: "Observe, and mirror to the proxy's own stats",
        json: "{}",
    },
    Example {
        title: "The filter of a listener that serves the metrics and nothing else",
        json: r#"{"observe": false, "scrape": {"path": "/metrics"}}"#,
    },
    Example {
        title: "Observe and serve the metrics on one listener",
        json: r#"{"scrape": {"path": "/inferometer/metrics"}, "envoy_stats": false}"#,
    },
    Example {
        title: "Observe, and push to a collector over gRPC",
        json: r#"{
  "push": {
    "cluster": "otel_collector",
    "authority": "otel-collector.observability:4317",
    "resource": {"service.name": "inference-gateway", "deployment.environment.name": "production"}
  },
  "envoy_stats": false
}"#,
    },
    Example {
        title: "Push metrics, a tenth of the spans and all that failed or were slow, and failures as log records",
        json: r#"{
  "push": {
    "cluster": "otel_collector",
    "traces": {"ratio": 0.1, "keep_errors": true, "keep_slower_than": "30s", "baggage": ["tenant"]},
    "logs": true
  },
  "envoy_stats": false
}"#,
    },
    Example {
        title: "A route of one's own, names of models pinned, finer buckets",
        json: r#"{
  "routes": [{"path_suffix": "/assistant/ask", "api": "chat_completions"}],
  "models": {"allow": ["llama-3.1-8b", "qwen3-32b"]},
  "buckets": {"gen_ai.server.time_to_first_token": [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]},
  "labels": {"upstream_endpoint": true},
  "envoy_stats": {"metrics": ["inference.requests", "inference.requests.in_flight"]}
}"#,
    },
    Example {
        title: "Headers of one's own server, and labels of an inference gateway's picker",
        json: r#"{
  "telemetry_headers": [
    {"header": "x-engine-queue-time", "meaning": "queue_time", "unit": "milliseconds"},
    {"header": "x-engine-cache", "meaning": "prompt_cache_hit", "unit": "flag"}
  ],
  "labels": {"inference_objective": true, "destination_endpoint": true}
}"#,
    },
];

/// The text of `docs/CONFIG.md`.
pub fn config_markdown() -> String {
    let mut out = String::from(
        "# Configuration\n\n\
         Generated by `cargo xtask gen`; edits are lost. The schema for editors is `docs/config.schema.json`.\n\n\
         A configuration is one JSON object. The empty object `{}`, and an empty text, observe requests and mirror \
         metrics to the proxy's own stats. Unknown keys, repeated keys and values out of range are refused, every \
         mistake at once; `cargo xtask check-config FILE` prints them. Where a configuration is refused the last good one \
         stays in force.\n\n\
         ## Keys\n\n\
         | key | value | default | meaning |\n| --- | --- | --- | --- |\n",
    );
    write_rows(TOP, "", &mut out);
    out.push_str(&format!(
        "\n## Names\n\nHistograms that `buckets` accepts, each with 1 to {MOST_BOUNDS} bounds:\n\n"
    ));
    for histogram in HISTOGRAMS {
        out.push_str(&format!("- `{}`\n", histogram.name));
    }
    out.push_str("\nAPIs that `routes[].api` accepts, as `docs/FORMATS.md` describes them:\n\n");
    for name in APIS {
        out.push_str(&format!("- `{name}`\n"));
    }
    out.push_str(
        "\nHeaders and trailers of answers that are read without `telemetry_headers`, besides ORCA's \
         `endpoint-load-metrics` and `endpoint-load-metrics-bin`. (Beside headers that only LoRAX sends, \
         `x-compute-time` is in milliseconds.)\n\n\
         | header | meaning | unit |\n| --- | --- | --- |\n",
    );
    for rule in built_in_headers() {
        out.push_str(&format!(
            "| `{}` | `{}` | `{}` |\n",
            rule.header,
            rule.meaning.as_str(),
            rule.unit.as_str()
        ));
    }
    out.push_str("\nMetrics that `envoy_stats.metrics` accepts:\n\n");
    for name in MIRRORED_METRICS {
        out.push_str(&format!("- `{name}`\n"));
    }
    out.push_str("\n## Examples\n");
    for example in EXAMPLES {
        out.push_str(&format!(
            "\n{}:\n\n```json\n{}\n```\n",
            example.title, example.json
        ));
    }
    out
}

fn write_rows(keys: &[Key], parent: &str, out: &mut String) {
    for key in keys {
        let path = child(parent, key.name);
        let note = note_on(&path);
        let default = match (note.default, key.required) {
            (_, true) => "required".to_owned(),
            ("", false) => "none".to_owned(),
            (json, false) => format!("`{json}`"),
        };
        out.push_str(&format!(
            "| `{path}` | {} | {default} | {} |\n",
            key.shape.accepted(),
            note.meaning
        ));
        match &key.shape {
            Shape::Object(keys)
            | Shape::SwitchOrObject(keys)
            | Shape::List(Shape::Object(keys), _) => {
                let parent = if matches!(key.shape, Shape::List(..)) {
                    format!("{path}[]")
                } else {
                    path
                };
                write_rows(keys, &parent, out);
            }
            _ => {}
        }
    }
}

fn child(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}

/// A test sees to it that every key has one.
fn note_on(path: &str) -> &'static Note {
    const NONE: &Note = &note("", "", "");
    NOTES.iter().find(|note| note.path == path).unwrap_or(NONE)
}
