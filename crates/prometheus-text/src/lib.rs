//! A metric snapshot as Prometheus text 0.0.4 or OpenMetrics 1.0.
//!
//! ```
//! use metric_registry::{FamilyDef, FamilyId, Kind, Limits, Registry};
//! use prometheus_text::{Format, content_type, encode};
//!
//! let duration = FamilyDef {
//!     name: "inference.request.duration",
//!     kind: Kind::Histogram,
//!     unit: "s",
//!     scale: 1_000_000_000,
//!     labels: vec!["model"],
//!     bounds: vec![500_000_000, 1_000_000_000],
//! };
//! let mut registry = Registry::new(vec![duration], Limits::default(), 0);
//! let series = registry.series(FamilyId(0), &["llama-3"]);
//! registry.observe(series, 123_456_789);
//!
//! let format = Format::from_accept(b"application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1");
//! assert_eq!(content_type(format), "application/openmetrics-text; version=1.0.0; charset=utf-8");
//! let text = encode(&registry.snapshot(), format, &|_| Some("Time of a request."));
//! let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
//! assert_eq!(
//!     samples,
//!     [
//!         "inference_request_duration_seconds_bucket{model=\"llama-3\",le=\"0.5\"} 1",
//!         "inference_request_duration_seconds_bucket{model=\"llama-3\",le=\"1.0\"} 1",
//!         "inference_request_duration_seconds_bucket{model=\"llama-3\",le=\"+Inf\"} 1",
//!         "inference_request_duration_seconds_sum{model=\"llama-3\"} 0.123456789",
//!         "inference_request_duration_seconds_count{model=\"llama-3\"} 1",
//!     ],
//! );
//! assert!(text.ends_with("# EOF\n"));
//! ```
//!
//! Families stand in the order of their names, series in the order of their labels, so equal snapshots give equal
//! text. Numbers are exact: a scaled integer is written digit by digit, never through floating point.
//!
//! # What this crate does not do
//!
//! It writes no exemplars, no timestamps, no `_created` samples and no `target_info`, and offers neither the
//! protobuf format nor names with characters beyond the classic ones.
//!
//! # Limits
//!
//! - A name that another family has taken (as a gauge `x.count` beside a histogram `x`) cannot be exposed twice:
//!   those series are left out, always the same ones, and [`left_out`] counts them.
//! - Series of one name that look alike once absent labels are left out are added up; where their bounds differ,
//!   those of the first stay.
//! - Where a scale does not divide a power of ten, numbers are cut after 24 digits.

mod escape;
mod exposition;
mod format;
mod name;
mod number;
mod rows;

use std::fmt::{self, Write};

use metric_registry::Snapshot;

pub use format::{Format, content_type};
pub use name::metric_name;

/// The snapshot as text; `help` gives the help line for an OpenTelemetry name.
///
/// The text is measured before it is written, so that it takes one allocation of its own size: in a memory that only
/// grows, a buffer that doubles would cost three times as much for ever.
#[must_use]
pub fn encode(
    snapshot: &Snapshot,
    format: Format,
    help: &dyn Fn(&str) -> Option<&'static str>,
) -> String {
    let mut length = Length(0);
    let mut text = String::new();
    // Neither sink ever refuses text.
    let _ = write_all(&mut length, snapshot, format, help);
    text.reserve_exact(length.0);
    let _ = write_all(&mut text, snapshot, format, help);
    text
}

/// How many series of a snapshot [`encode`] leaves out because another family has taken their name.
#[must_use]
pub fn left_out(snapshot: &Snapshot) -> usize {
    exposition::groups(snapshot).1
}

fn write_all(
    out: &mut impl Write,
    snapshot: &Snapshot,
    format: Format,
    help: &dyn Fn(&str) -> Option<&'static str>,
) -> fmt::Result {
    for group in exposition::groups(snapshot).0 {
        exposition::write_group(out, &group, format, help)?;
    }
    match format {
        Format::OpenMetrics => out.write_str("# EOF\n"),
        Format::Prometheus => Ok(()),
    }
}

/// A sink that only counts bytes.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}
