//! The role `push` in a build that leaves it out: a configuration that asks for it is told so, and nothing is sent.

use std::cell::RefCell;
use std::rc::Rc;

use hostcalls::{HeaderPairs, HostError, LogLevel};
use plugin_config::Config;
use request_observer::RequestRecord;

use crate::ending::Facts;
use crate::worker::Worker;

/// Shares the one name of the role's other build.
pub(crate) type SharedPusher = Rc<RefCell<Pusher>>;

/// Sends nothing.
pub(crate) struct Pusher;

/// Nothing is sent, so nothing is answered.
pub(crate) struct Answer;

/// A pusher that sends nothing.
pub(crate) fn of_this_machine() -> SharedPusher {
    Rc::new(RefCell::new(Pusher))
}

#[expect(
    clippy::unused_self,
    clippy::needless_pass_by_ref_mut,
    reason = "the role's other build has the same methods, and uses what they get"
)]
impl Pusher {
    pub(crate) fn configure(&mut self, _root: u32, config: Option<&Config>, _worker: &mut Worker) {
        if config.is_some_and(|config| config.push().is_some()) {
            hostcalls::log(
                LogLevel::Error,
                "key `push`: this build of the module leaves the role out, so nothing is pushed",
            );
        }
    }

    pub(crate) fn root_ended(&mut self, _root: u32, _worker: &mut Worker) {}

    pub(crate) fn tick(&mut self, _root: u32, _worker: &mut Worker) {}

    pub(crate) fn answered(
        &mut self,
        _root: u32,
        _token: u32,
        _answer: Result<Answer, HostError>,
        _worker: &mut Worker,
    ) {
    }
}

/// Nothing is recorded.
pub(crate) struct Recording;

/// A request that is over, in the other build's words.
#[expect(dead_code, reason = "the role's other build reads them")]
pub(crate) struct Recorded<'a> {
    pub(crate) record: &'a RequestRecord,
    pub(crate) facts: &'a Facts,
    pub(crate) model: &'a str,
    pub(crate) early: Option<&'a Propagated>,
    pub(crate) ended_ago_nanos: u64,
}

/// Nothing is kept of a request's headers.
pub(crate) struct Propagated;

#[expect(
    clippy::unused_self,
    reason = "the role's other build has the same methods, and uses what they get"
)]
impl Recording {
    pub(crate) fn of(_config: &Config) -> Recording {
        Recording
    }

    pub(crate) fn is_on(&self) -> bool {
        false
    }

    pub(crate) fn propagated(&self, _headers: &HeaderPairs) -> Option<Box<Propagated>> {
        None
    }

    pub(crate) fn record(&self, _recorded: &Recorded<'_>, _worker: &mut Worker) {}
}

impl Answer {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the role's other build may fail here"
    )]
    pub(crate) fn read(
        _headers: usize,
        _body: usize,
        _trailers: usize,
    ) -> Result<Answer, HostError> {
        Ok(Answer)
    }
}
