//! One export: all slots are read, then turned into requests.

use hostcalls::HostError;
use metric_catalog::help;
use otlp_encoding::{Bounds, Delivered, MetricsExport, MetricsInput, Step, Temporality};
use snapshot_slots::Reading;

use super::exemplars::told;
use super::identity::start_unix_nanos;
use super::target::{MetricsTarget, PushTarget};
use crate::shared::HostData;

/// Only the holder of the lease writes the key.
const UNCONDITIONAL: u32 = 0;

/// An export under way.
pub(crate) enum Export {
    /// Slots are being read.
    Reading(Box<Reading>),
    /// Requests are being made.
    Encoding(Box<MetricsExport>),
}

/// Where the workers tell one another what was delivered, when points are to cover the time since then.
const DELIVERED_KEY: &str = "inferometer/1/push/delivered";

/// What a step of an export has brought.
pub(crate) enum Progress {
    /// There is more to do before something can be sent.
    More,
    /// This is to be sent.
    Request(Vec<u8>),
    /// All of it is delivered, which was of this time.
    Done { time_unix_nanos: u64 },
}

impl Export {
    /// Begins to read.
    pub(crate) fn begin(now_nanos: u64) -> Result<Export, HostError> {
        let reading = Reading::begin(now_nanos, &mut HostData)?;
        Ok(Export::Reading(Box::new(reading)))
    }

    /// Does one step. A step after a request means that the receiver has taken it.
    pub(crate) fn step(
        &mut self,
        all: &PushTarget,
        target: &MetricsTarget,
        bounds: Bounds,
        exemplars_since: u64,
    ) -> Result<Progress, HostError> {
        match self {
            Export::Reading(reading) => {
                if let Some(view) = reading.step(&mut HostData)? {
                    let mut snapshot = view.snapshot;
                    snapshot.start_unix_nanos = start_unix_nanos(snapshot.start_unix_nanos)?;
                    let input = MetricsInput {
                        snapshot,
                        delivered: match target.temporality {
                            Temporality::Cumulative => None,
                            Temporality::Delta => delivered()?,
                        },
                        time_unix_nanos: hostcalls::wall_nanos()?,
                        temporality: target.temporality,
                        histograms: target.histograms,
                        exemplars: told()?.since(exemplars_since),
                        describe: help,
                    };
                    let export = MetricsExport::new(input, all.sender()?, bounds);
                    *self = Export::Encoding(Box::new(export));
                }
                Ok(Progress::More)
            }
            Export::Encoding(export) => Ok(match export.step() {
                Step::More => Progress::More,
                Step::Request { bytes, .. } => Progress::Request(bytes),
                Step::Done => {
                    if target.temporality == Temporality::Delta {
                        let value = export.take_delivered().encode();
                        hostcalls::set_shared_data(DELIVERED_KEY, &value, UNCONDITIONAL)?;
                    }
                    Progress::Done {
                        time_unix_nanos: export.time_unix_nanos(),
                    }
                }
            }),
        }
    }
}

fn delivered() -> Result<Option<Delivered>, HostError> {
    let stored = hostcalls::shared_data(DELIVERED_KEY)?;
    Ok(stored.and_then(|(bytes, _)| Delivered::decode(&bytes)))
}
