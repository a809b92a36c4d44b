//! What hostcalls of one virtual machine work on.

use std::collections::BTreeMap;

use wasmtime::StoreLimits;

use super::calls::Pairs;
use super::context::{Context, Phase, RootContext, StreamContext};
use super::memory::GuestMemory;
use super::process::SharedProcess;
use super::stats::StatKey;
use super::trace::Trace;

/// The answer to an outbound call, readable while its callback runs.
#[derive(Debug, Default)]
pub(super) struct CallAnswer {
    pub(super) headers: Pairs,
    pub(super) body: Vec<u8>,
    pub(super) trailers: Pairs,
    pub(super) grpc_status: u32,
    pub(super) grpc_message: Vec<u8>,
}

/// The state of one virtual machine outside its memory.
pub(super) struct VmState {
    pub(super) process: SharedProcess,
    pub(super) number: u32,
    pub(super) vm_id: String,
    pub(super) guest: Option<GuestMemory>,
    pub(super) contexts: BTreeMap<u32, Context>,
    pub(super) phase: Phase,
    current: u32,
    effective: u32,
    /// Almost no hostcall may be made: the module starts or allocates.
    pub(super) restricted: bool,
    /// The stats this machine has defined, by id.
    pub(super) stats: Vec<StatKey>,
    pub(super) call_answer: Option<CallAnswer>,
    pub(super) trace: Trace,
    pub(super) limits: StoreLimits,
}

impl VmState {
    pub(super) fn new(process: SharedProcess, vm_id: String, limits: StoreLimits) -> VmState {
        let number = process.borrow_mut().number_vm();
        VmState {
            process,
            number,
            vm_id,
            guest: None,
            contexts: BTreeMap::new(),
            phase: Phase::Idle,
            current: 0,
            effective: 0,
            restricted: false,
            stats: Vec::new(),
            call_answer: None,
            trace: Trace::default(),
            limits,
        }
    }

    pub(super) fn begin(&mut self, callback: &'static str, context: u32, phase: Phase) {
        self.current = context;
        self.effective = 0;
        self.phase = phase;
        self.trace.begin(callback, context);
    }

    pub(super) fn end(&mut self, fuel: u64, memory_growth_bytes: usize) {
        self.phase = Phase::Idle;
        self.restricted = false;
        self.trace.end(fuel, memory_growth_bytes);
    }

    /// The context that hostcalls act on: the one of the callback, unless the module chose another
    /// that still exists.
    pub(super) fn context_id(&self) -> u32 {
        if self.contexts.contains_key(&self.effective) {
            self.effective
        } else {
            self.current
        }
    }

    /// Lets hostcalls act on another context; says whether it exists.
    pub(super) fn set_effective(&mut self, context: u32) -> bool {
        let exists = self.contexts.contains_key(&context);
        if exists {
            self.effective = context;
        }
        exists
    }

    pub(super) fn stream(&self) -> Option<&StreamContext> {
        match self.contexts.get(&self.context_id())? {
            Context::Stream(stream) => Some(stream),
            Context::Root(_) => None,
        }
    }

    pub(super) fn stream_mut(&mut self, id: u32) -> Option<&mut StreamContext> {
        match self.contexts.get_mut(&id)? {
            Context::Stream(stream) => Some(stream),
            Context::Root(_) => None,
        }
    }

    /// The root that the current context is, or belongs to.
    pub(super) fn root_id(&self) -> u32 {
        self.stream()
            .map_or_else(|| self.context_id(), |stream| stream.root)
    }

    pub(super) fn root(&self) -> Option<&RootContext> {
        match self.contexts.get(&self.root_id())? {
            Context::Root(root) => Some(root),
            Context::Stream(_) => None,
        }
    }

    pub(super) fn root_mut(&mut self, id: u32) -> Option<&mut RootContext> {
        match self.contexts.get_mut(&id)? {
            Context::Root(root) => Some(root),
            Context::Stream(_) => None,
        }
    }
}
