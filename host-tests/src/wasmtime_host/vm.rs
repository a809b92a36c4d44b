//! One virtual machine: an instance of a module on one worker, with its root contexts.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::bail;
use wasmtime::{Instance, Store, StoreLimitsBuilder};

use super::callbacks::{Callback, Callbacks};
use super::context::{Context, Phase, RootContext, RootOptions, StreamContext};
use super::imports::{HOSTCALLS, linker, missing};
use super::module::{CompiledModule, plain};
use super::process::SharedProcess;
use super::refusals::Times;
use super::root::Root;
use super::stream::Stream;
use super::trace::CallbackTrace;
use super::vm_state::VmState;

/// How a virtual machine begins.
#[derive(Clone, Debug)]
pub struct VmOptions {
    /// The space of shared data it lives in.
    pub vm_id: String,
    /// The fuel that one callback may burn before it traps; it stops endless loops.
    pub fuel_per_callback: u64,
    /// The largest linear memory.
    pub memory_limit_bytes: usize,
}

impl Default for VmOptions {
    fn default() -> VmOptions {
        VmOptions {
            vm_id: "inferometer".to_owned(),
            fuel_per_callback: 50_000_000_000,
            memory_limit_bytes: 1 << 30,
        }
    }
}

/// The instance and all it needs; handles share it.
pub(super) struct VmBody {
    pub(super) store: Store<VmState>,
    instance: Instance,
    callbacks: Callbacks,
    fuel_per_callback: u64,
    failure: Option<String>,
    pub(super) stalled: bool,
    next_context: u32,
}

/// How handles hold a virtual machine.
pub(super) type SharedVm = Rc<RefCell<VmBody>>;

/// A virtual machine. Clones are handles on the same one.
#[derive(Clone)]
pub struct Vm {
    pub(super) body: SharedVm,
}

impl Vm {
    pub(super) fn start(
        process: SharedProcess,
        module: &CompiledModule,
        options: VmOptions,
    ) -> anyhow::Result<Vm> {
        let missing = missing(module.module());
        if !missing.is_empty() {
            bail!(
                "the module imports what this host does not have: {}",
                missing.join(", ")
            );
        }
        let limits = StoreLimitsBuilder::new()
            .memory_size(options.memory_limit_bytes)
            .build();
        let state = VmState::new(process, options.vm_id, limits);
        let mut store = Store::new(module.module().engine(), state);
        store.limiter(|state| &mut state.limits);
        store.set_fuel(options.fuel_per_callback).map_err(plain)?;
        let linker = linker(module.module()).map_err(plain)?;
        let instance = linker.instantiate(&mut store, module.module());
        let instance = instance.map_err(plain)?;
        let (callbacks, memory) = Callbacks::of(&instance, &mut store)?;
        store.data_mut().guest = Some(memory);
        let mut body = VmBody {
            store,
            instance,
            callbacks,
            fuel_per_callback: options.fuel_per_callback,
            failure: None,
            stalled: false,
            next_context: 1,
        };
        body.initialize();
        if let Some(failure) = body.failure {
            bail!("the module does not start: {failure}");
        }
        Ok(Vm {
            body: Rc::new(RefCell::new(body)),
        })
    }

    /// Adds a root context: creates it, starts it and configures it.
    #[must_use]
    pub fn root(&self, options: RootOptions) -> Root {
        let (id, accepted) = self.body.borrow_mut().create_root(options);
        Root {
            body: Rc::clone(&self.body),
            id,
            accepted,
        }
    }

    /// Creates a context for a new stream of a root.
    #[must_use]
    pub fn stream(&self, root: &Root) -> Stream {
        let id = self.body.borrow_mut().create_stream(root.id);
        Stream {
            body: Rc::clone(&self.body),
            id,
        }
    }

