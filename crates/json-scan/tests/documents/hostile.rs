//! Documents made to hurt: deep, long, broken, or cleverly spelled.

use json_scan::{
    Flaw, MAX_DEPTH, MAX_WANTED_DEPTH, Node, Outcome, Progress, Scanner, TEXT_PREFIX_BYTES,
};

use crate::oracle;
use crate::recorder::{Call, Recorder, Tag, number, scan, scan_pieces, text};

static TREE: Node<Tag> = Node::root(&[
    Node::leaf("model", "model"),
    Node::leaf("n", "n"),
    Node::branch("deep", &NEST),
]);

/// A tree that is its own child, so that it has no end.
static NEST: [Node<Tag>; 1] = [Node::tagged("[]", "nest", &NEST)];

fn outcome(document: &[u8]) -> Outcome {
    scan(&TREE, document).outcome
}

fn check_flaw(document: impl AsRef<[u8]>, flaw: Flaw) {
    let document = document.as_ref();
    assert_eq!(
        outcome(document),
        Outcome::Malformed(flaw),
        "{}",
        document.escape_ascii()
    );
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn nesting_is_followed_to_the_limit_and_no_further() {
    for (open, close) in [
        ("[", "]"),
        ("{\"a\":", "}"),
        ("{\"deep\":", "}"),
        ("[\n", " ]"),
    ] {
        assert_eq!(
            outcome(nested(open, close, MAX_DEPTH).as_bytes()),
            Outcome::Complete,
            "{open}"
        );
        check_flaw(nested(open, close, MAX_DEPTH + 1), Flaw::TooDeep);
        for depth in MAX_DEPTH - 2..MAX_DEPTH + 2 {
            oracle::check(nested(open, close, depth).as_bytes(), &[depth]);
            oracle::check(open.repeat(depth).as_bytes(), &[depth]);
        }
        check_flaw(open.repeat(1_000_000), Flaw::TooDeep);
    }
    let mixed = nested("[{\"a\":", "}]", MAX_DEPTH / 2);
    assert_eq!(outcome(mixed.as_bytes()), Outcome::Complete);
    check_flaw(mixed.replace("}]}", "]]}"), Flaw::UnexpectedByte);
}

#[test]
fn a_closing_bracket_must_match_at_any_depth() {
    for depth in 1..=MAX_DEPTH {
        let kinds: Vec<bool> = (0..depth)
            .map(|level| (level * level + depth) % 3 == 0)
            .collect();
        let opened: String = kinds
            .iter()
            .map(|object| if *object { "{\"k\":" } else { "[" })
            .collect();
        let closed = |wrong: Option<usize>| -> String {
            let close = |(level, object): (usize, &bool)| {
                if *object == (wrong != Some(level)) {
                    '}'
                } else {
                    ']'
                }
            };
            kinds.iter().enumerate().rev().map(close).collect()
        };
        assert_eq!(
            outcome(format!("{opened}0{}", closed(None)).as_bytes()),
            Outcome::Complete
        );
        for wrong in 0..depth {
            let document = format!("{opened}null{}", closed(Some(wrong)));
            check_flaw(document, Flaw::UnexpectedByte);
        }
    }
}

#[test]
fn wanted_places_end_at_their_depth_while_the_document_goes_on() {
    let document = format!("{{\"deep\":{},\"n\":5}}", nested("[", "]", 100));
    let report = scan(&TREE, document.as_bytes());
    assert_eq!(report.outcome, Outcome::Complete);
    // The object and the array at `deep` are two of the levels and have no tag.
    let tagged = MAX_WANTED_DEPTH - 2;
    let opened = report
        .calls
        .iter()
        .filter(|call| matches!(call, Call::Open("nest", _)))
        .count();
    let closed = report
        .calls
        .iter()
        .filter(|call| matches!(call, Call::Close("nest", _, 1)))
        .count();
    assert_eq!((opened, closed), (tagged, tagged));
    assert_eq!(report.calls.len(), 2 * tagged + 1);
    assert_eq!(report.calls.last(), Some(&number("n", "5")));
}

#[test]
fn a_long_string_arrives_as_its_beginning_and_its_length() {
    let unit = "0123456789é\\n";
    let decoded = "0123456789é\n".repeat(80_000);
    let document = format!(
        "{{\"skipped\":\"{0}\",\"model\":\"{0}\"}}",
        unit.repeat(80_000)
    );
    for piece_bytes in [1, 7, 4096, usize::MAX] {
        let report = scan_pieces(&TREE, document.as_bytes().chunks(piece_bytes));
        assert_eq!(
            report.calls,
            [text("model", &decoded)],
            "pieces of {piece_bytes}"
        );
        assert_eq!(report.outcome, Outcome::Complete);
    }
}

#[test]
fn texts_around_the_prefix_limit_are_the_same_in_one_piece_and_in_many() {
    for len in 250..262 {
        for ending in ["", "é", "\\u00e9", "😀", "\\ud83d\\ude00"] {
            let document = format!("{{\"model\":\"{}{ending}\"}}", "x".repeat(len));
            let decoded: String = serde_json::from_str(&document[9..document.len() - 1]).unwrap();
            assert_eq!(
                scan(&TREE, document.as_bytes()).calls,
                [text("model", &decoded)]
            );
            assert_eq!(
                scan_pieces(&TREE, document.as_bytes().chunks(1)).calls,
                [text("model", &decoded)]
            );
        }
    }
}

#[test]
fn control_characters_are_refused_in_strings_and_nul_everywhere() {
    for control in 0..0x20_u8 {
        for before in [&b""[..], b"1234567", b"0123456789abcdef"] {
            check_flaw(
                [b"{\"model\":\"", before, &[control], b"\"}"].concat(),
                Flaw::ControlCharacter,
            );
            check_flaw(
                [b"{\"", before, &[control], b"\":1}"].concat(),
                Flaw::ControlCharacter,
            );
            check_flaw(
                [b"{\"x\":\"", before, &[control], b"\"}"].concat(),
                Flaw::ControlCharacter,
            );
        }
    }
    check_flaw(b"{\0}", Flaw::UnexpectedByte);
    check_flaw(b"\0", Flaw::UnexpectedByte);
    check_flaw(b"{}\0", Flaw::TrailingBytes);
    check_flaw(b"[1\0]", Flaw::BadNumber);
    assert_eq!(
        scan(&TREE, br#"{"model":"\u0000"}"#).calls,
        [text("model", "\0")]
    );
    assert_eq!(
        scan(&TREE, b"{\"model\":\"\x7f\"}").calls,
        [text("model", "\x7f")]
    );
}

#[test]
fn invalid_utf8_passes_inside_strings_and_nowhere_else() {
    let report = scan(
        &TREE,
        b"{\"skip\xff\":\"\xc3\",\"model\":\"a\xff\xed\xa0\x80\"}",
    );
    assert_eq!(report.outcome, Outcome::Complete);
    assert_eq!(report.calls, [text("model", b"a\xff\xed\xa0\x80")]);
    check_flaw(b"{\"model\":\xff}", Flaw::UnexpectedByte);
    check_flaw(b"\xef\xbb\xbf{}", Flaw::UnexpectedByte);
}

#[test]
fn a_lone_surrogate_is_replaced_and_loses_nothing_else() {
    for (lone, decoded) in [
        ("\\ud83d", "\u{fffd}"),
        ("\\ude00", "\u{fffd}"),
        ("\\ud83dx", "\u{fffd}x"),
        ("\\ud83d\\n", "\u{fffd}\n"),
        ("\\ud83d\\u0041", "\u{fffd}A"),
        ("\\ud83d\\ud83d", "\u{fffd}\u{fffd}"),
        ("\\ud83d\\ud83d\\ude00", "\u{fffd}😀"),
        ("\\uDFFF", "\u{fffd}"),
        ("\\ud83d\\\"", "\u{fffd}\""),
    ] {
        let document = format!("{{\"skipped{lone}\":\"{lone}\",\"model\":\"{lone}\"}}");
        let report = scan(&TREE, document.as_bytes());
        assert_eq!(report.outcome, Outcome::Complete, "{document}");
        assert_eq!(report.calls, [text("model", decoded)], "{document}");
    }
    check_flaw("{\"model\":\"\\ud83d\\x\"}", Flaw::BadEscape);
    assert_eq!(
        scan(&TREE, br#"{"model":"\ud83d\ude00"}"#).calls,
        [text("model", "😀")]
    );
    assert_eq!(
        scan(&TREE, br#"{"model":"\uDBFF\uDFFF"}"#).calls,
        [text("model", "\u{10ffff}")]
    );
}

#[test]
fn bad_escapes_are_refused() {
    for escape in [
        "\\x", "\\U0041", "\\u00g0", "\\u 041", "\\'", "\\\u{1}", "\\é",
    ] {
        check_flaw(format!("{{\"model\":\"{escape}\"}}"), Flaw::BadEscape);
    }
}

#[test]
fn long_numbers_are_refused_where_wanted_and_passed_where_not() {
    let longest = "9".repeat(64);
    assert_eq!(
        scan(&TREE, format!("{{\"n\":{longest}}}").as_bytes()).calls,
        [number("n", &longest)]
    );
    check_flaw(format!("{{\"n\":{longest}9}}"), Flaw::NumberTooLong);
    check_flaw(
        format!("{{\"n\":{}}}", "9".repeat(1_000_000)),
        Flaw::NumberTooLong,
    );
    let skipped = format!("{{\"x\":{},\"n\":1e999999}}", "9".repeat(1_000_000));
    assert_eq!(outcome(skipped.as_bytes()), Outcome::Complete);
    assert_eq!(
        scan(&TREE, skipped.as_bytes()).calls,
        [number("n", "1e999999")]
    );
    assert_eq!(
        scan(&TREE, br#"{"n":-18446744073709551616}"#).calls,
        [number("n", "-18446744073709551616")]
    );
}

#[test]
fn bad_numbers_are_refused_before_they_are_delivered() {
    for bad in [
        "01", "-01", "-x", "1.x", "1.", "1e", "1e+", "-", "1.e1", "0x10", "12a", "1.5.5", "1-1",
        "0\"",
    ] {
        let report = scan(&TREE, format!("{{\"n\":{bad}}}").as_bytes());
        assert_eq!(report.outcome, Outcome::Malformed(Flaw::BadNumber), "{bad}");
        assert_eq!(report.calls, [], "{bad}");
    }
    for bad in ["+1", ".5", "NaN", "Infinity"] {
        check_flaw(format!("{{\"n\":{bad}}}"), Flaw::UnexpectedByte);
    }
}

#[test]
fn other_flaws_have_their_names() {
    for document in [
        "{]",
        "[}",
        "[1}",
        "{\"a\"}",
        "{\"a\":}",
        "{,",
        "[,",
        "[1,]",
        "{\"a\":1,}",
        "{1:2}",
        "[1 2]",
        "'a'",
        "{\"a\":1 \"b\":2}",
        "/**/1",
        "True",
    ] {
        check_flaw(document, Flaw::UnexpectedByte);
    }
    for document in ["trux", "nul ", "fa\0", "[nulL]", "{\"model\":nil}"] {
        check_flaw(document, Flaw::BadLiteral);
    }
    for document in ["{}{}", "[] x", "1 2", "nullx", "\"\"\"", "{},"] {
        check_flaw(document, Flaw::TrailingBytes);
    }
}

const LONGEST_KEY: &str = match str::from_utf8(&[b'k'; TEXT_PREFIX_BYTES]) {
    Ok(key) => key,
    Err(_) => "",
};
const TOO_LONG_KEY: &str = match str::from_utf8(&[b'k'; TEXT_PREFIX_BYTES + 1]) {
    Ok(key) => key,
    Err(_) => "",
};
static LONG_KEYS: Node<Tag> = Node::root(&[
    Node::leaf(LONGEST_KEY, "longest"),
    Node::leaf(TOO_LONG_KEY, "too long"),
    Node::leaf("model", "model"),
]);

#[test]
fn keys_are_found_up_to_the_length_of_the_buffer() {
    for len in [65, 255, 256, 257, 300, 100_000] {
        let (long, model) = ("k".repeat(len), "l".repeat(len));
        let document = format!("{{\"{long}\":1,\"model{model}\":2,\"model\":3}}");
        let longest = (len == TEXT_PREFIX_BYTES).then(|| number("longest", "1"));
        let expected: Vec<Call> = longest.into_iter().chain([number("model", "3")]).collect();
        for piece_bytes in [1, 64, usize::MAX] {
            let report = scan_pieces(&LONG_KEYS, document.as_bytes().chunks(piece_bytes));
            assert_eq!(
                report.calls, expected,
                "key of {len}, pieces of {piece_bytes}"
            );
            assert_eq!(report.outcome, Outcome::Complete);
        }
    }
}

#[test]
fn nothing_is_looked_at_after_a_flaw() {
    let mut scanner = Scanner::new(&TREE);
    let mut recorder = Recorder::default();
    let broken = Progress::Malformed(Flaw::UnexpectedByte);
    assert_eq!(scanner.push(br#"{"n":1,,"n":2"#, &mut recorder), broken);
    assert_eq!(scanner.push(br#","n":3}"#, &mut recorder), broken);
    assert_eq!(
        scanner.finish(&mut recorder),
        Outcome::Malformed(Flaw::UnexpectedByte)
    );
    assert_eq!(recorder.calls, [number("n", "1")]);
}

#[test]
fn every_flaw_has_a_name_of_its_own() {
    let mut names: Vec<&str> = Flaw::ALL.iter().map(|flaw| flaw.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Flaw::ALL.len());
}
