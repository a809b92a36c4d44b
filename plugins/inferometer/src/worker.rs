//! What all root contexts and streams of one virtual machine share: the registry, the slot, the list
//! of names.

use std::cell::RefCell;
use std::rc::Rc;

use hostcalls::{Call, HostError, LogLevel};
use metric_catalog::{Catalog, CatalogSettings, Moved, RecordLabels, rebin_gaps};
use metric_registry::{Limits, Registry, SeriesId};
#[cfg(feature = "push")]
use otlp_delivery::{Signal, Verdict};
use plugin_config::{Config, Labels};
use request_observer::{Budget, Phase, Purpose, RequestObserver, RequestRecord, SkipReason, Text};
use response_telemetry::Routing;
use snapshot_slots::{Publication, Publisher};

use crate::clock;
use crate::ending::Facts;
use crate::mirror::Mirror;
use crate::names::{Kind, NameLists};
use crate::settings::{Settings, catalog_settings};
use crate::shared::HostData;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// How many mistakes of one configuration are logged one by one.
const LOGGED_MISTAKES: usize = 50;

/// How many turns of the leader pass between two looks over the slots of workers that are gone.
const TURNS_PER_MAINTENANCE: u32 = 5;

/// Stands for a request that named no model.
const UNKNOWN: &str = "unknown";

/// The worker, as its contexts hold it. A context that finds it borrowed does without: the host
/// does not call back into a callback, and if one ever did, a lost count is better than a trap.
pub(crate) type SharedWorker = Rc<RefCell<Worker>>;

thread_local! {
    static WORKER: SharedWorker = Rc::new(RefCell::new(Worker::new()));
}

/// The one worker of this virtual machine.
pub(crate) fn of_this_machine() -> SharedWorker {
    WORKER.with(Rc::clone)
}

/// A request's share of the in-flight gauges.
pub(crate) struct InFlight {
    pub(crate) phase: Phase,
    series: SeriesId,
    model: Rc<str>,
}

/// The values of the labels that tell of a gateway's routing, as far as they are shown.
struct Routed {
    objective: Option<Rc<str>>,
    fairness_id: Option<Rc<str>>,
    model_rewrite: Option<Rc<str>>,
    destination: Option<Rc<str>>,
}

/// A request that is over.
pub(crate) struct Finished<'a> {
    pub(crate) record: &'a RequestRecord,
    pub(crate) facts: &'a Facts,
    pub(crate) settings: &'a Settings,
}

/// The state of one virtual machine.
pub(crate) struct Worker {
    catalog: Rc<Catalog>,
    gap_bounds_nanos: Vec<u64>,
    registry: Registry,
    publisher: Publisher,
    mirror: Mirror,
    names: NameLists,
    decompression: Budget,
    /// What `catalog`, `mirror` and `names` were made of; nothing before the first configuration.
    in_force: Option<Config>,
    /// The last good configuration of each plugin, for a successor that is no good.
    last_good: Vec<(Vec<u8>, Rc<Settings>)>,
    roots: Vec<LiveRoot>,
    period_nanos: u64,
    next_turn_nanos: u64,
    turns: u32,
    served: bool,
    started: bool,
    /// What the last request moved.
    moved: Vec<Moved>,
}

struct LiveRoot {
    id: u32,
    rejected: bool,
    settings: Option<Rc<Settings>>,
}

impl Worker {
    fn new() -> Worker {
        let catalog = Catalog::new(&CatalogSettings::default());
        let started_unix_nanos = hostcalls::wall_nanos().unwrap_or(0);
        let registry = Registry::new(catalog.families(), Limits::default(), started_unix_nanos);
        let defaults = Config::default();
        let period_nanos = u64::from(defaults.tick_millis()).saturating_mul(NANOS_PER_MILLI);
        Worker {
            gap_bounds_nanos: catalog.gap_bounds_nanos(),
            catalog: Rc::new(catalog),
            registry,
            publisher: Publisher::new(period_nanos),
            mirror: Mirror::default(),
            names: NameLists::new(defaults.models()),
            decompression: Budget::default(),
            in_force: None,
            last_good: Vec::new(),
            roots: Vec::new(),
            period_nanos,
            next_turn_nanos: 0,
            turns: 0,
            served: false,
            started: false,
            moved: Vec::new(),
        }
    }

