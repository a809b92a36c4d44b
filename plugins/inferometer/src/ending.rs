//! What only the log callback knows about a stream's end.

use hostcalls::{HeaderPairs, Headers, HostError};

/// Attributes of a finished stream.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) flags: u64,
    pub(crate) code: Option<u64>,
    pub(crate) code_details: Vec<u8>,
    pub(crate) attempts: Option<u64>,
    pub(crate) cluster: Option<Vec<u8>>,
    pub(crate) endpoint: Option<Vec<u8>>,
    pub(crate) route: Option<Vec<u8>>,
    /// As the request went to the upstream: what filters behind this one have set counts too.
    pub(crate) request_headers: HeaderPairs,
    pub(crate) errors: Vec<HostError>,
}

/// Which attributes are worth a hostcall, because a label or a span shows them.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) cluster: bool,
    pub(crate) endpoint: bool,
    pub(crate) route: bool,
    pub(crate) request_headers: bool,
}

impl Facts {
    /// Reads them; what the host refuses is absent and reported.
    pub(crate) fn read(wanted: Wanted) -> Facts {
        let mut facts = Facts::default();
        facts.flags = facts.number("response\0flags").unwrap_or(0);
        facts.code = facts.number("response\0code");
        facts.code_details = facts.bytes("response\0code_details").unwrap_or_default();
        facts.attempts = facts.number("upstream\0request_attempt_count");
        if wanted.cluster {
            facts.cluster = facts.bytes("xds\0cluster_name");
        }
        if wanted.endpoint {
            facts.endpoint = facts.bytes("upstream\0address");
        }
        if wanted.route {
            facts.route = facts.bytes("xds\0route_name");
        }
        if wanted.request_headers {
            match hostcalls::headers(Headers::Request) {
                Ok(headers) => facts.request_headers = headers,
                Err(error) => facts.errors.push(error),
            }
        }
        facts
    }

    /// The upstream's address and its port.
    pub(crate) fn server(&self) -> Option<(&str, &str)> {
        let endpoint = core::str::from_utf8(self.endpoint.as_deref()?).ok()?;
        endpoint.rsplit_once(':')
    }

    fn number(&mut self, path: &str) -> Option<u64> {
        let result = hostcalls::property_u64(path);
        self.keep(result)
    }

    fn bytes(&mut self, path: &str) -> Option<Vec<u8>> {
        let result = hostcalls::property(path);
        self.keep(result)
    }

    fn keep<T>(&mut self, result: Result<Option<T>, HostError>) -> Option<T> {
        match result {
            Ok(value) => value,
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }
}
