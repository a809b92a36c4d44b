//! The wasm module: a proxy's callbacks become calls of the pure crates, their results hostcalls.
//!
//! Start reading at [`root`] (one per listener and configuration), then [`stream`] (one per
//! request), then [`worker`] (what all of them share within one virtual machine).

#![allow(
    missing_docs,
    reason = "the macro of the dispatcher's crate makes a function without any"
)]

mod clock;
mod ending;
mod heads;
mod mirror;
mod names;
#[cfg(feature = "push")]
mod push;
#[cfg(not(feature = "push"))]
#[path = "push_left_out.rs"]
mod push;
mod root;
mod scrape;
mod settings;
mod shared;
mod stream;
mod worker;

proxy_wasm::main! {{
    proxy_wasm::set_root_context(|context_id| Box::new(root::Root::new(context_id)));
}}
