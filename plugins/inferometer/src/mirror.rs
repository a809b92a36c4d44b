//! Envoy's own stats as a second way out: chosen series, in whole numbers, with Istio's labels in
//! the name.

use hashbrown::HashMap;
use hostcalls::{HostError, MetricKind};
use metric_catalog::{Catalog, Moved};
use metric_registry::{Kind, Registry, SeriesId, SeriesValue, Snapshot};
use plugin_config::Config;

/// The stats this machine has defined. Envoy never removes one and every definition takes a new
/// number, so each is defined once.
#[derive(Default)]
pub(crate) struct Mirror {
    enabled: bool,
    by_series: HashMap<SeriesId, Option<u32>>,
    gauges: HashMap<String, u32>,
}

impl Mirror {
    /// Takes the configuration's choice. Series may have new numbers after it.
    pub(crate) fn choose(&mut self, config: &Config) {
        self.enabled = config.envoy_stats().is_some();
        self.by_series.clear();
    }

    /// Whether there is a gauge to be set by the leader.
    pub(crate) fn has_gauges(&self) -> bool {
        self.enabled
    }

    /// Moves the stat of a series that has moved.
    pub(crate) fn follow(
        &mut self,
        step: &Moved,
        catalog: &Catalog,
        registry: &Registry,
    ) -> Result<(), HostError> {
        if !self.enabled {
            return Ok(());
        }
        let id = match self.by_series.get(&step.series) {
            Some(known) => *known,
            None => {
                let id = define(step.series, catalog, registry)?;
                self.by_series.insert(step.series, id);
                id
            }
        };
        let (Some(id), Some(amount)) = (id, catalog.envoy_amount(step)) else {
            return Ok(());
        };
        match step.kind {
            Kind::Counter => hostcalls::increment_metric(id, amount),
            Kind::Histogram => hostcalls::record_metric(id, amount),
            Kind::Gauge | Kind::Reading => Ok(()),
        }
    }

    /// Sets the mirrored gauges to what all workers together have.
    pub(crate) fn set_gauges(
        &mut self,
        snapshot: &Snapshot,
        catalog: &Catalog,
    ) -> Result<(), HostError> {
        for family in snapshot.families() {
            if family.kind() != Kind::Gauge || !catalog.is_mirrored(family.name()) {
                continue;
            }
            for series in family.series() {
                let SeriesValue::Gauge(value) = series.value() else {
                    continue;
                };
                let Some(name) = catalog.envoy_stat_name(family.name(), series.labels()) else {
                    continue;
                };
                let id = match self.gauges.get(&name) {
                    Some(id) => *id,
                    None => {
                        let id = hostcalls::define_metric(MetricKind::Gauge, &name)?;
                        self.gauges.insert(name, id);
                        id
                    }
                };
                hostcalls::record_metric(id, u64::try_from(value).unwrap_or(0))?;
            }
        }
        Ok(())
    }
}

fn define(
    series: SeriesId,
    catalog: &Catalog,
    registry: &Registry,
) -> Result<Option<u32>, HostError> {
    let Some(family) = registry
        .family_of(series)
        .and_then(|family| registry.family(family))
    else {
        return Ok(None);
    };
    if !catalog.is_mirrored(family.name) {
        return Ok(None);
    }
    let kind = match family.kind {
        Kind::Counter => MetricKind::Counter,
        Kind::Gauge | Kind::Reading => MetricKind::Gauge,
        Kind::Histogram => MetricKind::Histogram,
    };
    match catalog.envoy_stat_name(family.name, registry.labels(series)) {
        Some(name) => hostcalls::define_metric(kind, &name).map(Some),
        None => Ok(None),
    }
}
