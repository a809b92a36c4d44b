//! Rules between keys: contradictions are mistakes, keys without effect are warnings.

use response_telemetry::{Meaning, Unit};

use crate::config::{Config, Profiles, profiles};
use crate::json::{Json, member_path};
use crate::mistake::Mistakes;
use crate::shape::words_listed;
use crate::text::{listed, quoted};

/// Keys that mean nothing where nothing is observed.
const OBSERVERS_KEYS: &[&str] = &[
    "routes",
    "provider",
    "telemetry_headers",
    "profiles",
    "semconv",
    "envoy_stats",
    "buckets",
    "labels",
    "models",
    "limits",
];

/// Names contradictions between keys. The single values may hold mistakes of their own.
pub(crate) fn check(tree: &Json, mistakes: &mut Mistakes) {
    check_roles(tree, mistakes);
    check_push(tree, mistakes);
    check_models(tree, mistakes);
    check_telemetry_headers(tree, mistakes);
}

/// Whether a signal is pushed; metrics are unless they are turned off.
fn pushes(tree: &Json, signal: &str) -> bool {
    let section = tree.at("push").map(|push| push.member(signal));
    match section {
        None => false,
        Some(None) => signal == "metrics",
        Some(Some(section)) => section != &Json::Switch(false),
    }
}

fn check_push(tree: &Json, mistakes: &mut Mistakes) {
    let pushes_any = ["metrics", "traces", "logs"].map(|signal| pushes(tree, signal));
    if tree.at("push").is_some() && pushes_any == [false; 3] {
        let accepted = "`true`, or turn on `traces` or `logs`, as nothing is pushed";
        mistakes.refuse("push.metrics", "false".to_owned(), accepted.to_owned());
    }
}

/// A switch that is absent or no switch counts as on, as observing is the default.
fn observes(tree: &Json) -> bool {
    tree.at("observe").and_then(Json::as_switch).unwrap_or(true)
}

fn check_roles(tree: &Json, mistakes: &mut Mistakes) {
    let scrape = tree.at("scrape");
    if !observes(tree) {
        if scrape.is_none() && tree.at("push").is_none() {
            let accepted = "`true`, or add `scrape` or `push`, as this configuration does nothing";
            mistakes.refuse("observe", "false".to_owned(), accepted.to_owned());
        }
        return;
    }
    let Some(Json::Object(_)) = scrape else {
        return;
    };
    const ACCEPTED: &str = "a path of its own, such as `\"/inferometer/metrics\"`, as this configuration observes too \
                            and `/metrics` there is the engine's own";
    match tree.at("scrape.path") {
        None => mistakes.miss("scrape.path", ACCEPTED.to_owned()),
        Some(path) if is_engine_path(path) => {
            mistakes.refuse("scrape.path", quoted(path), ACCEPTED.to_owned());
        }
        Some(_) => {}
    }
}

fn is_engine_path(path: &Json) -> bool {
    path.as_text()
        .is_some_and(|path| path.trim_end_matches('/') == Config::ENGINE_METRICS_PATH)
}

fn check_models(tree: &Json, mistakes: &mut Mistakes) {
    let allowed = tree
        .at("models.allow")
        .map_or(0, |list| list.elements().len());
    let max = tree.at("models.max");
    let most = max
        .and_then(Json::as_number)
        .unwrap_or(Config::default().models().max() as f64);
    if allowed > 0 && allowed as f64 > most {
        let accepted = format!("at least {allowed}, as `models.allow` has so many names");
        match max {
            Some(given) => mistakes.refuse("models.max", quoted(given), accepted),
            None => mistakes.miss("models.max", accepted),
        }
    }
}

fn check_telemetry_headers(tree: &Json, mistakes: &mut Mistakes) {
    let headers = tree.at("telemetry_headers").map(Json::elements);
    for (index, header) in headers.unwrap_or_default().iter().enumerate() {
        let word = |key: &str| header.member(key).and_then(Json::as_text);
        let (Some(meaning), Some(unit)) = (
            word("meaning").and_then(Meaning::from_name),
            word("unit").and_then(Unit::from_name),
        ) else {
            continue;
        };
        if !meaning.units().contains(&unit) {
            let fitting: Vec<&str> = meaning.units().iter().map(|unit| unit.as_str()).collect();
            let accepted = format!(
                "{}{}, as `{}` is written so",
                if fitting.len() > 1 { "one of " } else { "" },
                words_listed(&fitting),
                meaning.as_str(),
            );
            let path = format!("telemetry_headers[{index}].unit");
            mistakes.refuse(&path, format!("\"{}\"", unit.as_str()), accepted);
        }
    }
}

/// What works but is probably not meant. The tree has no mistakes.
pub(crate) fn warnings(tree: &Json) -> Vec<String> {
    let mut warnings = Vec::new();
    if pushes(tree, "metrics") && tree.at("scrape").is_some() {
        warnings.push(
            "`push` and `scrape` are both on: a backend that gets both has every metric twice"
                .to_owned(),
        );
    }
    if !observes(tree) {
        let present = OBSERVERS_KEYS
            .iter()
            .copied()
            .filter(|key| tree.at(key).is_some());
        let pushed = [("push.traces", "traces"), ("push.logs", "logs")]
            .into_iter()
            .filter(|(_, signal)| pushes(tree, signal))
            .map(|(key, _)| key);
        let idle = listed(&mut present.chain(pushed));
        if !idle.is_empty() {
            warnings.push(format!("without effect while `observe` is `false`: {idle}"));
        }
        return warnings;
    }
    if tree.at("scrape").is_some() && tree.at("envoy_stats") != Some(&Json::Switch(false)) {
        warnings.push(
            "`scrape` and `envoy_stats` are both on: a backend that reads this page and the proxy's own stats gets \
             every mirrored metric twice"
                .to_owned(),
        );
    }
    let chosen = profiles(tree);
    let head = tree.at("semconv").and_then(Json::as_text) == Some("head");
    for (name, _) in tree.at("buckets").map(Json::members).unwrap_or_default() {
        if let Some(reason) = why_not_kept(name, chosen, head) {
            warnings.push(format!(
                "key `{}` is without effect: {reason}",
                member_path("buckets", name)
            ));
        }
    }
    let mirrored = tree
        .at("envoy_stats.metrics")
        .map(Json::elements)
        .unwrap_or_default();
    for (index, name) in mirrored.iter().enumerate() {
        if let Some(reason) = name
            .as_text()
            .and_then(|name| why_not_kept(name, chosen, head))
        {
            warnings.push(format!(
                "key `envoy_stats.metrics[{index}]` is without effect: {reason}"
            ));
        }
    }
    warnings
}

/// Why this configuration does not keep the metric of that name; nothing if it does.
fn why_not_kept(name: &str, profiles: Profiles, head: bool) -> Option<&'static str> {
    let of_head = name.starts_with("gen_ai.client.inference.");
    if name.starts_with("gen_ai.") && !profiles.gen_ai() {
        Some("the profile `gen_ai` is not on")
    } else if name.starts_with("inference.") && !profiles.inference() {
        Some("the profile `inference` is not on")
    } else if of_head && !head {
        Some("the metric belongs to `semconv` `\"head\"`")
    } else if name == "gen_ai.client.token.usage" && head {
        Some("the metric belongs to `semconv` `\"v1.41\"`")
    } else {
        None
    }
}
