//! The series of what the module knows of itself.

use metric_registry::{Registry, SeriesId};
use request_observer::{Purpose, SkipReason};

use crate::catalog::Catalog;
use crate::table::Row;

/// The conditions of a worker's place in shared data, in the order of the documentation.
pub const SLOT_STATES: [&str; 5] = ["live", "stale", "sealed", "free", "unreadable"];

/// What can be pushed, in the words of OpenTelemetry.
pub const EXPORT_SIGNALS: [&str; 3] = ["metrics", "traces", "logs"];

/// How a call to a receiver can end, in the words of the crate that judges its answer.
pub const EXPORT_RESULTS: [&str; 11] = [
    "success",
    "partial_success",
    "timeout",
    "unavailable",
    "rate_limited",
    "unauthenticated",
    "too_large",
    "refused",
    "unreachable",
    "no_cluster",
    "unreadable",
];

/// The version that the build info shows; it is one for the whole workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Catalog {
    /// Counts requests that were not watched.
    pub fn skipped(&self, registry: &mut Registry, reason: SkipReason) -> SeriesId {
        self.series(registry, self.place(Row::Skipped), &[reason.as_str()])
    }

    /// Counts requests that were watched and found to be none of a client's.
    pub(crate) fn set_apart(&self, registry: &mut Registry, purpose: Purpose) -> SeriesId {
        self.series(registry, self.place(Row::Skipped), &[purpose.as_str()])
    }

    /// Counts calls that the proxy refused; `call` comes from a closed list.
    pub fn host_errors(&self, registry: &mut Registry, call: &'static str) -> SeriesId {
        self.series(registry, self.place(Row::HostErrors), &[call])
    }

    /// Counts the virtual machines that began to report.
    pub fn worker_starts(&self, registry: &mut Registry) -> SeriesId {
        self.series(registry, self.place(Row::WorkerStarts), &[])
    }

    /// One while a configuration is refused, else zero.
    pub fn config_rejected(&self, registry: &mut Registry) -> SeriesId {
        self.series(registry, self.place(Row::ConfigRejected), &[])
    }

    /// Counts calls to a receiver; `signal` is one of [`EXPORT_SIGNALS`], `result` comes from a closed list.
    pub fn exports(
        &self,
        registry: &mut Registry,
        signal: &'static str,
        result: &'static str,
    ) -> SeriesId {
        self.series(registry, self.place(Row::Export), &[signal, result])
    }

    /// Times calls to a receiver, in nanoseconds.
    pub fn export_duration(&self, registry: &mut Registry, signal: &'static str) -> SeriesId {
        self.series(registry, self.place(Row::ExportDuration), &[signal])
    }

    /// Counts what a receiver refused of what it took.
    pub fn export_rejected(&self, registry: &mut Registry, signal: &'static str) -> SeriesId {
        self.series(registry, self.place(Row::ExportRejected), &[signal])
    }

    /// Counts what was given up before it was delivered.
    pub fn export_dropped(&self, registry: &mut Registry, signal: &'static str) -> SeriesId {
        self.series(registry, self.place(Row::ExportDropped), &[signal])
    }

    /// Sets what this worker's virtual machine shows of itself: its version, its memory, its series, and the size of
    /// the snapshot that it published last.
    pub fn show_machine(
        &self,
        registry: &mut Registry,
        memory_bytes: usize,
        snapshot_bytes: usize,
    ) {
        let series = self.series(registry, self.place(Row::BuildInfo), &[VERSION]);
        registry.set_gauge(series, 1);
        self.set(registry, Row::VmMemory, &[], memory_bytes);
        self.set(registry, Row::SnapshotBytes, &[], snapshot_bytes);
        let own = self.series(registry, self.place(Row::Series), &[]);
        let count = registry.series_count();
        registry.set_gauge(own, i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets how many places in shared data are in which of [`SLOT_STATES`]. Done by one worker for all, as the levels of
    /// workers are added up.
    pub fn show_proxy(&self, registry: &mut Registry, slots: &[(&'static str, u64)]) {
        for (state, count) in slots {
            self.set(
                registry,
                Row::Slots,
                &[state],
                usize::try_from(*count).unwrap_or(usize::MAX),
            );
        }
    }

    /// Takes back what [`show_proxy`](Catalog::show_proxy) has set, when another worker does it from now on.
    pub fn show_no_leader(&self, registry: &mut Registry) {
        for state in SLOT_STATES {
            self.set(registry, Row::Slots, &[state], 0);
        }
    }

    fn set(&self, registry: &mut Registry, row: Row, values: &[&str], level: usize) {
        let series = self.series(registry, self.place(row), values);
        registry.set_gauge(series, i64::try_from(level).unwrap_or(i64::MAX));
    }
}
