//! Who sends, when, and what becomes of a call.

use std::cell::RefCell;
use std::rc::Rc;

use hostcalls::{HostError, LogLevel};
use otlp_delivery::{Held, Lease, Outcome, Pace, Signal, Verdict, Wait};
use otlp_encoding::{Bounds, Temporality};
use plugin_config::Config;

use super::call::{Answer, Sent, not_sent, send};
use super::export::{Export, Progress};
use super::identity::random_id;
use super::target::PushTarget;
use crate::shared::HostData;
use crate::worker::Worker;

const LEASE_KEY: &str = "inferometer/1/push/lease";
const NANOS_PER_MILLI: u64 = 1_000_000;
/// The time between two steps of an export.
const QUICK_TICK_MILLIS: u32 = 10;
/// A receiver that takes not even this takes nothing.
const LEAST_REQUEST_BYTES: usize = 16 << 10;

/// The pusher of this virtual machine, as its roots hold it.
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
    lease: Lease,
    pace: Pace,
    /// The live roots that push, the newest last; it alone sends.
    targets: Vec<(u32, Rc<PushTarget>)>,
    export: Option<Export>,
    /// A request that the receiver has not taken yet and must.
    unsent: Option<Vec<u8>>,
    sent: Option<Sent>,
    /// Requests become smaller when a receiver says that they are too large.
    bounds: Bounds,
    /// The root whose ticks come quickly.
    quick_root: Option<u32>,
    /// Whether the lease is left to others until the next call is due.
    stands_back: bool,
    /// Whether the last call worked, as far as the log knows.
    is_well: bool,
}

impl Pusher {
    fn new() -> Pusher {
        Pusher {
            lease: Lease::new(LEASE_KEY, random_id()),
            pace: Pace::new(0),
            targets: Vec::new(),
            export: None,
            unsent: None,
            sent: None,
            bounds: Bounds::default(),
            quick_root: None,
            stands_back: false,
            is_well: true,
        }
    }

    /// Takes in a root's configuration.
    pub(crate) fn configure(&mut self, root: u32, config: Option<&Config>) {
        self.targets.retain(|(other, _)| *other != root);
        if let Some(target) = config.and_then(PushTarget::of) {
            let interval = u64::from(target.push.interval_millis());
            self.pace
                .set_interval(interval.saturating_mul(NANOS_PER_MILLI));
            self.targets.push((root, target));
        }
    }

    /// A root of this machine has ended; the host cancels its call.
    pub(crate) fn root_ended(&mut self, root: u32, worker: &mut Worker) {
        self.targets.retain(|(other, _)| *other != root);
        if self.sent.is_some_and(|sent| sent.root == root) {
            self.sent = None;
            self.forget();
        }
        if self.targets.is_empty() {
            self.forget();
            let released = self.lease.release(&mut HostData);
            worker.note(released);
        }
    }

    /// One tick of a root.
    pub(crate) fn tick(&mut self, root: u32, worker: &mut Worker) {
        let Some(target) = self.target_of(root) else {
            return;
        };
        let now = worker.now_nanos();
        if let Some(sent) = self.sent {
            let patience = call_nanos(&target, worker);
            if now.saturating_sub(sent.at_nanos) > patience {
                let verdict = Verdict::again(Outcome::Timeout, None, "the proxy never answered");
                self.ended(&target, &verdict, worker);
            }
            return;
        }
        if (self.export.is_none() || self.unsent.is_some()) && !self.begin(&target, now, worker) {
            return;
        }
        let worked = match self.unsent.take() {
            Some(bytes) => {
                self.send(root, &target, bytes, worker);
                Ok(())
            }
            None => self.step(root, &target, worker),
        };
        if let Err(error) = worked {
            worker.note::<()>(Err(error));
            let message = format!("the proxy's shared data cannot be read: {error}");
            let verdict = Verdict::again(Outcome::Unavailable, None, &message);
            self.forget();
            self.pace.ended(worker.now_nanos(), &verdict, random());
        }
        self.set_ticks(root, worker);
    }

    /// The answer to a call of a root.
    pub(crate) fn answered(
        &mut self,
        root: u32,
        token: u32,
        answer: Result<Answer, HostError>,
        worker: &mut Worker,
    ) {
        let is_ours = |sent: Sent| (sent.root, sent.token) == (root, token);
        let target = self.targets.iter().find(|(other, _)| *other == root);
        let Some((_, target)) = target.filter(|_| self.sent.is_some_and(is_ours)).cloned() else {
            // It was given up, or its root is going.
            return;
        };
        let verdict = match worker.note(answer) {
            Some(answer) => answer.verdict(target.protocol),
            None => Verdict::again(Outcome::Unreachable, None, "the answer cannot be read"),
        };
        self.ended(&target, &verdict, worker);
        self.set_ticks(root, worker);
    }

    /// The target of a root, if it is the one that sends.
    fn target_of(&self, root: u32) -> Option<Rc<PushTarget>> {
        let (newest, target) = self.targets.last()?;
        (*newest == root).then(|| Rc::clone(target))
    }

