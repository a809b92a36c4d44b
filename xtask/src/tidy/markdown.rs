//! Rules for pages: every path they name and every file they link to exists.

use super::Complaint;

/// Folders at the root whose mention is a path and not a word.
const FOLDERS: [&str; 12] = [
    ".cargo/",
    ".ci/",
    "crates/",
    "docs/",
    "envoy/",
    "fuzz/",
    "host-tests/",
    "manifests/",
    "plugins/",
    "testdata/",
    "tools/",
    "xtask/",
];

/// What is wrong with one page; `exists` tells whether a path from the root of the repository is there.
pub(super) fn check(file: &str, content: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut in_block = false;
    for (index, line) in content.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        let mut complain = |message: String| {
            complaints.push(Complaint {
                file: file.to_owned(),
                line: index + 1,
                message,
            });
        };
        for path in quoted_paths(line) {
            if !exists(&path) && !exists(&beside(file, &path)) {
                complain(format!("`{path}` does not exist"));
            }
        }
        for target in links(line) {
            if !exists(&beside(file, target)) {
                complain(format!("the link to {target} leads nowhere"));
            }
        }
    }
    complaints
}

/// A path relative to the page, from the root of the repository.
fn beside(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The paths of this repository that a line names in backticks.
fn quoted_paths(line: &str) -> Vec<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let words = quoted.flat_map(str::split_whitespace);
    words.filter_map(path_of).collect()
}

/// The part of a word that must exist, when it is a path of this repository.
fn path_of(word: &str) -> Option<String> {
    let word = word
        .strip_prefix("./")
        .unwrap_or(word)
        .trim_end_matches([',', ';', '.', ':']);
    let page = word.ends_with(".md") && !word.contains('/');
    if !page && !FOLDERS.iter().any(|folder| word.starts_with(folder)) {
        return None;
    }
    // What follows a line number, a pattern or a placeholder is not part of the path.
    let end = word
        .find(['*', '{', '<', ':', '$', '…'])
        .unwrap_or(word.len());
    let path = word.get(..end)?;
    let whole = if end < word.len() && !word.get(end..)?.starts_with(':') {
        path.rsplit_once('/').map_or(path, |(folder, _)| folder)
    } else {
        path
    };
    Some(whole.trim_end_matches('/').to_owned())
}

/// The files that a line links to; links to the web and inside the page are not looked at.
fn links(line: &str) -> Vec<&str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with(['#', '<']));
    let files = files.filter(|target| !target.starts_with("mailto:"));
    files
        .filter_map(|target| target.split(['#', ' ']).next())
        .filter(|target| !target.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(file: &str, content: &str) -> Vec<String> {
        let there = [
            "crates/sse-parser",
            "docs/CONFIG.md",
            "README.md",
            "docs/picture.svg",
            ".ci/run",
        ];
        let exists = |path: &str| there.contains(&path);
        check(file, content, &exists)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_path_in_backticks_must_exist() {
        let found = messages("README.md", "fine\nsee `crates/gone/src/lib.rs` there");
        assert_eq!(
            found,
            ["README.md:2: `crates/gone/src/lib.rs` does not exist"]
        );
        for dead in [
            "`docs/OLD.md`",
            "`.ci/gone`",
            "`cat tools/gone`",
            "`GONE.md`",
            "`xtask/*`",
        ] {
            assert_eq!(messages("README.md", dead).len(), 1, "{dead}");
        }
    }

    #[test]
    fn live_paths_are_fine_with_line_numbers_and_patterns() {
        for live in [
            "`crates/sse-parser`",
            "`crates/sse-parser/`",
            "`crates/sse-parser/*`",
            "`crates/sse-parser:12`",
            "`crates/sse-parser/<name>.rs`",
            "`CONFIG.md`",
            "`README.md`",
            "`./.ci/run`",
        ] {
            let file = if live == "`CONFIG.md`" {
                "docs/METRICS.md"
            } else {
                "README.md"
            };
            assert_eq!(messages(file, live), Vec::<String>::new(), "{live}");
        }
    }

    #[test]
    fn words_that_are_no_path_of_the_repository_are_not_looked_at() {
        let line =
            "`/v1/chat/completions`, `text/event-stream`, `target/inferometer`, `a.b`, crates/gone";
        assert_eq!(messages("README.md", line), Vec::<String>::new());
    }

    #[test]
    fn a_link_must_lead_somewhere() {
        let found = messages("docs/METRICS.md", "[a](OLD.md) and [b](../gone.txt#part)");
        assert_eq!(found.len(), 2, "{found:?}");
        let live = "[a](CONFIG.md#keys) ![b](picture.svg) [c](../README.md) [d](#here) [e](https://x.org/y)";
        assert_eq!(messages("docs/METRICS.md", live), Vec::<String>::new());
    }

    #[test]
    fn blocks_of_code_are_not_looked_at() {
        assert_eq!(
            messages("README.md", "```sh\ncat `docs/gone`\n```\n"),
            Vec::<String>::new()
        );
        assert_eq!(messages("README.md", "```sh\n```\n`docs/gone`").len(), 1);
    }
}