    /// Takes in a root's configuration; gives what the root is to work with.
    pub(crate) fn configure(
        &mut self,
        root: u32,
        identity: &[u8],
        bytes: &[u8],
    ) -> Option<Rc<Settings>> {
        let parsed = plugin_config::parse(bytes);
        let rejected = parsed.is_err();
        self.roots.retain(|live| live.id != root);
        let settings = match parsed {
            Ok(parsed) => {
                for warning in &parsed.warnings {
                    hostcalls::log(LogLevel::Warn, warning);
                }
                let settings = self.adopt(parsed.config);
                self.last_good.retain(|(other, _)| other != identity);
                self.last_good
                    .push((identity.to_vec(), Rc::clone(&settings)));
                hostcalls::log(LogLevel::Info, &settings.config.summary());
                Some(settings)
            }
            Err(mistakes) => {
                for mistake in mistakes.iter().take(LOGGED_MISTAKES) {
                    hostcalls::log(LogLevel::Error, &mistake.to_string());
                }
                let more = mistakes.iter().skip(LOGGED_MISTAKES).count();
                if more > 0 {
                    hostcalls::log(LogLevel::Error, &format!("and {more} more mistakes"));
                }
                let last = self.last_good_of(identity);
                hostcalls::log(
                    LogLevel::Error,
                    if last.is_some() {
                        "the configuration is refused; the last good one stays in force"
                    } else {
                        "the configuration is refused; this machine knows no earlier one, so it measures \
                         nothing until it is mended"
                    },
                );
                last
            }
        };
        self.roots.push(LiveRoot {
            id: root,
            rejected,
            settings: settings.clone(),
        });
        self.show_rejections();
        settings
    }

    fn last_good_of(&self, identity: &[u8]) -> Option<Rc<Settings>> {
        self.last_good
            .iter()
            .find(|(other, _)| other == identity)
            .map(|(_, settings)| Rc::clone(settings))
    }

    /// Puts a configuration in force. Only one that observes shapes the series.
    fn adopt(&mut self, config: Config) -> Rc<Settings> {
        if config.observes() {
            let differs = |root: &LiveRoot| {
                root.settings
                    .as_ref()
                    .is_some_and(|other| other.config.observes() && other.config != config)
            };
            if self.roots.iter().any(differs) {
                hostcalls::log(
                    LogLevel::Warn,
                    "another configuration observes beside this one, or is about to end; the newest decides \
                     what is measured",
                );
            }
            self.enforce(&config);
        } else if self.in_force.is_none() {
            // A service that only pushes has no other configuration to go by.
            self.set_period(&config);
        }
        let bounds = self.gap_bounds_nanos.clone();
        Rc::new(Settings::new(config, bounds, &self.decompression))
    }

    /// Shapes the series, the mirror and the list of names by a configuration that observes. What it
    /// has in common with the one in force stays: a list emptied or a stat defined once more costs
    /// the proxy, and changes nothing.
    fn enforce(&mut self, config: &Config) {
        if self.in_force.as_ref() == Some(config) {
            return;
        }
        let catalog = Catalog::new(&catalog_settings(config));
        let Some(reshaped) = self.reshape(&catalog, config) else {
            hostcalls::log(
                LogLevel::Error,
                "the proxy's shared data takes no more, so the metrics keep their old labels and buckets",
            );
            return;
        };
        self.gap_bounds_nanos = catalog.gap_bounds_nanos();
        self.catalog = Rc::new(catalog);
        let before = self.in_force.replace(config.clone());
        let before = before.as_ref();
        if reshaped || before.map(Config::envoy_stats) != Some(config.envoy_stats()) {
            self.mirror.choose(config);
        }
        if before.map(Config::models) != Some(config.models()) {
            self.names.choose_models(config.models());
        }
        self.set_period(config);
    }

    fn set_period(&mut self, config: &Config) {
        self.period_nanos = u64::from(config.tick_millis()).saturating_mul(NANOS_PER_MILLI);
        self.publisher.set_period(self.period_nanos);
    }

    /// Gives the registry the families of a new catalogue, and tells whether they are others than
    /// before. What was counted in the old shape goes to the base first, so that no counter steps back
    /// when labels change or metrics go; where that fails, the shape stays as it is, and this tells
    /// nothing.
    fn reshape(&mut self, catalog: &Catalog, config: &Config) -> Option<bool> {
        let limits = Limits {
            series: config.limits().series(),
            ..Limits::default()
        };
        self.registry.set_limits(limits);
        let families = catalog.families();
        if families == self.catalog.families() {
            return Some(false);
        }
        if !self.retire() {
            return None;
        }
        let empty = Registry::new(Vec::new(), limits, 0);
        let old = std::mem::replace(&mut self.registry, empty);
        self.registry = old.reshape(families);
        Some(true)
    }

