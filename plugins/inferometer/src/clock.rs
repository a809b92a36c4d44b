//! The stamp of the current callback.

use std::cell::Cell;

use hostcalls::HostError;
use request_observer::Stamp;

/// One reading of the clock.
pub(crate) struct Reading {
    /// When the callback runs.
    pub(crate) stamp: Stamp,
    /// The monotonic clock was refused.
    pub(crate) refused: Option<HostError>,
}

/// Which clock this machine goes by. A stamp of one clock means nothing beside one of the other, so
/// the first reading decides for good.
#[derive(Clone, Copy)]
enum Source {
    Undecided,
    /// The last stamp stands in for a reading that is refused.
    Monotonic(u64),
    Wall,
}

thread_local! {
    static SOURCE: Cell<Source> = const { Cell::new(Source::Undecided) };
}

/// Reads the monotonic clock, or the wall clock where the proxy has withheld the former from the
/// beginning.
pub(crate) fn read() -> Reading {
    SOURCE.with(
        |source| match (hostcalls::monotonic_nanos(), source.get()) {
            (Ok(nanos), Source::Undecided | Source::Monotonic(_)) => {
                source.set(Source::Monotonic(nanos));
                reading(nanos, None)
            }
            (Err(error), Source::Monotonic(last)) => reading(last, Some(error)),
            (read, Source::Undecided | Source::Wall) => {
                source.set(Source::Wall);
                reading(hostcalls::wall_nanos().unwrap_or(0), read.err())
            }
        },
    )
}

fn reading(nanos: u64, refused: Option<HostError>) -> Reading {
    Reading {
        stamp: Stamp(nanos),
        refused,
    }
}
