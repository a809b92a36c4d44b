//! Bodies of every coding: in any pieces, flushed after each event, broken, and made to burst.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod bounds;
mod broken;
mod oracle;
mod senders;
mod whole;
