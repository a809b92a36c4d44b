//! When metrics are sent, and what becomes of a call with them.

use hostcalls::HostError;
use otlp_delivery::{Held, Lease, Outcome, Pace, Signal, Verdict, Wait};
use otlp_encoding::{Bounds, Temporality};

use super::call::Line;
use super::export::{Export, Progress};
use super::identity::{random, random_number};
use super::target::{MetricsTarget, PushTarget};
use crate::shared::HostData;
use crate::worker::Worker;

const LEASE_KEY: &str = "inferometer/1/push/lease";
const NANOS_PER_MILLI: u64 = 1_000_000;
/// A receiver that takes not even this takes nothing.
const LEAST_REQUEST_BYTES: usize = 16 << 10;

/// What sends the merged metrics of all workers, where this one holds the lease.
pub(crate) struct MetricsPusher {
    line: Line,
    lease: Lease,
    pace: Pace,
    export: Option<Export>,
    /// A request that the receiver has not taken yet and must.
    unsent: Option<Vec<u8>>,
    /// Requests become smaller when a receiver says that they are too large.
    bounds: Bounds,
    /// The time of what was delivered last; what was measured before it has had its exemplars.
    delivered_unix_nanos: u64,
    /// The root that began the export.
    sender: Option<u32>,
    /// When the lease was renewed last.
    renewed_nanos: u64,
    /// Whether the lease is left to others until the next call is due.
    stands_back: bool,
}

/// A target and the part of it that is about metrics.
type Targets<'a> = (&'a PushTarget, &'a MetricsTarget);

impl MetricsPusher {
    /// Nothing is under way.
    pub(crate) fn new() -> MetricsPusher {
        MetricsPusher {
            line: Line::new(Signal::Metrics),
            lease: Lease::new(LEASE_KEY, random()),
            pace: Pace::new(0),
            export: None,
            unsent: None,
            bounds: Bounds::default(),
            delivered_unix_nanos: 0,
            sender: None,
            renewed_nanos: 0,
            stands_back: false,
        }
    }

    /// Takes in the time between two exports.
    pub(crate) fn set_interval(&mut self, nanos: u64) {
        self.pace.set_interval(nanos);
    }

    /// Whether this is the call in flight.
    pub(crate) fn awaits(&self, root: u32, token: u32) -> bool {
        self.line.awaits(root, token)
    }

    /// Whether the next step need not wait for anything.
    pub(crate) fn is_busy(&self) -> bool {
        self.export.is_some() && !self.line.is_busy() && self.unsent.is_none()
    }

    /// The host has cancelled the calls of a root.
    pub(crate) fn root_ended(&mut self, root: u32) {
        if self.line.root_ended(root) {
            self.forget();
        }
    }

    /// No root sends metrics any more.
    pub(crate) fn retire(&mut self, worker: &mut Worker) {
        self.forget();
        let released = self.lease.release(&mut HostData);
        worker.note(released);
    }

    /// One tick of the root that sends.
    pub(crate) fn tick(&mut self, root: u32, targets: Targets<'_>, worker: &mut Worker) {
        let now = worker.now_nanos();
        let (_, target) = targets;
        if self.line.is_busy() {
            if let Some(verdict) = self.line.overdue(worker) {
                self.ended(target, &verdict, worker);
            }
            return;
        }
        if self.sender.replace(root) != Some(root) {
            // What another configuration has begun is not for this one's receiver.
            self.forget();
            self.bounds = Bounds::default();
        }
        if self.export.is_none() || self.unsent.is_some() {
            if !self.begin(targets, now, worker) {
                return;
            }
        } else if !self.still_holds(targets, now, worker) {
            self.forget();
            return;
        }
        let worked = match self.unsent.take() {
            Some(bytes) => {
                self.send(root, target, bytes, worker);
                Ok(())
            }
            None => self.step(root, targets, worker),
        };
        if let Err(error) = worked {
            worker.note::<()>(Err(error));
            let message = format!("the proxy's shared data cannot be read: {error}");
            let verdict = Verdict::again(Outcome::Unavailable, None, &message);
            self.forget();
            self.pace
                .ended(worker.now_nanos(), &verdict, random_number());
        }
    }

    /// Whether it is time for a call, and this machine's turn.
    fn begin(&mut self, targets: Targets<'_>, now: u64, worker: &mut Worker) -> bool {
        let is_due = self.pace.is_due(now, random_number);
        if is_due {
            self.stands_back = false;
        }
        // The lease is kept between calls too, so that one worker stays the sender, and waits for all where it has to.
        if self.stands_back {
            return false;
        }
        if !self.holds(targets, worker) {
            // Whoever holds it now sends what this one has begun to.
            self.forget();
            return false;
        }
        if !is_due {
            return false;
        }
        if self.export.is_none() {
            worker.publish_now();
            let export = Export::begin(now);
            self.export = worker.note(export);
        }
        self.export.is_some()
    }

