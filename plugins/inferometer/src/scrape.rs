//! Answers a scrape from what all workers have published.

use hostcalls::{Headers, HostError};
use metric_catalog::help;
use prometheus_text::Format;

use crate::shared::HostData;
use crate::worker::Worker;

/// Sends the page; what this worker has not published yet is on it too.
pub(crate) fn answer(worker: &mut Worker) -> Result<(), HostError> {
    let accept = hostcalls::header(Headers::Request, "accept")?.unwrap_or_default();
    let format = Format::from_accept(&accept);
    worker.publish_now();
    let view = snapshot_slots::read(worker.now_nanos(), &mut HostData)?;
    let page = prometheus_text::encode(&view.snapshot, format, &help);
    let headers = [
        ("content-type", prometheus_text::content_type(format)),
        ("cache-control", "no-store"),
    ];
    hostcalls::send_local_response(200, &headers, page.as_bytes())
}

/// Tells a scraper that the page cannot be made, so that its target shows as down.
pub(crate) fn refuse(error: HostError) -> Result<(), HostError> {
    let message = format!("the metrics cannot be read: {error}\n");
    hostcalls::send_local_response(
        503,
        &[("content-type", "text/plain; charset=utf-8")],
        message.as_bytes(),
    )
}
