//! The host's side of a context: what a module may read and write in each callback.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::calls::Pairs;
use super::properties::PropertyValue;
use super::status;

/// Which callback is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Create,
    VmStart,
    Configure,
    Tick,
    CallResponse,
    RequestHeaders,
    RequestBody,
    RequestTrailers,
    ResponseHeaders,
    ResponseBody,
    ResponseTrailers,
    Log,
    Done,
    Delete,
}

impl Phase {
    fn is_request(self) -> bool {
        matches!(
            self,
            Phase::RequestHeaders | Phase::RequestBody | Phase::RequestTrailers
        )
    }

    fn is_response(self) -> bool {
        matches!(
            self,
            Phase::ResponseHeaders | Phase::ResponseBody | Phase::ResponseTrailers
        )
    }
}

/// One plugin configuration in a virtual machine.
#[derive(Clone, Debug, Default)]
pub struct RootOptions {
    /// The plugin's name.
    pub name: String,
    /// The plugin's root id.
    pub root_id: String,
    /// The plugin's configuration, as the module reads it.
    pub configuration: Vec<u8>,
    /// Attributes that are there without a stream, such as `xds.node.id`.
    pub properties: BTreeMap<String, PropertyValue>,
}

impl RootOptions {
    /// A root context with this configuration, and names that tests need not care about.
    #[must_use]
    pub fn configured(configuration: impl AsRef<[u8]>) -> RootOptions {
        RootOptions {
            name: "inferometer".to_owned(),
            root_id: "inferometer".to_owned(),
            configuration: configuration.as_ref().to_vec(),
            properties: BTreeMap::new(),
        }
    }
}

/// A timer, in nanoseconds of elapsed time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub(super) period: u64,
    pub(super) due: u64,
}

#[derive(Debug)]
pub(super) struct RootContext {
    pub(super) options: RootOptions,
    pub(super) timer: Option<Timer>,
    /// Streams that hold this root.
    pub(super) streams: u32,
    /// The configuration is gone; the root goes with its last stream.
    pub(super) released: bool,
    /// The module has asked to be let finish, and has not called `proxy_done` yet.
    pub(super) pending_done: bool,
}

/// An answer that a module has sent in place of the upstream's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalResponse {
    /// The HTTP status.
    pub status: u32,
    /// What `response.code_details` will hold.
    pub details: String,
    /// The headers the module added.
    pub headers: Pairs,
    /// The body.
    pub body: Vec<u8>,
    /// The gRPC status; -1 is none.
    pub grpc_status: i32,
}

impl LocalResponse {
    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        first_value(&self.headers, name.as_bytes())
    }

    /// The body as text, with U+FFFD where it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Debug, Default)]
pub(super) struct StreamContext {
    pub(super) root: u32,
    pub(super) request_headers: Option<Pairs>,
    pub(super) request_trailers: Option<Pairs>,
    pub(super) response_headers: Option<Pairs>,
    pub(super) response_trailers: Option<Pairs>,
    /// The chunk of the body callback that is running.
    pub(super) chunk: Rc<[u8]>,
    /// The module has paused this direction, so its header map stays readable.
    pub(super) request_paused: bool,
    pub(super) response_paused: bool,
    pub(super) properties: BTreeMap<Vec<u8>, PropertyValue>,
    pub(super) filter_state: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) local_response: Option<LocalResponse>,
    /// The module's own answer has been shown to it.
    pub(super) local_response_delivered: bool,
}

impl StreamContext {
    /// The map of that number, if this callback may read it.
    ///
    /// A map is readable in its own callback and in the log callback; Envoy takes the pointer away
    /// when a callback lets its stream continue.
    pub(super) fn header_map(&self, map: u32, phase: Phase) -> Option<&Pairs> {
        let log = phase == Phase::Log;
        match map {
            0 if log || phase == Phase::RequestHeaders => self.request_headers.as_ref(),
            0 if self.request_paused && phase.is_request() => self.request_headers.as_ref(),
            1 if phase == Phase::RequestTrailers => self.request_trailers.as_ref(),
            2 if log || phase == Phase::ResponseHeaders => self.response_headers.as_ref(),
            2 if self.response_paused && phase.is_response() => self.response_headers.as_ref(),
            3 if log || phase == Phase::ResponseTrailers => self.response_trailers.as_ref(),
            _ => None,
        }
    }

