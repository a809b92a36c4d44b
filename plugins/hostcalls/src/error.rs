//! What the host answers when it does not do what it was asked.

use core::fmt;

macro_rules! calls {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A hostcall, by the name that the metric `inferometer.host.errors` shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Call { $($(#[$doc])* $variant,)* }

        impl Call {
            /// Every hostcall this crate makes that can fail.
            pub const ALL: &'static [Call] = &[$(Call::$variant,)*];

            /// The hostcall's name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Call::$variant => $name,)* }
            }
        }
    };
}

calls! {
    /// The monotonic clock.
    ClockTimeGet = "clock_time_get",
    /// The wall clock.
    GetCurrentTime = "get_current_time",
    /// The timer.
    SetTickPeriod = "set_tick_period",
    /// A body or the configuration.
    GetBuffer = "get_buffer",
    /// A header.
    GetHeader = "get_header",
    /// All headers of a map.
    GetHeaders = "get_headers",
    /// An attribute.
    GetProperty = "get_property",
    /// A read of shared data.
    GetSharedData = "get_shared_data",
    /// A write of shared data.
    SetSharedData = "set_shared_data",
    /// A new Envoy stat.
    DefineMetric = "define_metric",
    /// A move of an Envoy counter.
    IncrementMetric = "increment_metric",
    /// A value for an Envoy gauge or histogram.
    RecordMetric = "record_metric",
    /// The answer to a scrape.
    SendLocalResponse = "send_local_response",
    /// A request to another server.
    HttpCall = "http_call",
    /// Random bytes.
    RandomGet = "random_get",
    /// The environment.
    EnvironGet = "environ_get",
}

/// A hostcall that did not answer `Ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostError {
    /// What was called.
    pub call: Call,
    /// The status on the wire; a host may answer with one no specification names.
    pub status: u32,
}

impl HostError {
    const NOT_FOUND: u32 = 1;
    const BAD_ARGUMENT: u32 = 2;
    const CAS_MISMATCH: u32 = 8;

    /// Turns a wire status into a result.
    pub(crate) fn check(call: Call, status: u32) -> Result<(), HostError> {
        if status == 0 {
            Ok(())
        } else {
            Err(HostError { call, status })
        }
    }

    /// Whether the thing asked for is not there, which is often no error.
    #[must_use]
    pub fn is_not_found(self) -> bool {
        self.status == HostError::NOT_FOUND
    }

    /// Whether an argument is wrong, or what it names is not there now.
    #[must_use]
    pub fn is_bad_argument(self) -> bool {
        self.status == HostError::BAD_ARGUMENT
    }

    /// Whether somebody else has written the key meanwhile.
    #[must_use]
    pub fn is_cas_mismatch(self) -> bool {
        self.status == HostError::CAS_MISMATCH
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the proxy answered {} with status {}",
            self.call.as_str(),
            self.status
        )
    }
}
