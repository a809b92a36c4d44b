//! The product's metrics: what each is, which requests give it a sample, and how one request's record moves them.
//!
//! ```
//! use metric_catalog::{Catalog, CatalogSettings, Profile, definitions, help};
//! use metric_registry::{Limits, Registry, SeriesValue};
//! use request_observer::SkipReason;
//!
//! // One table defines every metric.
//! let requests = definitions().into_iter().find(|definition| definition.name == "inference.requests").unwrap();
//! assert_eq!(requests.profile, Profile::Inference);
//! assert_eq!(help("inference.requests"), Some(requests.help));
//!
//! // Settings choose from it; a registry is made of what they choose.
//! let catalog = Catalog::new(&CatalogSettings::default());
//! let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
//!
//! // Records move the series of requests (`Catalog::record`); what the module knows of itself has methods of its own.
//! let skipped = catalog.skipped(&mut registry, SkipReason::NotPost);
//! registry.add(skipped, 1);
//! let value = registry.snapshot().value("inferometer.skipped", &[("reason", "not_post")]);
//! assert_eq!(value, Some(SeriesValue::Counter(1)));
//! ```
//!
//! # What this crate does not do
//!
//! It does not decide which names may be label values, holds no values itself, and talks to no proxy: what the proxy's
//! own stats are called and in which whole numbers they count is said here, defining and moving them is the caller's.
//!
//! # Limits
//!
//! A histogram has at most 32 bounds. Durations are kept in nanoseconds, rates and ratios in millionths.

mod catalog;
mod definition;
mod envoy_stat;
mod label;
mod own;
mod page;
mod record;
mod sample;
mod settings;
mod table;
mod values;

pub use catalog::{Catalog, Moved};
pub use definition::{Base, Definition, EnvoyMirror, Profile};
pub use label::{Label, LabelValues};
pub use own::{EXPORT_RESULTS, EXPORT_SIGNALS, SLOT_STATES, VERSION};
pub use page::metrics_markdown;
pub use record::RecordLabels;
pub use sample::rebin_gaps;
pub use settings::{CatalogSettings, LabelSwitches, Semconv};
pub use table::{definitions, help};
