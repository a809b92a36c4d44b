//! Scans a payload whole and in pieces.

use llm_payloads::{AnswerEvent, AnswerScan, Api};

fn scan(api: Api, pieces: &[&[u8]]) -> AnswerEvent {
    let mut scan = AnswerScan::new(api);
    for piece in pieces {
        scan.push(piece);
    }
    scan.finish()
}

/// Scans a payload whole and cut in two at every byte, and gives what all of that agreed on.
pub(crate) fn check(api: Api, payload: &str) -> AnswerEvent {
    let payload = payload.as_bytes();
    let whole = scan(api, &[payload]);
    for cut in 0..payload.len() {
        let (left, right) = payload.split_at(cut);
        assert_eq!(scan(api, &[left, right]), whole, "cut at {cut}");
    }
    whole
}
