//! Words of a configuration that other crates define: what a new dialect or header brings is known here at once.

use llm_payloads::Api;
use response_telemetry::{Meaning, Unit};

/// The words of a closed list, in its order.
macro_rules! words_of {
    ($list:ty) => {{
        let mut words = [""; <$list>::ALL.len()];
        let mut place = 0;
        while place < words.len() {
            words[place] = <$list>::ALL[place].as_str();
            place += 1;
        }
        words
    }};
}

/// The APIs that a route can speak.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler, which reports a wrong place"
)]
pub(crate) const APIS: [&str; Api::ALL.len()] = words_of!(Api);

/// What the value of a header can mean.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler, which reports a wrong place"
)]
pub(crate) const MEANINGS: [&str; Meaning::ALL.len()] = words_of!(Meaning);

/// How the value of a header can be written.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler, which reports a wrong place"
)]
pub(crate) const UNITS: [&str; Unit::ALL.len()] = words_of!(Unit);

/// The API of that name.
pub(crate) fn api(name: &str) -> Option<Api> {
    Api::ALL.into_iter().find(|api| api.as_str() == name)
}
