//! What a request is for.

/// What a request is for. Only a client's moves the metrics of requests; the others are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A client wants an answer.
    Client,
    /// One server asks another to compute a prompt, whose answer a third one generates.
    PrefillLeg,
    /// A probe lets the engine generate a token to see whether it lives.
    HealthProbe,
    /// The path may be that of an inference server, but the body is not.
    UnrecognisedBody,
}

impl Purpose {
    /// Every purpose, for tables and tests.
    pub const ALL: [Self; 4] = [
        Self::Client,
        Self::PrefillLeg,
        Self::HealthProbe,
        Self::UnrecognisedBody,
    ];

    /// The purpose in snake case, as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::PrefillLeg => "prefill_leg",
            Self::HealthProbe => "health_probe",
            Self::UnrecognisedBody => "unrecognised_body",
        }
    }
}
