//! A position in a trace, as the headers of W3C Trace Context tell it.

use std::fmt;

use crate::hex::{from_hex, hex};
use crate::trace_state;

/// The bytes of a `traceparent` of version 00; later versions may have more after them.
const VERSION_00_BYTES: usize = 55;
/// The flag by which a caller says that it may have recorded its part of the trace.
const SAMPLED: u8 = 0x01;
/// The flag by which the maker of a trace id says that its low 56 bits are random.
const RANDOM: u8 = 0x02;

/// A position in a trace: the trace, one span of it, and what its maker said of sampling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; never all zeros.
    pub trace_id: [u8; 16],
    /// The span in it; never all zeros.
    pub span_id: [u8; 8],
    /// The flags that are known: `0x01` sampled, `0x02` random. The others are reserved, and so are cleared.
    pub flags: u8,
    /// `tracestate`, as it came; empty where there was none, or none that could be kept.
    pub trace_state: String,
}

/// Why a `traceparent` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceparentFlaw {
    /// It is too short, or longer than version 00 is.
    Length,
    /// Its version is not two lower-case hexadecimal digits, or is `ff`.
    Version,
    /// There is no dash where there must be one.
    Separator,
    /// An id or the flags hold something else than lower-case hexadecimal digits.
    NotHex,
    /// The trace's id is all zeros.
    ZeroTraceId,
    /// The span's id is all zeros.
    ZeroSpanId,
}

impl fmt::Display for TraceparentFlaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Length => "wrong length",
            Self::Version => "invalid version",
            Self::Separator => "missing dash",
            Self::NotHex => "not lower-case hexadecimal",
            Self::ZeroTraceId => "trace id of zeros",
            Self::ZeroSpanId => "span id of zeros",
        })
    }
}

impl std::error::Error for TraceparentFlaw {}

impl TraceContext {
    /// Reads the two headers. A header that came more than once is to be joined by commas, as proxies do: a
    /// `traceparent` is then refused, a `tracestate` is one list.
    ///
    /// A later version than 00 is read as far as version 00 goes, as the
    /// [standard](https://www.w3.org/TR/trace-context/#versioning-of-traceparent) demands. A `tracestate` that is
    /// malformed or longer than 512 bytes is dropped, and the rest stands.
    ///
    /// # Errors
    ///
    /// Where `traceparent` is malformed, so that there is no context.
    pub fn parse(traceparent: &[u8], tracestate: &[u8]) -> Result<Self, TraceparentFlaw> {
        let (known, more) = traceparent
            .split_at_checked(VERSION_00_BYTES)
            .ok_or(TraceparentFlaw::Length)?;
        let mut parts = Parts(known);
        let [version] = parts
            .take::<1>()
            .filter(|[version]| *version != u8::MAX)
            .ok_or(TraceparentFlaw::Version)?;
        match more {
            [] => {}
            _ if version == 0 => return Err(TraceparentFlaw::Length),
            [b'-', ..] => {}
            _ => return Err(TraceparentFlaw::Separator),
        }
        parts.dash()?;
        let trace_id = parts.take().ok_or(TraceparentFlaw::NotHex)?;
        parts.dash()?;
        let span_id = parts.take().ok_or(TraceparentFlaw::NotHex)?;
        parts.dash()?;
        let [flags] = parts.take::<1>().ok_or(TraceparentFlaw::NotHex)?;
        if trace_id == [0; 16] {
            return Err(TraceparentFlaw::ZeroTraceId);
        }
        if span_id == [0; 8] {
            return Err(TraceparentFlaw::ZeroSpanId);
        }
        Ok(Self {
            trace_id,
            span_id,
            flags: flags & (SAMPLED | RANDOM),
            trace_state: trace_state::well_formed(tracestate)
                .unwrap_or_default()
                .to_owned(),
        })
    }

    /// The first span of a new trace, out of 24 random bytes. Whether it is sampled is not decided yet.
    ///
    /// Ids must not be all zeros, so those that would be end in a one.
    #[must_use]
    pub fn from_random(random: [u8; 24]) -> Self {
        let mut trace_id = [0; 16];
        let mut span_id = [0; 8];
        for (byte, random) in trace_id.iter_mut().chain(&mut span_id).zip(random) {
            *byte = random;
        }
        Self {
            trace_id: not_zero(trace_id),
            span_id: not_zero(span_id),
            flags: RANDOM,
            trace_state: String::new(),
        }
    }

    /// Another span of the same trace, out of 8 random bytes.
    #[must_use]
    pub fn child(&self, random: [u8; 8]) -> Self {
        let mut span_id = not_zero(random);
        if span_id == self.span_id {
            // A span that is its own parent would make a trace that cannot be drawn.
            span_id = not_zero(span_id.map(|byte| !byte));
        }
        Self {
            span_id,
            ..self.clone()
        }
    }

    /// Whether whoever made this context may have recorded its part of the trace.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The flags, with that of sampling set.
    pub(crate) const fn sampled_flags(&self) -> u8 {
        self.flags | SAMPLED
    }

    /// The context as a `traceparent` of version 00.
    #[must_use]
    pub fn traceparent(&self) -> String {
        let (trace, span) = (hex(&self.trace_id), hex(&self.span_id));
        format!("00-{trace}-{span}-{:02x}", self.flags)
    }
}

/// What is left of a `traceparent`.
struct Parts<'a>(&'a [u8]);

impl Parts<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (digits, rest) = self.0.split_at_checked(N.saturating_mul(2))?;
        self.0 = rest;
        from_hex(digits)
    }

    fn dash(&mut self) -> Result<(), TraceparentFlaw> {
        self.0 = self
            .0
            .strip_prefix(b"-")
            .ok_or(TraceparentFlaw::Separator)?;
        Ok(())
    }
}

fn not_zero<const N: usize>(mut id: [u8; N]) -> [u8; N] {
    if id == [0; N]
        && let Some(last) = id.last_mut()
    {
        *last = 1;
    }
    id
}
