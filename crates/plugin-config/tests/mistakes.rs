//! The exact text of every mistake that people will read.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use expect_test::{Expect, expect, expect_file};
use plugin_config::{Problem, parse};

/// What is printed for a configuration.
fn messages(json: &str) -> String {
    match parse(json.as_bytes()) {
        Ok(_) => "ACCEPTED".to_owned(),
        Err(mistakes) => mistakes.to_string(),
    }
}

/// `mistakes.txt` holds a heading a line with `#`, and blocks of a configuration, a line `--` and its messages, with an
/// empty line after each. `UPDATE_EXPECT=1` writes the messages anew.
#[test]
fn every_configuration_of_the_list_gives_its_messages() {
    let mut rewritten = Vec::new();
    let mut refused: usize = 0;
    for block in include_str!("mistakes.txt").trim_end().split("\n\n") {
        rewritten.push(match block.split_once("\n--") {
            Some((json, _)) => {
                let messages = messages(json);
                assert_ne!(messages, "ACCEPTED", "{json}");
                refused += messages.lines().count();
                format!("{json}\n--\n{messages}")
            }
            None => {
                assert!(block.starts_with("# "), "{block}");
                block.to_owned()
            }
        });
    }
    expect_file!["mistakes.txt"].assert_eq(&format!("{}\n", rewritten.join("\n\n")));
    assert!(refused >= 80, "the list has lost blocks: {refused}");
}

fn check(json: &str, expected: Expect) {
    expected.assert_eq(&messages(json));
}

#[test]
fn nesting_has_a_limit() {
    check(
        &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        expect![
            "line 1, column 128: the text is not JSON (recursion limit exceeded); give one JSON object"
        ],
    );
}

#[test]
fn bytes_that_are_no_utf8_are_refused() {
    let mistakes = parse(b"{\"provider\": \"\xff\"}").unwrap_err();
    assert_eq!(mistakes.len(), 1);
    expect![
        "line 1, column 15: the text is not JSON (invalid unicode code point); give one JSON object"
    ]
    .assert_eq(&mistakes.to_string());
}

#[test]
fn more_bounds_and_more_models_than_the_caps_are_refused() {
    let bounds: Vec<String> = (1..=33).map(|bound| bound.to_string()).collect();
    let json = format!(
        r#"{{"buckets": {{"inference.request.duration": [{}]}}}}"#,
        bounds.join(", ")
    );
    check(
        &json,
        expect![[
            r#"key `buckets["inference.request.duration"]`: `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, …` is not accepted; give a list of 1 to 32 ascending bounds"#
        ]],
    );
    let names: Vec<String> = (0..101).map(|index| format!("\"m{index}\"")).collect();
    let json = format!(r#"{{"models": {{"allow": [{}]}}}}"#, names.join(", "));
    check(
        &json,
        expect![
            "key `models.max`: it is missing; give at least 101, as `models.allow` has so many names"
        ],
    );
    let headers: Vec<String> = (0..33)
        .map(|index| {
            format!(r#"{{"header": "h{index}", "meaning": "total_time", "unit": "seconds"}}"#)
        })
        .collect();
    let json = format!(r#"{{"telemetry_headers": [{}]}}"#, headers.join(", "));
    check(
        &json,
        expect![[
            r#"key `telemetry_headers`: `[{"header": "h0", "meaning": "total_time", "unit": "seconds"…` is not accepted; give a list of 1 to 32 elements, each an object with the keys `header`, `meaning`, `unit`"#
        ]],
    );
    let routes: Vec<String> = (0..65)
        .map(|index| format!(r#"{{"path_suffix": "/{index}", "api": "messages"}}"#))
        .collect();
    let json = format!(r#"{{"routes": [{}]}}"#, routes.join(", "));
    check(
        &json,
        expect![[
            r#"key `routes`: `[{"path_suffix": "/0", "api": "messages"}, {"path_suffix": "…` is not accepted; give a list of 1 to 64 elements, each an object with the keys `path_suffix`, `api`"#
        ]],
    );
}

#[test]
fn long_values_are_cut() {
    let json = format!(r#"{{"tick": "{}"}}"#, "9".repeat(100_000));
    check(
        &json,
        expect![[
            r#"key `tick`: `"99999999999999999999999999999999999999999999999999999999999…` is not accepted; give a duration from 100ms to 60s, such as `"1s"`"#
        ]],
    );
    let json = format!(r#"{{"limits": {{"k{}": 1}}}}"#, "e".repeat(100_000));
    check(
        &json,
        expect![
            "key `limits.keeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee…`: there is no such key; here belong the key `series`"
        ],
    );
    let json = format!(r#"{{"tick": [{}1]}}"#, "[1, {\"a\": null}], ".repeat(1000));
    check(
        &json,
        expect![[
            r#"key `tick`: `[[1, {"a": null}], [1, {"a": null}], [1, {"a": null}], [1, {…` is not accepted; give a duration from 100ms to 60s, such as `"1s"`"#
        ]],
    );
}

#[test]
fn only_the_first_fifty_mistakes_are_printed_but_all_are_kept() {
    let keys: Vec<String> = (0..60).map(|index| format!("\"key{index}\": 1")).collect();
    let mistakes = parse(format!("{{{}}}", keys.join(", ")).as_bytes()).unwrap_err();
    assert_eq!(mistakes.len(), 60);
    let text = mistakes.to_string();
    assert_eq!(text.lines().count(), 51);
    assert_eq!(text.lines().last(), Some("and 10 more"));
}

#[test]
fn a_mistake_holds_its_parts() {
    let mistakes = parse(br#"{"limits": {"series": 5}}"#).unwrap_err();
    let mistake = mistakes.iter().next().unwrap();
    assert_eq!(mistake.path, "limits.series");
    assert_eq!(mistake.problem, Problem::NotAccepted);
    assert_eq!(mistake.given, "5");
    assert_eq!(mistake.accepted, "a whole number from 100 to 200000");
}

#[test]
fn no_cut_and_no_changed_byte_of_a_configuration_panics() {
    let mut checked: usize = 0;
    for block in include_str!("mistakes.txt").split("\n\n") {
        let bytes = block.split("\n--").next().unwrap().as_bytes();
        for place in 0..bytes.len() {
            for other in [b'"', b'}', b'0', b'-', 0xff, 0] {
                let mut changed = bytes.to_vec();
                changed[place] = other;
                checked += usize::from(parse(&changed).is_err_and(|mistakes| !mistakes.is_empty()));
            }
            checked +=
                usize::from(parse(&bytes[..place]).is_err_and(|mistakes| !mistakes.is_empty()));
        }
    }
    assert!(checked > 10_000, "{checked}");
}
