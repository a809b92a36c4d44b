//! The dialects over gRPC, on messages that are encoded here by hand.

use llm_payloads::Api;

use crate::exchange::{asked, check_messages};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A message, a text, or packed numbers: all have a length.
fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    let head = [varint(field << 3 | 2), varint(content.len() as u64)].concat();
    [head.as_slice(), content].concat()
}

fn packed(field: u64, values: &[u64]) -> Vec<u8> {
    let content: Vec<u8> = values.iter().flat_map(|value| varint(*value)).collect();
    bytes(field, &content)
}

/// The message as it goes over the wire.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

#[test]
fn jetstreams_limit_and_samples_are_read_of_the_first_message() {
    let request = [
        number(4, 32),
        bytes(5, &bytes(1, b"Hi")),
        number(8, 2),
        bytes(9, b"adapter"),
    ]
    .concat();
    assert_eq!(
        asked(Api::JetstreamDecode, &framed(&request)),
        "limit=32 choices=2"
    );
    assert_eq!(asked(Api::JetstreamDecode, &framed(b"")), "");
    assert_eq!(asked(Api::JetstreamDecode, b""), "empty");
    assert_eq!(
        asked(Api::JetstreamDecode, &[0, 0, 0, 0, 9, 8]),
        "truncated"
    );
}

#[test]
fn jetstreams_tokens_are_output_also_without_text() {
    let sample = |text: &[u8], ids: &[u64]| bytes(1, &[bytes(1, text), packed(2, ids)].concat());
    let stream = |samples: &[Vec<u8>]| bytes(3, &samples.concat());
    check_messages(
        Api::JetstreamDecode,
        &[
            (bytes(2, b""), ""),
            (stream(&[sample(b"Hel", &[5, 600])]), "visible tokens=2"),
            (
                stream(&[sample(b"a", &[1]), sample(b"b", &[2, 3])]),
                "visible tokens=3",
            ),
            (stream(&[sample(b"", &[7])]), "visible tokens=1"),
            (stream(&[sample(b"", &[])]), ""),
            (stream(&[bytes(1, &number(2, 9))]), "visible tokens=1"),
        ],
    );
}

#[test]
fn vllm_states_usage_in_chunks_and_at_the_end() {
    let usage = |first: u64, output: u64| {
        [
            number(first, 300),
            number(first + 1, output),
            number(first + 2, 256),
        ]
        .concat()
    };
    let chunk = |ids: &[u64], output: u64| bytes(1, &[packed(1, ids), usage(2, output)].concat());
    let complete = bytes(
        2,
        &[packed(1, &[5, 6, 7]), bytes(2, b"length"), usage(3, 3)].concat(),
    );
    check_messages(
        Api::VllmGrpc,
        &[
            (chunk(&[5], 1), "visible tokens=1 in=300 out=1 cached=256"),
            (
                chunk(&[6, 7], 3),
                "visible tokens=2 in=300 out=3 cached=256",
            ),
            (complete, "in=300 out=3 cached=256 finish=length"),
        ],
    );
}

#[test]
fn the_open_inference_protocol_names_the_model_in_the_request() {
    let request = [bytes(1, b"llama"), bytes(5, &bytes(1, b"text_input"))].concat();
    for api in [Api::KserveGrpc, Api::KserveGrpcStream] {
        assert_eq!(asked(api, &framed(&request)), "model=llama");
    }
    let answer = [bytes(1, b"llama"), bytes(2, b"1")].concat();
    check_messages(Api::KserveGrpc, &[(answer, "model=llama")]);
}

#[test]
fn outputs_of_a_stream_are_no_count_of_tokens_and_the_empty_last_answer_is_none() {
    let answer = |outputs: &[Vec<u8>]| bytes(2, &[bytes(1, b"llama"), outputs.concat()].concat());
    let tensor = bytes(
        5,
        &[
            bytes(1, b"text_output"),
            bytes(2, b"BYTES"),
            packed(3, &[1]),
        ]
        .concat(),
    );
    let probabilities = bytes(5, &[bytes(1, b"log_probs"), bytes(2, b"FP32")].concat());
    check_messages(
        Api::KserveGrpcStream,
        &[
            (
                answer(&[tensor.clone(), probabilities, bytes(6, b"\x03\0\0\0Hel")]),
                "visible model=llama",
            ),
            (answer(&[tensor]), "visible"),
            (answer(&[]), ""),
            (bytes(1, b"unexpected shape"), "error=other"),
            (bytes(1, b""), ""),
        ],
    );
}

#[test]
fn a_message_that_is_broken_says_nothing() {
    check_messages(
        Api::VllmGrpc,
        &[
            (vec![0xff; 11], "malformed"),
            (bytes(1, &packed(1, &[5])), "visible tokens=1"),
        ],
    );
}
