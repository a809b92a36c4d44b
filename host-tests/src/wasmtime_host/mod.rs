//! A proxy-wasm host in this process, as a value per test: no Envoy, no globals, no real time.
//!
//! A [`Host`] is one proxy process: shared data, stats, clocks and the log. A [`Vm`] is one worker's
//! instance of a module, a [`Root`] one plugin configuration in it, a [`Stream`] one request. A test
//! makes the callbacks itself, in the order and at the moments it wants, sets the clocks, refuses
//! hostcalls, and reads what came of it.
//!
//! The host behaves as Envoy does where a module can tell: which callback may read which headers and
//! attributes, how shared data compares and swaps, that a trap ends a whole machine, that a root
//! lives as long as its streams.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use host_tests::wasmtime_host::{CompiledModule, Host, HostOptions, RootOptions, VmOptions};
//!
//! let host = Host::new(&HostOptions::default());
//! let vm = host.vm(CompiledModule::inferometer()?, VmOptions::default())?;
//! let root = vm.root(RootOptions::configured("{}"));
//! let stream = vm.stream(&root);
//! stream.request_headers(&[(":method", "POST"), (":path", "/v1/chat/completions")], false);
//! stream.request_body(br#"{"model":"m"}"#, true);
//! stream.response_headers(&[(":status", "200"), ("content-type", "application/json")], false);
//! stream.response_body(br#"{"choices":[]}"#, true);
//! stream.end();
//! host.run_for(Duration::from_secs(1));
//! assert_eq!(vm.failure(), None);
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! # What this host does not do
//!
//! It moves no bytes and buffers nothing: [`Action::Pause`] is reported, not obeyed. Writes of headers
//! and bodies, queues, gRPC streams and foreign functions can be imported and are traced, but answer
//! as a real host does that withholds them. Of WASI there are only the clock, random bytes and the
//! environment. A module that imports more is refused by the names of those imports.

pub mod bed;
mod callbacks;
mod calls;
mod clock;
mod context;
mod host;
mod imports;
mod memory;
mod module;
mod process;
mod properties;
mod refusals;
mod root;
mod shared_data;
mod stats;
pub mod status;
mod stream;
mod trace;
mod vm;
mod vm_state;

pub use calls::{GrpcCall, HttpCall, HttpCallAnswer, Pairs};
pub use context::{LocalResponse, RootOptions};
pub use host::Host;
pub use imports::HOSTCALLS;
pub use module::CompiledModule;
pub use process::{HostOptions, LogLine};
pub use properties::PropertyValue;
pub use refusals::Times;
pub use root::Root;
pub use stats::{Stat, StatKind};
pub use stream::{Action, Stream};
pub use trace::CallbackTrace;
pub use vm::{Vm, VmOptions};