    /// The first value of a header, or the status that the read answers with.
    pub(super) fn header(&self, map: u32, name: &[u8], phase: Phase) -> Result<&[u8], u32> {
        let pairs = self.header_map(map, phase).ok_or(match (map, phase) {
            (1, Phase::Log) => status::NOT_FOUND,
            _ => status::BAD_ARGUMENT,
        })?;
        first_value(pairs, name).ok_or(status::NOT_FOUND)
    }

    /// The body that a callback may read; empty outside its own callbacks.
    pub(super) fn body(&self, wanted: Phase, phase: Phase) -> Rc<[u8]> {
        if wanted == phase {
            Rc::clone(&self.chunk)
        } else {
            Rc::default()
        }
    }

    /// Whether attributes taken from a header map are there.
    pub(super) fn header_attributes(&self, phase: Phase) -> Option<&Pairs> {
        self.header_map(0, phase)
    }
}

#[derive(Debug)]
pub(super) enum Context {
    Root(RootContext),
    Stream(StreamContext),
}

/// The first value of a name; names are compared without regard to case.
pub(super) fn first_value<'a>(pairs: &'a Pairs, name: &[u8]) -> Option<&'a [u8]> {
    pairs
        .iter()
        .find(|(own, _)| own.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(name: &str, value: &str) -> Option<Pairs> {
        Some(vec![(name.into(), value.into())])
    }

    fn stream() -> StreamContext {
        StreamContext {
            request_headers: pairs(":path", "/v1"),
            response_headers: pairs(":status", "200"),
            response_trailers: pairs("grpc-status", "0"),
            chunk: Rc::from(*b"chunk"),
            ..StreamContext::default()
        }
    }

    #[test]
    fn a_header_map_is_readable_in_its_own_callback_and_in_the_log_callback_only() {
        fn check(map: u32, name: &[u8], phase: Phase, expected: Result<&str, u32>) {
            let stream = stream();
            let found = stream.header(map, name, phase);
            assert_eq!(found, expected.map(str::as_bytes), "map {map} in {phase:?}");
        }
        let bad = Err(status::BAD_ARGUMENT);
        check(0, b":path", Phase::RequestHeaders, Ok("/v1"));
        check(0, b":PATH", Phase::RequestHeaders, Ok("/v1"));
        check(0, b"none", Phase::RequestHeaders, Err(status::NOT_FOUND));
        check(0, b":path", Phase::RequestBody, bad);
        check(0, b":path", Phase::ResponseHeaders, bad);
        check(0, b":path", Phase::Log, Ok("/v1"));
        check(0, b":path", Phase::Done, bad);
        check(1, b"x", Phase::Log, Err(status::NOT_FOUND));
        check(2, b":status", Phase::RequestHeaders, bad);
        check(2, b":status", Phase::ResponseHeaders, Ok("200"));
        check(2, b":status", Phase::ResponseBody, bad);
        check(2, b":status", Phase::Log, Ok("200"));
        check(3, b"grpc-status", Phase::ResponseTrailers, Ok("0"));
        check(3, b"grpc-status", Phase::Log, Ok("0"));
        check(9, b"x", Phase::Log, bad);
    }

    #[test]
    fn a_paused_direction_keeps_its_header_map() {
        let mut stream = stream();
        stream.request_paused = true;
        assert!(stream.header(0, b":path", Phase::RequestBody).is_ok());
        assert!(stream.header(2, b":status", Phase::ResponseBody).is_err());
    }

    #[test]
    fn a_body_is_empty_outside_its_own_callback() {
        let stream = stream();
        let response = |phase| stream.body(Phase::ResponseBody, phase);
        assert_eq!(&*response(Phase::ResponseBody), b"chunk");
        assert_eq!(&*response(Phase::Log), b"");
    }
}
