//! Tokens, usage and prompt caches.

use super::*;

#[test]
fn tokens_say_where_their_number_comes_from() {
    check(
        &streamed(),
        "inference.input_tokens",
        &["source=reported 64"],
    );
    check(
        &streamed(),
        "inference.output_tokens",
        &["source=reported 11"],
    );
    check(
        &streamed(),
        "inference.cached_input_tokens",
        &["source=reported 48"],
    );
    check(
        &streamed(),
        "inference.reasoning_tokens",
        &["source=reported 3"],
    );
    let estimated = RequestRecord {
        usage: Usage::default(),
        usage_status: UsageStatus::Estimated,
        usage_reason: UsageReason::NoUsageRequested,
        estimated_output: Some(9),
        ..streamed()
    };
    check(
        &estimated,
        "inference.output_tokens",
        &["source=estimated 9"],
    );
    check(
        &estimated,
        "inference.usage",
        &["status=estimated reason=no_usage_requested 1"],
    );
    for name in [
        "inference.input_tokens",
        "inference.cached_input_tokens",
        "inference.reasoning_tokens",
    ] {
        check(&estimated, name, &[]);
    }
    // Zero is a number, absence is not.
    let zeros = Usage {
        input: Some(5),
        output: Some(0),
        cached_input: Some(0),
        ..Usage::default()
    };
    let zero = RequestRecord {
        usage: zeros,
        ..streamed()
    };
    check(
        &zero,
        "inference.cached_input_tokens",
        &["source=reported 0"],
    );
    check(&zero, "inference.output_tokens", &["source=reported 0"]);
    check(&zero, "inference.reasoning_tokens", &[]);
    check(
        &unanswered(Outcome::Connect),
        "inference.output_tokens",
        &[],
    );
}

#[test]
fn the_conventions_take_reported_numbers_only() {
    let name = "gen_ai.client.token.usage";
    check(
        &streamed(),
        name,
        &[
            "gen_ai.token.type=input 1 of 64",
            "gen_ai.token.type=output 1 of 11",
        ],
    );
    check(
        &whole(),
        name,
        &[
            "gen_ai.token.type=input 1 of 64",
            "gen_ai.token.type=output 1 of 11",
        ],
    );
    let embeddings = RequestRecord {
        api: Api::Embeddings,
        usage: Usage {
            input: Some(7),
            ..Usage::default()
        },
        ..whole()
    };
    check(&embeddings, name, &["gen_ai.token.type=input 1 of 7"]);
    for broken in [
        RequestRecord {
            outcome: Outcome::ClientCancel,
            ..streamed()
        },
        RequestRecord {
            usage_status: UsageStatus::Partial,
            ..streamed()
        },
    ] {
        check(&broken, name, &["gen_ai.token.type=input 1 of 64"]);
        check_in_head(
            &broken,
            "gen_ai.client.inference.operation.output_tokens",
            &[],
        );
    }
    let estimated = RequestRecord {
        usage: Usage::default(),
        estimated_output: Some(9),
        ..streamed()
    };
    check(&estimated, name, &[]);
    check_in_head(&streamed(), name, &[]);
}

#[test]
fn the_head_of_the_conventions_has_counters_and_histograms() {
    for (name, expected) in [
        ("usage.input_tokens", "gen_ai.token.modality=unknown 64"),
        ("usage.output_tokens", "gen_ai.token.modality=unknown 11"),
        (
            "usage.cache_read.input_tokens",
            "gen_ai.token.modality=unknown 48",
        ),
        (
            "usage.reasoning.output_tokens",
            "gen_ai.token.modality=unknown 3",
        ),
        ("operation.input_tokens", "1 of 64"),
        ("operation.output_tokens", "1 of 11"),
    ] {
        check_in_head(
            &streamed(),
            &format!("gen_ai.client.inference.{name}"),
            &[expected],
        );
        check(&streamed(), &format!("gen_ai.client.inference.{name}"), &[]);
    }
    check_in_head(
        &streamed(),
        "gen_ai.client.inference.usage.cache_write.input_tokens",
        &[],
    );
    let filtered = RequestRecord {
        outcome: Outcome::ContentFilter,
        error_type: Some(text("content_filter")),
        ..streamed()
    };
    check_in_head(
        &filtered,
        "gen_ai.client.inference.operation.output_tokens",
        &["error.type=content_filter 1 of 11"],
    );
    let written = RequestRecord {
        usage: Usage {
            cache_write_input: Some(16),
            ..streamed().usage
        },
        ..streamed()
    };
    check_in_head(
        &written,
        "gen_ai.client.inference.usage.cache_write.input_tokens",
        &["gen_ai.token.modality=unknown 16"],
    );
}