    /// Whether the lease is held while an export is made, which may take longer than its term.
    fn still_holds(&mut self, targets: Targets<'_>, now: u64, worker: &mut Worker) -> bool {
        let (_, target) = targets;
        let term = target.destination.call_nanos(worker);
        now.saturating_sub(self.renewed_nanos) < term / 2 || self.holds(targets, worker)
    }

    /// Takes or renews the lease for as long as a call may take, and two ticks more.
    fn holds(&mut self, targets: Targets<'_>, worker: &mut Worker) -> bool {
        let now = worker.now_nanos();
        let (all, target) = targets;
        let tick = u64::from(worker.tick_period_millis()).saturating_mul(NANOS_PER_MILLI);
        let wait = Wait {
            // A worker that serves streams leaves it to one that does not, and both to a service of the bootstrap.
            rank: match (worker.has_served(), all.observes) {
                (true, _) => 2,
                (false, true) => 1,
                (false, false) => 0,
            },
            nanos_a_rank: tick.saturating_mul(2),
        };
        let until = now.saturating_add(target.destination.call_nanos(worker));
        self.renewed_nanos = now;
        let held = self.lease.hold(now, until, wait, &mut HostData);
        worker.note(held) == Some(Held::Mine)
    }

    /// Does one step of the export.
    fn step(
        &mut self,
        root: u32,
        targets: Targets<'_>,
        worker: &mut Worker,
    ) -> Result<(), HostError> {
        let Some(export) = &mut self.export else {
            return Ok(());
        };
        let (all, target) = targets;
        // Other workers tell theirs a tick later.
        let late = u64::from(worker.tick_period_millis()).saturating_mul(2 * NANOS_PER_MILLI);
        let since = self.delivered_unix_nanos.saturating_sub(late);
        let bounds = Bounds {
            request_bytes: self
                .bounds
                .request_bytes
                .min(target.destination.most_bytes()),
            ..self.bounds
        };
        match export.step(all, target, bounds, since)? {
            Progress::More => {}
            Progress::Request(bytes) => {
                if self.holds(targets, worker) {
                    self.send(root, target, bytes, worker);
                } else {
                    // Another one has begun an export of its own.
                    self.forget();
                }
            }
            Progress::Done { time_unix_nanos } => {
                self.delivered_unix_nanos = time_unix_nanos;
                self.forget();
                let verdict = Verdict::success();
                self.pace
                    .ended(worker.now_nanos(), &verdict, random_number());
            }
        }
        Ok(())
    }

    fn send(&mut self, root: u32, target: &MetricsTarget, bytes: Vec<u8>, worker: &mut Worker) {
        let must_arrive = target.temporality == Temporality::Delta;
        self.unsent = must_arrive.then(|| bytes.clone());
        if let Err(verdict) = self.line.send(root, &target.destination, bytes, worker) {
            self.ended(target, &verdict, worker);
        }
    }

    /// Takes the end of a call.
    pub(crate) fn ended(&mut self, target: &MetricsTarget, verdict: &Verdict, worker: &mut Worker) {
        self.line.ended(&target.destination, verdict, worker);
        if verdict.outcome == Outcome::TooLarge {
            let half = self.bounds.request_bytes / 2;
            self.bounds.request_bytes = half.max(LEAST_REQUEST_BYTES);
        }
        if !verdict.may_retry() {
            self.unsent = None;
        }
        if verdict.is_taken() {
            // The next step makes the next request, or finds that this was the last.
            return;
        }
        self.pace
            .ended(worker.now_nanos(), verdict, random_number());
        let goes_on = target.temporality == Temporality::Delta
            && !verdict.may_retry()
            && verdict.outcome != Outcome::TooLarge;
        if goes_on {
            // What is refused for good would be refused again; what comes after it need not be.
            return;
        }
        if self.unsent.is_none() {
            // A later export brings what this one has not, and more.
            self.forget();
        }
        if verdict.outcome == Outcome::NoCluster {
            // Another thread may know it.
            self.stands_back = true;
            self.forget();
            let released = self.lease.release(&mut HostData);
            worker.note(released);
        }
    }

    fn forget(&mut self) {
        self.export = None;
        self.unsent = None;
    }
}
