//! Puts requests and payloads through the scans, whole and cut, and says in words what was understood.

use llm_payloads::{AnswerEvent, AnswerScan, Api, PayloadState, RequestFacts, RequestScan, Usage};

/// What a request's body asks for, in words; every cut of the body in two must give the same.
pub(crate) fn asked(api: Api, body: &[u8]) -> String {
    let scan = |pieces: &[&[u8]]| {
        let mut scan = RequestScan::new(api);
        for piece in pieces {
            scan.push(piece);
        }
        words_of_request(&scan.finish())
    };
    let whole = scan(&[body]);
    for cut in 0..body.len() {
        let (left, right) = body.split_at(cut);
        assert_eq!(scan(&[left, right]), whole, "cut at {cut}");
    }
    whole
}

/// Checks what is understood of the request and then of each payload of its answer.
pub(crate) fn check_request(api: Api, body: &str, expected: &str) {
    assert_eq!(asked(api, body.as_bytes()), expected, "{body}");
}

/// Checks what is understood of the payloads of one answer, one after the other.
pub(crate) fn check_answer(api: Api, payloads: &[(&str, &str)]) {
    let bytes: Vec<_> = payloads
        .iter()
        .map(|(payload, expected)| (payload.as_bytes().to_vec(), *expected))
        .collect();
    check_messages(api, &bytes);
}

/// The same for payloads that are no text. Pieces of every size must give the same.
pub(crate) fn check_messages(api: Api, payloads: &[(Vec<u8>, &str)]) {
    let longest = payloads.iter().map(|(payload, _)| payload.len()).max();
    for size in 1..=longest.unwrap_or(1).max(1) {
        let mut scan = AnswerScan::new(api);
        for (payload, expected) in payloads {
            for piece in payload.chunks(size) {
                scan.push(piece);
            }
            assert_eq!(
                words(&scan.finish()),
                *expected,
                "in pieces of {size}: {}",
                String::from_utf8_lossy(payload)
            );
        }
    }
}

/// Checks what is understood of payloads that come with a name, as in server-sent events and AWS event streams.
pub(crate) fn check_named(api: Api, payloads: &[(&str, &str, &str)]) {
    let mut scan = AnswerScan::new(api);
    for (name, payload, expected) in payloads {
        scan.push(payload.as_bytes());
        scan.name_event(name.as_bytes());
        assert_eq!(words(&scan.finish()), *expected, "{name}: {payload}");
    }
}

/// Checks what is understood of an exception of an AWS event stream.
pub(crate) fn check_exception(api: Api, name: &str, payload: &str, expected: &str) {
    let mut scan = AnswerScan::new(api);
    scan.push(payload.as_bytes());
    scan.name_exception(name.as_bytes());
    assert_eq!(words(&scan.finish()), expected, "{name}: {payload}");
}

/// What a payload says, in words; nothing where it says nothing.
fn words(event: &AnswerEvent) -> String {
    let mut words = Vec::new();
    if event.state != PayloadState::Complete {
        words.push(event.state.as_str().to_owned());
    }
    let flags = [
        (event.output.visible, "visible"),
        (event.output.reasoning, "reasoning"),
        (event.echoed, "echoed"),
        (event.terminal, "end"),
    ];
    words.extend(
        flags
            .iter()
            .filter(|flag| flag.0)
            .map(|flag| flag.1.to_owned()),
    );
    words.extend(event.tokens.map(|tokens| format!("tokens={tokens}")));
    if event.choices != 1 && event.choices != 0 {
        words.push(format!("choices={}", event.choices));
    }
    if event.choice != 0 {
        words.push(format!("choice={}", event.choice));
    }
    push_usage(&mut words, "", &event.usage.stated);
    push_usage(&mut words, "timings_", &event.usage.timings);
    words.extend(
        event
            .finish
            .map(|finish| format!("finish={}", finish.as_str())),
    );
    words.extend(
        event
            .error
            .map(|error| format!("error={}", error.kind.as_str())),
    );
    words.extend(event.model.map(|model| format!("model={model}")));
    let counts = [
        ("bad", event.bad_numbers),
        ("duplicates", event.oddities.duplicate_keys),
        ("mended", event.oddities.mended_texts),
    ];
    push_counts(&mut words, &counts);
    words.join(" ")
}

fn words_of_request(facts: &RequestFacts) -> String {
    let mut words = Vec::new();
    if facts.state != PayloadState::Complete {
        words.push(facts.state.as_str().to_owned());
    }
    words.extend(facts.model.map(|model| format!("model={model}")));
    words.extend(facts.stream.map(|stream| format!("stream={stream}")));
    words.extend(
        facts
            .max_output_tokens
            .map(|limit| format!("limit={limit}")),
    );
    if facts.choices != 1 {
        words.push(format!("choices={}", facts.choices));
    }
    if facts.prompts != 1 {
        words.push(format!("prompts={}", facts.prompts));
    }
    words.extend(facts.speaks.map(|api| format!("speaks={}", api.as_str())));
    let flags = [
        (facts.prefill_leg, "prefill_leg"),
        (facts.health_probe, "health_probe"),
        (facts.background, "background"),
    ];
    words.extend(
        flags
            .iter()
            .filter(|flag| flag.0)
            .map(|flag| flag.1.to_owned()),
    );
    let counts = [
        ("bad", facts.bad_numbers),
        ("duplicates", facts.oddities.duplicate_keys),
        ("mended", facts.oddities.mended_texts),
        ("no_object", facts.oddities.not_an_object),
    ];
    push_counts(&mut words, &counts);
    words.join(" ")
}

fn push_usage(words: &mut Vec<String>, prefix: &str, usage: &Usage) {
    let numbers = [
        ("in", usage.input),
        ("out", usage.output),
        ("cached", usage.cached_input),
        ("written", usage.cache_write_input),
        ("thought", usage.reasoning),
    ];
    for (name, number) in numbers {
        words.extend(number.map(|number| format!("{prefix}{name}={number}")));
    }
}

fn push_counts(words: &mut Vec<String>, counts: &[(&str, u32)]) {
    let seen = counts.iter().filter(|(_, count)| *count > 0);
    words.extend(seen.map(|(name, count)| format!("{name}={count}")));
}