    /// Leaves a sealed slot behind, if there is anything to leave, and folds it; whether all that was
    /// counted is there now. The canary machine is configured and ends without ever ticking or
    /// serving: it owns nothing and leaves nothing.
    fn retire(&mut self) -> bool {
        if self.publisher.slot().is_none() && !self.served {
            return true;
        }
        let now = self.now_nanos();
        let retired = self
            .publisher
            .retire(&mut self.registry, now, &mut HostData);
        let retired = self.note(retired) == Some(Publication::Written);
        // Many changes in a row would otherwise use up the slots before anybody folds them.
        let census = snapshot_slots::maintain(now, &mut HostData);
        self.note(census);
        retired
    }

    fn show_rejections(&mut self) {
        let rejected = self.roots.iter().any(|root| root.rejected);
        let series = self.catalog.config_rejected(&mut self.registry);
        self.registry.set_gauge(series, i64::from(rejected));
    }

    /// The tick period every root asks for.
    pub(crate) fn tick_period_millis(&self) -> u32 {
        u32::try_from(self.period_nanos / NANOS_PER_MILLI).unwrap_or(u32::MAX)
    }

    /// The monotonic time.
    pub(crate) fn now_nanos(&mut self) -> u64 {
        let reading = clock::read();
        if let Some(error) = reading.refused {
            self.note::<()>(Err(error));
        }
        reading.stamp.0
    }

