//! Damaged payloads in every dialect: nothing panics, and any cutting of the same bytes says the same.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

use llm_payloads::{AnswerEvent, AnswerScan, Api, RequestScan};

/// One payload of each kind, to be damaged.
const PAYLOADS: [&[u8]; 12] = [
    br#"{"model":"m","choices":[{"index":1,"delta":{"content":"a","tool_calls":[{"function":{"name":"f"}}]},"token_ids":[1]}],"usage":{"prompt_tokens":3}}"#,
    br#"[{"generated_text":"a","details":{"prefill":[{}],"finish_reason":"length","generated_tokens":2}}]"#,
    br#"{"text":"ab","output_ids":[1,2],"meta_info":{"completion_tokens":2,"finish_reason":{"type":"stop"}}}"#,
    br#"{"candidates":[{"content":{"parts":[{"text":"a","thought":true}]},"finishReason":"STOP"}],"usageMetadata":{"thoughtsTokenCount":1}}"#,
    br#"{"type":"message_delta","delta":{"stop_reason":"end_turn","text":"a"},"usage":{"input_tokens":1,"cache_read_input_tokens":2}}"#,
    br#"{"type":"response.completed","response":{"status":"completed","usage":{"output_tokens":1},"output":[{"type":"function_call"}]}}"#,
    br#"{"bytes":"eyJvdXRwdXRUZXh0IjoiYSIsImNvbXBsZXRpb25SZWFzb24iOiJGSU5JU0gifQ==","p":"ab"}"#,
    br#"{"index":1,"content":"a","tokens":[1],"stop":true,"tokens_predicted":1,"timings":{"cache_n":1,"prompt_n":2}}"#,
    br#"{"error":{"message":"maximum context length","type":"x","code":400}}"#,
    b"\x1a\x0d\x0a\x0b\x0a\x03Hel\x12\x04\x01\x02\x03\x04",
    b"\x0a\x0a\x0a\x02\x05\x06\x10\x07\x18\x02\x20\x01\x12\x04\x12\x02ab",
    b"[DONE]",
];

/// A sequence of numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }
}

fn damaged(payload: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = payload.to_vec();
    for _ in 0..numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(4) {
            0 => bytes[at] = u8::try_from(numbers.below(256)).unwrap_or_default(),
            1 => bytes.insert(at, b"\"{}[],:\\"[numbers.below(8)]),
            2 if bytes.len() > 1 => {
                bytes.remove(at);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

fn answer(api: Api, payloads: &[Vec<u8>], size: usize) -> Vec<AnswerEvent> {
    let mut scan = AnswerScan::new(api);
    payloads
        .iter()
        .map(|payload| {
            for piece in payload.chunks(size) {
                scan.push(piece);
            }
            scan.finish()
        })
        .collect()
}

fn request(api: Api, body: &[u8], size: usize) -> String {
    let mut scan = RequestScan::new(api);
    for piece in body.chunks(size) {
        scan.push(piece);
    }
    format!("{:?}", scan.finish())
}

#[test]
fn any_cutting_of_damaged_payloads_says_the_same_in_every_dialect() {
    let mut numbers = Numbers(1);
    for _ in 0..200 {
        let payloads: Vec<_> = PAYLOADS
            .iter()
            .map(|payload| damaged(payload, &mut numbers))
            .collect();
        let size = 1 + numbers.below(40);
        for api in Api::ALL {
            assert_eq!(
                answer(api, &payloads, usize::MAX),
                answer(api, &payloads, size),
                "{api:?} in pieces of {size}"
            );
        }
    }
}

#[test]
fn any_cutting_of_damaged_requests_asks_for_the_same_in_every_dialect() {
    let bodies: [&[u8]; 3] = [
        br#"{"model":"m","messages":[{"content":"x"}],"inputs":"a","text":["a","b"],"input_ids":[[1],[2]],"n":2,"max_tokens":-1,"options":{"num_predict":3},"stream":true}"#,
        br#"{"prompt":["a",[1]],"documents":["a"],"query":"q","kv_transfer_params":{"do_remote_decode":true},"rid":"HEALTH_CHECK_1"}"#,
        b"\0\0\0\0\x0f\x20\x20\x40\x02\x0a\x05llama\x2a\x02\x0a\0",
    ];
    let mut numbers = Numbers(2);
    for _ in 0..300 {
        for body in bodies {
            let body = damaged(body, &mut numbers);
            let size = 1 + numbers.below(40);
            for api in Api::ALL {
                assert_eq!(
                    request(api, &body, usize::MAX),
                    request(api, &body, size),
                    "{api:?} in pieces of {size}: {}",
                    String::from_utf8_lossy(&body)
                );
            }
        }
    }
}
