//! The metrics of the semantic conventions.

use super::{counter, histogram, seconds};
use crate::definition::{Base, Definition, Profile};
use crate::label::{ERROR_TYPE, Label, TOKEN_MODALITY, TOKEN_TYPE};
use crate::settings::Semconv;

const V1_41: &str = "https://github.com/open-telemetry/semantic-conventions/blob/v1.41.1/docs/gen-ai/gen-ai-metrics.md";
const HEAD: &str = "https://github.com/open-telemetry/semantic-conventions-genai";

/// The convention's bounds, which end at 81.92 s, and four more, as long generations take longer.
const DURATION: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
    327.68, 655.36, 1310.72,
];

/// The convention's bounds, which end at 10 s, and seven more, as a long prompt in a full queue takes longer.
pub(super) const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0,
];

/// The convention's bounds, and three more below, as small models take less than 10 ms.
const OUTPUT_TOKEN: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5,
];

/// The convention's bounds: powers of four.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

const fn in_both(definition: Definition, own_labels: &'static [Label]) -> Definition {
    definition
        .of(Profile::GenAi, V1_41)
        .labelled(Base::GenAi, own_labels)
}

const fn in_head(definition: Definition, own_labels: &'static [Label]) -> Definition {
    definition
        .of(Profile::GenAi, HEAD)
        .labelled(Base::GenAi, own_labels)
        .only_in(Semconv::Head)
}

/// A counter of tokens as the head of the conventions has it.
const fn usage(name: &'static str, help: &'static str) -> Definition {
    in_head(counter(name, "{token}", help), &[TOKEN_MODALITY])
        .sampled("Requests whose answer stated the number. The modality is `unknown`, as no answer tells it.")
}

/// The rows, in the order of [`super::Row`].
pub(crate) const TABLE: [Definition; 11] = [
    in_both(
        seconds(
            "gen_ai.server.request.duration",
            DURATION,
            "Time from the request's headers to the end of its answer.",
        ),
        &[ERROR_TYPE],
    )
    .sampled("Every watched request, however it ended. `error.type` is there when it failed."),
    in_both(
        seconds(
            "gen_ai.server.time_to_first_token",
            FIRST_TOKEN,
            "Time from the request's headers to the first generated token of a streamed answer.",
        ),
        &[],
    )
    .sampled(
        "Streamed answers that reached a first token, whatever came after: non-empty content, reasoning, refusal, or a \
         tool call's name or arguments. (The convention leaves failed requests out.)",
    )
    .mirrored("gen_ai_server_time_to_first_token_milliseconds", 1_000),
    in_both(
        seconds(
            "gen_ai.server.time_per_output_token",
            OUTPUT_TOKEN,
            "Mean time between the output tokens of a streamed answer, after the first.",
        ),
        &[],
    )
    .sampled(
        "Streamed, successful answers whose usage was fully reported with more than one output token a choice: (last \
         token − first token) / (n − 1), n being the output tokens of one choice. (The convention counts up to the end \
         of the request.)",
    )
    .mirrored("gen_ai_server_time_per_output_token_microseconds", 1_000_000),
    in_both(
        histogram(
            "gen_ai.client.token.usage",
            "{token}",
            1,
            TOKENS,
            "Tokens of a request, as its answer stated them.",
        ),
        &[TOKEN_TYPE],
    )
    .only_in(Semconv::V1_41)
    .sampled(
        "Input: requests whose answer stated its input tokens. Output: requests whose answer came whole and whose usage \
         was fully reported. Never estimated.",
    ),
    usage("gen_ai.client.inference.usage.input_tokens", "Input tokens, those from a cache among them."),
    usage("gen_ai.client.inference.usage.output_tokens", "Output tokens, those of reasoning among them."),
    usage("gen_ai.client.inference.usage.cache_read.input_tokens", "Input tokens that were read from a cache."),
    usage("gen_ai.client.inference.usage.cache_write.input_tokens", "Input tokens that were written to a cache."),
    usage("gen_ai.client.inference.usage.reasoning.output_tokens", "Output tokens that were reasoning."),
    in_head(
        histogram(
            "gen_ai.client.inference.operation.input_tokens",
            "{token}",
            1,
            TOKENS,
            "Input tokens of a request, as its answer stated them.",
        ),
        &[ERROR_TYPE],
    )
    .sampled("Requests whose answer stated its input tokens. `error.type` is there when the request failed."),
    in_head(
        histogram(
            "gen_ai.client.inference.operation.output_tokens",
            "{token}",
            1,
            TOKENS,
            "Output tokens of a request, as its answer stated them.",
        ),
        &[ERROR_TYPE],
    )
    .sampled(
        "Requests whose answer came whole, whose usage was fully reported and has output tokens. `error.type` is there \
         when the request failed: a content filter cut the answer.",
    ),
];
