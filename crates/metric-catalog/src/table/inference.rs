//! What the semantic conventions lack.

use super::gen_ai::FIRST_TOKEN;
use super::{MILLIONTHS, counter, gauge, histogram, seconds};
use crate::definition::{Base, Definition, Profile};
use crate::label::{Label, OUTCOME, PHASE, RESULT, SOURCE, STATUS, STREAM, USAGE_REASON};

const OURS: &str = "Inferometer's own.";
const GUIDE: &str = "Inferometer's own, with name and first bounds from the inference metrics of the Amazon EKS guide.";

/// The guide's bounds up to 5 s, and more, as long generations take minutes.
const DURATION: &[f64] = &[
    0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];
/// The guide's bounds up to 1 s, and more.
const TOKEN_PROCESSING: &[f64] = &[
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
const INTER_TOKEN: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
    0.5, 0.75, 1.0, 2.5, 5.0,
];
/// From a gap that nobody sees to one that breaks time-outs.
const STALL: &[f64] = &[
    0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0,
];
/// From slower than reading to the fastest hardware.
const RATE: &[f64] = &[
    1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 500.0,
    1000.0, 2500.0,
];
const TENTHS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

const fn own(definition: Definition, own_labels: &'static [Label]) -> Definition {
    definition
        .of(Profile::Inference, OURS)
        .labelled(Base::Inference, own_labels)
}

/// A moment of a streamed answer.
const fn moment(name: &'static str, help: &'static str) -> Definition {
    own(seconds(name, FIRST_TOKEN, help), &[])
}

const fn tokens(name: &'static str, help: &'static str) -> Definition {
    own(counter(name, "{token}", help), &[SOURCE])
}

/// What the server says of a request, which nobody has measured.
const fn servers_word(name: &'static str, help: &'static str) -> Definition {
    own(seconds(name, FIRST_TOKEN, help), &[])
}

