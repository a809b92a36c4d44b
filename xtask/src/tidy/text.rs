//! Rules for every text: nothing left undone, no place of somebody's own machine.

use super::Complaint;

/// Marks of unfinished work; written in halves, so that this file does not hold them.
const UNFINISHED: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X:"),
];
/// A test that is left out is a check that is silently skipped.
const LEFT_OUT: &str = concat!("#[igno", "re");
/// Where a path begins that exists on one machine only.
const HOMES: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
];

/// What is wrong with one file.
pub(super) fn check(file: &str, content: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in content.lines().enumerate() {
        let mut complain = |message: String| {
            complaints.push(Complaint {
                file: file.to_owned(),
                line: index + 1,
                message,
            });
        };
        for mark in UNFINISHED {
            if line.contains(mark) {
                complain(format!(
                    "`{mark}`: finish it, or say plainly that it is missing"
                ));
            }
        }
        if line.contains(LEFT_OUT) {
            complain("a test is left out: run it or remove it".to_owned());
        }
        for home in HOMES {
            if names_a_place(line, home) {
                complain(format!("a path below {home} exists on one machine only"));
            }
        }
    }
    complaints
}

/// Whether a path begins with `home` in this line, and not only holds it somewhere inside.
fn names_a_place(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|letter| !letter.is_alphanumeric() && !"._-/*}~$>".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(content: &str) -> Vec<String> {
        check("file", content)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn each_mark_of_unfinished_work_is_found_with_its_line() {
        for mark in UNFINISHED {
            let found = messages(&format!("fine\n    {mark} later"));
            assert_eq!(found.len(), 1, "{mark}: {found:?}");
            assert!(found[0].starts_with("file:2: "), "{found:?}");
        }
    }

    #[test]
    fn a_test_that_is_left_out_is_found() {
        assert_eq!(messages(&format!("{LEFT_OUT}]")).len(), 1);
        assert_eq!(messages(&format!("{LEFT_OUT} = \"slow\"]")).len(), 1);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for home in HOMES {
            assert_eq!(
                messages(&format!("see `{home}somebody/notes`")).len(),
                1,
                "{home}"
            );
            assert_eq!(messages(&format!("{home}x")).len(), 1, "{home}");
        }
    }

    #[test]
    fn the_same_letters_inside_a_path_or_a_web_address_are_fine() {
        for home in HOMES {
            for prefix in ["https://example.org", "target", "$ROOT", "..", "<root>"] {
                assert_eq!(messages(&format!("{prefix}{home}x")), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn ordinary_text_has_no_complaints() {
        assert_eq!(
            messages("use std::path::Path;\n// A method, todos los dias.\n"),
            Vec::<String>::new()
        );
    }
}
