//! Whole documents, broken ones and hostile ones, judged by the calls they make and by another parser.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "a test that overflows fails, as it should"
)]

#[cfg(test)]
mod any_cutting;
#[cfg(test)]
mod grammar;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod places;
#[cfg(test)]
mod recorder;