#[test]
fn a_prompt_cache_hit_is_all_but_a_tail() {
    let cases: [(Option<u64>, Option<u64>, &str); 22] = [
        (None, None, "unknown"),
        (Some(100), None, "unknown"),
        (None, Some(100), "unknown"),
        (Some(100), Some(0), "miss"),
        (Some(0), Some(0), "miss"),
        (Some(100), Some(1), "partial"),
        (Some(100), Some(83), "partial"),
        // Sixteen tokens are a block of the smallest common size.
        (Some(100), Some(84), "hit"),
        (Some(100), Some(100), "hit"),
        (Some(20), Some(16), "hit"),
        // Never more than half of the prompt is a tail.
        (Some(20), Some(9), "partial"),
        (Some(20), Some(10), "hit"),
        (Some(2), Some(1), "hit"),
        (Some(1), Some(1), "hit"),
        // Larger blocks serve longer prompts: an eighth.
        (Some(1024), Some(895), "partial"),
        (Some(1024), Some(896), "hit"),
        (Some(1151), Some(1024), "hit"),
        (Some(128), Some(112), "hit"),
        (Some(129), Some(112), "partial"),
        // A server that states more cached than there is.
        (Some(10), Some(20), "hit"),
        (Some(u64::MAX), Some(1), "partial"),
        (Some(u64::MAX), Some(u64::MAX), "hit"),
    ];
    for (input, cached_input, result) in cases {
        let record = RequestRecord {
            usage: Usage {
                input,
                cached_input,
                ..Usage::default()
            },
            ..streamed()
        };
        check(
            &record,
            "inference.prompt_cache.requests",
            &[&format!("result={result} 1")],
        );
    }
    let refused = RequestRecord {
        accepted: false,
        ..streamed()
    };
    check(&refused, "inference.prompt_cache.requests", &[]);
    check(&refused, "inference.prompt_cache.hit_ratio", &[]);
}

#[test]
fn a_header_tells_of_the_prompt_cache_where_the_numbers_do_not() {
    let with = |usage: Usage, prompt_cache: Option<bool>| RequestRecord {
        usage,
        telemetry: Telemetry {
            prompt_cache,
            ..Telemetry::default()
        },
        ..streamed()
    };
    let input_only = Usage {
        input: Some(64),
        ..Usage::default()
    };
    for (usage, prompt_cache, result) in [
        (Usage::default(), Some(true), "hit"),
        (input_only, Some(true), "hit"),
        (input_only, Some(false), "miss"),
        (input_only, None, "unknown"),
        // The body's numbers are more than a word.
        (streamed().usage, Some(false), "hit"),
        (
            Usage {
                cached_input: Some(0),
                ..input_only
            },
            Some(true),
            "miss",
        ),
    ] {
        let record = with(usage, prompt_cache);
        check(
            &record,
            "inference.prompt_cache.requests",
            &[&format!("result={result} 1")],
        );
    }
    check(
        &with(input_only, Some(true)),
        "inference.prompt_cache.hit_ratio",
        &[],
    );
}

#[test]
fn the_hit_ratio_needs_both_numbers_and_is_at_most_one() {
    let name = "inference.prompt_cache.hit_ratio";
    check(&streamed(), name, &["1 of 0.75"]);
    let with = |input, cached_input| RequestRecord {
        usage: Usage {
            input,
            cached_input,
            ..Usage::default()
        },
        ..streamed()
    };
    check(&with(Some(10), Some(0)), name, &["1 of 0"]);
    check(&with(Some(10), Some(20)), name, &["1 of 1"]);
    check(&with(Some(3), Some(1)), name, &["1 of 0.333333"]);
    check(&with(Some(0), Some(0)), name, &[]);
    check(&with(Some(10), None), name, &[]);
    check(&with(None, Some(10)), name, &[]);
}
