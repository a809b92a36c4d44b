//! What came, and how the next calls are to be answered.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;

use crate::Behaviour;

/// A call that was taken.
#[derive(Clone, Debug)]
pub struct Received {
    /// When it came.
    pub at: Instant,
    /// Its headers, or metadata, that are text.
    pub headers: Vec<(String, String)>,
    /// What it brought.
    pub request: ExportMetricsServiceRequest,
}

/// The state that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Books(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    metrics: Vec<Received>,
    next: VecDeque<Behaviour>,
    standing: Option<Behaviour>,
    calls: usize,
    open: usize,
    most_open: usize,
}

/// A call under way; dropped when it is answered, or its sender has gone.
pub(crate) struct Open<'a>(&'a Books);

impl Books {
    /// A poisoned lock belongs to a test that has failed anyway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has come; gives how it is to be answered.
    pub(crate) fn open(&self) -> (Open<'_>, Behaviour) {
        let mut state = self.state();
        state.calls = state.calls.saturating_add(1);
        state.open = state.open.saturating_add(1);
        state.most_open = state.most_open.max(state.open);
        let next = state.next.pop_front().or_else(|| state.standing.clone());
        (Open(self), next.unwrap_or(Behaviour::Take))
    }

    pub(crate) fn take(&self, received: Received) {
        self.state().metrics.push(received);
    }

    pub(crate) fn next(&self, behaviour: Behaviour) {
        self.state().next.push_back(behaviour);
    }

    pub(crate) fn always(&self, behaviour: Behaviour) {
        self.state().standing = Some(behaviour);
    }

    pub(crate) fn metrics(&self) -> Vec<Received> {
        self.state().metrics.clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.state().calls
    }

    pub(crate) fn most_open(&self) -> usize {
        self.state().most_open
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open = state.open.saturating_sub(1);
    }
}
