//! Snapshots survive their bytes, and bytes of anything else are refused.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod events;

use events::{Event, events, fed, registry};
use metric_registry::{DecodeError, FamilyId, Gauges, Snapshot};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_snapshot_survives_its_bytes(events in events(120)) {
        let snapshot = fed(&events).snapshot();
        let bytes = snapshot.encode();
        prop_assert_eq!(bytes.len(), snapshot.encoded_size());
        let decoded = Snapshot::decode(&bytes).unwrap();
        prop_assert_eq!(&decoded, &snapshot);
        prop_assert_eq!(decoded.encode(), bytes);
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        use_whatever_comes(&bytes);
        let mut framed = b"IFM\x02".to_vec();
        framed.extend(bytes);
        use_whatever_comes(&framed);
    }

    #[test]
    fn damaged_bytes_are_read_or_refused(
        events in events(40),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = fed(&events).snapshot().encode();
        let length = bytes.len();
        for (place, byte) in &damage {
            bytes[place.index(length)] = *byte;
        }
        use_whatever_comes(&bytes);
        use_whatever_comes(&bytes[..cut.index(length)]);
    }

    #[test]
    fn a_snapshot_cut_short_is_refused(events in events(30)) {
        let bytes = fed(&events).snapshot().encode();
        for cut in 0..bytes.len() {
            prop_assert!(Snapshot::decode(&bytes[..cut]).is_err(), "cut at {}", cut);
        }
    }
}

/// Does with decoded bytes all that a reader does; nothing of it may panic.
fn use_whatever_comes(bytes: &[u8]) {
    let Ok(mut snapshot) = Snapshot::decode(bytes) else {
        return;
    };
    assert_eq!(Snapshot::decode(&snapshot.encode()).as_ref(), Ok(&snapshot));
    let mut worker = fed(&[Event {
        family: 2,
        labels: ["a", "b"],
        amount: 3,
        level: 0,
    }]);
    worker.subtract(&snapshot);
    let own = worker.snapshot();
    let mut all = own.clone();
    all.merge(&snapshot, Gauges::Add);
    snapshot.merge_within(&own, Gauges::Add, 2);
    let _ = snapshot.value("sizes", &[("model", "a")]);
}

#[test]
fn the_reason_of_a_refusal_is_told() {
    let check = |bytes: &[u8], reason: DecodeError, message: &str| {
        assert_eq!(Snapshot::decode(bytes), Err(reason), "{bytes:?}");
        assert_eq!(reason.to_string(), message);
    };
    let malformed = |part, message| (DecodeError::Malformed(part), message);
    let not_a_snapshot = "these bytes are not a metric snapshot";
    check(b"", DecodeError::NotASnapshot, not_a_snapshot);
    check(b"IFM", DecodeError::NotASnapshot, not_a_snapshot);
    check(b"{}\n\0\0", DecodeError::NotASnapshot, not_a_snapshot);
    check(
        b"IFM\x01whatever",
        DecodeError::UnknownVersion { found: 1 },
        "metric snapshot of version 1, this build reads version 2",
    );
    for (body, (reason, message)) in [
        (
            &b""[..],
            malformed("start time", "malformed metric snapshot at its start time"),
        ),
        (
            b"\0\x05",
            malformed("strings", "malformed metric snapshot at its strings"),
        ),
        (
            b"\0\0\x01",
            malformed("families", "malformed metric snapshot at its families"),
        ),
        (
            b"\0\0\0\0",
            malformed("end", "malformed metric snapshot at its end"),
        ),
    ] {
        check(&[b"IFM\x02", body].concat(), reason, message);
    }
}

/// A body with one family: strings `a` and `b`, then the family's fields.
fn check_family(fields: &[u8], expected: Result<(), &'static str>) {
    let bytes = [b"IFM\x02\0\x02\x01a\x01b\x01", fields].concat();
    let result = Snapshot::decode(&bytes).map(|_| ());
    assert_eq!(
        result,
        expected.map_err(DecodeError::Malformed),
        "{fields:?}"
    );
}

#[test]
fn a_family_that_contradicts_itself_is_refused() {
    // Name, unit, kind, scale, label names, bounds, label values, values.
    check_family(&[1, 0, 0, 1, 1, 2, 0, 1, 1, 1, 9], Ok(()));
    check_family(&[3, 0, 0, 1, 1, 2, 0, 1, 1, 1, 9], Err("family name"));
    check_family(&[1, 3, 0, 1, 1, 2, 0, 1, 1, 1, 9], Err("family name"));
    check_family(&[1, 0, 4, 1, 1, 2, 0, 1, 1, 1, 9], Err("kind"));
    check_family(&[1, 0, 0, 0, 1, 2, 0, 1, 1, 1, 9], Err("scale"));
    check_family(&[1, 0, 0, 1, 1, 3, 0, 1, 1, 1, 9], Err("label names"));
    check_family(&[1, 0, 0, 1, 1, 2, 0, 1, 3, 1, 9], Err("label values"));
    check_family(&[1, 0, 0, 1, 1, 2, 0, 2, 1, 1, 1, 9], Err("label values"));
    check_family(&[1, 0, 0, 1, 0, 0, 0, 2, 9, 9], Err("values"));
    check_family(&[1, 0, 0, 1, 0, 0, 0, 1, 9], Ok(()));
    check_family(&[1, 0, 0, 1, 0, 1, 5, 0, 1, 9], Err("bounds"));
    check_family(&[1, 0, 2, 1, 0, 1, 5, 0, 3, 1, 1, 9], Ok(()));
    check_family(&[1, 0, 2, 1, 0, 2, 5, 5, 0, 4, 1, 1, 1, 9], Err("bounds"));
    check_family(&[1, 0, 2, 1, 0, 1, 5, 0, 2, 1, 1], Err("values"));
}

#[test]
fn an_empty_registry_takes_few_bytes() {
    let mut empty = registry();
    let bytes = empty.snapshot().encode();
    assert_eq!(Snapshot::decode(&bytes).unwrap().families().count(), 0);
    empty.series(FamilyId(3), &[]);
    assert!(bytes.len() < 100, "{} bytes", bytes.len());
}
