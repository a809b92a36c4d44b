//! Accepted is what serde_json accepts, and the calls are those its reading of the document implies.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::oracle::check;

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "é\n", "", "[]"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~é😀\\x00-\\x1f]{0,300}".prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A document of scraps that mean something to the grammar, most of them nearly right.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\":", "\\", "\\u", "d83d", "\\ude00",
        "\\ud83d", "0041", "\\n", "true", "fals", "e", "E", "null", "nul", "0", "-", "12", ".",
        "+", " ", "\n", "\u{1}", "é", "\u{feff}", "\u{0}", "[{\"a\":", "1e999",
    ]);
    vec(scrap, 0..16).prop_map(|scraps| scraps.concat().into_bytes())
}

#[derive(Debug, Clone)]
enum Mutation {
    Replace(usize, u8),
    Insert(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Truncate(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![
        prop::sample::select(&b"{}[],:\"\\ue01-+. \n\0"[..]),
        any::<u8>()
    ];
    let at = any::<usize>();
    prop_oneof![
        (at, byte.clone()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (at, byte).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        (at, 1..5_usize).prop_map(|(at, len)| Mutation::Remove(at, len)),
        (at, 1..30_usize).prop_map(|(at, len)| Mutation::Repeat(at, len)),
        at.prop_map(Mutation::Truncate),
    ]
}

fn mutate(document: &mut Vec<u8>, mutation: &Mutation) {
    let within = |at: usize| at % (document.len() + 1);
    match *mutation {
        Mutation::Replace(at, byte) => {
            let at = within(at);
            document.splice(at..(at + 1).min(document.len()), [byte]);
        }
        Mutation::Insert(at, byte) => document.insert(within(at), byte),
        Mutation::Remove(at, len) => {
            let at = within(at);
            document.drain(at..(at + len).min(document.len()));
        }
        Mutation::Repeat(at, len) => {
            let at = within(at);
            let piece = document[at..(at + len).min(document.len())].to_vec();
            document.splice(at..at, piece);
        }
        Mutation::Truncate(at) => document.truncate(within(at)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_value_written_by_serde_json_is_read_the_same(
        value in value(),
        cuts in vec(any::<usize>(), 0..6),
    ) {
        check(&serde_json::to_vec(&value).unwrap(), &cuts);
        check(&serde_json::to_vec_pretty(&value).unwrap(), &cuts);
    }

    #[test]
    fn a_document_with_some_bytes_changed_is_judged_as_serde_json_judges_it(
        value in value(),
        pretty in any::<bool>(),
        mutations in vec(mutation(), 1..4),
        cuts in vec(any::<usize>(), 0..6),
    ) {
        let written = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        let mut document = written.unwrap();
        for mutation in &mutations {
            mutate(&mut document, mutation);
        }
        check(&document, &cuts);
    }

    #[test]
    fn scraps_of_grammar_are_judged_as_serde_json_judges_them(
        scraps in vec(scraps(), 1..8),
        cuts in vec(any::<usize>(), 0..6),
    ) {
        scraps.iter().for_each(|document| check(document, &cuts));
    }
}

#[test]
fn every_short_document_over_the_grammars_bytes_is_judged_as_serde_json_judges_it() {
    const ALPHABET: &[u8] = b"{}[],:\"\\ua01-.e \x01";
    let mut documents = vec![Vec::new()];
    for _ in 0..4 {
        documents.iter().for_each(|document| check(document, &[1]));
        documents = longer_by_one(&documents, ALPHABET);
    }
    documents.iter().for_each(|document| check(document, &[1]));
    assert_eq!(documents.len(), ALPHABET.len().pow(4));
}

#[test]
fn every_string_of_escapes_is_judged_as_serde_json_judges_it() {
    let pieces = [
        "\\u", "d83d", "de00", "0041", "00E9", "DBFF", "\\", "n", "\"", "x",
    ];
    let mut bodies = vec![String::new()];
    for _ in 0..5 {
        bodies = bodies
            .iter()
            .flat_map(|body| pieces.map(|piece| format!("{body}{piece}")))
            .collect();
        for body in &bodies {
            check(format!("\"{body}\"").as_bytes(), &[4]);
        }
    }
}

#[test]
fn every_short_number_is_judged_as_serde_json_judges_it() {
    let mut numbers = vec![Vec::new()];
    for _ in 0..6 {
        numbers = longer_by_one(&numbers, b"0.1e+-");
        numbers.iter().for_each(|number| check(number, &[1]));
    }
    for number in numbers {
        check(&[b"[", &number[..], b"]"].concat(), &[2]);
    }
}

#[test]
fn any_byte_after_any_run_of_digits_is_judged_as_serde_json_judges_it() {
    for digits in 1..=20 {
        for byte in 0..0x80 {
            for (before, after) in [("", ""), ("-", "1"), ("0.", "12345678"), ("1e-0", "")] {
                let run = "987654321".repeat(3);
                let number = [
                    before.as_bytes(),
                    &run.as_bytes()[..digits],
                    &[byte],
                    after.as_bytes(),
                ];
                let document = [b"[1,", &number.concat()[..], b"]"].concat();
                check(&document, &[digits]);
            }
        }
    }
}

fn longer_by_one(documents: &[Vec<u8>], alphabet: &[u8]) -> Vec<Vec<u8>> {
    let longer = |document: &Vec<u8>| {
        let document = document.clone();
        alphabet
            .iter()
            .map(move |byte| [&document[..], &[*byte]].concat())
    };
    documents.iter().flat_map(longer).collect()
}
