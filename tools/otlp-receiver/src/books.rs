//! What came, and how the next calls are to be answered.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::Behaviour;
use crate::signal::{Export, Signal, Taken};

/// A call that was taken.
#[derive(Clone, Debug)]
pub struct Received<R> {
    /// When it came.
    pub at: Instant,
    /// Its headers, or metadata, that are text.
    pub headers: Vec<(String, String)>,
    /// What it brought.
    pub request: R,
}

/// The state that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Books(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    taken: Taken,
    metrics: Calls,
    traces: Calls,
    logs: Calls,
}

/// The calls of one signal.
#[derive(Debug, Default)]
struct Calls {
    next: VecDeque<Behaviour>,
    standing: Option<Behaviour>,
    calls: usize,
    open: usize,
    most_open: usize,
}

/// A call under way; dropped when it is answered, or its sender has gone.
pub(crate) struct Open<'a>(&'a Books, Signal);

impl State {
    fn calls(&mut self, signal: Signal) -> &mut Calls {
        match signal {
            Signal::Metrics => &mut self.metrics,
            Signal::Traces => &mut self.traces,
            Signal::Logs => &mut self.logs,
        }
    }
}

impl Books {
    /// A poisoned lock belongs to a test that has failed anyway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has come; gives how it is to be answered.
    pub(crate) fn open(&self, signal: Signal) -> (Open<'_>, Behaviour) {
        let mut state = self.state();
        let calls = state.calls(signal);
        calls.calls = calls.calls.saturating_add(1);
        calls.open = calls.open.saturating_add(1);
        calls.most_open = calls.most_open.max(calls.open);
        let next = calls.next.pop_front().or_else(|| calls.standing.clone());
        (Open(self, signal), next.unwrap_or(Behaviour::Take))
    }

    pub(crate) fn take<E: Export>(&self, received: Received<E>) {
        E::kept(&mut self.state().taken).push(received);
    }

    pub(crate) fn next(&self, signal: Signal, behaviour: Behaviour) {
        self.state().calls(signal).next.push_back(behaviour);
    }

    pub(crate) fn always(&self, signal: Signal, behaviour: Behaviour) {
        self.state().calls(signal).standing = Some(behaviour);
    }

    pub(crate) fn taken<E: Export>(&self) -> Vec<Received<E>> {
        E::kept(&mut self.state().taken).clone()
    }

    pub(crate) fn calls(&self, signal: Signal) -> usize {
        self.state().calls(signal).calls
    }

    pub(crate) fn most_open(&self, signal: Signal) -> usize {
        self.state().calls(signal).most_open
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let calls = state.calls(self.1);
        calls.open = calls.open.saturating_sub(1);
    }
}