    /// Counts a hostcall that was refused.
    pub(crate) fn note<T>(&mut self, result: Result<T, HostError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.count_refusal(error.call);
                None
            }
        }
    }

    fn count_refusal(&mut self, call: Call) {
        let series = self.catalog.host_errors(&mut self.registry, call.as_str());
        self.registry.add(series, 1);
    }

    /// Counts a stream that is not watched.
    pub(crate) fn skipped(&mut self, reason: SkipReason) {
        let series = self.catalog.skipped(&mut self.registry, reason);
        self.registry.add(series, 1);
    }

    /// Puts a request's share of the in-flight gauges where it now belongs.
    pub(crate) fn move_in_flight(
        &mut self,
        observer: &RequestObserver,
        provider: Option<&str>,
        share: &mut Option<InFlight>,
    ) {
        let phase = observer.phase();
        let model = match share.as_ref() {
            Some(share) => Rc::clone(&share.model),
            None => match observer.request_model() {
                Some(name) => self.names.of(Kind::Model).shown(name),
                None => Rc::from(UNKNOWN),
            },
        };
        self.leave(share.take());
        if phase != Phase::Ended {
            let api = observer.api();
            let provider = provider.unwrap_or(api.provider());
            let series = self
                .catalog
                .in_flight(&mut self.registry, api, &model, provider, phase);
            self.registry.shift_gauge(series, 1);
            *share = Some(InFlight {
                phase,
                series,
                model,
            });
        }
    }

    /// Takes a request's share out of the in-flight gauges.
    pub(crate) fn leave(&mut self, share: Option<InFlight>) {
        if let Some(share) = share {
            self.registry.shift_gauge(share.series, -1);
        }
    }

    /// The label value of a name at the end of its request.
    fn admitted(&mut self, kind: Kind, name: Option<&str>, accepted: bool) -> Option<Rc<str>> {
        let name = name.filter(|name| !name.is_empty())?;
        let list = self.names.of(kind);
        let considered = list.consider(name, accepted, &mut HostData);
        let shown = list.shown(name);
        self.note(considered);
        Some(shown)
    }

    /// What a gateway wrote into the request's headers, as far as labels show it.
    fn routed(&mut self, finished: &Finished<'_>, shown: Labels) -> Routed {
        let mut told = Routing::default();
        for (name, value) in &finished.facts.request_headers {
            told.read(name, value);
        }
        let accepted = finished.record.accepted;
        let mut admit = |kind, shown: bool, told: Option<&str>| {
            let told = told.filter(|_| shown)?;
            let bytes = u64::try_from(told.len()).unwrap_or(u64::MAX);
            // A header may be far longer than a label.
            let name = Text::from_prefix(told.as_bytes(), bytes);
            self.admitted(kind, Some(name.as_str()), accepted)
        };
        Routed {
            objective: admit(Kind::Objective, shown.inference_objective(), told.objective),
            fairness_id: admit(
                Kind::FairnessId,
                shown.inference_fairness_id(),
                told.fairness_id,
            ),
            model_rewrite: admit(
                Kind::ModelRewrite,
                shown.inference_model_rewrite(),
                told.model_rewrite,
            ),
            destination: admit(
                Kind::Destination,
                shown.destination_endpoint(),
                told.destination_endpoint,
            ),
        }
    }

    /// Counts a request that is over; gives its model as labels show it.
    pub(crate) fn finished(&mut self, finished: &Finished<'_>) -> Rc<str> {
        self.served = true;
        let record = finished.record;
        if record.purpose != Purpose::Client {
            // No label shows it, so its names need not be admitted.
            self.move_series(finished, &RecordLabels::default());
            return Rc::from(UNKNOWN);
        }
        let [request_model, response_model] =
            [&record.request_model, &record.response_model].map(|name| {
                let name = name.as_ref().map(Text::as_str);
                self.admitted(Kind::Model, name, record.accepted)
            });
        let model = request_model.as_ref().or(response_model.as_ref());
        let model = model.map_or_else(|| Rc::from(UNKNOWN), Rc::clone);
        let text = |bytes: &Option<Vec<u8>>| {
            bytes
                .as_ref()
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let cluster = text(&finished.facts.cluster);
        let endpoint = text(&finished.facts.endpoint);
        let route = text(&finished.facts.route);
        let config = &finished.settings.config;
        let shown = config.labels();
        let server = finished.facts.server();
        let (address, port) = server.filter(|_| shown.server_address()).unzip();
        let routed = self.routed(finished, shown);
        let labels = RecordLabels {
            model: &model,
            request_model: request_model.as_deref().unwrap_or_default(),
            response_model: response_model.as_deref().unwrap_or_default(),
            provider: config.provider().unwrap_or(record.api.provider()),
            server_address: address,
            server_port: port,
            upstream_cluster: cluster.as_deref(),
            upstream_endpoint: if shown.upstream_endpoint() {
                endpoint.as_deref()
            } else {
                None
            },
            route: route.as_deref(),
            inference_objective: routed.objective.as_deref(),
            inference_fairness_id: routed.fairness_id.as_deref(),
            inference_model_rewrite: routed.model_rewrite.as_deref(),
            destination_endpoint: routed.destination.as_deref(),
        };
        self.move_series(finished, &labels);
        model
    }

    /// Moves the series of a request that is over, and their mirrors.
    fn move_series(&mut self, finished: &Finished<'_>, labels: &RecordLabels<'_>) {
        let record = finished.record;
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        let catalog = Rc::clone(&self.catalog);
        // A request may have outlived the buckets it began with.
        let resorted;
        let record = if finished.settings.observer.gap_bounds_nanos == self.gap_bounds_nanos {
            record
        } else {
            resorted = RequestRecord {
                gaps: rebin_gaps(
                    &record.gaps,
                    &finished.settings.observer.gap_bounds_nanos,
                    &self.gap_bounds_nanos,
                ),
                ..record.clone()
            };
            &resorted
        };
        catalog.record(record, labels, &mut self.registry, &mut |step| {
            moved.push(step);
        });
        for step in &moved {
            let mirrored = self.mirror.follow(step, &catalog, &self.registry);
            self.note(mirrored);
        }
        self.moved = moved;
    }

    /// The times that the last request was counted with: the metric, its labels and the time in the metric's integers.
    #[cfg(feature = "push")]
    pub(crate) fn last_times(
        &self,
    ) -> impl Iterator<Item = (&str, impl Iterator<Item = (&str, &str)>, u64)> {
        let histograms = self
            .moved
            .iter()
            .filter(|step| step.kind == metric_registry::Kind::Histogram);
        histograms.filter_map(|step| {
            let family = self.registry.family(step.family)?;
            let is_time = family.unit == "s";
            is_time.then(|| (family.name, self.registry.labels(step.series), step.amount))
        })
    }

    /// One tick of one of this machine's roots; the first of them in a period does the work.
    pub(crate) fn tick(&mut self) {
        let now = self.now_nanos();
        // A clock that was set back must not silence the worker until it has caught up.
        let wait = self.next_turn_nanos.saturating_sub(now);
        if wait > 0 && wait <= self.period_nanos {
            return;
        }
        // A little less than a period, so that a tick that comes a moment early is not passed over.
        let wait = self.period_nanos.saturating_sub(self.period_nanos / 4);
        self.next_turn_nanos = now.saturating_add(wait);
        self.names.tick();
        if !self.started {
            self.started = true;
            let series = self.catalog.worker_starts(&mut self.registry);
            self.registry.add(series, 1);
        }
        self.show_itself();
        if self.registry.changed_since_snapshot()
            || self.publisher.owes()
            || self.publisher.overslept(now)
        {
            let published = self
                .publisher
                .publish(&mut self.registry, now, &mut HostData);
            if self.note(published) == Some(Publication::Postponed) {
                // No slot is free. A worker without one leads nobody, so it makes room itself.
                let census = snapshot_slots::maintain(now, &mut HostData);
                self.note(census);
            }
        } else {
            let beat = self.publisher.beat(now, &mut HostData);
            self.note(beat);
        }
        self.lead(now);
    }

    /// Whether a request has ended here.
    #[cfg(feature = "push")]
    pub(crate) fn has_served(&self) -> bool {
        self.served
    }

    /// Counts a call to a receiver; `took` is nothing where it could not even be sent.
    #[cfg(feature = "push")]
    pub(crate) fn count_export(&mut self, signal: Signal, verdict: &Verdict, took: Option<u64>) {
        let (signal, outcome) = (signal.as_str(), verdict.outcome.as_str());
        let catalog = Rc::clone(&self.catalog);
        let registry = &mut self.registry;
        let calls = catalog.exports(registry, signal, outcome);
        registry.add(calls, 1);
        if let Some(nanos) = took {
            let durations = catalog.export_duration(registry, signal);
            registry.observe(durations, nanos);
        }
        if verdict.rejected > 0 {
            let rejected = catalog.export_rejected(registry, signal);
            registry.add(rejected, verdict.rejected);
        }
    }

    /// Counts spans or log records that were given up.
    #[cfg(feature = "push")]
    pub(crate) fn count_export_dropped(&mut self, signal: Signal, count: u64) {
        if count > 0 {
            let dropped = self
                .catalog
                .export_dropped(&mut self.registry, signal.as_str());
            self.registry.add(dropped, count);
        }
    }

    /// Publishes outside the tick, so that a scrape shows what this worker has counted up to now.
    pub(crate) fn publish_now(&mut self) {
        if self.registry.changed_since_snapshot() {
            let now = self.now_nanos();
            let published = self
                .publisher
                .publish(&mut self.registry, now, &mut HostData);
            self.note(published);
        }
    }

    /// Gauges about this machine itself.
    fn show_itself(&mut self) {
        const PAGE_BYTES: usize = 65_536;
        let memory = core::arch::wasm32::memory_size(0).saturating_mul(PAGE_BYTES);
        self.catalog
            .show_machine(&mut self.registry, memory, self.publisher.published_bytes());
    }

    /// What one worker of the proxy does for all: folding what the dead have left, and the gauges
    /// that would be wrong if each worker set them.
    fn lead(&mut self, now: u64) {
        let Some(own) = self.publisher.slot() else {
            return;
        };
        let leads = snapshot_slots::leads(own, now, &mut HostData);
        if self.note(leads) != Some(true) {
            self.catalog.show_no_leader(&mut self.registry);
            return;
        }
        if self.turns == 0 {
            self.turns = TURNS_PER_MAINTENANCE;
            let census = snapshot_slots::maintain(now, &mut HostData);
            if let Some(census) = self.note(census) {
                self.catalog.show_proxy(
                    &mut self.registry,
                    &[
                        ("live", census.live),
                        ("stale", census.stale),
                        ("sealed", census.sealed),
                        ("free", census.free),
                        ("unreadable", census.unreadable),
                    ],
                );
            }
        }
        self.turns = self.turns.saturating_sub(1);
        if self.mirror.has_gauges() {
            let view = snapshot_slots::read(now, &mut HostData);
            if let Some(view) = self.note(view) {
                let set = self.mirror.set_gauges(&view.snapshot, &self.catalog);
                self.note(set);
            }
        }
    }

    /// A root of this machine has ended; the last one leaves a sealed slot behind.
    pub(crate) fn root_ended(&mut self, root: u32) {
        self.roots.retain(|live| live.id != root);
        self.show_rejections();
        if self.roots.is_empty() {
            self.retire();
            return;
        }
        // What the ended root had put in force goes with it.
        let newest = self
            .roots
            .iter()
            .rev()
            .filter_map(|root| root.settings.clone())
            .find(|settings| settings.config.observes());
        if let Some(settings) = newest {
            self.enforce(&settings.config);
        }
    }
}
