//! What the module tells about itself.

use super::{counter, gauge, seconds};
use crate::definition::{Base, Definition, Profile};
use crate::label::{
    ANOMALY, EXPORT_RESULT, HOST_CALL, Label, SIGNAL, SKIP_REASON, SLOT_STATE, VERSION,
};

/// From a receiver in the same node to one that is about to be given up.
const EXPORT: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

const fn own(definition: Definition, own_labels: &'static [Label]) -> Definition {
    definition
        .of(Profile::SelfTelemetry, "Inferometer's own.")
        .labelled(Base::Nothing, own_labels)
}

/// The rows, in the order of [`super::Row`].
pub(crate) const TABLE: [Definition; 17] = [
    own(gauge("inferometer.build.info", "{worker}", "Workers that run this version of the module."), &[VERSION])
        .sampled("Each worker adds one. Two versions show while one replaces the other."),
    own(counter("inferometer.worker.starts", "{start}", "Workers that began to report."), &[]).sampled(
        "Once a virtual machine, at its first tick. More than the proxy's threads and configuration updates explain are \
         restarts after traps.",
    ),
    own(
        counter("inferometer.stream.anomalies", "{anomaly}", "Odd things in requests and answers that were tolerated."),
        &[ANOMALY],
    )
    .sampled("Every time one was met, when its request has ended.")
    .mirrored("inferometer_stream_anomalies", 1),
    own(counter("inferometer.skipped", "{request}", "Requests that no other metric counts, by the reason."), &[SKIP_REASON])
        .sampled(
            "Every request that passed the module without being watched, and every watched one that turned out to be none \
             of a client's: `prefill_leg`, a prompt computed for another server to answer; `health_probe`, a token \
             generated to see whether the engine lives; `unrecognised_body`, a path that may be a model server's with a \
             body that is none of its requests.",
        ),
    own(gauge("inferometer.series", "{series}", "Series that the workers hold, a histogram counting as one."), &[])
        .sampled("Each worker adds its own number, at every tick."),
    own(
        counter("inferometer.series.overflow", "{sample}", "Samples that went to an overflow series for want of room."),
        &[],
    )
    .sampled("Every sample of a label set that was new when the limit was reached."),
    own(counter("inferometer.inspected.bytes", "By", "Bytes of request and answer bodies that were looked at."), &[])
        .sampled("Every watched request, when it has ended."),
    own(counter("inferometer.events", "{event}", "Events of answers that were read."), &[])
        .sampled("Every watched request, when it has ended: a stream's events with data, one for any other body."),
    own(gauge("inferometer.vm.memory", "By", "Linear memory of the workers' virtual machines."), &[])
        .sampled("Each worker adds its own, at every tick."),
    own(gauge("inferometer.snapshot.bytes", "By", "Size of the snapshots that the workers published last."), &[])
        .sampled("Each worker adds its own, at every tick."),
    own(gauge("inferometer.slots", "{slot}", "Places of workers in shared data, by condition."), &[SLOT_STATE]).sampled(
        "Counted by one worker for all, every few ticks. `live`: written by a worker; `stale`: its worker has missed \
         heartbeats; `sealed`: given up, its numbers about to be folded; `free`: folded; `unreadable`: not to be read, \
         so its numbers are missing.",
    ),
    own(counter("inferometer.host.errors", "{error}", "Calls that the proxy refused."), &[HOST_CALL])
        .sampled("Every call to the proxy that failed where it should not."),
    own(gauge("inferometer.config.rejected", "{worker}", "Workers that hold a configuration which was refused."), &[])
        .sampled("Each worker adds one while one of its configurations is refused and an earlier one, or none, is in force."),
    own(counter("inferometer.export", "{call}", "Calls that pushed telemetry to an OTLP receiver, by how they ended."), &[SIGNAL, EXPORT_RESULT])
        .sampled("Every call, when its answer came, or none. One export may take several calls, and several attempts."),
    own(seconds("inferometer.export.duration", EXPORT, "Time from an OTLP call to its answer."), &[SIGNAL])
        .sampled("Every call that was answered, well or not."),
    own(
        counter("inferometer.export.rejected", "{item}", "Data points, spans and log records that an OTLP receiver refused."),
        &[SIGNAL],
    )
    .sampled("What the receiver states in an answer of partial success. They are not sent again."),
    own(
        counter("inferometer.export.dropped", "{item}", "Spans and log records that were given up before they were delivered."),
        &[SIGNAL],
    )
    .sampled("Every one for which there was no room, that the receiver refused for good, or that waited when the last configuration with a receiver for it went."),
];
