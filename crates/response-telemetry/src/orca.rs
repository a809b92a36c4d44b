//! A server's load as an ORCA report tells it, in each of the three ways to write one.

mod binary;
mod json;
mod text;

use crate::base64;

/// A longer report is refused: the longest that servers write have a few hundred bytes.
const REPORT_BYTES: usize = 16 * 1024;

/// How loaded a server is, from the header `endpoint-load-metrics`.
///
/// Utilizations are ratios. All values are finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrcaReport {
    /// Share of the processors in use; may be above 1.
    pub cpu_utilization: Option<f64>,
    /// Share of the memory in use.
    pub mem_utilization: Option<f64>,
    /// Share of what the application takes for its capacity; may be above 1.
    pub application_utilization: Option<f64>,
    /// Requests per second.
    pub requests_per_second: Option<f64>,
    /// Errors per second.
    pub errors_per_second: Option<f64>,
    /// Share of the memory for keys and values in use.
    pub kv_cache_utilization: Option<f64>,
    /// Requests that wait.
    pub requests_waiting: Option<f64>,
    /// Requests that are computed.
    pub requests_running: Option<f64>,
    /// Tokens that the memory for keys and values can hold.
    pub max_token_capacity: Option<f64>,
}

impl OrcaReport {
    /// A value of `endpoint-load-metrics`: `TEXT …`, `JSON …` or `BIN …`, the prefix in any case. `None`, and a bad
    /// value, where nothing could be read at all.
    pub fn from_header(value: &[u8], bad_values: &mut u32) -> Option<Self> {
        let value = value.trim_ascii();
        let prefix = value
            .split_at_checked(5)
            .filter(|_| value.len() <= REPORT_BYTES);
        if let Some((prefix, rest)) = prefix {
            let is = |name: &[u8]| prefix.eq_ignore_ascii_case(name);
            if is(b"TEXT ") {
                return read(bad_values, |bad_values| Self::parse_text(rest, bad_values));
            }
            if is(b"JSON ") {
                return read(bad_values, |bad_values| Self::parse_json(rest, bad_values));
            }
            if let Some((b"BIN ", encoded)) = value.split_at_checked(4) {
                return Self::from_binary_header(encoded, bad_values);
            }
        }
        bump(bad_values);
        None
    }

    /// A value of `endpoint-load-metrics-bin`: base64 of the message. `None`, and a bad value, where nothing could be
    /// read at all.
    pub fn from_binary_header(value: &[u8], bad_values: &mut u32) -> Option<Self> {
        let value = value.trim_ascii();
        let message = Some(value)
            .filter(|value| value.len() <= REPORT_BYTES)
            .and_then(base64::decode);
        let Some(message) = message else {
            bump(bad_values);
            return None;
        };
        read(bad_values, |bad_values| {
            Self::parse_binary(&message, bad_values)
        })
    }

    /// The text form without its prefix: `key=value` or `key:value`, with commas between.
    ///
    /// Each entry stands for itself: one that is broken is counted and passed over.
    pub fn parse_text(text: &[u8], bad_values: &mut u32) -> Self {
        let mut report = Gathering::new(bad_values);
        text::parse(text, &mut report);
        report.finish()
    }

    /// The JSON form without its prefix: the message as protocol buffers are written in JSON.
    ///
    /// Each entry stands for itself, `NaN` and other words that JSON does not have included.
    pub fn parse_json(text: &[u8], bad_values: &mut u32) -> Self {
        let mut report = Gathering::new(bad_values);
        json::parse(text, &mut report);
        report.finish()
    }

    /// The message `xds.data.orca.v3.OrcaLoadReport`, not base64 of it.
    ///
    /// What stands before a flaw of the encoding is kept. Of a field that stands there twice, the last one counts, as
    /// the encoding has it.
    pub fn parse_binary(message: &[u8], bad_values: &mut u32) -> Self {
        let mut report = Gathering::new(bad_values);
        report.last_wins = true;
        binary::parse(message, &mut report);
        report.finish()
    }
}

/// What `parse` finds, unless that is nothing and there was something wrong.
fn read(bad_values: &mut u32, parse: impl FnOnce(&mut u32) -> OrcaReport) -> Option<OrcaReport> {
    let mut bad = 0;
    let report = parse(&mut bad);
    *bad_values = bad_values.saturating_add(bad);
    (bad == 0 || report != OrcaReport::default()).then_some(report)
}

