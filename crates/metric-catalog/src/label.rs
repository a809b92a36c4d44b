//! The labels: every name that a series may carry, and the values it may have.

use request_observer::{AnomalyKind, Api, Outcome, Purpose, SkipReason, UsageReason, UsageStatus};

use crate::own::{EXPORT_RESULTS, EXPORT_SIGNALS, SLOT_STATES};

/// A label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its OpenTelemetry name.
    pub name: &'static str,
    /// Its name among the tags of the proxy's own stats. There, no name may be the end of another: a tag is found by
    /// its name anywhere in the stat.
    pub tag: &'static str,
    /// Its values.
    pub values: LabelValues,
}

/// Where the values of a label come from; each source is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelValues {
    /// Names of models that were admitted, up to a number that the configuration states; then `other`.
    Models,
    /// The configuration's provider, or what the API implies.
    Provider,
    /// Names and addresses that the proxy knows from its own configuration.
    Proxy,
    /// Values of request headers that were admitted, up to a fixed number; then `other`.
    RequestHeader,
    /// The operation of the API.
    Operation,
    /// How the request ended.
    Outcome,
    /// `true` or `false`.
    Switch,
    /// How much of the usage was stated.
    UsageStatus,
    /// Why usage is not fully reported.
    UsageReason,
    /// Where a number comes from.
    Source,
    /// How much of the prompt came from a cache.
    CacheResult,
    /// Where a request is that has not ended.
    Phase,
    /// A status, or the name of an outcome.
    Error,
    /// Kind of token.
    TokenType,
    /// Modality of tokens, which no answer tells.
    Modality,
    /// Something odd that was met.
    Anomaly,
    /// Why a request was not watched.
    SkipReason,
    /// Condition of a worker's place in shared data.
    SlotState,
    /// A call to the proxy.
    HostCall,
    /// The module's version.
    Version,
    /// What was pushed.
    Signal,
    /// How a push ended.
    ExportResult,
}

const fn label(name: &'static str, tag: &'static str, values: LabelValues) -> Label {
    Label { name, tag, values }
}

const fn from_header(name: &'static str) -> Label {
    label(name, name, LabelValues::RequestHeader)
}

pub(crate) const MODEL: Label = label("model", "model", LabelValues::Models);
pub(crate) const PROVIDER: Label = label("provider", "provider", LabelValues::Provider);
pub(crate) const OPERATION: Label = label("operation", "operation", LabelValues::Operation);
pub(crate) const UPSTREAM_CLUSTER: Label =
    label("upstream_cluster", "upstream_cluster", LabelValues::Proxy);
pub(crate) const UPSTREAM_ENDPOINT: Label =
    label("upstream_endpoint", "upstream_endpoint", LabelValues::Proxy);
pub(crate) const ROUTE: Label = label("route", "route", LabelValues::Proxy);
pub(crate) const INFERENCE_OBJECTIVE: Label = from_header("inference_objective");
pub(crate) const INFERENCE_FAIRNESS_ID: Label = from_header("inference_fairness_id");
pub(crate) const INFERENCE_MODEL_REWRITE: Label = from_header("inference_model_rewrite");
pub(crate) const DESTINATION_ENDPOINT: Label = from_header("destination_endpoint");
pub(crate) const OUTCOME: Label = label("outcome", "outcome", LabelValues::Outcome);
pub(crate) const STREAM: Label = label("stream", "stream", LabelValues::Switch);
pub(crate) const SOURCE: Label = label("source", "source", LabelValues::Source);
// Istio has a tag `grpc_response_status`, which a tag `status` would cut in two.
pub(crate) const STATUS: Label = label("status", "usage_status", LabelValues::UsageStatus);
pub(crate) const USAGE_REASON: Label = label("reason", "reason", LabelValues::UsageReason);
pub(crate) const RESULT: Label = label("result", "result", LabelValues::CacheResult);
pub(crate) const PHASE: Label = label("phase", "phase", LabelValues::Phase);

pub(crate) const GEN_AI_OPERATION: Label =
    label("gen_ai.operation.name", "operation", LabelValues::Operation);
pub(crate) const GEN_AI_PROVIDER: Label =
    label("gen_ai.provider.name", "provider", LabelValues::Provider);
// Both names end in `model`, which is a tag itself.
pub(crate) const GEN_AI_REQUEST_MODEL: Label =
    label("gen_ai.request.model", "model_asked", LabelValues::Models);
pub(crate) const GEN_AI_RESPONSE_MODEL: Label = label(
    "gen_ai.response.model",
    "model_answered",
    LabelValues::Models,
);
pub(crate) const SERVER_ADDRESS: Label =
    label("server.address", "server_address", LabelValues::Proxy);
pub(crate) const SERVER_PORT: Label = label("server.port", "server_port", LabelValues::Proxy);
pub(crate) const ERROR_TYPE: Label = label("error.type", "error_type", LabelValues::Error);
pub(crate) const TOKEN_TYPE: Label =
    label("gen_ai.token.type", "token_type", LabelValues::TokenType);
pub(crate) const TOKEN_MODALITY: Label = label(
    "gen_ai.token.modality",
    "token_modality",
    LabelValues::Modality,
);

