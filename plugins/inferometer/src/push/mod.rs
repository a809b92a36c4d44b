//! The role `push`: what is measured goes to an OTLP receiver.
//!
//! One worker of the proxy sends the merged metrics of all. An export is made step by step, over quick ticks: first all
//! slots are read, one a step, then points are encoded, a bounded number a step, and each request that is complete is
//! sent. Between an answer and the next export the ticks are ordinary ones.
//!
//! Spans and log records are made when a request has ended, and each worker sends its own. What a request with a span
//! has measured goes to the sender of metrics as exemplars, through shared data.
//!
//! Of each signal one call is in flight at most.

mod call;
mod exemplars;
mod export;
mod identity;
mod items;
mod metrics;
mod pusher;
mod recording;
mod target;

pub(crate) use call::Answer;
pub(crate) use pusher::{SharedPusher, of_this_machine};
pub(crate) use recording::{Propagated, Recorded, Recording};
