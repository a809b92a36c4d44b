//! One proxy process: what its virtual machines share, and the time they run in.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::calls::{GrpcCall, HttpCall};
use super::clock::nanos;
use super::imports::HOSTCALLS;
use super::module::CompiledModule;
use super::process::{HostOptions, LogLine, Process, SharedProcess};
use super::refusals::Times;
use super::stats::{Stat, StatKind};
use super::vm::{SharedVm, Vm, VmBody, VmOptions};

/// A proxy process as a value. Hosts know nothing of one another.
pub struct Host {
    process: SharedProcess,
    machines: RefCell<Vec<Weak<RefCell<VmBody>>>>,
}

impl Host {
    /// A process without virtual machines.
    #[must_use]
    pub fn new(options: &HostOptions) -> Host {
        Host {
            process: Rc::new(RefCell::new(Process::new(options))),
            machines: RefCell::default(),
        }
    }

    /// Starts a virtual machine.
    ///
    /// # Errors
    ///
    /// When the module imports what this host lacks, does not speak the ABI, or traps at its start.
    pub fn vm(&self, module: &CompiledModule, options: VmOptions) -> anyhow::Result<Vm> {
        let vm = Vm::start(Rc::clone(&self.process), module, options)?;
        self.machines.borrow_mut().push(Rc::downgrade(&vm.body));
        Ok(vm)
    }

    /// Moves both clocks on; no timer runs.
    pub fn advance(&self, duration: Duration) {
        self.process.borrow_mut().advance(duration);
    }

    /// Lets time pass and runs every timer that comes due, in the order of their moments.
    pub fn run_for(&self, duration: Duration) {
        let end = self.elapsed().saturating_add(nanos(duration));
        while let Some((due, machine, root)) = self.next_tick()
            && due <= end
        {
            self.advance(Duration::from_nanos(due.saturating_sub(self.elapsed())));
            machine.borrow_mut().tick(root);
        }
        self.advance(Duration::from_nanos(end.saturating_sub(self.elapsed())));
    }

    fn elapsed(&self) -> u64 {
        self.process.borrow().clock.elapsed()
    }

    /// The earliest timer of all machines that are alive.
    fn next_tick(&self) -> Option<(u64, SharedVm, u32)> {
        let mut earliest: Option<(u64, SharedVm, u32)> = None;
        self.machines
            .borrow_mut()
            .retain(|machine| machine.strong_count() > 0);
        for machine in self.machines.borrow().iter().filter_map(Weak::upgrade) {
            let next = machine.borrow().next_tick();
            if let Some((due, root)) = next
                && earliest.as_ref().is_none_or(|(first, ..)| due < *first)
            {
                earliest = Some((due, machine, root));
            }
        }
        earliest
    }

    /// Sets the monotonic clock, which a faulty host may do.
    pub fn set_monotonic_nanos(&self, nanos: u64) {
        self.process.borrow_mut().clock.monotonic = nanos;
    }

    /// What the monotonic clock shows.
    #[must_use]
    pub fn monotonic_nanos(&self) -> u64 {
        self.process.borrow().clock.monotonic
    }

    /// Sets the wall clock.
    pub fn set_wall_nanos(&self, nanos: u64) {
        self.process.borrow_mut().clock.wall = nanos;
    }

    /// What the wall clock shows.
    #[must_use]
    pub fn wall_nanos(&self) -> u64 {
        self.process.borrow().clock.wall
    }

    /// Lets a hostcall of every machine answer with a status and do nothing. A status of 0 is an
    /// answer too: the module is told that it worked.
    ///
    /// # Panics
    ///
    /// When this host has no such hostcall.
    pub fn refuse(&self, call: &'static str, times: Times, status: u32) {
        assert!(HOSTCALLS.contains(&call), "there is no hostcall {call}");
        let mut process = self.process.borrow_mut();
        process.refusals.add(call, None, times, status);
    }

    /// How often a hostcall was made by all machines together.
    #[must_use]
    pub fn calls_made(&self, call: &str) -> u32 {
        self.process.borrow().refusals.made(call)
    }

    /// Ends all refusals of a hostcall.
    pub fn accept(&self, call: &str) {
        self.process.borrow_mut().refusals.accept(call);
    }

    /// Ends all refusals.
    pub fn accept_all(&self) {
        self.process.borrow_mut().refusals.accept_all();
    }

    /// All lines logged so far.
    #[must_use]
    pub fn log(&self) -> Vec<LogLine> {
        self.process.borrow().log.clone()
    }

    /// The lines logged since the last time, which are then forgotten.
    #[must_use]
    pub fn take_log(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.process.borrow_mut().log)
    }

    /// A stat by kind and name.
    #[must_use]
    pub fn stat(&self, kind: StatKind, name: &str) -> Option<Stat> {
        self.stats()
            .into_iter()
            .find(|(own_kind, own_name, _)| *own_kind == kind && own_name == name)
            .map(|(_, _, stat)| stat)
    }

    /// All stats.
    #[must_use]
    pub fn stats(&self) -> Vec<(StatKind, String, Stat)> {
        let process = self.process.borrow();
        let all = process.stats.all();
        all.map(|((kind, name), stat)| (*kind, name.clone(), *stat))
            .collect()
    }

    /// A value of shared data.
    #[must_use]
    pub fn shared_data(&self, vm_id: &str, key: &str) -> Option<Vec<u8>> {
        let process = self.process.borrow();
        let entry = process.shared_data.get(vm_id, key.as_bytes())?;
        Some(entry.value.clone())
    }

    /// All keys of shared data; keys that are no text are shown with U+FFFD.
    #[must_use]
    pub fn shared_data_keys(&self, vm_id: &str) -> Vec<String> {
        let keys = self.process.borrow().shared_data.keys(vm_id);
        keys.iter()
            .map(|key| String::from_utf8_lossy(key).into_owned())
            .collect()
    }

    /// Writes shared data as a stranger in the same process would, whatever is there.
    pub fn set_shared_data(&self, vm_id: &str, key: &str, value: &[u8]) {
        let mut process = self.process.borrow_mut();
        // An unconditional write cannot be refused.
        let _ok = process.shared_data.set(vm_id, key.as_bytes(), value, 0);
    }

    /// Erases the shared data of a `vm_id`, as the end of its last virtual machine does.
    pub fn erase_shared_data(&self, vm_id: &str) {
        self.process.borrow_mut().shared_data.erase(vm_id);
    }

    /// The HTTP calls sent since the last time.
    #[must_use]
    pub fn take_http_calls(&self) -> Vec<HttpCall> {
        std::mem::take(&mut self.process.borrow_mut().outbound.http)
    }

    /// The gRPC calls sent since the last time.
    #[must_use]
    pub fn take_grpc_calls(&self) -> Vec<GrpcCall> {
        std::mem::take(&mut self.process.borrow_mut().outbound.grpc)
    }
}
