//! Finds the name that was probably meant.

/// The most similar name, if it is near enough to be a slip of the pen, or holds the other as a part.
pub(crate) fn nearest<'a>(
    given: &str,
    names: &mut dyn Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = folded(given);
    // No name is looked for behind a whole paragraph.
    if given.len() > 64 {
        return None;
    }
    names
        .filter_map(|name| Some((strangeness(&given, &folded(name))?, name)))
        .min_by_key(|(strangeness, _)| *strangeness)
        .map(|(_, name)| name)
}

/// How far two names are apart; nothing where they are too far to be meant for each other.
fn strangeness(given: &str, name: &str) -> Option<usize> {
    // A third of the letters may be wrong.
    let allowed = given.len().div_ceil(3).min(4);
    let distance = distance(given.as_bytes(), name.as_bytes());
    if distance <= allowed {
        return Some(distance);
    }
    // A part comes after every slip, and one that is not the beginning after all that are.
    let is_part = given.len().min(name.len()) >= 4 && (holds(given, name) || holds(name, given));
    let begins_alike = given.starts_with(name) || name.starts_with(given);
    let rank: usize = if begins_alike { 100 } else { 200 };
    is_part.then(|| given.len().abs_diff(name.len()).saturating_add(rank))
}

/// The library's search is made for texts longer than names, and is far larger.
fn holds(text: &str, part: &str) -> bool {
    text.as_bytes()
        .windows(part.len().max(1))
        .any(|window| window == part.as_bytes())
}

/// Capitals, blanks, hyphens and dots are not worth a difference: `Path-Suffix` is `path_suffix`.
fn folded(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '-' | ' ' | '.' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// Letters to insert, delete or replace (Levenshtein).
fn distance(left: &[u8], right: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, a) in left.iter().enumerate() {
        let mut diagonal = line;
        let mut before = line.saturating_add(1);
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = before;
        }
        for (cell, b) in cells.zip(right) {
            let replaced = diagonal.saturating_add(usize::from(a != b));
            diagonal = *cell;
            *cell = replaced
                .min(before.saturating_add(1))
                .min(diagonal.saturating_add(1));
            before = *cell;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_letters() {
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("route", "routes", 1),
            ("lables", "labels", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(
                distance(left.as_bytes(), right.as_bytes()),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn only_a_slip_of_the_pen_is_taken_for_a_name() {
        let names = [
            "scrape",
            "routes",
            "path_suffix",
            "inference.requests",
            "inference.requests.in_flight",
            "ollama_chat",
            "chat_completions",
        ];
        for (given, expected) in [
            ("scrap", Some("scrape")),
            ("Path-Suffix", Some("path_suffix")),
            ("ROUTES", Some("routes")),
            ("path", Some("path_suffix")),
            ("inference_requests_total", Some("inference.requests")),
            ("in_flight", Some("inference.requests.in_flight")),
            ("chat", Some("chat_completions")),
            ("ollama", Some("ollama_chat")),
            ("otlp", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &mut names.into_iter()), expected, "{given}");
        }
        assert_eq!(nearest(&"scrape".repeat(20), &mut names.into_iter()), None);
    }
}
