//! load-generator: a mixed load on an inference server, and the truth about it as its clients saw it.
//!
//! Clients in a closed loop send requests of many kinds: each API streamed and not, errors before and inside a stream,
//! cached prompts, clients that leave in the middle. Each measures its own requests by its own means, with the
//! plainest code that can do it and none of the product's, so that what a proxy in between claims to have measured can
//! be held against it. [`exposition`] reads the other side of that comparison, a scrape.
//!
//! ```
//! use std::sync::Arc;
//! use inference_simulator::{Settings, Simulator};
//! use load_generator::{Api, Case, Load, Truth, Until};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let simulator = Simulator::start(Settings::default()).await?;
//! let load = Load {
//!     target: simulator.address(),
//!     http2: false,
//!     concurrency: 2,
//!     until: Until::Requests(4),
//!     cases: vec![Case::new("chat", 1, Api::Chat).streamed()],
//!     models: vec!["tiny".to_owned()],
//!     seed: 1,
//! };
//! let truth = Arc::new(Truth::default());
//! load.run(&truth).await;
//! assert_eq!(truth.models()["tiny"].finished(), 4);
//! assert_eq!(truth.models()["tiny"].time_to_first_token.count(), 4);
//! # std::io::Result::Ok(())
//! # })?;
//! # std::io::Result::Ok(())
//! ```
//!
//! # What this crate does not do
//!
//! No open loop: it offers no fixed rate, so it says nothing of how a server behaves beyond its capacity. No TLS. An
//! event with several tokens is one event to it.
//!
//! # Limits
//!
//! Every sample is kept, 16 bytes each, so that quantiles are exact: an hour of a thousand tokens a second is 58 MB.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "a tool for tests, where an overflow may well end the run"
)]

mod answer;
mod case;
mod client;
pub mod exposition;
mod load;
mod sse_lines;
mod truth;

pub use answer::Usage;
pub use case::{Api, Case, Leave, Prompt, everything};
pub use load::{Load, Until, send_one};
pub use truth::{ModelTruth, Outcome, RequestTruth, Samples, Truth};
