//! What the proxy knows of how an exchange ended.

/// What the proxy's log callback tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ending<'a> {
    /// The response flags as a bit mask in Envoy's order.
    pub flags: u64,
    /// The response code; none, or zero, where no response was begun.
    pub code: Option<u64>,
    /// Where the response came from, in Envoy's words.
    pub code_details: &'a [u8],
    /// How many attempts were made at upstreams.
    pub attempts: Option<u64>,
    /// Whether anything here is known. Where it is not, the ending is told from what was seen.
    pub known: bool,
}

/// Bits of [`Ending::flags`] by what they mean for an outcome.
pub(crate) mod flag {
    const fn bits<const N: usize>(positions: [u32; N]) -> u64 {
        let mut mask = 0;
        let mut rest: &[u32] = &positions;
        while let [position, others @ ..] = rest {
            mask |= 1_u64.wrapping_shl(*position);
            rest = others;
        }
        mask
    }

    /// The client closed its connection, reset its stream, or broke the protocol.
    pub(crate) const CLIENT: u64 = bits([14, 18, 28]);
    /// The upstream reset, closed, could not be reached, or broke the protocol; or the proxy reset it.
    pub(crate) const UPSTREAM: u64 = bits([3, 4, 5, 6, 23]);
    /// A request, idle, stream or connection timer of the proxy ran out.
    pub(crate) const TIMEOUT: u64 = bits([2, 16, 19, 22]);
    /// There was no upstream to be had: none healthy, no connection, no address.
    pub(crate) const CONNECT: u64 = bits([1, 5, 26]);
    /// A limit of the proxy was reached: circuit breaker, overload manager, drop.
    pub(crate) const OVERLOAD: u64 = bits([7, 25, 27, 29]);
    /// The proxy's rate limit.
    pub(crate) const RATE_LIMIT: u64 = bits([11]);
    /// Anything that makes the proxy answer by itself.
    pub(crate) const LOCAL: u64 = UPSTREAM
        | TIMEOUT
        | CONNECT
        | OVERLOAD
        | RATE_LIMIT
        | bits([0, 8, 10, 12, 13, 17, 18, 21, 24]);
    /// Anything that breaks off an answer that has begun.
    pub(crate) const ABORT: u64 = CLIENT | UPSTREAM | TIMEOUT;
}

impl Ending<'_> {
    pub(crate) fn has(&self, mask: u64) -> bool {
        self.known && (self.flags | self.flags_of_details()) & mask != 0
    }

    /// Envoy sets no flag when the longest duration of a stream is reached, but says so in its details.
    fn flags_of_details(&self) -> u64 {
        if self.code_details.starts_with(b"max_duration_timeout") {
            flag::TIMEOUT
        } else {
            0
        }
    }

    /// Whether the response with `status` was made by the proxy and not by an upstream.
    ///
    /// The details name the proxy's own reason also where it broke off an upstream's answer, so they alone do not
    /// tell: an answer that began with 2xx and was broken off is the upstream's.
    pub(crate) fn is_local(&self, status: u16) -> bool {
        if !self.known {
            return false;
        }
        let accepted = is_success(status);
        match self.code_details {
            b"via_upstream" => false,
            b"" => !accepted && self.has(flag::LOCAL),
            _ if self.attempts == Some(0) => true,
            _ if accepted => !self.has(flag::ABORT),
            details => {
                !(details.starts_with(b"upstream_reset_after_response")
                    || details.starts_with(b"downstream_"))
            }
        }
    }
}

pub(crate) const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, details: &str, flags: u64, attempts: Option<u64>, local: bool) {
        let ending = Ending {
            flags,
            code: Some(u64::from(status)),
            code_details: details.as_bytes(),
            attempts,
            known: true,
        };
        assert_eq!(
            ending.is_local(status),
            local,
            "{status} {details} {flags:b} {attempts:?}"
        );
    }

    #[test]
    fn the_proxys_own_answers_are_told_from_the_upstreams() {
        check(200, "via_upstream", 0, Some(1), false);
        check(503, "via_upstream", 1 << 15, Some(3), false);
        check(200, "direct_response", 0, Some(0), true);
        check(200, "direct_response", 0, None, true);
        check(200, "downstream_remote_disconnect", 1 << 14, Some(1), false);
        check(200, "downstream_remote_disconnect", 1 << 14, None, false);
        check(
            200,
            "upstream_reset_after_response_started{remote_reset}",
            1 << 4,
            Some(1),
            false,
        );
        check(
            500,
            "upstream_reset_after_response_started{remote_reset}",
            1 << 4,
            Some(1),
            false,
        );
        check(
            503,
            "upstream_reset_before_response_started{connection_termination}",
            1 << 6,
            Some(1),
            true,
        );
        check(504, "response_timeout", 1 << 2, Some(1), true);
        check(200, "stream_idle_timeout", 1 << 16, Some(1), false);
        check(500, "response_payload_too_large", 0, Some(1), true);
        check(200, "max_duration_timeout", 0, Some(1), false);
        check(503, "", 1 << 5, None, true);
        check(503, "", 0, None, false);
        check(200, "", 1 << 14, None, false);
    }

    #[test]
    fn an_unknown_ending_has_neither_flags_nor_a_local_answer() {
        let ending = Ending {
            flags: u64::MAX,
            code_details: b"direct_response",
            ..Ending::default()
        };
        assert!(!ending.has(flag::CLIENT));
        assert!(!ending.is_local(200));
    }
}
