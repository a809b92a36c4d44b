//! Turns the bytes of a plugin configuration into a checked [`Config`], or into every mistake that is in them.
//!
//! ```
//! let parsed = plugin_config::parse(br#"{"tick": "500ms", "labels": {"route": true}}"#).unwrap();
//! assert!(parsed.config.observes());
//! assert!(parsed.config.labels().route());
//! assert_eq!(parsed.config.tick_millis(), 500);
//! assert!(parsed.warnings.is_empty());
//!
//! // An empty text is the empty configuration: it observes, and mirrors to the proxy's own stats.
//! assert_eq!(plugin_config::parse(b"").unwrap().config, plugin_config::Config::default());
//!
//! // Every mistake is named at once.
//! let mistakes = plugin_config::parse(br#"{"tick": 5, "lables": {}}"#).unwrap_err();
//! let texts: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
//! assert_eq!(texts, [
//!     "key `tick`: `5` is not accepted; give a duration from 100ms to 60s, such as `\"1s\"`",
//!     "key `lables`: there is no such key; did you mean `labels`?",
//! ]);
//! ```
//!
//! One table (`shape`) says which keys there are and what each accepts. The check, the JSON schema and `docs/CONFIG.md`
//! are all made from it, so none can say what another does not. Deriving the check from types would stop at the first
//! mistake, and would bring several times the code into the module.
//!
//! # What this crate does not do
//!
//! It reads no file and no environment variable, keeps no earlier configuration, and does not know the metrics: the two
//! lists of their names that a configuration may use are kept equal to the metric catalogue by a test of that crate.
//!
//! # Limits
//!
//! Nesting deeper than 128 is refused. At most 64 routes, 32 telemetry headers, 1,000 allowed model names of 128 bytes, 32 bucket bounds a
//! histogram. A value is quoted in a message up to 60 characters, and [`Mistakes`] prints its first 50.

mod check;
mod config;
mod foreign_words;
mod json;
mod metrics;
mod mistake;
mod near;
mod push;
mod reference;
mod relations;
mod shape;
mod text;

pub use config::{Config, Labels, Limits, Models, Profiles, Route, Semconv};
pub use metrics::{HISTOGRAMS, Histogram, MIRRORED_METRICS};
pub use mistake::{Mistake, Mistakes, Problem};
pub use push::{
    Push, PushCompression, PushHistograms, PushMetrics, PushProtocol, PushSpanKind,
    PushTemporality, PushTraces, Receiver, Secret,
};
pub use reference::config_markdown;
#[cfg(any(test, feature = "schema"))]
pub use reference::schema::schema;

/// A configuration that was accepted, and what its author should still know.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The checked configuration.
    pub config: Config,
    /// One sentence each: things that work but are probably not meant, such as a key without effect.
    pub warnings: Vec<String>,
}

/// Reads a configuration. An empty or blank text is the empty configuration `{}`.
///
/// # Errors
///
/// All mistakes of the text, in the order of their keys. Nothing is taken from a text that has one.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Mistakes> {
    let tree = if bytes.iter().all(u8::is_ascii_whitespace) {
        json::Json::Object(Vec::new())
    } else {
        json::read(bytes).map_err(Mistakes::of_one)?
    };
    let mut mistakes = Mistakes::default();
    check::check(&shape::Shape::Object(shape::TOP), &tree, "", &mut mistakes);
    relations::check(&tree, &mut mistakes);
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(Parsed {
        config: Config::from_checked(&tree),
        warnings: relations::warnings(&tree),
    })
}
