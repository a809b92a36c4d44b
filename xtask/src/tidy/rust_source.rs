//! Rules for Rust files: a first line that says what the file is for, and sizes one can hold in one's head.
//!
//! The source is read as rustfmt writes it, so the brace that closes an item stands at the item's own depth.

use super::Complaint;

/// Most code lines of a file.
const FILE_LIMIT: usize = 600;
/// Most code lines of a function.
const FUNCTION_LIMIT: usize = 100;

/// What is wrong with one Rust file.
pub(super) fn check(file: &str, content: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |line: usize, message: String| {
        complaints.push(Complaint {
            file: file.to_owned(),
            line,
            message,
        });
    };
    let says_something = |line: &str| {
        line.strip_prefix("//!")
            .is_some_and(|rest| rest.trim().len() > 1)
    };
    if !content.lines().next().is_some_and(says_something) {
        complain(
            1,
            "the first line must be `//!` and say what the file is for".to_owned(),
        );
    }
    if is_test_file(file) {
        return complaints;
    }
    let lines = without_tests(content);
    let code = lines.iter().filter(|(_, line)| is_code(line)).count();
    if code > FILE_LIMIT {
        complain(
            0,
            format!("{code} code lines; split it, {FILE_LIMIT} are the limit"),
        );
    }
    for function in functions(&lines) {
        if function.code_lines > FUNCTION_LIMIT {
            complain(
                function.line,
                format!(
                    "a function of {} code lines; split it, {FUNCTION_LIMIT} are the limit",
                    function.code_lines
                ),
            );
        }
    }
    complaints
}

fn is_test_file(file: &str) -> bool {
    let in_tests = |folder: &str| file.contains(&format!("/{folder}/"));
    in_tests("tests")
        || in_tests("benches")
        || file.ends_with("/tests.rs")
        || file.ends_with("_tests.rs")
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where an item ends that begins at `lines[start]`: the index after its last line.
fn end_of_item(lines: &[(usize, &str)], start: usize) -> usize {
    let Some((_, first)) = lines.get(start) else {
        return start;
    };
    let closing = format!("{}}}", " ".repeat(depth(first)));
    let ends = |line: &str| line.trim_end() == closing;
    let rest = lines.iter().skip(start + 1);
    start + 2 + rest.take_while(|(_, line)| !ends(line)).count()
}

/// The numbered lines of a file without its test modules.
fn without_tests(content: &str) -> Vec<(usize, &str)> {
    let all: Vec<(usize, &str)> = content
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line))
        .collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(&(number, line)) = all.get(at) {
        let next = all.get(at + 1).map_or("", |(_, line)| line.trim());
        let opens_tests =
            line.trim() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{');
        if opens_tests {
            at = end_of_item(&all, at + 1);
        } else {
            kept.push((number, line));
            at += 1;
        }
    }
    kept
}

struct Function {
    line: usize,
    code_lines: usize,
}

fn functions(lines: &[(usize, &str)]) -> Vec<Function> {
    let mut found = Vec::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        if !begins_function(line) || ends_at_once(lines, index) {
            continue;
        }
        let end = end_of_item(lines, index);
        let body = lines.iter().take(end).skip(index);
        let code_lines = body.filter(|(_, line)| is_code(line)).count();
        found.push(Function {
            line: *number,
            code_lines,
        });
    }
    found
}

fn begins_function(line: &str) -> bool {
    let words = line.split_whitespace();
    for word in words {
        match word {
            "const" | "async" | "unsafe" | "extern" | "\"C\"" | "default" => {}
            "fn" => return true,
            word if word == "pub" || word.starts_with("pub(") || word.ends_with(')') => {}
            _ => return false,
        }
    }
    false
}

