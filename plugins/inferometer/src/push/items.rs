//! When spans and log records are sent, and what becomes of those that cannot be.

use otlp_delivery::{Extent, Outcome, Pace, Ring, Signal, Verdict};
use otlp_encoding::Item;

use super::call::{Destination, Line};
use super::identity::random_number;
use super::target::PushTarget;
use crate::worker::Worker;

/// What one worker holds of a signal.
const HELD: Extent = Extent {
    items: 2_048,
    bytes: 2 << 20,
};
/// What one request has of it.
const SENT: Extent = Extent {
    items: 512,
    bytes: 256 << 10,
};

/// What sends the spans of one worker, or its log records.
///
/// Each worker sends its own: they lie in its memory alone, and no receiver minds from how many senders they come.
pub(crate) struct ItemPusher {
    signal: Signal,
    line: Line,
    pace: Pace,
    ring: Ring<Item>,
}

impl ItemPusher {
    /// Nothing waits.
    pub(crate) fn new(signal: Signal) -> ItemPusher {
        ItemPusher {
            signal,
            line: Line::new(signal),
            pace: Pace::new(0),
            ring: Ring::new(HELD, SENT),
        }
    }

    /// Takes in the time between two requests.
    pub(crate) fn set_interval(&mut self, nanos: u64) {
        self.pace.set_interval(nanos);
    }

    /// Whether this is the call in flight.
    pub(crate) fn awaits(&self, root: u32, token: u32) -> bool {
        self.line.awaits(root, token)
    }

    /// Takes in one more.
    pub(crate) fn record(&mut self, item: Item, worker: &mut Worker) {
        let bytes = item.size();
        let dropped = self.ring.push(item, bytes);
        worker.count_export_dropped(self.signal, dropped);
    }

    /// The host has cancelled the calls of a root.
    pub(crate) fn root_ended(&mut self, root: u32) {
        if self.line.root_ended(root) {
            self.ring.returned();
        }
    }

    /// No root sends this signal any more.
    pub(crate) fn retire(&mut self, worker: &mut Worker) {
        let dropped = self.ring.clear();
        worker.count_export_dropped(self.signal, dropped);
    }

    /// One tick of the root that sends.
    pub(crate) fn tick(&mut self, root: u32, target: &PushTarget, worker: &mut Worker) {
        let Some(to) = target.destination(self.signal) else {
            return;
        };
        if self.line.is_busy() {
            if let Some(verdict) = self.line.overdue(worker) {
                self.ended(to, &verdict, worker);
            }
            return;
        }
        let is_due = self.pace.is_due(worker.now_nanos(), random_number);
        let has_batch = self.ring.has_batch(to.most_bytes()) && self.pace.failures() == 0;
        if (is_due || has_batch) && !self.ring.is_empty() {
            self.send(root, target, to, worker);
        }
    }

    /// Takes the answer to the call of a root; as long as batches are full and it is the one that sends, one follows the
    /// other.
    pub(crate) fn answered(
        &mut self,
        root: u32,
        target: &PushTarget,
        to: &Destination,
        verdict: &Verdict,
        is_sender: bool,
        worker: &mut Worker,
    ) {
        self.ended(to, verdict, worker);
        if is_sender && verdict.is_taken() && self.ring.has_batch(to.most_bytes()) {
            self.send(root, target, to, worker);
        }
    }

    fn send(&mut self, root: u32, target: &PushTarget, to: &Destination, worker: &mut Worker) {
        let sender = target.sender();
        let Some(sender) = worker.note(sender) else {
            // The shared data may be readable at the next tick.
            return;
        };
        let message = sender.request_of(self.ring.lend(to.most_bytes()));
        if let Err(verdict) = self.line.send(root, to, message, worker) {
            self.ended(to, &verdict, worker);
        }
    }

    fn ended(&mut self, to: &Destination, verdict: &Verdict, worker: &mut Worker) {
        self.line.ended(to, verdict, worker);
        let dropped = if verdict.is_taken() {
            self.ring.delivered();
            0
        } else if verdict.may_retry() {
            self.ring.returned();
            0
        } else if verdict.outcome == Outcome::TooLarge {
            self.ring.too_large()
        } else {
            self.ring.abandoned()
        };
        worker.count_export_dropped(self.signal, dropped);
        self.pace
            .ended(worker.now_nanos(), verdict, random_number());
    }
}
