//! However a stream is cut, it says what the whole-body splitter says.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::oracle::split_whole;
use crate::recorder::{cut, parse_pieces};

const STREAMS: &[&[u8]] = &[
    b"data: {\"a\":1}\n\ndata: [DONE]\n\n",
    b"event: message_start\r\ndata: {}\r\n\r\nevent: ping\r\ndata:\r\n\r\n",
    b"data: a\rdata: b\r\rdata: c\r\r",
    b"data: a\r\ndata: b\n\r\ndata: c\r\n\n\r",
    b"\xef\xbb\xbfdata: after a mark\n\n",
    b"\xef\xbb\xbf\xef\xbb\xbfdata: after two marks\n\n",
    b"\xef\xbbdata: no mark\n\n",
    b"\xef\xbb",
    b"\xef",
    b"\xef\n\n",
    b"\xef\xbb\xbf",
    b": keep-alive\n\n:\n\n: OPENROUTER PROCESSING\n\ndata:x\n\n",
    b"data:no space\ndata:  two spaces\ndata: \ndata:\ndata\n\n",
    b"data\n\ndata",
    b"event: error\n: the reason\n\n",
    b"error: {\"code\":500}\n\nid: 7\nretry: 10\nid\nretry\nevent\n\n",
    b"Data: x\n data: y\ndata : z\ndatax: 1\ndat: 2\n\n",
    b"averyveryverylongfieldnamethatnobodyknows: x\naveryveryverylongfieldname\n\n",
    b"data: a: b: c\n\n: a: b\n\n::\n\n",
    b"\n\n\r\r\r\n\r\n\n",
    b"data: no blank line at the end\n",
    b"data: no line end at the end",
    b"data: ends with a carriage return\r",
    b"data:",
    b"data: ",
    b"",
    b"data: a\n\n{\n  \"error\": {\n    \"code\": 503\r\n  }\r}\n\ndata: b\n\n",
    b"data: a\n{\"error\":1}\n{\"error\":2}\ndata: b\n[]\n{",
    b"{}\nevent: e\n{\n]\n\n  {}\n",
    b"data: nul \0 and \xff\xfe\n\0: x\n\n",
];

#[test]
fn a_cut_at_any_position_changes_nothing() {
    for stream in STREAMS {
        let expected = split_whole(stream);
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            let shown = stream.escape_ascii();
            assert_eq!(parse_pieces([head, tail]), expected, "{shown} cut at {at}");
        }
    }
}

#[test]
fn pieces_of_any_even_size_change_nothing() {
    for stream in STREAMS {
        let expected = split_whole(stream);
        for size in 1..=stream.len() {
            let shown = stream.escape_ascii();
            assert_eq!(
                parse_pieces(stream.chunks(size)),
                expected,
                "{shown} by {size}"
            );
        }
    }
}

#[test]
fn empty_pieces_between_change_nothing() {
    for stream in STREAMS {
        let spread = stream
            .chunks(1)
            .flat_map(|piece| [&b""[..], piece, &b""[..]]);
        assert_eq!(parse_pieces(spread), split_whole(stream));
    }
}

#[test]
fn every_short_stream_over_the_grammars_bytes_says_what_the_splitter_says() {
    const SCRAPS: [&[u8]; 9] = [
        b"\n",
        b"\r",
        b":",
        b" ",
        b"data",
        b"id",
        b"x",
        b"\xef\xbb\xbf",
        b"\xef",
    ];
    let mut streams = vec![Vec::new()];
    for _ in 0..5 {
        let longer = |stream: &Vec<u8>| {
            let stream = stream.clone();
            SCRAPS.map(|scrap| [&stream[..], scrap].concat())
        };
        streams = streams.iter().flat_map(longer).collect();
        for stream in &streams {
            let expected = split_whole(stream);
            assert_eq!(
                parse_pieces([&stream[..]]),
                expected,
                "{}",
                stream.escape_ascii()
            );
            assert_eq!(
                parse_pieces(stream.chunks(1)),
                expected,
                "{}",
                stream.escape_ascii()
            );
        }
    }
    assert_eq!(streams.len(), SCRAPS.len().pow(5));
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop::sample::select(vec![
        &b"\n"[..],
        b"\r",
        b"\r\n",
        b"\n\n",
        b"data",
        b"event",
        b"id",
        b"retry",
        b"da",
        b"ta",
        b":",
        b" ",
        b": ",
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xbb\xbf",
        b"data: {\"x\":1}\n\n",
        b": ping\n\n",
        b"longer than any name",
        b"\0",
    ]);
    let scraps = vec(scrap, 0..30).prop_map(|scraps| scraps.concat());
    prop_oneof![4 => scraps, 1 => vec(any::<u8>(), 0..60)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_stream_in_any_pieces_says_what_the_splitter_says(
        stream in stream(),
        cuts in vec(any::<usize>(), 0..10),
    ) {
        prop_assert_eq!(parse_pieces(cut(&stream, &cuts)), split_whole(&stream));
    }
}
