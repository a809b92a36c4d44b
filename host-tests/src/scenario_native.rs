//! Runs a scenario's callbacks straight into the observer, and its record through the catalogue into a scrape.

use std::time::Duration;

use metric_catalog::{Catalog, CatalogSettings, RecordLabels};
use metric_registry::{Limits, Registry};
use request_observer::{
    Ending, RequestHead, RequestObserver, RequestRecord, ResponseHead, ResponseTrailers, Settings,
    SkipReason, Stamp, Telemetry,
};
use response_telemetry::TelemetryReader;

use crate::{
    scenario::Scenario,
    scenario_callbacks::{Callback, Facts},
    scripted_upstream::Lines,
};

/// The first stamp, away from zero so that a stamp that is missing shows.
const START: Duration = Duration::from_secs(1000);

/// What the observer made of a scenario.
#[derive(Debug)]
pub enum Native {
    /// It is not watched.
    Skipped(SkipReason),
    /// Its record; boxed, as it is large.
    Record(Box<RequestRecord>),
    /// It was watched and gave no record, which must not be.
    Nothing,
}

/// Runs a scenario; `cut` gives the longest piece of an answer that the observer gets at once.
#[must_use]
pub fn run(scenario: &Scenario, cut: usize) -> Native {
    let settings = settings();
    let callbacks = scenario.callbacks();
    let headers = scenario.request.lines();
    let content_type = value(&headers, "content-type");
    let content_encoding = value(&headers, "content-encoding");
    let head = RequestHead {
        method: scenario.request.method().as_bytes(),
        path: scenario.request.path().as_bytes(),
        content_type: content_type.as_bytes(),
        content_encoding: content_encoding.as_bytes(),
        upgrade: headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("upgrade")),
    };
    let mut observer = match RequestObserver::begin(&head, &settings, stamp(Duration::ZERO)) {
        Ok(observer) => observer,
        Err(reason) => return Native::Skipped(reason),
    };
    for (at, call) in &callbacks.calls {
        play(&mut observer, call, stamp(*at), cut, &settings);
    }
    let end = stamp(callbacks.end);
    observer.end(end);
    let Facts {
        flags,
        code,
        details,
        attempts,
    } = &callbacks.facts;
    let ending = Ending {
        flags: *flags,
        code: Some(*code),
        code_details: details.as_bytes(),
        attempts: Some(*attempts),
        known: true,
    };
    match observer.close(&ending, end) {
        Some(record) => Native::Record(Box::new(record)),
        None => Native::Nothing,
    }
}

fn play(
    observer: &mut RequestObserver,
    call: &Callback,
    now: Stamp,
    cut: usize,
    settings: &Settings,
) {
    match call {
        Callback::RequestBody(bytes) => {
            for piece in bytes.chunks(cut.max(1)) {
                observer.request_body(piece, false, now);
            }
            observer.request_body(b"", true, now);
        }
        Callback::ResponseHeaders(status, lines, end) => {
            let telemetry = telemetry(lines);
            let head = ResponseHead {
                status: *status,
                content_type: value(lines, "content-type").as_bytes(),
                content_encoding: value(lines, "content-encoding").as_bytes(),
                grpc_status: value(lines, "grpc-status").as_bytes(),
                telemetry: Some(&telemetry),
            };
            observer.response_headers(&head, *end, now, settings);
        }
        Callback::ResponseBody(bytes, end) => {
            for piece in bytes.chunks(cut.max(1)) {
                if observer.wants_response_body() {
                    observer.response_body(piece, false, now, settings);
                } else {
                    observer.response_body_size_only(piece.len(), false, now);
                }
            }
            if *end {
                observer.response_body(b"", true, now, settings);
            }
        }
        Callback::ResponseTrailers(lines) => {
            let telemetry = telemetry(lines);
            let trailers = ResponseTrailers {
                grpc_status: value(lines, "grpc-status").as_bytes(),
                telemetry: Some(&telemetry),
            };
            observer.response_trailers(&trailers, now);
        }
    }
}

/// The page that a registry with this record alone would show.
#[must_use]
pub fn page(native: &Native) -> String {
    let catalog = Catalog::new(&CatalogSettings::default());
    let mut registry = Registry::new(catalog.families(), Limits::default(), 0);
    match native {
        Native::Skipped(reason) => {
            let series = catalog.skipped(&mut registry, *reason);
            registry.add(series, 1);
        }
        Native::Record(record) => {
            let name = |text: &Option<request_observer::Text>| {
                text.as_ref()
                    .map(|text| text.as_str().to_owned())
                    .unwrap_or_default()
            };
            let request_model = name(&record.request_model);
            let response_model = name(&record.response_model);
            let labels = RecordLabels {
                model: &request_model,
                request_model: &request_model,
                response_model: &response_model,
                provider: record.api.provider(),
                upstream_cluster: Some("upstream"),
                ..RecordLabels::default()
            };
            catalog.record(record, &labels, &mut registry, &mut |_| {});
        }
        Native::Nothing => {}
    }
    prometheus_text::encode(
        &registry.snapshot(),
        prometheus_text::Format::Prometheus,
        &|name| metric_catalog::help(name),
    )
}

fn settings() -> Settings {
    let catalog = Catalog::new(&CatalogSettings::default());
    Settings {
        gap_bounds_nanos: catalog.gap_bounds_nanos(),
        ..Settings::default()
    }
}

fn telemetry(lines: &Lines) -> Telemetry {
    let mut reader = TelemetryReader::new(&[]);
    for (name, value) in lines {
        reader.read(name.as_bytes(), value.as_bytes());
    }
    reader.finish()
}

fn value<'a>(lines: &'a Lines, name: &str) -> &'a str {
    let found = lines.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.as_str())
}

fn stamp(at: Duration) -> Stamp {
    Stamp(u64::try_from((START + at).as_nanos()).unwrap_or(u64::MAX))
}