/// The rows, in the order of [`super::Row`].
pub(crate) const TABLE: [Definition; 21] = [
    own(counter("inference.requests", "{request}", "Watched requests, by how they ended."), &[OUTCOME, STREAM])
        .sampled(
            "Every watched request, once, when it has ended. `stream` is `true` when the answer was framed as a stream; \
             where no answer came, when the request asked for one.",
        )
        .mirrored("inference_requests", 1),
    own(
        seconds(
            "inference.request.duration",
            DURATION,
            "Time from the request's headers to the end of its answer.",
        ),
        &[],
    )
    .of(Profile::Inference, GUIDE)
    .sampled("Every watched request, however it ended.")
    .mirrored("inference_request_duration_milliseconds", 1_000),
    own(counter("inference.attempts", "{attempt}", "Attempts at upstreams; more than the requests where some were retried."), &[])
        .sampled("Every watched request, with as many attempts as the proxy made.")
        .mirrored("inference_attempts", 1),
    own(
        seconds(
            "inference.token_processing.duration",
            TOKEN_PROCESSING,
            "Time in which tokens were processed: from first to last token of a streamed answer, the whole time of another.",
        ),
        &[STREAM],
    )
    .of(Profile::Inference, GUIDE)
    .also_as("token_processing.duration")
    .sampled(
        "Streamed answers that reached a first token: last token − first token. Other answers that succeeded: the whole \
         duration.",
    )
    .mirrored("inference_token_processing_duration_milliseconds", 1_000),
    moment("inference.time_to_response_headers", "Time from the request's headers to the answer's headers.")
        .sampled("Streamed answers. Many servers send headers before they look at the prompt.")
        .mirrored("inference_time_to_response_headers_milliseconds", 1_000),
    moment("inference.time_to_first_byte", "Time from the request's headers to the first byte of the answer's body.")
        .sampled("Streamed answers with a first byte. It is no token: comments, pings and role-only events come before one.")
        .mirrored("inference_time_to_first_byte_milliseconds", 1_000),
    moment(
        "inference.time_to_first_visible_token",
        "Time from the request's headers to the first generated token that is not reasoning.",
    )
    .sampled("Streamed answers that reached such a token.")
    .mirrored("inference_time_to_first_visible_token_milliseconds", 1_000),
    own(
        seconds(
            "inference.inter_token.latency",
            INTER_TOKEN,
            "Time between output tokens of a streamed answer.",
        ),
        &[],
    )
    .sampled(
        "Every gap between two output events of a choice of a streamed answer, divided by the tokens that the later one \
         brought, as many samples as those tokens. An event that does not tell its tokens counts as one token. (Not \
         mirrored: one call to the proxy a token would cost too much.)",
    ),
    own(
        seconds("inference.stream.max_gap", STALL, "Longest silence of a streamed answer after its first token."),
        &[],
    )
    .sampled("Streamed answers that reached a first token, whose silences between events and up to the end are known.")
    .mirrored("inference_stream_max_gap_milliseconds", 1_000),
    own(
        histogram(
            "inference.output_tokens.rate",
            "{token}/s",
            MILLIONTHS,
            RATE,
            "Output tokens a second of a streamed answer, all its choices together, after its first token.",
        ),
        &[],
    )
    .sampled(
        "Streamed, successful answers whose usage was fully reported with more than one output token a choice, and whose \
         tokens did not all come at once: (output tokens − choices) / (last token − first token).",
    )
    .mirrored("inference_output_tokens_rate_per_second", 1),
    tokens("inference.input_tokens", "Input tokens, those from a cache among them.")
        .sampled("Requests whose answer stated the number.")
        .mirrored("inference_input_tokens", 1),
    tokens("inference.output_tokens", "Output tokens, those of reasoning among them.")
        .sampled(
            "Requests whose answer stated the number (`reported`; after an answer that broke off this is what it had \
             stated up to there). Otherwise the output events that were counted, if any (`estimated`).",
        )
        .mirrored("inference_output_tokens", 1),
    tokens("inference.cached_input_tokens", "Input tokens that were read from a cache.")
        .sampled("Requests whose answer stated the number; zero is a number, absence is not.")
        .mirrored("inference_cached_input_tokens", 1),
    tokens("inference.reasoning_tokens", "Output tokens that were reasoning.")
        .sampled("Requests whose answer stated the number.")
        .mirrored("inference_reasoning_tokens", 1),
    own(
        counter("inference.usage", "{request}", "Watched requests, by how much of their usage is known and why not more."),
        &[STATUS, USAGE_REASON],
    )
    .sampled("Every watched request, once.")
    .mirrored("inference_usage", 1),
    own(
        counter("inference.prompt_cache.requests", "{request}", "Accepted requests, by how much of the prompt came from a cache."),
        &[RESULT],
    )
    .sampled(
        "Requests that an upstream accepted. `miss`: no cached tokens. `hit`: all but a tail that caches made of blocks \
         cannot serve; the tail is 16 tokens or an eighth of the prompt, whichever is more, and never more than half of \
         the prompt. `partial`: anything between. Where the answer did not state both its input and its cached tokens, \
         what a header says of the cache (`hit` or `miss`), or else `unknown`.",
    )
    .mirrored("inference_prompt_cache_requests", 1),
    own(
        histogram(
            "inference.prompt_cache.hit_ratio",
            "1",
            MILLIONTHS,
            TENTHS,
            "Part of a prompt's tokens that came from a cache.",
        ),
        &[],
    )
    .sampled("Requests that an upstream accepted and whose answer stated its cached and more than zero input tokens.")
    .mirrored("inference_prompt_cache_hit_ratio_thousandths", 1_000),
    servers_word(
        "inference.server.queue_time",
        "Time that the server says the request waited before it was computed.",
    )
    .sampled("Requests whose answer says it in its headers or trailers. It is the server's claim and was not measured.")
    .mirrored("inference_server_queue_time_milliseconds", 1_000),
    servers_word(
        "inference.server.time_to_first_token",
        "Time that the server says it took to the first token.",
    )
    .sampled(
        "Requests whose answer says it in its headers or trailers. It is the server's claim and was not measured; what was \
         measured here is `gen_ai.server.time_to_first_token`.",
    )
    .mirrored("inference_server_time_to_first_token_milliseconds", 1_000),
    servers_word(
        "inference.server.processing_time",
        "Time that the server says it computed the answer.",
    )
    .sampled("Requests whose answer says it in its headers or trailers. It is the server's claim and was not measured.")
    .mirrored("inference_server_processing_time_milliseconds", 1_000),
    own(
        gauge("inference.requests.in_flight", "{request}", "Watched requests that have not ended, by phase."),
        &[PHASE],
    )
    .labelled(Base::InFlight, &[PHASE])
    .sampled(
        "Watched requests from the end of the request, or the answer's headers if they come first, to the end of the exchange: `prefill` until the first token (of an answer that is not \
         streamed: until the end), `decode` from then on. Levels of workers that have stopped reporting do not count.",
    )
    .mirrored("inference_requests_in_flight", 1),
];
