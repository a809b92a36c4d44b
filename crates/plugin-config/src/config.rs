//! The checked configuration: private fields, every default in one place, no way to build it wrong.

use llm_payloads::Api;
use response_telemetry::{HeaderRule, Meaning, Unit};

use crate::MIRRORED_METRICS;
use crate::foreign_words;
use crate::json::Json;
use crate::metrics::histogram;
use crate::push::Push;
use crate::shape::{TICK_MILLIS, duration_millis};

/// A configuration that was accepted. Built by [`crate::parse`] alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    observes: bool,
    routes: Vec<Route>,
    provider: Option<String>,
    telemetry_headers: Vec<HeaderRule>,
    profiles: Profiles,
    semconv: Semconv,
    envoy_stats: Option<Vec<&'static str>>,
    scrape_path: Option<String>,
    push: Option<Push>,
    buckets: Vec<(&'static str, Vec<f64>)>,
    labels: Labels,
    models: Models,
    limits: Limits,
    tick_millis: u32,
}

/// A path ending that is watched besides the well-known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    path_suffix: String,
    api: Api,
}

/// Which groups of metrics are kept, besides the module's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profiles {
    gen_ai: bool,
    inference: bool,
}

/// The version of the semantic conventions that names the `gen_ai` metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Semconv {
    /// The last release that held them, 1.41.
    V1_41,
    /// The head of the conventions' own repository.
    Head,
}

/// Labels that can be switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels {
    server_address: bool,
    upstream_cluster: bool,
    upstream_endpoint: bool,
    route: bool,
    inference_objective: bool,
    inference_fairness_id: bool,
    inference_model_rewrite: bool,
    destination_endpoint: bool,
}

/// Which model names may become label values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    allow: Vec<String>,
    max: usize,
}

/// Limits of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    series: usize,
}

impl Default for Config {
    /// What `{}` means.
    fn default() -> Config {
        Config {
            observes: true,
            routes: Vec::new(),
            provider: None,
            telemetry_headers: Vec::new(),
            profiles: Profiles {
                gen_ai: true,
                inference: true,
            },
            semconv: Semconv::V1_41,
            envoy_stats: Some(MIRRORED_METRICS.to_vec()),
            scrape_path: None,
            push: None,
            buckets: Vec::new(),
            labels: Labels {
                server_address: false,
                upstream_cluster: true,
                upstream_endpoint: false,
                route: false,
                inference_objective: false,
                inference_fairness_id: false,
                inference_model_rewrite: false,
                destination_endpoint: false,
            },
            models: Models {
                allow: Vec::new(),
                max: 100,
            },
            limits: Limits { series: 20_000 },
            tick_millis: 1000,
        }
    }
}

impl Config {
    /// Where an observing configuration may not answer, because the engine does; and where a scrape listener answers
    /// unless told otherwise.
    pub(crate) const ENGINE_METRICS_PATH: &'static str = "/metrics";

    /// Whether requests are watched.
    pub fn observes(&self) -> bool {
        self.observes
    }

    /// Routes watched besides the well-known ones.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The provider's name for all requests; where there is none, the API decides.
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// Headers of answers that tell of the inference, besides the well-known ones.
    pub fn telemetry_headers(&self) -> &[HeaderRule] {
        &self.telemetry_headers
    }

    /// The groups of metrics that are kept.
    pub fn profiles(&self) -> Profiles {
        self.profiles
    }

    /// The version of the semantic conventions.
    pub fn semconv(&self) -> Semconv {
        self.semconv
    }

    /// The metrics that are mirrored to the proxy's own stats, from [`MIRRORED_METRICS`]; none where that role is off.
    pub fn envoy_stats(&self) -> Option<&[&'static str]> {
        self.envoy_stats.as_deref()
    }

    /// The path on which `GET` answers with the metrics; none where that role is off.
    pub fn scrape_path(&self) -> Option<&str> {
        self.scrape_path.as_deref()
    }

    /// Where the metrics are pushed to; none where that role is off.
    pub fn push(&self) -> Option<&Push> {
        self.push.as_ref()
    }

