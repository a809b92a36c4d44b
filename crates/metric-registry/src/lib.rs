//! Bounded metric series of one worker, and snapshots of them that merge exactly.
//!
//! A [`Registry`] is given its families once. From then on a request looks up the series of its label sets and
//! moves them; for a known label set neither allocates. A [`Snapshot`] is an owned copy of all series; as bytes it
//! travels between workers, and snapshots of several workers merge into one.
//!
//! ```
//! use metric_registry::{FamilyDef, FamilyId, Gauges, Kind, Limits, Registry, SeriesValue, Snapshot};
//!
//! let families = vec![
//!     FamilyDef {
//!         name: "inference.requests",
//!         kind: Kind::Counter,
//!         unit: "{request}",
//!         scale: 1,
//!         labels: vec!["model", "outcome"],
//!         bounds: vec![],
//!     },
//!     FamilyDef {
//!         name: "inference.request.duration",
//!         kind: Kind::Histogram,
//!         unit: "s",
//!         scale: 1_000_000_000,
//!         labels: vec!["model"],
//!         bounds: vec![100_000_000, 1_000_000_000],
//!     },
//! ];
//! let (requests, duration) = (FamilyId(0), FamilyId(1));
//!
//! // A worker counts.
//! let mut worker = Registry::new(families.clone(), Limits::default(), 1_700_000_000_000_000_000);
//! let series = worker.series(requests, &["llama-3", "success"]);
//! worker.add(series, 1);
//! let series = worker.series(duration, &["llama-3"]);
//! worker.observe(series, 250_000_000);
//!
//! // It publishes bytes, and another one reads and merges them.
//! let bytes = worker.snapshot().encode();
//! let mut all = Snapshot::default();
//! all.merge(&Snapshot::decode(&bytes)?, Gauges::Add);
//! all.merge(&Snapshot::decode(&bytes)?, Gauges::Add);
//! assert_eq!(all.value("inference.requests", &[("model", "llama-3")]), Some(SeriesValue::Counter(2)));
//!
//! // Where its published counts are kept by someone else from now on, it goes on with what is left.
//! worker.subtract(&Snapshot::decode(&bytes)?);
//! assert_eq!(worker.snapshot().value("inference.requests", &[]), Some(SeriesValue::Counter(0)));
//! # Ok::<(), metric_registry::DecodeError>(())
//! ```
//!
//! # What this crate does not do
//!
//! It knows no metric by name, reads no clock, keeps no exemplars, and writes no exposition text. It decides nothing
//! about which label values are admitted beyond the limits below.
//!
//! # Limits
//!
//! - A family has at most [`MAX_LABELS`] labels, a registry at most 65,535 families.
//! - A registry has at most [`Limits::series`] series, and at most 32 bytes of label text for each of them (but
//!   64 KiB in any case). Past either, label sets that are new share their family's overflow series, and
//!   [`Registry::overflowed`] counts them. A family without labels is never refused its one series.
//! - Label values are cut at [`Limits::label_value_bytes`] on a character border; control characters become `_`.
//! - All values are integers in their family's scale and saturate at the ends of their type. Merging is exact,
//!   commutative and associative, with two exceptions: where bounds differ, those of the left side stay, and a gauge
//!   that saturates forgets by how much.
//! - A moved bound makes a histogram coarser, never wrong: count and sum stay exact, and a count only ever moves to
//!   a bucket with the same or a higher bound.
//! - [`Snapshot::decode`] takes memory in proportion to its input (about eight times as much at worst).

mod buckets;
mod family;
mod family_entry;
mod label_value;
mod measured;
mod registry;
mod reshape;
mod rows;
mod series_table;
mod snapshot;
mod snapshot_codec;
mod snapshot_merge;
mod snapshot_read;
mod strings;
mod subtract;

pub use family::{FamilyDef, FamilyId, Kind, Limits, MAX_LABELS, SeriesId};
pub use measured::Measured;
pub use registry::Registry;
pub use rows::{Row, rows};
pub use snapshot::{Family, Series, SeriesValue, Snapshot};
pub use snapshot_codec::DecodeError;
pub use snapshot_merge::Gauges;
pub use subtract::Subtraction;

/// Name of the label that marks a family's overflow series; its value is `true`.
pub const OVERFLOW_LABEL: &str = "otel.metric.overflow";
