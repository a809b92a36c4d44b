//! Exemplars on their way from the workers that measured them to the one that sends metrics.

use hostcalls::HostError;
use otlp_encoding::{Exemplar, Exemplars};
use snapshot_slots::{CREATE_IF_ABSENT, SharedData, Written};

use crate::shared::HostData;

const KEY: &str = "inferometer/1/push/exemplars";

/// Of how many requests exemplars are taken between two ticks; a viewer needs no more, and each costs as much as a span.
const REQUESTS: u8 = 16;

/// What this worker has not told yet.
#[derive(Default)]
pub(crate) struct ExemplarBoard {
    untold: Exemplars,
    requests: u8,
}

impl ExemplarBoard {
    /// Takes in those of one request.
    pub(crate) fn record(&mut self, exemplars: impl Iterator<Item = Exemplar>) {
        if self.requests >= REQUESTS {
            return;
        }
        self.requests = self.requests.saturating_add(1);
        for exemplar in exemplars {
            self.untold.add(exemplar);
        }
    }

    /// Tells the others. Where another worker does so at the same moment, the next time is soon enough.
    pub(crate) fn publish(&mut self) -> Result<(), HostError> {
        self.requests = 0;
        if self.untold.is_empty() {
            return Ok(());
        }
        let stored = HostData.get(KEY)?;
        let cas = stored.as_ref().map_or(CREATE_IF_ABSENT, |(_, cas)| *cas);
        let mut all = read(stored);
        all.merge(self.untold.clone());
        if HostData.set(KEY, &all.to_bytes(), cas)? == Written::Done {
            self.untold = Exemplars::default();
        }
        Ok(())
    }
}

/// What all workers have told.
pub(crate) fn told() -> Result<Exemplars, HostError> {
    HostData.get(KEY).map(read)
}

fn read(stored: Option<(Vec<u8>, u32)>) -> Exemplars {
    stored
        .and_then(|(bytes, _)| Exemplars::from_bytes(&bytes))
        .unwrap_or_default()
}
