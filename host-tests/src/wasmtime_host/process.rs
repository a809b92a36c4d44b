//! What all virtual machines of one proxy process share.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use super::calls::OutboundCalls;
use super::clock::Clock;
use super::refusals::Refusals;
use super::shared_data::SharedData;
use super::stats::Stats;

/// How a host begins.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The monotonic clock's first value.
    pub monotonic_nanos: u64,
    /// The wall clock's first value, since 1970.
    pub wall_nanos: u64,
    /// What the random bytes come from; the same seed gives the same bytes.
    pub random_seed: u64,
    /// The clusters that an outbound call may name.
    pub clusters: BTreeSet<String>,
    /// The environment's variables that are let through, each as `NAME=value`.
    pub environment: Vec<String>,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions {
            monotonic_nanos: 5_000_000_000_000,
            wall_nanos: 1_750_000_000_000_000_000,
            random_seed: 0x5EED_0F1B_ADD1_CE01,
            clusters: BTreeSet::new(),
            environment: Vec::new(),
        }
    }
}

/// A line that a module has logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The virtual machine that logged it.
    pub vm: u32,
    /// The ABI's level: 0 trace, 1 debug, 2 info, 3 warn, 4 error, 5 critical.
    pub level: u32,
    /// The text, with U+FFFD where it was not UTF-8.
    pub text: String,
}

/// The state behind every hostcall that does not belong to one virtual machine.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) clock: Clock,
    pub(super) shared_data: SharedData,
    pub(super) stats: Stats,
    pub(super) refusals: Refusals,
    pub(super) outbound: OutboundCalls,
    pub(super) log: Vec<LogLine>,
    pub(super) environment: Vec<String>,
    random: u64,
    next_vm: u32,
}

/// A handle on the process that virtual machines keep.
pub(super) type SharedProcess = Rc<RefCell<Process>>;

impl Process {
    pub(super) fn new(options: &HostOptions) -> Process {
        Process {
            clock: Clock::new(options.monotonic_nanos, options.wall_nanos),
            shared_data: SharedData::default(),
            stats: Stats::default(),
            refusals: Refusals::default(),
            outbound: OutboundCalls::new(options.clusters.clone()),
            log: Vec::new(),
            environment: options.environment.clone(),
            // The generator would stay at zero.
            random: options.random_seed.max(1),
            next_vm: 0,
        }
    }

    /// A number for a new virtual machine.
    pub(super) fn number_vm(&mut self) -> u32 {
        let number = self.next_vm;
        self.next_vm += 1;
        number
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Bytes from a xorshift generator: unlike one another, the same in every run.
    pub(super) fn random_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count);
        while bytes.len() < count {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            bytes.extend(self.random.to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