    /// Whether it is time for a call, and this machine's turn.
    fn begin(&mut self, target: &PushTarget, now: u64, worker: &mut Worker) -> bool {
        let is_due = self.pace.is_due(now, random);
        if is_due {
            self.stands_back = false;
        }
        // The lease is kept between calls too, so that one worker stays the sender, and waits for all where it has to.
        if self.stands_back || !self.holds(target, worker) || !is_due {
            return false;
        }
        if self.export.is_none() {
            worker.publish_now();
            let export = Export::begin(now);
            self.export = worker.note(export);
        }
        self.export.is_some()
    }

    /// Takes or renews the lease for as long as a call may take, and two ticks more.
    fn holds(&mut self, target: &PushTarget, worker: &mut Worker) -> bool {
        let now = worker.now_nanos();
        let tick = u64::from(worker.tick_period_millis()).saturating_mul(NANOS_PER_MILLI);
        let wait = Wait {
            // A worker that serves streams leaves it to one that does not.
            rank: u8::from(worker.has_served()),
            nanos_a_rank: tick.saturating_mul(2),
        };
        let until = now.saturating_add(call_nanos(target, worker));
        let held = self.lease.hold(now, until, wait, &mut HostData);
        worker.note(held) == Some(Held::Mine)
    }

    /// Does one step of the export.
    fn step(
        &mut self,
        root: u32,
        target: &Rc<PushTarget>,
        worker: &mut Worker,
    ) -> Result<(), HostError> {
        let Some(export) = &mut self.export else {
            return Ok(());
        };
        match export.step(target, self.bounds)? {
            Progress::More => {}
            Progress::Request(bytes) => {
                if self.holds(target, worker) {
                    self.send(root, target, bytes, worker);
                } else {
                    // Another one has begun an export of its own.
                    self.forget();
                }
            }
            Progress::Done => {
                self.forget();
                let verdict = Verdict::success();
                self.pace.ended(worker.now_nanos(), &verdict, random());
            }
        }
        Ok(())
    }

    fn send(&mut self, root: u32, target: &PushTarget, bytes: Vec<u8>, worker: &mut Worker) {
        let at_nanos = worker.now_nanos();
        let must_arrive = target.temporality == Temporality::Delta;
        self.unsent = must_arrive.then(|| bytes.clone());
        match send(target, Signal::Metrics, bytes) {
            Ok(token) => {
                self.sent = Some(Sent {
                    root,
                    token,
                    at_nanos,
                });
            }
            Err(error) => {
                let verdict = not_sent(error, target.push.cluster());
                self.ended(target, &verdict, worker);
            }
        }
    }

    /// Takes the end of a call.
    fn ended(&mut self, target: &PushTarget, verdict: &Verdict, worker: &mut Worker) {
        let now = worker.now_nanos();
        let sent = self.sent.take();
        let took = sent.map(|sent| now.saturating_sub(sent.at_nanos));
        worker.count_export(Signal::Metrics, verdict, took);
        self.log(target, verdict);
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
        self.pace.ended(now, verdict, random());
        if self.unsent.is_none() {
            // A later export brings what this one has not, and more.
            self.forget();
        }
        if verdict.outcome == Outcome::NoCluster {
            // Another thread may know it.
            self.stands_back = true;
            let released = self.lease.release(&mut HostData);
            worker.note(released);
        }
    }

    fn forget(&mut self) {
        self.export = None;
        self.unsent = None;
    }

    /// Ticks come quickly while there is something to do, and as the configuration has them otherwise.
    fn set_ticks(&mut self, root: u32, worker: &mut Worker) {
        let is_busy = self.export.is_some() && self.sent.is_none() && self.unsent.is_none();
        let is_quick = self.quick_root == Some(root);
        if is_busy == is_quick {
            return;
        }
        let (period, quick_root) = match is_busy {
            true => (QUICK_TICK_MILLIS, Some(root)),
            false => (worker.tick_period_millis(), None),
        };
        self.quick_root = quick_root;
        let set = hostcalls::set_tick_period_millis(period);
        worker.note(set);
    }

    /// Writes a line when calls begin to fail and when they work again, and none in between.
    fn log(&mut self, target: &PushTarget, verdict: &Verdict) {
        let cluster = target.push.cluster();
        let outcome = verdict.outcome.as_str();
        let message = &verdict.message;
        if verdict.is_taken() != self.is_well {
            self.is_well = verdict.is_taken();
            if self.is_well {
                let line = format!("metrics reach cluster `{cluster}` again");
                hostcalls::log(LogLevel::Info, &line);
            } else {
                let line = format!(
                    "metrics do not reach cluster `{cluster}`: {outcome}: {message}; they are kept, and sent again and \
                     again"
                );
                hostcalls::log(LogLevel::Warn, &line);
            }
        } else if verdict.rejected > 0 {
            let rejected = verdict.rejected;
            let line = format!("cluster `{cluster}` refused {rejected} data points: {message}");
            hostcalls::log(LogLevel::Warn, &line);
        }
    }
}

/// How long a call may take, and two ticks more.
fn call_nanos(target: &PushTarget, worker: &Worker) -> u64 {
    let ticks = u64::from(worker.tick_period_millis()).saturating_mul(2);
    let millis = u64::from(target.push.timeout_millis()).saturating_add(ticks);
    millis.saturating_mul(NANOS_PER_MILLI)
}

fn random() -> u64 {
    let number = u128::from_le_bytes(random_id());
    u64::try_from(number >> 64).unwrap_or_default()
}
