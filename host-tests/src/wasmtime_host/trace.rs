//! What each callback did: which hostcalls, how often, at what cost.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// How many of the latest callbacks are kept for a failure's report.
const CALLBACKS_KEPT: usize = 40;

/// One callback into a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallbackTrace {
    /// The module's exported function.
    pub callback: &'static str,
    /// The context it was for.
    pub context: u32,
    /// The hostcalls made, and how often each.
    pub hostcalls: BTreeMap<&'static str, u32>,
    /// The instructions executed, in wasmtime's units of fuel.
    pub fuel: u64,
    /// By how much the linear memory grew.
    pub memory_growth_bytes: usize,
}

impl CallbackTrace {
    /// How often the callback made this hostcall.
    #[must_use]
    pub fn count(&self, hostcall: &str) -> u32 {
        self.hostcalls.get(hostcall).copied().unwrap_or(0)
    }
}

impl fmt::Display for CallbackTrace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}({}) fuel {}",
            self.callback, self.context, self.fuel
        )?;
        for (hostcall, times) in &self.hostcalls {
            write!(formatter, " {hostcall}×{times}")?;
        }
        Ok(())
    }
}

/// The latest callbacks of one virtual machine.
#[derive(Debug, Default)]
pub(super) struct Trace {
    current: CallbackTrace,
    latest: VecDeque<CallbackTrace>,
}

impl Trace {
    pub(super) fn begin(&mut self, callback: &'static str, context: u32) {
        self.current = CallbackTrace {
            callback,
            context,
            ..CallbackTrace::default()
        };
    }

    pub(super) fn hostcall(&mut self, name: &'static str) {
        *self.current.hostcalls.entry(name).or_default() += 1;
    }

    pub(super) fn end(&mut self, fuel: u64, memory_growth_bytes: usize) {
        self.current.fuel = fuel;
        self.current.memory_growth_bytes = memory_growth_bytes;
        if self.latest.len() == CALLBACKS_KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(std::mem::take(&mut self.current));
    }

    pub(super) fn latest(&self) -> impl DoubleEndedIterator<Item = &CallbackTrace> {
        self.latest.iter()
    }
}
