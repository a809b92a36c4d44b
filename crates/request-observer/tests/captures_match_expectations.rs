//! Every recorded exchange gives what an independent decoder, written in another language, says of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the expectations from their file"
)]

mod captures;

use std::collections::BTreeMap;
use std::fmt::Write;

use captures::{Exchange, exchanges, observe};
use serde::Deserialize;

/// What the other decoder says; fields that are of no use here are left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Expected {
    watched: bool,
    skip_reason: Option<String>,
    api: Option<String>,
    operation: Option<String>,
    request_model: Option<String>,
    response_model: Option<String>,
    status: Option<u16>,
    stream: bool,
    outcome: String,
    finish_reason: Option<String>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    usage_status: String,
    output_events: Option<u64>,
    first_token_chunk: Option<u32>,
    first_token_offset: Option<u64>,
    client_abort: bool,
}

/// What the observer says, in the same shape.
fn observed(exchange: &Exchange) -> Expected {
    let pieces: Vec<&[u8]> = exchange.received.iter().map(Vec::as_slice).collect();
    let status = exchange.status();
    let record = match observe(exchange, &[&exchange.request.body()], &pieces) {
        Err(reason) => {
            return Expected {
                skip_reason: Some(reason.to_string()),
                status,
                ..Expected::default()
            };
        }
        Ok(record) => record,
    };
    let known_output = record.usage.output.is_some();
    Expected {
        watched: true,
        skip_reason: None,
        api: Some(record.api.as_str().to_owned()),
        operation: Some(record.api.operation().to_owned()),
        request_model: record.request_model.map(|text| text.as_str().to_owned()),
        response_model: record.response_model.map(|text| text.as_str().to_owned()),
        status: record.status,
        stream: record.stream,
        outcome: record.outcome.as_str().to_owned(),
        finish_reason: record
            .finish_reason
            .map(|reason| reason.as_str().to_owned()),
        input_tokens: record.usage.input,
        output_tokens: record.usage.output,
        cached_tokens: record.usage.cached_input,
        reasoning_tokens: record.usage.reasoning,
        usage_status: record.usage_status.as_str().to_owned(),
        // The record counts output events only where it has no better number.
        output_events: if known_output {
            None
        } else {
            record.estimated_output
        },
        first_token_chunk: record.first_token_chunk,
        first_token_offset: record.first_token_offset,
        client_abort: exchange.client_left,
    }
}

#[test]
fn every_recorded_exchange_gives_what_the_other_decoder_says() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/captures/expected.json"
    );
    let expectations: BTreeMap<String, Vec<Expected>> =
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (mut compared, mut watched, mut differences) = (0, 0, String::new());
    for exchange in exchanges() {
        let mut expected = expectations[&exchange.name][exchange.position].clone();
        let observed = observed(&exchange);
        if observed.output_tokens.is_some() || expected.output_events == Some(0) {
            expected.output_events = None;
        }
        compared += 1;
        watched += usize::from(expected.watched);
        if observed != expected {
            let place = (&exchange.name, exchange.position);
            writeln!(
                differences,
                "{place:?}\n expected {expected:?}\n observed {observed:?}"
            )
            .unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(
        compared,
        expectations.values().map(Vec::len).sum::<usize>(),
        "no recording is left out"
    );
    assert!(watched > 140, "only {watched} exchanges are watched");
}
