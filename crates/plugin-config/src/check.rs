//! Holds a tree against the table and names everything that does not fit.

use crate::json::{Json, member_path};
use crate::metrics::{Histogram, histogram};
use crate::mistake::Mistakes;
use crate::near::nearest;
use crate::shape::{
    Key, LARGEST_BOUND, MOST_BOUNDS, Map, Shape, bound_range, duration_millis, histogram_names,
    key_names,
};
use crate::text::{number, quoted, shortened};

/// Names every place where the value does not have the shape. Goes on after each.
pub(crate) fn check(shape: &Shape, json: &Json, path: &str, mistakes: &mut Mistakes) {
    match (shape, json) {
        (Shape::Object(keys) | Shape::SwitchOrObject(keys), Json::Object(members)) => {
            check_object(keys, members, path, mistakes);
        }
        (Shape::List(element, most), Json::List(elements))
            if (1..=*most).contains(&elements.len()) =>
        {
            check_list(element, elements, path, mistakes);
        }
        (Shape::Buckets, Json::Object(members)) => check_buckets(members, path, mistakes),
        (Shape::Map(map), Json::Object(members)) if (1..=map.most).contains(&members.len()) => {
            check_map(map, members, path, mistakes);
        }
        _ if is_accepted(shape, json) => {}
        _ => {
            let accepted = shape.accepted_instead_of(json.as_text().unwrap_or_default());
            let given = match json {
                Json::Number(_) if shape.holds_secrets() => "a number that is not shown".to_owned(),
                Json::Text(_) if shape.holds_secrets() => "a text that is not shown".to_owned(),
                Json::List(elements) if shape.holds_secrets() && !elements.is_empty() => {
                    "a list that is not shown".to_owned()
                }
                Json::Object(members) if shape.holds_secrets() && !members.is_empty() => {
                    "an object that is not shown".to_owned()
                }
                _ => quoted(json),
            };
            mistakes.refuse(path, given, accepted);
        }
    }
}

/// Whether a single value has the shape.
fn is_accepted(shape: &Shape, json: &Json) -> bool {
    match (shape, json) {
        (Shape::Switch | Shape::SwitchOrObject(_), Json::Switch(_)) => true,
        (Shape::Choice(words), Json::Text(text)) => words.contains(&text.as_str()),
        (Shape::Whole(least, most), Json::Number(value)) => {
            is_whole(*value) && *value >= f64::from(*least) && *value <= f64::from(*most)
        }
        (Shape::Ratio, Json::Number(value)) => (0.0..=1.0).contains(value),
        (Shape::Duration(least, most), Json::Text(text)) => {
            duration_millis(text, *least, *most).is_some()
        }
        (Shape::Text(rule), Json::Text(text)) => rule.accepts(text),
        (Shape::Listed(listed), Json::Text(text)) => listed.names.contains(&text.as_str()),
        _ => false,
    }
}

fn check_object(keys: &[Key], members: &[(String, Json)], path: &str, mistakes: &mut Mistakes) {
    for (index, (name, value)) in members.iter().enumerate() {
        let place = member_path(path, name);
        if is_repeated(members, index, name) {
            mistakes.repeat(&place, shortened(name));
            continue;
        }
        match keys.iter().find(|key| key.name == name) {
            Some(key) => check(&key.shape, value, &place, mistakes),
            None => {
                let near = nearest(name, &mut keys.iter().map(|key| key.name));
                mistakes.not_known(
                    &place,
                    name,
                    near,
                    format!("here belong the {}", key_names(keys)),
                );
            }
        }
    }
    for key in keys.iter().filter(|key| key.required) {
        if !members.iter().any(|(name, _)| name == key.name) {
            mistakes.miss(&member_path(path, key.name), key.shape.accepted());
        }
    }
}

fn check_list(shape: &Shape, elements: &[Json], path: &str, mistakes: &mut Mistakes) {
    // Routes are the same when they end alike, whatever API they name; so are headers of one name.
    let key_of = |element: &Json| {
        ["path_suffix", "header"]
            .into_iter()
            .find(|key| element.member(key).is_some())
    };
    let identity = |element: &Json| key_of(element).and_then(|key| element.member(key)).cloned();
    for (index, element) in elements.iter().enumerate() {
        let place = format!("{path}[{index}]");
        let mut earlier = elements.iter().take(index);
        match identity(element) {
            None if earlier.any(|other| other == element) => {
                mistakes.repeat(&place, quoted(element))
            }
            Some(suffix) if earlier.any(|other| identity(other).as_ref() == Some(&suffix)) => {
                let key = key_of(element).unwrap_or_default();
                mistakes.repeat(&member_path(&place, key), quoted(&suffix));
            }
            _ => check(shape, element, &place, mistakes),
        }
    }
}

fn check_map(map: &Map, members: &[(String, Json)], path: &str, mistakes: &mut Mistakes) {
    for (index, (name, value)) in members.iter().enumerate() {
        let place = member_path(path, name);
        if is_repeated(members, index, name) {
            mistakes.repeat(&place, shortened(name));
        } else if !map.name.accepts(name) {
            mistakes.refuse(path, shortened(name), map.name.accepted().to_owned());
        } else {
            check(&Shape::Text(map.value), value, &place, mistakes);
        }
    }
}

fn check_buckets(members: &[(String, Json)], path: &str, mistakes: &mut Mistakes) {
    for (index, (name, value)) in members.iter().enumerate() {
        let place = member_path(path, name);
        match histogram(name) {
            _ if is_repeated(members, index, name) => mistakes.repeat(&place, shortened(name)),
            Some(histogram) => check_bounds(histogram, value, &place, mistakes),
            None => {
                let near = nearest(name, &mut histogram_names());
                mistakes.not_known(
                    &place,
                    name,
                    near,
                    "the histograms stand in `docs/METRICS.md`".to_owned(),
                );
            }
        }
    }
}

fn check_bounds(histogram: &Histogram, json: &Json, path: &str, mistakes: &mut Mistakes) {
    let elements = json.elements();
    if !(1..=MOST_BOUNDS).contains(&elements.len()) {
        mistakes.refuse(
            path,
            quoted(json),
            format!("a list of 1 to {MOST_BOUNDS} ascending bounds"),
        );
        return;
    }
    let least = histogram.least_bound();
    let mut before: Option<f64> = None;
    for (index, element) in elements.iter().enumerate() {
        let bound = element.as_number().filter(|bound| {
            (least..=LARGEST_BOUND).contains(bound) && (histogram.per_unit > 1 || is_whole(*bound))
        });
        let accepted = match (bound, before) {
            (None, _) => bound_range(least),
            // Bounds that fall on the same integer would make a bucket that nothing can fall into.
            (Some(bound), Some(before)) if histogram.scaled(bound) <= histogram.scaled(before) => {
                format!("a bound above the one before it, {}", number(before))
            }
            (Some(bound), _) => {
                before = Some(bound);
                continue;
            }
        };
        mistakes.refuse(&format!("{path}[{index}]"), quoted(element), accepted);
    }
}

fn is_repeated(members: &[(String, Json)], index: usize, name: &str) -> bool {
    members
        .iter()
        .take(index)
        .any(|(earlier, _)| earlier == name)
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0
}
