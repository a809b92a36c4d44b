//! What one virtual machine pushes, and by which of its roots.

use std::cell::RefCell;
use std::rc::Rc;

use hostcalls::HostError;
use otlp_delivery::Signal;
use otlp_encoding::{Exemplar, Item};
use plugin_config::Config;

use super::call::{Answer, Line};
use super::exemplars::ExemplarBoard;
use super::items::ItemPusher;
use super::metrics::MetricsPusher;
use super::target::PushTarget;
use crate::worker::Worker;

const NANOS_PER_MILLI: u64 = 1_000_000;
/// The time between two steps of an export.
const QUICK_TICK_MILLIS: u32 = 10;

/// The pusher of this virtual machine, as its contexts hold it.
pub(crate) type SharedPusher = Rc<RefCell<Pusher>>;

thread_local! {
    static PUSHER: SharedPusher = Rc::new(RefCell::new(Pusher::new()));
}

/// The one pusher of this virtual machine.
pub(crate) fn of_this_machine() -> SharedPusher {
    PUSHER.with(Rc::clone)
}

/// What one virtual machine does for the role `push`.
pub(crate) struct Pusher {
    metrics: MetricsPusher,
    traces: ItemPusher,
    logs: ItemPusher,
    exemplars: ExemplarBoard,
    /// The live roots that push, the newest last; of those with a signal it alone sends it.
    targets: Vec<(u32, Rc<PushTarget>)>,
    /// The roots whose ticks come quickly.
    quick_roots: Vec<u32>,
}

impl Pusher {
    fn new() -> Pusher {
        Pusher {
            metrics: MetricsPusher::new(),
            traces: ItemPusher::new(Signal::Traces),
            logs: ItemPusher::new(Signal::Logs),
            exemplars: ExemplarBoard::default(),
            targets: Vec::new(),
            quick_roots: Vec::new(),
        }
    }

    /// Takes in a root's configuration.
    pub(crate) fn configure(&mut self, root: u32, config: Option<&Config>, worker: &mut Worker) {
        let had_some = !self.targets.is_empty();
        self.targets.retain(|(other, _)| *other != root);
        // Whoever configures a root sets its ticks too.
        self.quick_roots.retain(|other| *other != root);
        if let Some(target) = config.and_then(PushTarget::of) {
            self.targets.push((root, target));
        }
        if had_some {
            self.retire_unsent(worker);
        }
        self.set_intervals();
    }

    /// A root of this machine has ended; the host cancels its calls.
    pub(crate) fn root_ended(&mut self, root: u32, worker: &mut Worker) {
        self.targets.retain(|(other, _)| *other != root);
        self.quick_roots.retain(|other| *other != root);
        self.metrics.root_ended(root);
        self.traces.root_ended(root);
        self.logs.root_ended(root);
        self.retire_unsent(worker);
        self.set_intervals();
    }

    /// Each signal goes at the pace of the root that sends it.
    fn set_intervals(&mut self) {
        let interval = |signal| {
            let (_, target) = self.sender_of(signal)?;
            Some(u64::from(target.interval_millis).saturating_mul(NANOS_PER_MILLI))
        };
        let [metrics, traces, logs] = [Signal::Metrics, Signal::Traces, Signal::Logs].map(interval);
        if let Some(nanos) = metrics {
            self.metrics.set_interval(nanos);
        }
        if let Some(nanos) = traces {
            self.traces.set_interval(nanos);
        }
        if let Some(nanos) = logs {
            self.logs.set_interval(nanos);
        }
    }

    /// Gives up what no root sends any more.
    fn retire_unsent(&mut self, worker: &mut Worker) {
        if self.sender_of(Signal::Metrics).is_none() {
            self.metrics.retire(worker);
        }
        if self.sender_of(Signal::Traces).is_none() {
            self.traces.retire(worker);
        }
        if self.sender_of(Signal::Logs).is_none() {
            self.logs.retire(worker);
        }
    }

