//! Where a gateway's endpoint picker sent a request and why, from the request's headers.

use crate::orca::bump;

/// A longer value is no name; what is made of it is cut shorter anyway.
const VALUE_BYTES: usize = 1024;

/// What the Gateway API inference extension and llm-d wrote into the headers of a request.
///
/// A header's new name goes before its old one, in any order; of two with the same name the first counts. The values
/// are what a client or the endpoint picker wrote: they are text and not empty, and whoever makes labels of them must bound their number.
///
/// ```
/// use response_telemetry::Routing;
///
/// let mut routing = Routing::default();
/// routing.read(b"x-gateway-destination-endpoint", b"10.0.0.7:8000,10.0.0.9:8000");
/// routing.read(b"X-Gateway-Inference-Objective", b"old");
/// routing.read(b"x-llm-d-inference-objective", b"interactive");
/// assert_eq!(routing.destination_endpoint, Some("10.0.0.7:8000"));
/// assert_eq!(routing.objective, Some("interactive"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Routing<'a> {
    /// The server chosen, `ip:port`: the first of the list, as the others are there in case it fails.
    pub destination_endpoint: Option<&'a str>,
    /// The name of the class of priority.
    pub objective: Option<&'a str>,
    /// Whose request it is, for fairness.
    pub fairness_id: Option<&'a str>,
    /// The model that was put in the place of the one asked for.
    pub model_rewrite: Option<&'a str>,
    /// Values of these headers that are no text, or too long for a name.
    pub bad_values: u32,
    new_names: NewNames,
}

/// Which values came under the new name of their header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NewNames {
    objective: bool,
    fairness_id: bool,
    model_rewrite: bool,
}

impl<'a> Routing<'a> {
    /// Takes one header of the request. One that is none of these costs a few comparisons.
    pub fn read(&mut self, name: &[u8], value: &'a [u8]) {
        if let Some(name) = after(name, b"x-llm-d-") {
            self.read_named(name, value, true);
        } else if let Some(name) = after(name, b"x-gateway-") {
            if name.eq_ignore_ascii_case(b"destination-endpoint") {
                let first = value.split(|byte| *byte == b',').next().unwrap_or(value);
                if let Some(endpoint) = text(first, &mut self.bad_values) {
                    self.destination_endpoint.get_or_insert(endpoint);
                }
            } else {
                self.read_named(name, value, false);
            }
        }
    }

    /// Takes a header that has a new and an old name, by what follows their prefixes.
    fn read_named(&mut self, name: &[u8], value: &'a [u8], new: bool) {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        let (place, was_new) = if is(b"inference-objective") {
            (&mut self.objective, &mut self.new_names.objective)
        } else if is(b"inference-fairness-id") {
            (&mut self.fairness_id, &mut self.new_names.fairness_id)
        } else if is(b"model-name-rewrite") {
            (&mut self.model_rewrite, &mut self.new_names.model_rewrite)
        } else {
            return;
        };
        if let Some(text) = text(value, &mut self.bad_values)
            && (place.is_none() || (new && !*was_new))
        {
            *place = Some(text);
            *was_new = new;
        }
    }
}

/// The text of a value, if it has one. One that is no text is counted.
fn text<'a>(value: &'a [u8], bad_values: &mut u32) -> Option<&'a str> {
    let value = value.trim_ascii();
    let text = str::from_utf8(value)
        .ok()
        .filter(|text| text.len() <= VALUE_BYTES);
    if text.is_none() {
        bump(bad_values);
    }
    text.filter(|text| !text.is_empty())
}

/// What follows a prefix of any case.
fn after<'n>(name: &'n [u8], prefix: &[u8]) -> Option<&'n [u8]> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