pub(crate) fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// The field of a report that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Cpu,
    Memory,
    Application,
    RequestsPerSecond,
    /// The field `rps`, which `rps_fractional` took the place of.
    OldRequestsPerSecond,
    ErrorsPerSecond,
    KvCache,
    Waiting,
    Running,
    Capacity,
}

impl Quantity {
    /// The field that a key at the top names, in both ways to write it.
    fn of_field(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"cpu_utilization" | b"cpuUtilization" => Self::Cpu,
            b"mem_utilization" | b"memUtilization" => Self::Memory,
            b"application_utilization" | b"applicationUtilization" => Self::Application,
            b"rps_fractional" | b"rpsFractional" => Self::RequestsPerSecond,
            b"rps" => Self::OldRequestsPerSecond,
            b"eps" => Self::ErrorsPerSecond,
            _ => return None,
        })
    }

    /// The quantity that a metric with this name is, as servers and the model-server protocol name it, whatever family
    /// stands before a colon.
    fn of_metric(name: &[u8]) -> Option<Self> {
        let name = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
        let name = name.strip_prefix(b"trtllm_").unwrap_or(name);
        Some(match name {
            b"kv_cache_usage_perc"
            | b"kv_cache_utilization"
            | b"kv_cache_usage"
            | b"gpu_cache_usage_perc"
            | b"token_usage"
            | b"KVCacheUtilization" => Self::KvCache,
            b"num_requests_waiting" | b"num_queue_reqs" | b"TotalQueuedRequests" => Self::Waiting,
            b"num_requests_running" | b"num_running_reqs" | b"TotalRunningRequests" => {
                Self::Running
            }
            b"max_token_capacity" => Self::Capacity,
            _ => return None,
        })
    }

    /// Whether it cannot be more than the whole.
    const fn is_share(self) -> bool {
        matches!(self, Self::Memory | Self::KvCache)
    }
}

/// A map of the message whose entries have names of the server's choice.
const MAPS: [&[u8]; 3] = [b"named_metrics", b"namedMetrics", b"utilization"];

/// A report in the making.
#[derive(Debug)]
struct Gathering<'a> {
    report: OrcaReport,
    old_requests_per_second: Option<f64>,
    last_wins: bool,
    bad_values: &'a mut u32,
}

impl<'a> Gathering<'a> {
    const fn new(bad_values: &'a mut u32) -> Self {
        Self {
            report: OrcaReport {
                cpu_utilization: None,
                mem_utilization: None,
                application_utilization: None,
                requests_per_second: None,
                errors_per_second: None,
                kv_cache_utilization: None,
                requests_waiting: None,
                requests_running: None,
                max_token_capacity: None,
            },
            old_requests_per_second: None,
            last_wins: false,
            bad_values,
        }
    }

    fn bad(&mut self) {
        bump(self.bad_values);
    }

    /// Takes the value of a quantity, `None` where it could not be read.
    fn take(&mut self, quantity: Quantity, value: Option<f64>) {
        let limit = if quantity.is_share() { 1.0 } else { f64::MAX };
        let Some(value) = value.filter(|value| (0.0..=limit).contains(value)) else {
            return self.bad();
        };
        let last_wins = self.last_wins;
        let report = &mut self.report;
        let place = match quantity {
            Quantity::Cpu => &mut report.cpu_utilization,
            Quantity::Memory => &mut report.mem_utilization,
            Quantity::Application => &mut report.application_utilization,
            Quantity::RequestsPerSecond => &mut report.requests_per_second,
            Quantity::OldRequestsPerSecond => &mut self.old_requests_per_second,
            Quantity::ErrorsPerSecond => &mut report.errors_per_second,
            Quantity::KvCache => &mut report.kv_cache_utilization,
            Quantity::Waiting => &mut report.requests_waiting,
            Quantity::Running => &mut report.requests_running,
            Quantity::Capacity => &mut report.max_token_capacity,
        };
        if place.is_some() && !last_wins {
            self.bad();
        } else {
            // A negative zero is a zero.
            *place = Some(value.abs());
        }
    }

    fn finish(self) -> OrcaReport {
        let mut report = self.report;
        report.requests_per_second = report.requests_per_second.or(self.old_requests_per_second);
        report
    }
}
