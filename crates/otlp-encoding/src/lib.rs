//! Metric snapshots, spans and log records as requests of the OpenTelemetry protocol.
//!
//! ```
//! use std::rc::Rc;
//!
//! use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry};
//! use otlp_encoding::{Bounds, MetricsExport, MetricsInput, ResourceAttributes, Sender, Step};
//!
//! let requests = FamilyDef {
//!     name: "inference.requests",
//!     kind: Kind::Counter,
//!     unit: "{request}",
//!     scale: 1,
//!     labels: vec!["model"],
//!     bounds: vec![],
//! };
//! let mut registry = Registry::new(vec![requests], Limits::default(), 1_700_000_000_000_000_000);
//! let series = registry.series(FamilyId(0), &["llama-3"]);
//! registry.add(series, 3);
//!
//! let mut resource = ResourceAttributes::default();
//! resource.set("service.name", "inference-gateway");
//! let sender = Rc::new(Sender::new(&resource, "inferometer", "0.1.0"));
//! let input = MetricsInput::cumulative(registry.snapshot(), 1_700_000_005_000_000_000);
//! let mut export = MetricsExport::new(input, sender, Bounds::default());
//! assert_eq!(export.step(), Step::More);
//! let Step::Request { bytes, points } = export.step() else { panic!() };
//! assert_eq!((bytes.is_empty(), points), (false, 1));
//! assert_eq!(export.step(), Step::Done);
//! ```
//!
//! Metrics stand in the order of their names, series in the order of their labels, so equal snapshots give equal
//! bytes. Whole numbers are sent as such; others are divided by their scale, which rounds once.
//!
//! A span or a log record is encoded as an [`Item`] when its request has ended, and a request is made of any number of
//! them by [`Sender::request_of`].
//!
//! # What this crate does not do
//!
//! It sends nothing, reads no clock, and knows no metric by name.
//!
//! # Limits
//!
//! - A request exceeds [`Bounds::request_bytes`] only where the points of one step do.
//! - Series of one name that look alike once absent labels are left out are added up; where their bounds differ,
//!   those of the first stay.
//! - A metric's rows are sorted in one step, however many there are.
//! - A resource has at most 128 attributes.

mod attributes;
mod exemplars;
mod exponential;
mod items;
mod messages;
mod metrics_export;
mod points;
mod resource;
mod rows;
mod sender;

pub use exemplars::{Exemplar, Exemplars};
pub use items::Item;
pub use metrics_export::{
    Bounds, Delivered, HistogramAggregation, MetricsExport, MetricsInput, Step, Temporality,
};
pub use resource::{MalformedVariable, ResourceAttributes};
pub use sender::Sender;