    /// Takes in a span.
    pub(crate) fn record_span(&mut self, span: Item, worker: &mut Worker) {
        self.traces.record(span, worker);
    }

    /// Takes in a log record.
    pub(crate) fn record_log(&mut self, log: Item, worker: &mut Worker) {
        self.logs.record(log, worker);
    }

    /// Takes in what a request with a span has measured.
    pub(crate) fn record_exemplars(&mut self, exemplars: impl Iterator<Item = Exemplar>) {
        self.exemplars.record(exemplars);
    }

    /// One tick of a root.
    pub(crate) fn tick(&mut self, root: u32, worker: &mut Worker) {
        let published = self.exemplars.publish();
        worker.note(published);
        if let Some(target) = self.sends(root, Signal::Metrics)
            && let Some(metrics) = &target.metrics
        {
            self.metrics.tick(root, (&target, metrics), worker);
        }
        if let Some(target) = self.sends(root, Signal::Traces) {
            self.traces.tick(root, &target, worker);
        }
        if let Some(target) = self.sends(root, Signal::Logs) {
            self.logs.tick(root, &target, worker);
        }
        self.set_ticks(root, worker);
    }

    /// The answer to a call of a root. One that was given up, or whose root is going, is nobody's.
    pub(crate) fn answered(
        &mut self,
        root: u32,
        token: u32,
        answer: Result<Answer, HostError>,
        worker: &mut Worker,
    ) {
        let target = self.targets.iter().find(|(other, _)| *other == root);
        let Some(target) = target.map(|(_, target)| Rc::clone(target)) else {
            return;
        };
        if self.metrics.awaits(root, token)
            && let Some(metrics) = &target.metrics
        {
            let verdict = Line::verdict(&metrics.destination, answer, worker);
            self.metrics.ended(metrics, &verdict, worker);
            self.set_ticks(root, worker);
            return;
        }
        let sends = |signal| self.sends(root, signal).is_some();
        let [sends_traces, sends_logs] = [Signal::Traces, Signal::Logs].map(sends);
        for (signal, is_sender, items) in [
            (Signal::Traces, sends_traces, &mut self.traces),
            (Signal::Logs, sends_logs, &mut self.logs),
        ] {
            if items.awaits(root, token)
                && let Some(to) = target.destination(signal)
            {
                let verdict = Line::verdict(to, answer, worker);
                items.answered(root, &target, to, &verdict, is_sender, worker);
                return;
            }
        }
    }

    /// The root that sends a signal, and where to: the newest, and before all those that observe the newest that only
    /// pushes. The proxy gives a service of the bootstrap and a listener one machine on the main thread.
    fn sender_of(&self, signal: Signal) -> Option<&(u32, Rc<PushTarget>)> {
        let newest_first = self.targets.iter().rev();
        newest_first
            .filter(|(_, target)| target.destination(signal).is_some())
            .min_by_key(|(_, target)| target.observes)
    }

    /// Where a root sends a signal, if it is the one that does.
    fn sends(&self, root: u32, signal: Signal) -> Option<Rc<PushTarget>> {
        let (sender, target) = self.sender_of(signal)?;
        (*sender == root).then(|| Rc::clone(target))
    }

    /// Ticks come quickly while there is something to do, and as the configuration has them otherwise.
    fn set_ticks(&mut self, root: u32, worker: &mut Worker) {
        let is_busy = self.sends(root, Signal::Metrics).is_some() && self.metrics.is_busy();
        let is_quick = self.quick_roots.contains(&root);
        if is_busy == is_quick {
            return;
        }
        let period = if is_busy {
            self.quick_roots.push(root);
            QUICK_TICK_MILLIS
        } else {
            self.quick_roots.retain(|other| *other != root);
            worker.tick_period_millis()
        };
        let set = hostcalls::set_tick_period_millis(period);
        worker.note(set);
    }
}