    /// The number that log lines and outbound calls name this machine by.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.body.borrow().store.data().number
    }

    /// Why the machine failed, with its latest callbacks; a failed machine gets no more of them.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.body.borrow().failure.clone()
    }

    /// The size of the linear memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.body.borrow().memory_bytes()
    }

    /// The value of a 64-bit global that the module exports; nothing where it exports none.
    #[must_use]
    pub fn exported_number(&self, name: &str) -> Option<i64> {
        let body = &mut *self.body.borrow_mut();
        let global = body.instance.get_global(&mut body.store, name)?;
        global.get(&mut body.store).i64()
    }

    /// What the latest callback did.
    #[must_use]
    pub fn latest(&self) -> CallbackTrace {
        let body = self.body.borrow();
        let latest = body.store.data().trace.latest().next_back().cloned();
        latest.unwrap_or_default()
    }

    /// What the latest few dozen callbacks did, oldest first.
    #[must_use]
    pub fn recent(&self) -> Vec<CallbackTrace> {
        let body = self.body.borrow();
        body.store.data().trace.latest().cloned().collect()
    }

    /// Lets a hostcall of this machine answer with a status and do nothing.
    ///
    /// # Panics
    ///
    /// When this host has no such hostcall.
    pub fn refuse(&self, call: &'static str, times: Times, status: u32) {
        assert!(HOSTCALLS.contains(&call), "there is no hostcall {call}");
        let body = self.body.borrow();
        let state = body.store.data();
        let mut process = state.process.borrow_mut();
        process
            .refusals
            .add(call, Some(state.number), times, status);
    }

    /// Stops the machine's timers, as if its thread hung.
    pub fn stall(&self) {
        self.body.borrow_mut().stalled = true;
    }

    /// Lets the machine's timers run again; those overdue run at the next moment.
    pub fn resume(&self) {
        self.body.borrow_mut().stalled = false;
    }

    /// Traps the machine from outside, as a fault of the module would.
    pub fn fail(&self, reason: &str) {
        self.body.borrow_mut().failure = Some(reason.to_owned());
    }
}

impl VmBody {
    pub(super) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    fn memory_bytes(&self) -> usize {
        let guest = self.store.data().guest.as_ref();
        guest.map_or(0, |guest| guest.memory.data_size(&self.store))
    }

    /// Calls into the module, unless it failed or leaves this callback out. A trap fails the whole
    /// machine: none of its contexts is called again.
    pub(super) fn invoke<Arguments, Answer>(
        &mut self,
        (name, context, phase): (&'static str, u32, Phase),
        callback: impl FnOnce(&Callbacks) -> &Callback<Arguments, Answer>,
        arguments: Arguments,
    ) -> Option<Answer>
    where
        Arguments: wasmtime::WasmParams,
        Answer: wasmtime::WasmResults,
    {
        if self.failed() {
            return None;
        }
        let function = callback(&self.callbacks).clone()?;
        let memory_before = self.memory_bytes();
        self.store.data_mut().begin(name, context, phase);
        let outcome = self
            .store
            .set_fuel(self.fuel_per_callback)
            .and_then(|()| function.call(&mut self.store, arguments));
        let left = self.store.get_fuel().unwrap_or(0);
        let fuel = self.fuel_per_callback.saturating_sub(left);
        let growth = self.memory_bytes().saturating_sub(memory_before);
        self.store.data_mut().end(fuel, growth);
        match outcome {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.failure = Some(self.describe(&error));
                None
            }
        }
    }

    fn describe(&self, error: &wasmtime::Error) -> String {
        let mut text = format!("{error:?}\nthe latest callbacks were:");
        for trace in self.store.data().trace.latest() {
            text.push_str("\n  ");
            text.push_str(&trace.to_string());
        }
        text
    }

    fn initialize(&mut self) {
        self.store.data_mut().restricted = true;
        let call = ("_initialize", 0, Phase::Idle);
        self.invoke(call, |callbacks| &callbacks.initialize, ());
        self.store.data_mut().restricted = false;
    }

