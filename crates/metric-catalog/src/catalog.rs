//! The metrics that a configuration keeps, with their places in the registry.

use metric_registry::{FamilyDef, FamilyId, Kind, Registry, SeriesId};
use request_observer::{Api, MAX_GAP_BUCKETS, Phase};

use crate::definition::Metric;
use crate::envoy_stat;
use crate::settings::{CatalogSettings, LabelSwitches};
use crate::table::{self, ROWS, Row};

/// A series that has moved, for those who mirror it elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The series' family.
    pub family: FamilyId,
    /// The series.
    pub series: SeriesId,
    /// The family's kind; a gauge never comes.
    pub kind: Kind,
    /// What a counter grew by (never zero), or the value that a histogram took in, in the family's integers.
    pub amount: u64,
}

/// The metrics that a configuration keeps.
///
/// It belongs to a registry that was made of, or reshaped to, its [`families`](Catalog::families): used with another
/// one it would move the wrong series.
#[derive(Debug)]
pub struct Catalog {
    kept: Vec<Kept>,
    /// Place in `kept` by row.
    places: [Option<Place>; ROWS],
    pub(crate) labels: LabelSwitches,
    mirrored: Vec<&'static str>,
}

/// One family of the registry.
#[derive(Debug)]
struct Kept {
    name: &'static str,
    metric: &'static Metric,
    labels: Vec<&'static str>,
    bounds: Vec<u64>,
}

/// Where a metric is kept, and where its copy is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) family: FamilyId,
    pub(crate) alias: Option<FamilyId>,
}

impl Catalog {
    /// What the settings choose.
    #[must_use]
    pub fn new(settings: &CatalogSettings) -> Catalog {
        let mut catalog = Catalog {
            kept: Vec::new(),
            places: [None; ROWS],
            labels: settings.labels,
            mirrored: settings.mirrored.clone(),
        };
        for (row, metric) in table::metrics().enumerate() {
            if metric.is_kept(settings) {
                let bounds = bounds_of(metric, settings);
                let family = catalog.keep(metric.name, metric, bounds.clone());
                let alias = metric
                    .alias
                    .map(|alias| catalog.keep(alias, metric, bounds));
                if let Some(place) = catalog.places.get_mut(row) {
                    *place = Some(Place { family, alias });
                }
            }
        }
        catalog
    }

    fn keep(&mut self, name: &'static str, metric: &'static Metric, bounds: Vec<u64>) -> FamilyId {
        // The table is far shorter than the numbers reach.
        let family = FamilyId(u16::try_from(self.kept.len()).unwrap_or(u16::MAX));
        self.kept.push(Kept {
            name,
            metric,
            labels: metric.label_names(self.labels),
            bounds,
        });
        family
    }

    /// The families for a registry.
    #[must_use]
    pub fn families(&self) -> Vec<FamilyDef> {
        self.kept
            .iter()
            .map(|kept| FamilyDef {
                name: kept.name,
                kind: kept.metric.kind,
                unit: kept.metric.unit,
                scale: kept.metric.scale,
                labels: kept.labels.clone(),
                bounds: kept.bounds.clone(),
            })
            .collect()
    }

    /// The bounds into which observers sort the gaps between tokens. Empty where nobody counts them.
    #[must_use]
    pub fn gap_bounds_nanos(&self) -> Vec<u64> {
        let family = self.place(Row::InterTokenLatency).map(|place| place.family);
        let mut bounds = family
            .and_then(|family| self.kept(family))
            .map_or_else(Vec::new, |kept| kept.bounds.clone());
        bounds.truncate(MAX_GAP_BUCKETS);
        bounds
    }

    /// The level of requests under way in a phase, to be shifted by one.
    ///
    /// `model` is an admitted name, `other` or `unknown`. A request that has ended is in no phase, so its series is
    /// that of no family, which the registry ignores.
    pub fn in_flight(
        &self,
        registry: &mut Registry,
        api: Api,
        model: &str,
        provider: &str,
        phase: Phase,
    ) -> SeriesId {
        let place = self.place(Row::InFlight).filter(|_| phase != Phase::Ended);
        self.series(
            registry,
            place,
            &[model, provider, api.operation(), phase.as_str()],
        )
    }

    /// Whether the metric of that name, which the registry holds, is mirrored to the proxy's own stats.
    #[must_use]
    pub fn is_mirrored(&self, name: &str) -> bool {
        self.mirrored.contains(&name)
            && self
                .kept
                .iter()
                .any(|kept| kept.name == name && kept.metric.envoy.is_some())
    }

    /// The name of the proxy's own stat for a series: its present labels as tags, then the metric. None where the metric
    /// is not mirrored.
    #[must_use]
    pub fn envoy_stat_name<'a>(
        &self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<String> {
        self.is_mirrored(name)
            .then(|| envoy_stat::name(name, labels))
            .flatten()
    }

    /// What has moved in the whole numbers of the proxy's own stat, rounded. None where the metric is not mirrored.
    #[must_use]
    pub fn envoy_amount(&self, moved: &Moved) -> Option<u64> {
        let kept = self.kept(moved.family)?;
        self.is_mirrored(kept.name)
            .then(|| envoy_stat::amount(kept.metric, moved.amount))
            .flatten()
    }

    pub(crate) fn place(&self, row: Row) -> Option<Place> {
        self.places.get(row as usize).copied().flatten()
    }

    /// The series of a metric, counting those that had to go to an overflow series.
    pub(crate) fn series(
        &self,
        registry: &mut Registry,
        place: Option<Place>,
        values: &[&str],
    ) -> SeriesId {
        let family = place.map_or(FamilyId(u16::MAX), |place| place.family);
        self.series_of(registry, family, values)
    }

    pub(crate) fn series_of(
        &self,
        registry: &mut Registry,
        family: FamilyId,
        values: &[&str],
    ) -> SeriesId {
        let before = registry.overflowed();
        let series = registry.series(family, values);
        let overflowed = registry.overflowed().saturating_sub(before);
        if overflowed > 0
            && let Some(place) = self.place(Row::SeriesOverflow)
        {
            let overflow = registry.series(place.family, &[]);
            registry.add(overflow, overflowed);
        }
        series
    }

    fn kept(&self, family: FamilyId) -> Option<&Kept> {
        self.kept.get(usize::from(family.0))
    }
}

/// The bounds in the registry's integers: the settings', or the metric's own.
fn bounds_of(metric: &Metric, settings: &CatalogSettings) -> Vec<u64> {
    let chosen = settings
        .buckets
        .iter()
        .find(|(name, _)| *name == metric.name);
    let bounds = chosen.map_or(metric.bounds, |(_, bounds)| bounds);
    bounds.iter().map(|bound| metric.scaled(*bound)).collect()
}
