//! Streams in every cutting, judged by a splitter that sees the whole body.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "a test that overflows fails, as it should"
)]

#[cfg(test)]
mod any_cutting;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod recorder;