/// Whether a function has no body, or one that ends on the line where its head ends.
fn ends_at_once(lines: &[(usize, &str)], start: usize) -> bool {
    let Some((_, first)) = lines.get(start) else {
        return true;
    };
    let at = depth(first);
    // A head over several lines closes with `)` at its own depth.
    let head_end = if first.trim_end().ends_with('(') {
        let closes = |line: &str| depth(line) == at && line.trim_start().starts_with(')');
        lines.iter().skip(start).find(|(_, line)| closes(line))
    } else {
        lines.get(start)
    };
    head_end.is_none_or(|(_, line)| line.trim_end().ends_with([';', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(file: &str, content: &str) -> Vec<String> {
        check(file, content)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines))
    }

    #[test]
    fn a_file_must_say_what_it_is_for_on_line_one() {
        for content in [
            "",
            "use a::b;\n",
            "\n//! Late.\n",
            "//!\n//! Late.\n",
            "// Not a page.\n",
        ] {
            assert_eq!(messages("src/a.rs", content).len(), 1, "{content:?}");
        }
        assert_eq!(messages("src/a.rs", "//! Says it.\n"), Vec::<String>::new());
    }

    #[test]
    fn a_file_of_too_many_code_lines_is_found_and_one_at_the_limit_is_not() {
        let page = |lines| format!("//! Says it.\n{}", "const A: u8 = 1;\n".repeat(lines));
        assert_eq!(
            messages("src/a.rs", &page(FILE_LIMIT)),
            Vec::<String>::new()
        );
        let found = messages("src/a.rs", &page(FILE_LIMIT + 1));
        assert_eq!(
            found,
            ["src/a.rs: 601 code lines; split it, 600 are the limit"]
        );
    }

    #[test]
    fn comments_blank_lines_and_test_modules_are_no_code_lines() {
        let code = "const A: u8 = 1;\n".repeat(FILE_LIMIT);
        let notes = "// A reason.\n\n".repeat(FILE_LIMIT);
        let tests = format!(
            "#[cfg(test)]\nmod tests {{\n{}}}\n",
            "    use a;\n".repeat(FILE_LIMIT)
        );
        assert_eq!(
            messages("src/a.rs", &format!("//! Says it.\n{notes}{code}{tests}")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn code_after_a_test_module_still_counts() {
        let tests = "#[cfg(test)]\nmod tests {\n    use a;\n}\n";
        let code = "const A: u8 = 1;\n".repeat(FILE_LIMIT + 1);
        assert_eq!(
            messages("src/a.rs", &format!("//! Says it.\n{tests}{code}")).len(),
            1
        );
    }

    #[test]
    fn a_long_function_is_found_at_its_line_and_one_at_the_limit_is_not() {
        // The head and the closing brace are two of the lines.
        let fits = format!("//! Says it.\n{}", function_of(FUNCTION_LIMIT - 2));
        assert_eq!(messages("src/a.rs", &fits), Vec::<String>::new());
        let long = format!("//! Says it.\n\n{}", function_of(FUNCTION_LIMIT - 1));
        let found = messages("src/a.rs", &long);
        assert_eq!(
            found,
            ["src/a.rs:3: a function of 101 code lines; split it, 100 are the limit"]
        );
    }

    #[test]
    fn a_long_method_with_a_head_over_several_lines_is_found() {
        let body = "        step();\n".repeat(FUNCTION_LIMIT);
        let head = "    pub(crate) async fn long(\n        &self,\n    ) -> u8 {\n";
        let content = format!("//! Says it.\nimpl A {{\n{head}{body}    }}\n}}\n");
        assert_eq!(messages("src/a.rs", &content).len(), 1);
    }

    #[test]
    fn a_function_without_a_body_does_not_swallow_what_follows() {
        let head =
            "    fn one(&self);\n    fn two(\n        &self,\n    ) -> u8;\n    fn three() {}\n";
        let rest = "    const A: u8 = 1;\n".repeat(FUNCTION_LIMIT + 1);
        let content = format!("//! Says it.\ntrait A {{\n{head}{rest}}}\n");
        assert_eq!(messages("src/a.rs", &content), Vec::<String>::new());
    }

    #[test]
    fn test_files_may_be_long_but_must_say_what_they_are_for() {
        let long = format!("//! Says it.\n{}", function_of(FILE_LIMIT));
        for file in [
            "host-tests/tests/a.rs",
            "crates/a/src/tests.rs",
            "crates/a/src/b_tests.rs",
        ] {
            assert_eq!(messages(file, &long), Vec::<String>::new(), "{file}");
            assert_eq!(messages(file, "fn a() {}\n").len(), 1, "{file}");
        }
    }
}
