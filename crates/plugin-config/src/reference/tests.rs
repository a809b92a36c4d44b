//! The page and the schema are complete, current and true.

use super::*;
use crate::parse;

fn all_paths(keys: &[Key], parent: &str, out: &mut Vec<String>) {
    for key in keys {
        let path = child(parent, key.name);
        out.push(path.clone());
        match &key.shape {
            Shape::Object(keys) | Shape::SwitchOrObject(keys) => all_paths(keys, &path, out),
            Shape::List(Shape::Object(keys), _) => all_paths(keys, &format!("{path}[]"), out),
            _ => {}
        }
    }
}

#[test]
fn every_key_has_one_note_and_every_note_a_key() {
    let mut keys = Vec::new();
    all_paths(TOP, "", &mut keys);
    let notes: Vec<&str> = NOTES.iter().map(|note| note.path).collect();
    assert_eq!(notes, keys);
    assert!(NOTES.iter().all(|note| note.meaning.ends_with('.')));
}

#[test]
fn giving_a_default_amounts_to_leaving_the_key_out() {
    for note in NOTES.iter().filter(|note| !note.default.is_empty()) {
        let value = note
            .path
            .rsplit('.')
            .fold(note.default.to_owned(), |json, key| {
                format!("{{\"{key}\": {json}}}")
            });
        // The scrape path has a default only where nothing is observed.
        let (with, without) = match note.path {
            "scrape.path" => (
                value.replacen('{', "{\"observe\": false, ", 1),
                r#"{"observe": false, "scrape": {}}"#.to_owned(),
            ),
            // Nothing is pushed without a cluster to push to, and a signal's section turns it on.
            path if path.starts_with("push.") => {
                let section = match path.split('.').collect::<Vec<_>>()[..] {
                    [_, section, _] => format!(", \"{section}\": {{}}"),
                    _ => String::new(),
                };
                (
                    value.replacen("\"push\": {", "\"push\": {\"cluster\": \"c\", ", 1),
                    format!(r#"{{"push": {{"cluster": "c"{section}}}}}"#),
                )
            }
            _ => (value, "{}".to_owned()),
        };
        let parsed = parse(with.as_bytes()).unwrap_or_else(|mistakes| panic!("{with}: {mistakes}"));
        assert_eq!(parsed, parse(without.as_bytes()).unwrap(), "{with}");
    }
}

#[test]
fn every_example_is_accepted_without_a_warning() {
    for example in EXAMPLES {
        let parsed = parse(example.json.as_bytes())
            .unwrap_or_else(|mistakes| panic!("{}: {mistakes}", example.json));
        assert!(
            parsed.warnings.is_empty(),
            "{}: {:?}",
            example.json,
            parsed.warnings
        );
    }
}

#[test]
fn every_word_of_the_schema_is_accepted_and_every_key_is_known_to_it() {
    let mut keys = Vec::new();
    all_paths(TOP, "", &mut keys);
    for path in keys {
        let place = path.split('.').fold(schema::schema(), |schema, key| {
            let schema = match schema.get("anyOf") {
                Some(choices) => choices[1].clone(),
                None => schema,
            };
            let (key, is_list) = key
                .strip_suffix("[]")
                .map_or((key, false), |key| (key, true));
            let found = schema["properties"][key].clone();
            if is_list {
                found["items"].clone()
            } else {
                found
            }
        });
        assert!(place["description"].is_string(), "{path}");
    }
}

#[test]
fn the_committed_page_and_schema_are_current() {
    let schema = format!("{:#}\n", schema::schema());
    for (name, current) in [
        ("CONFIG.md", config_markdown()),
        ("config.schema.json", schema),
    ] {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        let committed = read(&path);
        assert!(
            committed == current,
            "docs/{name} is out of date; run `cargo xtask gen`"
        );
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this test compares a file of the repository"
)]
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
