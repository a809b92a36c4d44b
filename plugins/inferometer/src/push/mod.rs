//! The role `push`: one worker of the proxy sends the merged metrics to an OTLP receiver.
//!
//! An export is made step by step, over quick ticks: first all slots are read, one a step, then points are encoded, a
//! bounded number a step, and each request that is complete is sent. One call is in flight at most; between its answer
//! and the next export the ticks are ordinary ones.

mod call;
mod export;
mod identity;
mod pusher;
mod target;

pub(crate) use call::Answer;
pub(crate) use pusher::{SharedPusher, of_this_machine};