    fn number_context(&mut self) -> u32 {
        let id = self.next_context;
        self.next_context += 1;
        id
    }

    fn create_root(&mut self, options: RootOptions) -> (u32, bool) {
        let id = self.number_context();
        let size = u32::try_from(options.configuration.len()).unwrap_or(u32::MAX);
        let root = RootContext {
            options,
            timer: None,
            streams: 0,
            released: false,
            pending_done: false,
        };
        let contexts = &mut self.store.data_mut().contexts;
        contexts.insert(id, Context::Root(root));
        let create = ("proxy_on_context_create", id, Phase::Create);
        self.invoke(create, |callbacks| &callbacks.context_create, (id, 0));
        let start = ("proxy_on_vm_start", id, Phase::VmStart);
        let started = self.invoke(start, |callbacks| &callbacks.vm_start, (id, 0));
        if started == Some(0) {
            return (id, false);
        }
        let configure = ("proxy_on_configure", id, Phase::Configure);
        let configured = self.invoke(configure, |callbacks| &callbacks.configure, (id, size));
        (id, configured != Some(0) && !self.failed())
    }

    fn create_stream(&mut self, root: u32) -> u32 {
        let id = self.number_context();
        let state = self.store.data_mut();
        let mut stream = StreamContext {
            root,
            ..StreamContext::default()
        };
        // The proxy always knows the flags; none is set yet.
        let flags = b"response\0flags".to_vec();
        stream.properties.insert(flags, 0.into());
        state.contexts.insert(id, Context::Stream(stream));
        if let Some(root) = state.root_mut(root) {
            root.streams += 1;
        }
        let create = ("proxy_on_context_create", id, Phase::Create);
        self.invoke(create, |callbacks| &callbacks.context_create, (id, root));
        id
    }

    /// Ends a root once nothing holds it: `proxy_on_done`, then `proxy_on_delete` unless the module
    /// asks for time.
    pub(super) fn end_root_if_free(&mut self, id: u32) {
        let root = self.store.data_mut().root_mut(id);
        let free = root.is_some_and(|root| root.released && root.streams == 0);
        if !free {
            return;
        }
        let done = ("proxy_on_done", id, Phase::Done);
        let finished = self.invoke(done, |callbacks| &callbacks.done, id);
        if let Some(root) = self.store.data_mut().root_mut(id) {
            root.pending_done = finished == Some(0);
        }
        self.delete_root_if_finished(id);
    }

    /// Deletes a root that has been let finish and is done.
    pub(super) fn delete_root_if_finished(&mut self, id: u32) {
        let root = self.store.data_mut().root_mut(id);
        let finished =
            root.is_some_and(|root| root.released && root.streams == 0 && !root.pending_done);
        if finished {
            let delete = ("proxy_on_delete", id, Phase::Delete);
            self.invoke(delete, |callbacks| &callbacks.delete, id);
            self.store.data_mut().contexts.remove(&id);
        }
    }

    /// The moment of the earliest timer, in elapsed time.
    pub(super) fn next_tick(&self) -> Option<(u64, u32)> {
        if self.failed() || self.stalled {
            return None;
        }
        let contexts = self.store.data().contexts.iter();
        contexts
            .filter_map(|(id, context)| match context {
                Context::Root(root) => Some((root.timer?.due, *id)),
                Context::Stream(_) => None,
            })
            .min()
    }

    /// Runs a root's tick and arms its timer anew, from now.
    pub(super) fn tick(&mut self, id: u32) {
        let call = ("proxy_on_tick", id, Phase::Tick);
        self.invoke(call, |callbacks| &callbacks.tick, id);
        let state = self.store.data_mut();
        let now = state.process.borrow().clock.elapsed();
        if let Some(timer) = state.root_mut(id).and_then(|root| root.timer.as_mut()) {
            timer.due = now.saturating_add(timer.period);
        }
        self.delete_root_if_finished(id);
    }
}
