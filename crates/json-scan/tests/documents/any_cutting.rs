//! However the input is cut, the calls and the verdict are the same.

use json_scan::Node;

use crate::recorder::{Tag, scan, scan_pieces};

static TREE: Node<Tag> = Node::root(&[
    Node::leaf("model", "model"),
    Node::leaf("stream", "stream"),
    Node::leaf("n", "n"),
    Node::tagged(
        "choices",
        "choices",
        &[Node::tagged(
            "[]",
            "choice",
            &[
                Node::branch("delta", &[Node::leaf("content", "content")]),
                Node::leaf("finish_reason", "finish_reason"),
            ],
        )],
    ),
]);

const DOCUMENTS: &[&[u8]] = &[
    br#"{"model":"gpt","choices":[{"delta":{"content":" \"hi\" \ud83d\ude00\n"},"finish_reason":null}],"n":-1.5e+7}"#,
    br#" { "mod\u0065l" : "a\tb" , "other" : [ [ ] , { } , "x\\y" , false ] , "stream" : true , "choices" : [ ] } "#,
    b"{\"model\":\"\xff\xf0\x9f\",\"n\":12,\"stream\":false,\"skipped\":\"\xc3\"}",
    br#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#,
    br#"{"n":01}"#,
    br#"{"n":12x}"#,
    br#"{"n":1234567890123456789012345678901234567890123456789012345678901234567890}"#,
    br#"{"n":123456789012345678901234567890123456789012345678901234567890123x}"#,
    br#"{"stream":trux}"#,
    br#"{"stream":trtrue}"#,
    b"[null,nunull]",
    b"[false,false,ffalse]",
    br#"{"model":"a"}}"#,
    br#"{"model":"a"} {"model":"b"}"#,
    br#"{"model":"unfinished"#,
    br#"[1,2,{"a":[{"b":null}]},"#,
    b"{\"model\":\"line\nbreak\"}",
    b"  \r\n\t ",
    b"",
    b"0",
    b"-",
    b"  12.5e3  ",
];

#[test]
fn a_cut_at_any_position_changes_nothing() {
    for document in DOCUMENTS {
        let whole = scan(&TREE, document);
        for at in 0..=document.len() {
            let (head, tail) = document.split_at(at);
            assert_eq!(scan_pieces(&TREE, [head, tail]), whole, "cut at {at}");
        }
    }
}

#[test]
fn two_cuts_at_any_positions_change_nothing() {
    for document in DOCUMENTS {
        let whole = scan(&TREE, document);
        for first in 0..document.len() {
            for second in first..document.len() {
                let pieces = [
                    &document[..first],
                    &document[first..second],
                    &document[second..],
                ];
                assert_eq!(
                    scan_pieces(&TREE, pieces),
                    whole,
                    "cut at {first} and {second}"
                );
            }
        }
    }
}

#[test]
fn pieces_of_any_even_size_change_nothing() {
    for document in DOCUMENTS.iter().filter(|document| !document.is_empty()) {
        let whole = scan(&TREE, document);
        for size in 1..=document.len() {
            assert_eq!(
                scan_pieces(&TREE, document.chunks(size)),
                whole,
                "pieces of {size}"
            );
        }
    }
}

#[test]
fn empty_pieces_between_change_nothing() {
    for document in DOCUMENTS {
        let spread = document
            .chunks(1)
            .flat_map(|piece| [&b""[..], piece, &b""[..]]);
        assert_eq!(
            scan_pieces(&TREE, spread).calls,
            scan(&TREE, document).calls
        );
    }
}