    /// Bucket bounds that replace a histogram's own, in its unit: ascending, above zero, finite, at most 32.
    pub fn buckets(&self) -> &[(&'static str, Vec<f64>)] {
        &self.buckets
    }

    /// The switchable labels.
    pub fn labels(&self) -> Labels {
        self.labels
    }

    /// Which model names may become label values.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The limits of one worker.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Milliseconds between two ticks.
    pub fn tick_millis(&self) -> u32 {
        self.tick_millis
    }

    /// What is in force, in one line for a log.
    pub fn summary(&self) -> String {
        let on_or_off = |on: bool| if on { "on" } else { "off" };
        format!(
            "observe {}; scrape {}; push {}; envoy_stats {}; tick {}ms",
            on_or_off(self.observes),
            self.scrape_path.as_deref().unwrap_or("off"),
            self.push.as_ref().map_or("off".to_owned(), Push::summary),
            self.envoy_stats
                .as_ref()
                .map_or("off".to_owned(), |metrics| format!(
                    "{} metrics",
                    metrics.len()
                )),
            self.tick_millis,
        )
    }

    /// Takes the values out of a tree in which no mistake was found.
    pub(crate) fn from_checked(tree: &Json) -> Config {
        let fallback = Config::default();
        let switch = |path: &str, otherwise: bool| {
            tree.at(path).and_then(Json::as_switch).unwrap_or(otherwise)
        };
        let whole = |path: &str, otherwise: usize| {
            tree.at(path)
                .and_then(Json::as_number)
                .map_or(otherwise, |value| value as usize)
        };
        let observes = switch("observe", fallback.observes);
        Config {
            observes,
            routes: elements(tree, "routes")
                .iter()
                .filter_map(Route::from_checked)
                .collect(),
            provider: tree
                .at("provider")
                .and_then(Json::as_text)
                .map(str::to_owned),
            telemetry_headers: elements(tree, "telemetry_headers")
                .iter()
                .filter_map(header_rule)
                .collect(),
            profiles: profiles(tree),
            semconv: match tree.at("semconv").and_then(Json::as_text) {
                Some("head") => Semconv::Head,
                _ => fallback.semconv,
            },
            envoy_stats: envoy_stats(tree).filter(|_| observes),
            scrape_path: tree.at("scrape").map(|scrape| {
                let path = scrape.member("path").and_then(Json::as_text);
                path.unwrap_or(Config::ENGINE_METRICS_PATH).to_owned()
            }),
            push: tree.at("push").and_then(Push::from_checked),
            buckets: buckets(tree),
            labels: Labels::from_checked(tree, fallback.labels),
            models: Models {
                allow: tree.at("models.allow").map(texts).unwrap_or_default(),
                max: whole("models.max", fallback.models.max),
            },
            limits: Limits {
                series: whole("limits.series", fallback.limits.series),
            },
            tick_millis: tree
                .at("tick")
                .and_then(Json::as_text)
                .and_then(|text| duration_millis(text, TICK_MILLIS.0, TICK_MILLIS.1))
                .unwrap_or(fallback.tick_millis),
        }
    }
}

/// The profiles that a tree, checked or not, turns on.
pub(crate) fn profiles(tree: &Json) -> Profiles {
    let chosen = |name: &str| {
        tree.at("profiles").is_none_or(|list| {
            list.elements()
                .iter()
                .any(|element| element.as_text() == Some(name))
        })
    };
    Profiles {
        gen_ai: chosen("gen_ai"),
        inference: chosen("inference"),
    }
}

fn envoy_stats(tree: &Json) -> Option<Vec<&'static str>> {
    match tree.at("envoy_stats") {
        None | Some(Json::Switch(true)) => Config::default().envoy_stats,
        Some(Json::Object(_)) => {
            let chosen = elements(tree, "envoy_stats.metrics");
            let is_chosen = |name: &&&str| chosen.iter().any(|json| json.as_text() == Some(**name));
            Some(MIRRORED_METRICS.iter().filter(is_chosen).copied().collect())
        }
        Some(_) => None,
    }
}