pub(crate) const ANOMALY: Label = label("kind", "kind", LabelValues::Anomaly);
pub(crate) const SKIP_REASON: Label = label("reason", "reason", LabelValues::SkipReason);
pub(crate) const SLOT_STATE: Label = label("state", "state", LabelValues::SlotState);
pub(crate) const HOST_CALL: Label = label("call", "call", LabelValues::HostCall);
pub(crate) const VERSION: Label = label("version", "module_version", LabelValues::Version);
pub(crate) const SIGNAL: Label = label("signal", "signal", LabelValues::Signal);
pub(crate) const EXPORT_RESULT: Label = label("result", "result", LabelValues::ExportResult);

/// Every label, each once.
pub(crate) const ALL: &[Label] = &[
    MODEL,
    PROVIDER,
    OPERATION,
    UPSTREAM_CLUSTER,
    UPSTREAM_ENDPOINT,
    ROUTE,
    INFERENCE_OBJECTIVE,
    INFERENCE_FAIRNESS_ID,
    INFERENCE_MODEL_REWRITE,
    DESTINATION_ENDPOINT,
    OUTCOME,
    STREAM,
    SOURCE,
    STATUS,
    USAGE_REASON,
    RESULT,
    PHASE,
    GEN_AI_OPERATION,
    GEN_AI_PROVIDER,
    GEN_AI_REQUEST_MODEL,
    GEN_AI_RESPONSE_MODEL,
    SERVER_ADDRESS,
    SERVER_PORT,
    ERROR_TYPE,
    TOKEN_TYPE,
    TOKEN_MODALITY,
    ANOMALY,
    SKIP_REASON,
    SLOT_STATE,
    HOST_CALL,
    VERSION,
    SIGNAL,
    EXPORT_RESULT,
];

/// What the proxy's own stats call a label.
pub(crate) fn tag(name: &str) -> Option<&'static str> {
    if name == metric_registry::OVERFLOW_LABEL {
        return Some("overflow");
    }
    ALL.iter()
        .find(|label| label.name == name)
        .map(|label| label.tag)
}

impl LabelValues {
    /// Every value, where they are a closed list.
    #[must_use]
    pub fn closed(self) -> Option<Vec<&'static str>> {
        match self {
            LabelValues::Models
            | LabelValues::Provider
            | LabelValues::Proxy
            | LabelValues::RequestHeader
            | LabelValues::Error
            | LabelValues::HostCall
            | LabelValues::Version => None,
            LabelValues::Operation => {
                let mut operations: Vec<_> = Api::ALL.into_iter().map(Api::operation).collect();
                operations.sort_unstable();
                operations.dedup();
                Some(operations)
            }
            LabelValues::Outcome => Some(Outcome::ALL.into_iter().map(Outcome::as_str).collect()),
            LabelValues::Switch => Some(vec!["true", "false"]),
            LabelValues::UsageStatus => Some(
                UsageStatus::ALL
                    .into_iter()
                    .map(UsageStatus::as_str)
                    .collect(),
            ),
            LabelValues::UsageReason => Some(
                UsageReason::ALL
                    .into_iter()
                    .map(UsageReason::as_str)
                    .collect(),
            ),
            LabelValues::Source => Some(vec!["reported", "estimated"]),
            LabelValues::CacheResult => Some(vec!["hit", "partial", "miss", "unknown"]),
            LabelValues::Phase => Some(vec!["prefill", "decode"]),
            LabelValues::TokenType => Some(vec!["input", "output"]),
            LabelValues::Modality => Some(vec!["unknown"]),
            LabelValues::Anomaly => Some(
                AnomalyKind::ALL
                    .into_iter()
                    .map(AnomalyKind::as_str)
                    .collect(),
            ),
            LabelValues::SkipReason => {
                let mut reasons: Vec<_> = SkipReason::ALL
                    .into_iter()
                    .map(SkipReason::as_str)
                    .collect();
                let apart = Purpose::ALL
                    .into_iter()
                    .filter(|purpose| *purpose != Purpose::Client)
                    .map(Purpose::as_str);
                for purpose in apart {
                    if !reasons.contains(&purpose) {
                        reasons.push(purpose);
                    }
                }
                Some(reasons)
            }
            LabelValues::SlotState => Some(SLOT_STATES.to_vec()),
            LabelValues::Signal => Some(EXPORT_SIGNALS.to_vec()),
            LabelValues::ExportResult => Some(EXPORT_RESULTS.to_vec()),
        }
    }

    /// What bounds the values, where they are no closed list.
    #[must_use]
    pub fn bound(self) -> &'static str {
        match self {
            LabelValues::Models => {
                "admitted model names, as many as `models.max` says, then `other`; `unknown` without a name"
            }
            LabelValues::Provider => {
                "the configuration's `provider`, or what `docs/FORMATS.md` says of the API"
            }
            LabelValues::Proxy => {
                "names and addresses that the proxy has from its own configuration"
            }
            LabelValues::RequestHeader => {
                "admitted values of a request header, at most 100 (1,000 of `destination_endpoint`), then `other`; \
                 absent without the header"
            }
            LabelValues::Error => {
                "the HTTP or gRPC status that failed, or the outcome's name; absent on success"
            }
            LabelValues::HostCall => "the calls that the module makes to the proxy",
            LabelValues::Version => "the module's version",
            _ => "a closed list",
        }
    }
}
