//! The status that ends a gRPC exchange.

/// A status of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusCode {
    /// It worked.
    Ok,
    /// It was cancelled, mostly by the caller.
    Cancelled,
    /// Nobody knows, or a code that is none.
    Unknown,
    /// The caller's argument cannot be.
    InvalidArgument,
    /// The caller's time was up.
    DeadlineExceeded,
    /// What was asked for is not there.
    NotFound,
    /// What was to be made is there already.
    AlreadyExists,
    /// The caller may not do this.
    PermissionDenied,
    /// Something has run out: a quota, or the server's slots.
    ResourceExhausted,
    /// The system is not in the state that this needs.
    FailedPrecondition,
    /// It was broken off, as by a conflict.
    Aborted,
    /// Beyond what there is.
    OutOfRange,
    /// The server has no such method.
    Unimplemented,
    /// The server's own fault.
    Internal,
    /// The server cannot be had now.
    Unavailable,
    /// Data were lost.
    DataLoss,
    /// The caller did not say who it is.
    Unauthenticated,
}

impl StatusCode {
    /// Every status, in the order of the numbers.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The status that a header `grpc-status` gives; `None` where it is absent. What is no known number is
    /// [`Unknown`](Self::Unknown), as gRPC's own libraries take it.
    #[must_use]
    pub fn from_header(value: &[u8]) -> Option<Self> {
        let digits = value.trim_ascii();
        if digits.is_empty() {
            return None;
        }
        // Rust's own parser would take a sign.
        let number = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
            .and_then(|digits| digits.parse::<usize>().ok());
        let known = number.and_then(|number| Self::ALL.get(number)).copied();
        Some(known.unwrap_or(Self::Unknown))
    }

    /// The name that the specification gives it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_specification() {
        assert_eq!(StatusCode::from_header(b"0"), Some(StatusCode::Ok));
        assert_eq!(
            StatusCode::from_header(b" 8 "),
            Some(StatusCode::ResourceExhausted)
        );
        assert_eq!(
            StatusCode::from_header(b"16"),
            Some(StatusCode::Unauthenticated)
        );
        for odd in ["17", "-1", "+8", "8 8", "x", "99999999999999999999999"] {
            assert_eq!(
                StatusCode::from_header(odd.as_bytes()),
                Some(StatusCode::Unknown),
                "{odd}"
            );
        }
        assert_eq!(StatusCode::from_header(b""), None);
    }
}
