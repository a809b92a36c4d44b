//! What single lines and events say, written out.

use sse_parser::Field::{self, Bare, Comment, Data, Error, Event, Id, Retry, Unknown};
use sse_parser::SseParser;

use crate::recorder::{Recorder, Said, parse_pieces};

fn line(field: Field, value: &str) -> Said {
    Said::Line(field, value.as_bytes().to_vec())
}

const END: Said = Said::Dispatch;

fn check(stream: &str, expected: &[Said]) {
    assert_eq!(parse_pieces([stream.as_bytes()]), expected, "{stream:?}");
    assert_eq!(
        parse_pieces(stream.as_bytes().chunks(1)),
        expected,
        "{stream:?} byte by byte"
    );
}

#[test]
fn an_event_is_its_fields_and_its_end() {
    check("data: a\n\n", &[line(Data, "a"), END]);
    check(
        "event: e\ndata: a\nid: 1\nretry: 5\n\n",
        &[
            line(Event, "e"),
            line(Data, "a"),
            line(Id, "1"),
            line(Retry, "5"),
            END,
        ],
    );
}

#[test]
fn several_data_lines_belong_to_one_event() {
    check(
        "data: {\ndata: \"a\":1\ndata: }\n\n",
        &[line(Data, "{"), line(Data, "\"a\":1"), line(Data, "}"), END],
    );
}

#[test]
fn one_space_after_the_colon_is_dropped_and_no_more() {
    check("data:a\n\n", &[line(Data, "a"), END]);
    check("data:  a \n\n", &[line(Data, " a "), END]);
    check("data: \n\n", &[line(Data, ""), END]);
    check("data:\ta\n\n", &[line(Data, "\ta"), END]);
}

#[test]
fn a_line_without_a_colon_is_a_field_with_an_empty_value() {
    check("data\n\n", &[line(Data, ""), END]);
    check("something\n\n", &[line(Unknown, ""), END]);
    check("error: {}\n\n", &[line(Error, "{}"), END]);
    check("errors: {}\n\n", &[line(Unknown, "{}"), END]);
}

#[test]
fn comments_make_no_event() {
    check(": keep-alive\n\n", &[line(Comment, "keep-alive")]);
    check(":\n\n:\r\r", &[line(Comment, ""), line(Comment, "")]);
    check(
        ": a\ndata: b\n: c\n\n",
        &[line(Comment, "a"), line(Data, "b"), line(Comment, "c"), END],
    );
}

#[test]
fn an_event_without_data_is_still_an_event() {
    check(
        "event: error\n: why\n\n",
        &[line(Event, "error"), line(Comment, "why"), END],
    );
}

#[test]
fn names_must_match_exactly() {
    for name in [
        "Data",
        "DATA",
        " data",
        "data ",
        "dat",
        "datas",
        "\u{feff}data",
        "x",
        "data\0",
    ] {
        check(
            &format!("x:\n{name}: v\n\n"),
            &[line(Unknown, ""), line(Unknown, "v"), END],
        );
    }
}

#[test]
fn each_line_end_counts_once() {
    let events = [line(Data, "a"), END, line(Data, "b"), END];
    check("data: a\n\ndata: b\n\n", &events);
    check("data: a\r\rdata: b\r\r", &events);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &events);
    check("data: a\n\r\ndata: b\r\n\r", &events);
    check("data: a\r\n\rdata: b\n\r", &events);
}

#[test]
fn a_line_feed_that_arrives_late_belongs_to_its_carriage_return() {
    let two_lines = parse_pieces([&b"data: a\r"[..], b"\ndata: b\r", b"\n\r", b"\n"]);
    assert_eq!(two_lines, [line(Data, "a"), line(Data, "b"), END]);
}

#[test]
fn an_event_that_ends_with_a_carriage_return_is_dispatched_at_once() {
    let mut parser = SseParser::new();
    let mut recorder = Recorder::default();
    parser.push(b"data: a\r\n\r", &mut recorder);
    assert_eq!(recorder.said, [line(Data, "a"), END]);
    parser.push(b"\n", &mut recorder);
    parser.finish(&mut recorder);
    assert_eq!(recorder.said, [line(Data, "a"), END]);
}

#[test]
fn only_a_mark_at_the_very_beginning_is_dropped() {
    check("\u{feff}data: a\n\n", &[line(Data, "a"), END]);
    check("\u{feff}\n\ndata: a\n\n", &[line(Data, "a"), END]);
    check("\n\u{feff}data: a\n\n", &[line(Unknown, "a"), END]);
    check("\u{feff}\u{feff}data: a\n\n", &[line(Unknown, "a"), END]);
}

#[test]
fn the_end_of_the_stream_completes_what_is_unfinished() {
    check("data: a", &[line(Data, "a"), END]);
    check("data: a\n", &[line(Data, "a"), END]);
    check("data", &[line(Data, ""), END]);
    check("data:", &[line(Data, ""), END]);
    check(": a", &[line(Comment, "a")]);
    check("", &[]);
    check("\n", &[]);
}

#[test]
fn a_finished_parser_begins_a_new_stream() {
    let mut parser = SseParser::new();
    for ending in [
        "data: a\n\n",
        "data: a",
        "dat",
        "x: ",
        "\u{feff}",
        ": a\r",
        "data: a\r",
    ] {
        parser.push(ending.as_bytes(), &mut Recorder::default());
        parser.finish(&mut Recorder::default());
        let mut recorder = Recorder::default();
        parser.finish(&mut recorder);
        parser.push("\u{feff}data: b\n\n".as_bytes(), &mut recorder);
        assert_eq!(recorder.said, [line(Data, "b"), END], "after {ending:?}");
        parser.finish(&mut recorder);
    }
}

#[test]
fn a_clone_goes_on_by_itself() {
    let mut parser = SseParser::default();
    parser.push(b"id: 1\ndat", &mut Recorder::default());
    let mut clone = parser.clone();
    let (mut first, mut second) = (Recorder::default(), Recorder::default());
    parser.push(b"a: x\n\n", &mut first);
    clone.push(b"e: y\n\n", &mut second);
    assert_eq!(first.said, [line(Data, "x"), END]);
    assert_eq!(second.said, [line(Unknown, "y"), END]);
}

#[test]
fn every_field_has_a_name_of_its_own() {
    let mut names: Vec<&str> = Field::ALL.iter().map(|field| field.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Field::ALL.len());
}

#[test]
fn a_document_without_a_field_is_an_event_of_its_own() {
    check(
        "data: a\n{\n  \"error\": 1\n}\ndata: b\n\n",
        &[
            line(Data, "a"),
            END,
            line(Bare, "{"),
            line(Bare, "  \"error\": 1"),
            line(Bare, "}"),
            END,
            line(Data, "b"),
            END,
        ],
    );
    check(
        "{\"a\":1}\n{\"b\":2}\n\n}\n\n",
        &[
            line(Bare, "{\"a\":1}"),
            END,
            line(Bare, "{\"b\":2}"),
            END,
            line(Unknown, ""),
            END,
        ],
    );
}
