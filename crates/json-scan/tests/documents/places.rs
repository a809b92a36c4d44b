//! Which places reach the sink, with what, and in which order.

use json_scan::{Container, Node, Outcome, Progress, Scanner};

use crate::recorder::{Call, Recorder, Tag, number, scan, text};

static TREE: Node<Tag> = Node::root(&[
    Node::leaf("model", "model"),
    Node::leaf("", "empty key"),
    Node::tagged("prompt", "prompt", &[Node::leaf("[]", "prompt[]")]),
    Node::branch("usage", &[Node::leaf("tokens", "usage.tokens")]),
]);

fn check(document: &str, expected: &[Call]) {
    let report = scan(&TREE, document.as_bytes());
    assert_eq!(report.outcome, Outcome::Complete, "{document}");
    assert_eq!(report.calls, expected, "{document}");
}

#[test]
fn scalars_arrive_with_their_kind() {
    check(r#"{"model":null}"#, &[Call::Null("model")]);
    check(r#"{"model":true}"#, &[Call::Bool("model", true)]);
    check(r#"{"model":false}"#, &[Call::Bool("model", false)]);
    check(r#"{"model":-0.5E+3}"#, &[number("model", "-0.5E+3")]);
    check(r#"{"model":""}"#, &[text("model", "")]);
    check(r#"{"model":"m"}"#, &[text("model", "m")]);
}

#[test]
fn a_place_that_may_be_a_string_or_an_array_is_told_apart() {
    check(r#"{"prompt":"one"}"#, &[text("prompt", "one")]);
    check(
        r#"{"prompt":["one","two"]}"#,
        &[
            Call::Open("prompt", Container::Array),
            text("prompt[]", "one"),
            text("prompt[]", "two"),
            Call::Close("prompt", Container::Array, 2),
        ],
    );
    check(
        r#"{"prompt":[[1,2],[],{"prompt":[3]}]}"#,
        &[
            Call::Open("prompt", Container::Array),
            Call::Open("prompt[]", Container::Array),
            Call::Close("prompt[]", Container::Array, 2),
            Call::Open("prompt[]", Container::Array),
            Call::Close("prompt[]", Container::Array, 0),
            Call::Open("prompt[]", Container::Object),
            Call::Close("prompt[]", Container::Object, 1),
            Call::Close("prompt", Container::Array, 3),
        ],
    );
}

#[test]
fn places_are_found_only_where_the_whole_path_matches() {
    check(
        r#"{"x":{"model":"no"},"usage":{"model":"no","tokens":7},"tokens":8}"#,
        &[number("usage.tokens", "7")],
    );
    check(r#"[{"model":"no"}]"#, &[]);
    check(r#"{"usage":[{"tokens":7}]}"#, &[]);
    check(r#"{"usage":{"usage":{"tokens":7}}}"#, &[]);
    check(
        r#"{"Model":"no","model ":"no","mode":"no","models":"no"}"#,
        &[],
    );
}

#[test]
fn every_occurrence_of_a_duplicate_key_arrives() {
    check(
        r#"{"model":"a","usage":{"tokens":1},"model":"b","usage":{"tokens":2}}"#,
        &[
            text("model", "a"),
            number("usage.tokens", "1"),
            text("model", "b"),
            number("usage.tokens", "2"),
        ],
    );
}

#[test]
fn keys_are_compared_with_their_escapes_resolved() {
    check(
        r#"{"mod\u0065l":"a","\u006D\u006f\u0064el":"b"}"#,
        &[text("model", "a"), text("model", "b")],
    );
    check(r#"{"\"model\"":"no","model\u0000":"no"}"#, &[]);
}

#[test]
fn escapes_of_every_kind_may_follow_one_another() {
    check(
        r#"{"model":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\u00e9\uD83D\uDE00x"}"#,
        &[text("model", "\"\\/\u{8}\u{c}\n\r\tA😀é😀x")],
    );
}

#[test]
fn an_empty_key_is_a_key() {
    check(r#"{"":1,"usage":{"":2}}"#, &[number("empty key", "1")]);
}

#[test]
fn a_member_called_like_the_sign_for_elements_is_no_element() {
    check(
        r#"{"prompt":{"[]":"no"}}"#,
        &[
            Call::Open("prompt", Container::Object),
            Call::Close("prompt", Container::Object, 1),
        ],
    );
}

#[test]
fn the_first_of_two_siblings_with_one_key_counts() {
    static TWICE: Node<Tag> = Node::root(&[Node::leaf("a", "first"), Node::leaf("a", "second")]);
    assert_eq!(scan(&TWICE, br#"{"a":1}"#).calls, [number("first", "1")]);
}

#[test]
fn the_top_level_value_can_be_wanted() {
    static TOP: Node<Tag> = Node::tagged_root("top", &[]);
    let calls = |document: &str| scan(&TOP, document.as_bytes()).calls;
    assert_eq!(calls("12"), [number("top", "12")]);
    assert_eq!(calls("12 "), [number("top", "12")]);
    assert_eq!(calls("\"x\""), [text("top", "x")]);
    assert_eq!(calls("null"), [Call::Null("top")]);
    assert_eq!(
        calls("[[],1,{}]"),
        [
            Call::Open("top", Container::Array),
            Call::Close("top", Container::Array, 3),
        ]
    );
}

#[test]
fn a_top_level_number_is_complete_only_at_the_end() {
    static TOP: Node<Tag> = Node::tagged_root("top", &[]);
    let mut scanner = Scanner::new(&TOP);
    let mut recorder = Recorder::default();
    assert_eq!(scanner.push(b"1", &mut recorder), Progress::More);
    assert_eq!(scanner.push(b"2", &mut recorder), Progress::More);
    assert_eq!(recorder.calls, []);
    assert_eq!(scanner.finish(&mut recorder), Outcome::Complete);
    assert_eq!(scanner.finish(&mut recorder), Outcome::Complete);
    assert_eq!(recorder.calls, [number("top", "12")]);
}

#[test]
fn progress_tells_the_moment_of_completion() {
    let mut scanner = Scanner::new(&TREE);
    let mut recorder = Recorder::default();
    assert_eq!(scanner.push(b"", &mut recorder), Progress::More);
    assert_eq!(scanner.push(b" {\"a\":[1]", &mut recorder), Progress::More);
    assert_eq!(scanner.push(b"}", &mut recorder), Progress::Complete);
    assert_eq!(scanner.push(b" \n", &mut recorder), Progress::Complete);
    assert_eq!(scanner.finish(&mut recorder), Outcome::Complete);
}

#[test]
fn the_ends_of_input_are_told_apart() {
    let outcome = |document: &str| scan(&TREE, document.as_bytes()).outcome;
    assert_eq!(outcome(""), Outcome::Empty);
    assert_eq!(outcome(" \r\n\t"), Outcome::Empty);
    for truncated in [
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "[",
        "[1",
        "\"",
        "\"\\",
        "\"\\u00",
        "t",
        "-",
        "1.",
        "1e",
    ] {
        assert_eq!(outcome(truncated), Outcome::Truncated, "{truncated}");
    }
    for complete in ["{}", "[]", "0", "\"\"", "true", " null "] {
        assert_eq!(outcome(complete), Outcome::Complete, "{complete}");
    }
}

#[test]
fn a_clone_goes_on_by_itself() {
    let mut recorder = Recorder::default();
    let mut scanner = Scanner::new(&TREE);
    scanner.push(br#"{"model":"ab\n"#, &mut recorder);
    let mut clone = scanner.clone();
    let mut clones_recorder = Recorder::default();
    scanner.push(br#"c"}"#, &mut recorder);
    clone.push(br#"d"}"#, &mut clones_recorder);
    assert_eq!(recorder.calls, [text("model", "ab\nc")]);
    assert_eq!(clones_recorder.calls, [text("model", "ab\nd")]);
}

#[test]
fn reset_forgets_whatever_came_before() {
    let beginnings = [
        "",
        "{",
        "{\"model\":\"x",
        "{\"prompt\":[[\"\\ud83d",
        "[[[",
        "{\"model\":12",
        "tru",
        "}",
        "{} x",
        "1",
    ];
    for beginning in beginnings {
        let mut scanner = Scanner::new(&TREE);
        scanner.push(beginning.as_bytes(), &mut Recorder::default());
        scanner.reset();
        let mut recorder = Recorder::default();
        scanner.push(br#"{"model":3,"prompt":["#, &mut recorder);
        scanner.push(br#"]}"#, &mut recorder);
        assert_eq!(
            scanner.finish(&mut recorder),
            Outcome::Complete,
            "{beginning}"
        );
        let expected = [
            number("model", "3"),
            Call::Open("prompt", Container::Array),
            Call::Close("prompt", Container::Array, 0),
        ];
        assert_eq!(recorder.calls, expected, "{beginning}");
    }
}
