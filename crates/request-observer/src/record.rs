//! What is known of a request once it has ended.

use llm_payloads::{Api, FinishReason, Text, Usage};
use request_timeline::{Durations, GapHistogram};
use response_telemetry::Telemetry;

use crate::{AnomalyCounts, Outcome, Purpose, UsageReason, UsageStatus};

/// Everything that is known of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// The API that was spoken.
    pub api: Api,
    /// What the request was for.
    pub purpose: Purpose,
    /// The model that the client asked for.
    pub request_model: Option<Text>,
    /// The model that the answer names.
    pub response_model: Option<Text>,
    /// Whether an upstream accepted the request: it answered 2xx.
    pub accepted: bool,
    /// Whether the answer was framed as a stream; where no answer came, whether the request asked for one.
    pub stream: bool,
    /// The status of the response, whoever made it.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// What to call the error: the upstream's status where that is what failed, otherwise the outcome's name;
    /// `None` for success.
    pub error_type: Option<Text>,
    /// Why generation ended, where the answer said so.
    pub finish_reason: Option<FinishReason>,
    /// How many attempts were made at upstreams.
    pub attempts: u64,
    /// How many choices were asked for, over all prompts of a batch.
    pub choices: u32,
    /// The token numbers that the server stated; `None` is unknown.
    pub usage: Usage,
    /// How much of the usage the server stated.
    pub usage_status: UsageStatus,
    /// Why not all of it.
    pub usage_reason: UsageReason,
    /// The number of output events, where the number of output tokens was not stated and there were any.
    pub estimated_output: Option<u64>,
    /// How long the parts took.
    pub durations: Durations,
    /// The gaps between output events.
    pub gaps: GapHistogram,
    /// What the headers and trailers of the answer say of the inference: the server's own word.
    pub telemetry: Telemetry,
    /// What was odd.
    pub anomalies: AnomalyCounts,
    /// The number of the answer's events: those of a stream that carried data, or one for a whole body.
    pub events: u64,
    /// How many bytes of request and response bodies were looked at.
    pub inspected_bytes: u64,
    /// Which non-empty chunk of the response body, counted from zero, completed the first event with output.
    pub first_token_chunk: Option<u32>,
    /// Where in the response body, its compression undone, that event ended (exclusive), which does not depend on how
    /// the body was cut.
    pub first_token_offset: Option<u64>,
}
