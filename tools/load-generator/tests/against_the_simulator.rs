//! The load generator and the simulated server hold each other to their word.
#![allow(
    clippy::unwrap_used,
    reason = "a test file, whose helpers the lint does not take for tests"
)]

use std::sync::Arc;
use std::time::Duration;

use inference_simulator::{Behaviour, Counts, Settings, Simulator};
use load_generator::{
    Api, Case, Leave, Load, Outcome, Prompt, RequestTruth, Truth, Until, everything, send_one,
};
use serde_json::{Value, json};

async fn simulator() -> Simulator {
    let behaviour = Behaviour {
        time_to_first_token_ms: 30.0,
        inter_token_ms: 5.0,
        output_tokens: 10,
        ..Behaviour::default()
    };
    Simulator::start(Settings {
        behaviour,
        ..Settings::default()
    })
    .await
    .unwrap()
}

async fn send(simulator: &Simulator, case: &Case) -> RequestTruth {
    send_one(simulator.address(), false, case, "m", 1)
        .await
        .unwrap()
}

fn simulated(fields: Value) -> Value {
    json!({"stream_options": {"include_usage": true}, "simulate": fields})
}

/// Asks for ten tokens in every API, in both forms, over both protocols.
#[tokio::test]
async fn every_api_tells_the_counts_it_was_asked_for() {
    let simulator = simulator().await;
    for api in [Api::Chat, Api::Completions, Api::Responses, Api::Messages] {
        for (stream, http2) in [(false, false), (true, false), (false, true), (true, true)] {
            let fields = simulated(json!({"prompt_tokens": 77, "cached_tokens": 32}));
            let case = Case {
                stream,
                ..Case::new("c", 1, api).with(fields)
            };
            let truth = send_one(simulator.address(), http2, &case, "m", 1)
                .await
                .unwrap();
            let usage = (
                truth.usage.input,
                truth.usage.cached_input,
                truth.usage.output,
            );
            assert_eq!(
                usage,
                (Some(77), Some(32), Some(10)),
                "{api:?} {stream} {http2}"
            );
            assert_eq!(
                (truth.outcome, truth.status, truth.stream),
                (Outcome::Success, Some(200), stream)
            );
            assert_eq!(truth.output_events, if stream { 10 } else { 0 }, "{api:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_and_tool_calls_are_output_in_every_api_that_has_them() {
    let simulator = simulator().await;
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        let fields =
            simulated(json!({"reasoning_tokens": 4, "tool_call": true, "tokens_per_event": 3}));
        let truth = send(&simulator, &Case::new("c", 1, api).streamed().with(fields)).await;
        assert_eq!(
            truth.output_events, 4,
            "3 + 1 of reasoning, 3 + 3 of the call in {api:?}"
        );
        assert_eq!(truth.usage.output, Some(10), "{api:?}");
        let stated = (api != Api::Messages).then_some(4);
        assert_eq!(truth.usage.reasoning, stated, "{api:?}");
    }
}

#[tokio::test]
async fn embeddings_have_input_tokens_only() {
    let simulator = simulator().await;
    let truth = send(&simulator, &Case::new("c", 1, Api::Embeddings)).await;
    assert_eq!(
        (truth.outcome, truth.usage.input, truth.usage.output),
        (Outcome::Success, Some(20), Some(0))
    );
}

#[tokio::test]
async fn streams_state_usage_only_where_they_should() {
    let simulator = simulator().await;
    let options = |include: bool| json!({"stream_options": {"include_usage": include}});
    let mode = |usage: &str| json!({"simulate": {"usage": usage}});
    let cases = [
        (json!({}), None),
        (options(false), None),
        (options(true), Some(10)),
        (
            json!({"stream_options": {"include_usage": true, "continuous_usage_stats": true}}),
            Some(10),
        ),
        (mode("always"), Some(10)),
        (mode("never"), None),
    ];
    for api in [Api::Chat, Api::Completions] {
        for (fields, output) in &cases {
            let truth = send(
                &simulator,
                &Case::new("c", 1, api).streamed().with(fields.clone()),
            )
            .await;
            assert_eq!(
                (truth.outcome, truth.usage.output),
                (Outcome::Success, *output),
                "{api:?} {fields}"
            );
        }
    }
}

#[tokio::test]
async fn each_ending_is_told_apart() {
    let simulator = simulator().await;
    let chat = || Case::new("c", 1, Api::Chat).streamed();
    let ended = |fields: Value| chat().with(json!({"simulate": fields}));
    let error_in = |api| {
        Case::new("c", 1, api)
            .streamed()
            .with(json!({"simulate": {"error_after_tokens": 3}}))
    };
    let cases = [
        (
            ended(json!({"error": "invalid_request"})),
            Some(400),
            Outcome::InvalidRequest,
        ),
        (
            ended(json!({"error": "context_length"})),
            Some(400),
            Outcome::ContextLength,
        ),
        (
            ended(json!({"error": "unauthorized"})),
            Some(401),
            Outcome::InvalidRequest,
        ),
        (
            ended(json!({"error": "not_found"})),
            Some(404),
            Outcome::InvalidRequest,
        ),
        (
            ended(json!({"error": "rate_limited"})),
            Some(429),
            Outcome::RateLimited,
        ),
        (
            ended(json!({"error": "internal"})),
            Some(500),
            Outcome::HttpError,
        ),
        (
            ended(json!({"error": "overloaded"})),
            Some(503),
            Outcome::Overloaded,
        ),
        (
            ended(json!({"no_such_field": 1})),
            Some(400),
            Outcome::InvalidRequest,
        ),
        (error_in(Api::Chat), Some(200), Outcome::InStreamError),
        (
            error_in(Api::Completions),
            Some(200),
            Outcome::InStreamError,
        ),
        (error_in(Api::Responses), Some(200), Outcome::InStreamError),
        (error_in(Api::Messages), Some(200), Outcome::InStreamError),
        (
            ended(json!({"end_after_tokens": 3})),
            Some(200),
            Outcome::TruncatedStream,
        ),
        (
            ended(json!({"reset_after_tokens": 3})),
            Some(200),
            Outcome::UpstreamReset,
        ),
        (
            chat().leaving(Leave::AfterEvents(2)),
            Some(200),
            Outcome::ClientCancel,
        ),
        (
            chat().leaving(Leave::After(Duration::from_millis(10))),
            Some(200),
            Outcome::ClientCancel,
        ),
    ];
    for (case, status, outcome) in cases {
        let truth = send(&simulator, &case).await;
        assert_eq!(
            (truth.status, truth.outcome),
            (status, outcome),
            "{:?}",
            case.fields
        );
    }
}

#[tokio::test]
async fn streams_that_end_early_carry_exactly_the_tokens_before_it() {
    let simulator = simulator().await;
    for field in [
        "error_after_tokens",
        "end_after_tokens",
        "reset_after_tokens",
    ] {
        for tokens in [0, 3, 10] {
            let case = Case::new("c", 1, Api::Chat)
                .streamed()
                .with(json!({"simulate": {field: tokens}}));
            let truth = send(&simulator, &case).await;
            assert_eq!(truth.output_events, tokens, "{field}");
            assert_ne!(truth.outcome, Outcome::Success, "{field}");
        }
    }
}

/// The times are never earlier than asked; how much later depends on the machine, so that side is wide.
#[tokio::test]
async fn the_times_are_those_asked_for() {
    let simulator = simulator().await;
    let case = Case::new("c", 1, Api::Completions)
        .streamed()
        .with(json!({"simulate": {"time_to_first_token_ms": 80, "inter_token_ms": 20, "output_tokens": 11}}));
    let truth = send(&simulator, &case).await;
    let first = truth.time_to_first_token.unwrap();
    assert!(
        first >= Duration::from_millis(80) && first < Duration::from_millis(200),
        "{first:?}"
    );
    assert_eq!(truth.gaps.len(), 10);
    let last = first + truth.gaps.iter().sum::<Duration>();
    assert!(
        last >= Duration::from_millis(280) && last < Duration::from_millis(500),
        "{last:?}"
    );
    assert!(truth.duration >= last);
}

#[tokio::test]
async fn a_prompt_seen_before_is_a_cache_hit_in_whole_blocks() {
    let simulator = simulator().await;
    let shared = Case::new("c", 1, Api::Chat).prompted(Prompt::Shared { words: 100 });
    let mut cached = Vec::new();
    for number in [1, 2, 2] {
        let truth = send_one(simulator.address(), false, &shared, "m", number)
            .await
            .unwrap();
        cached.push((truth.usage.input, truth.usage.cached_input));
    }
    assert_eq!(
        cached,
        [
            (Some(102), Some(0)),
            (Some(102), Some(96)),
            (Some(102), Some(96))
        ]
    );
    let other_model = send_one(simulator.address(), false, &shared, "n", 1)
        .await
        .unwrap();
    assert_eq!(other_model.usage.cached_input, Some(0));
}

/// The mix of everything, over both protocols: every request is counted once, on both sides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mixed_load_adds_up() {
    for http2 in [false, true] {
        let simulator = simulator().await;
        let cases = everything();
        let round: u32 = cases.iter().map(|case| case.weight).sum();
        let requests = u64::from(round) * 2;
        let load = Load {
            target: simulator.address(),
            http2,
            concurrency: 12,
            until: Until::Requests(requests),
            cases: cases.clone(),
            models: vec!["a".to_owned(), "b".to_owned()],
            seed: 7,
        };
        let truth = Arc::new(Truth::default());
        load.run(&truth).await;
        assert_eq!(truth.faults(), Vec::<String>::new());
        let models = truth.models().clone();
        assert_eq!(
            models
                .values()
                .map(load_generator::ModelTruth::finished)
                .sum::<u64>(),
            requests
        );
        assert!(models.values().all(|model| model.in_flight == 0));
        for (outcome, cases) in [
            (Outcome::ClientCancel, 4),
            (Outcome::InStreamError, 2),
            (Outcome::TruncatedStream, 1),
            (Outcome::UpstreamReset, 1),
            (Outcome::RateLimited, 1),
            (Outcome::Overloaded, 1),
            (Outcome::ContextLength, 1),
            (Outcome::InvalidRequest, 1),
            (Outcome::HttpError, 1),
            (Outcome::NoAnswer, 0),
        ] {
            let counted: u64 = models
                .values()
                .map(|model| model.with_outcome(outcome))
                .sum();
            assert_eq!(counted, cases * 2, "{outcome:?}");
        }
        assert!(
            models
                .values()
                .all(|model| model.cached_input_tokens > 0 && model.reasoning_tokens > 0)
        );
        // The server learns of a client that left only when its connection is gone.
        for _ in 0..100 {
            let counts = simulator.counts();
            if counts.played + counts.abandoned == requests {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(
            simulator.counts(),
            Counts {
                received: requests,
                played: requests - 8,
                abandoned: 8
            }
        );
    }
}

#[tokio::test]
async fn a_load_by_time_ends_by_itself_and_models_meet_every_case() {
    let simulator = simulator().await;
    let load = Load {
        target: simulator.address(),
        http2: false,
        concurrency: 4,
        until: Until::Elapsed(Duration::from_millis(500)),
        cases: vec![
            Case::new("one", 1, Api::Completions),
            Case::new("two", 1, Api::Completions),
        ],
        models: vec!["a".to_owned(), "b".to_owned()],
        seed: 1,
    };
    let truth = Arc::new(Truth::default());
    load.run(&truth).await;
    let models = truth.models();
    assert!(
        models
            .values()
            .all(|model| model.in_flight == 0 && model.cases.len() == 2),
        "{models:?}"
    );
}

#[tokio::test]
async fn a_target_that_is_not_there_is_a_fault_and_no_request() {
    let load = Load {
        target: ([127, 0, 0, 1], 1).into(),
        http2: false,
        concurrency: 1,
        until: Until::Requests(2),
        cases: vec![Case::new("c", 1, Api::Chat)],
        models: vec!["m".to_owned()],
        seed: 1,
    };
    let truth = Arc::new(Truth::default());
    load.run(&truth).await;
    assert_eq!(truth.faults().len(), 2);
    assert!(truth.models().is_empty());
}

#[tokio::test]
async fn a_single_case_meets_every_model_in_turn() {
    let simulator = simulator().await;
    let load = Load {
        target: simulator.address(),
        http2: false,
        concurrency: 1,
        until: Until::Requests(3),
        cases: vec![Case::new("c", 1, Api::Embeddings)],
        models: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        seed: 1,
    };
    let truth = Arc::new(Truth::default());
    load.run(&truth).await;
    let counts: Vec<u64> = truth
        .models()
        .values()
        .map(load_generator::ModelTruth::finished)
        .collect();
    assert_eq!(counts, [1, 1, 1]);
}