fn buckets(tree: &Json) -> Vec<(&'static str, Vec<f64>)> {
    let members = tree.at("buckets").map(Json::members).unwrap_or_default();
    let bounds = |json: &Json| json.elements().iter().filter_map(Json::as_number).collect();
    members
        .iter()
        .filter_map(|(name, json)| Some((histogram(name)?.name, bounds(json))))
        .collect()
}

fn elements<'a>(tree: &'a Json, path: &str) -> &'a [Json] {
    tree.at(path).map(Json::elements).unwrap_or_default()
}

/// What a header tells; its three parts were checked.
fn header_rule(json: &Json) -> Option<HeaderRule> {
    let text = |key: &str| json.member(key)?.as_text();
    let meaning = Meaning::from_name(text("meaning")?)?;
    let unit = Unit::from_name(text("unit")?)?;
    Some(HeaderRule::new(text("header")?.to_owned(), meaning, unit))
}

fn texts(list: &Json) -> Vec<String> {
    list.elements()
        .iter()
        .filter_map(Json::as_text)
        .map(str::to_owned)
        .collect()
}

impl Route {
    /// How the path ends; begins with a slash.
    pub fn path_suffix(&self) -> &str {
        &self.path_suffix
    }

    /// The API that is spoken there.
    pub fn api(&self) -> Api {
        self.api
    }

    fn from_checked(json: &Json) -> Option<Route> {
        Some(Route {
            path_suffix: json.member("path_suffix")?.as_text()?.to_owned(),
            api: foreign_words::api(json.member("api")?.as_text()?)?,
        })
    }
}

impl Profiles {
    /// The metrics of the semantic conventions.
    pub fn gen_ai(self) -> bool {
        self.gen_ai
    }

    /// What the conventions lack.
    pub fn inference(self) -> bool {
        self.inference
    }
}

impl Labels {
    /// `server.address` and `server.port` on the `gen_ai` metrics.
    pub fn server_address(self) -> bool {
        self.server_address
    }

    /// `upstream_cluster` on the `inference` metrics.
    pub fn upstream_cluster(self) -> bool {
        self.upstream_cluster
    }

    /// `upstream_endpoint` on the `inference` metrics.
    pub fn upstream_endpoint(self) -> bool {
        self.upstream_endpoint
    }

    /// `route` on the `inference` metrics.
    pub fn route(self) -> bool {
        self.route
    }

    /// `inference_objective` on the `inference` metrics.
    pub fn inference_objective(self) -> bool {
        self.inference_objective
    }

    /// `inference_fairness_id` on the `inference` metrics.
    pub fn inference_fairness_id(self) -> bool {
        self.inference_fairness_id
    }

    /// `inference_model_rewrite` on the `inference` metrics.
    pub fn inference_model_rewrite(self) -> bool {
        self.inference_model_rewrite
    }

    /// `destination_endpoint` on the `inference` metrics.
    pub fn destination_endpoint(self) -> bool {
        self.destination_endpoint
    }

    fn from_checked(tree: &Json, fallback: Labels) -> Labels {
        let labels = tree.at("labels");
        let switch = |name: &str, otherwise: bool| {
            let given = labels.and_then(|labels| labels.member(name));
            given.and_then(Json::as_switch).unwrap_or(otherwise)
        };
        Labels {
            server_address: switch("server_address", fallback.server_address),
            upstream_cluster: switch("upstream_cluster", fallback.upstream_cluster),
            upstream_endpoint: switch("upstream_endpoint", fallback.upstream_endpoint),
            route: switch("route", fallback.route),
            inference_objective: switch("inference_objective", fallback.inference_objective),
            inference_fairness_id: switch("inference_fairness_id", fallback.inference_fairness_id),
            inference_model_rewrite: switch(
                "inference_model_rewrite",
                fallback.inference_model_rewrite,
            ),
            destination_endpoint: switch("destination_endpoint", fallback.destination_endpoint),
        }
    }
}

impl Models {
    /// The only names that may become label values; empty: the first ones seen may.
    pub fn allow(&self) -> &[String] {
        &self.allow
    }

    /// Most distinct names; a further one counts as `other`.
    pub fn max(&self) -> usize {
        self.max
    }
}

impl Limits {
    /// Most series that one worker keeps, a histogram counting as one.
    pub fn series(self) -> usize {
        self.series
    }
}
