//! The recorded answers of real servers give one record each, however their bytes are cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod captures;

use captures::{Exchange, exchanges, observe};
use request_observer::RequestRecord;

/// The exchanges with the servers of a name that are watched, each with its record when its bodies come whole.
fn watched(server: &str, least: usize) -> Vec<(Exchange, RequestRecord)> {
    let watch = |exchange: Exchange| {
        if !exchange.name.starts_with(server) {
            return None;
        }
        let record = observe(
            &exchange,
            &[&exchange.request.body()],
            &[&exchange.answer()],
        )
        .ok()?;
        Some((exchange, record))
    };
    let watched: Vec<_> = exchanges().into_iter().filter_map(watch).collect();
    assert!(
        watched.len() >= least,
        "only {} exchanges of {server} are watched",
        watched.len()
    );
    watched
}

fn check(exchange: &Exchange, whole: &RequestRecord, request: &[&[u8]], response: &[&[u8]]) {
    let mut record = observe(exchange, request, response).unwrap();
    let place = || {
        format!(
            "{} {}: pieces of {:?}",
            exchange.name,
            exchange.position,
            sizes(response)
        )
    };
    if let Some(offset) = whole.first_token_offset {
        let mut end = 0;
        let holder = response
            .iter()
            .filter(|piece| !piece.is_empty())
            .position(|piece| {
                end += piece.len() as u64;
                end >= offset
            });
        assert_eq!(
            record.first_token_chunk.map(|chunk| chunk as usize),
            holder,
            "{}",
            place()
        );
    }
    record.first_token_chunk = whole.first_token_chunk;
    assert_eq!(&record, whole, "{}", place());
}

fn sizes(pieces: &[&[u8]]) -> Vec<usize> {
    pieces.iter().map(|piece| piece.len()).take(20).collect()
}

/// Cuts every answer of the servers of a name in two, at every byte.
fn check_every_cut(server: &str, least: usize) {
    for (exchange, whole) in watched(server, least) {
        let (request, response) = (exchange.request.body(), exchange.answer());
        for cut in 0..=response.len() {
            let (left, right) = response.split_at(cut);
            check(&exchange, &whole, &[&request], &[left, right]);
        }
    }
}

#[test]
fn an_answer_of_vllm_cut_in_two_at_any_byte_gives_the_same_record() {
    check_every_cut("vllm", 75);
}

#[test]
fn an_answer_of_sglang_cut_in_two_at_any_byte_gives_the_same_record() {
    check_every_cut("sglang", 44);
}

#[test]
fn an_answer_of_llama_cpp_cut_in_two_at_any_byte_gives_the_same_record() {
    check_every_cut("llamacpp", 36);
    check_every_cut("llama-cpp-python", 5);
}

#[test]
fn a_request_cut_in_two_at_any_byte_gives_the_same_record() {
    for (exchange, whole) in watched("", 160) {
        let (request, response) = (exchange.request.body(), exchange.answer());
        for cut in 0..=request.len() {
            let (left, right) = request.split_at(cut);
            check(&exchange, &whole, &[left, right], &[&response]);
        }
    }
}

#[test]
fn random_pieces_single_bytes_and_the_pieces_received_give_the_same_record() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (exchange, whole) in watched("", 160) {
        let (request, response) = (exchange.request.body(), exchange.answer());
        let received: Vec<&[u8]> = exchange.received.iter().map(Vec::as_slice).collect();
        assert_eq!(received.concat(), response, "{}", exchange.name);
        check(&exchange, &whole, &[&request], &received);
        check(
            &exchange,
            &whole,
            &single_bytes(&request),
            &single_bytes(&response),
        );
        for longest in [2, 7, 50, 300, 3000].repeat(4) {
            check(
                &exchange,
                &whole,
                &random.pieces(&request, longest),
                &random.pieces(&response, longest),
            );
        }
    }
}

fn single_bytes(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunks(1).collect()
}

/// A small generator with a fixed seed, so that a failure can be met again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    /// Cuts bytes into pieces, empty ones among them.
    fn pieces<'a>(&mut self, mut bytes: &'a [u8], longest: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(self.below(longest + 1).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
