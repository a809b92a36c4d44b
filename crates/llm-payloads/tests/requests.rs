//! What is read of request bodies, whole and cut at every byte.

use llm_payloads::{Api, PayloadState, RequestFacts, RequestScan};

fn scan(api: Api, pieces: &[&[u8]]) -> RequestFacts {
    let mut scan = RequestScan::new(api);
    for piece in pieces {
        scan.push(piece);
    }
    scan.finish()
}

/// Scans a body whole and cut in two at every byte, and gives what all of that agreed on.
fn check(api: Api, body: &str) -> RequestFacts {
    let body = body.as_bytes();
    let whole = scan(api, &[body]);
    for cut in 0..body.len() {
        let (left, right) = body.split_at(cut);
        assert_eq!(
            format!("{:?}", scan(api, &[left, right])),
            format!("{whole:?}"),
            "cut at {cut}"
        );
    }
    whole
}

#[test]
fn model_and_stream_are_found_wherever_they_stand() {
    let messages = r#""messages":[{"role":"user","content":"\"model\":\"no\", \"stream\":false"}]"#;
    for body in [
        format!(r#"{{"model":"m","stream":true,{messages}}}"#),
        format!(r#"{{{messages},"model":"m","stream":true}}"#),
        format!(
            r#"{{"metadata":{{"model":"no","stream":false}},{messages},"stream":true,"model":"m"}}"#
        ),
    ] {
        let facts = check(Api::ChatCompletions, &body);
        assert_eq!(facts.model.unwrap().as_str(), "m", "{body}");
        assert_eq!(facts.stream, Some(true), "{body}");
        assert_eq!(facts.state, PayloadState::Complete);
    }
}

#[test]
fn the_last_of_two_equal_keys_counts() {
    let facts = check(
        Api::ChatCompletions,
        r#"{"model":"a","n":2,"model":"b","n":3}"#,
    );
    assert_eq!((facts.model.unwrap().as_str(), facts.choices), ("b", 3));
    assert_eq!(
        check(Api::ChatCompletions, r#"{"model":"a","model":7}"#).model,
        None
    );
    assert_eq!(
        check(Api::ChatCompletions, r#"{"model":"a","model":[]}"#).model,
        None
    );
}

#[test]
fn limits_and_options_are_read() {
    let facts = check(
        Api::ChatCompletions,
        r#"{"max_completion_tokens":64,"n":4,"echo":true,"stream_options":{"include_usage":false}}"#,
    );
    assert_eq!(facts.max_output_tokens, Some(64));
    assert_eq!(
        (facts.choices, facts.echo, facts.include_usage),
        (4, true, Some(false))
    );
    let facts = check(
        Api::Responses,
        r#"{"max_output_tokens":12,"background":true,"stream":false}"#,
    );
    assert_eq!(
        (facts.max_output_tokens, facts.background, facts.stream),
        (Some(12), true, Some(false))
    );
    assert_eq!(
        check(Api::Messages, r#"{"max_tokens":1024}"#).max_output_tokens,
        Some(1024)
    );
}

#[test]
fn the_prompts_of_a_batch_are_counted_and_token_ids_are_one_prompt() {
    for (prompt, expected) in [
        (r#""hello""#, 1),
        (r#"["a","b","c"]"#, 3),
        ("[1,2,3,4]", 1),
        ("[[1,2],[3]]", 2),
        ("[]", 1),
        ("null", 1),
    ] {
        let facts = check(Api::Completions, &format!(r#"{{"prompt":{prompt},"n":1}}"#));
        assert_eq!(facts.prompts, expected, "{prompt}");
    }
}

#[test]
fn absurd_numbers_are_ignored_and_counted() {
    let facts = check(Api::ChatCompletions, r#"{"n":-1,"max_tokens":1.5}"#);
    assert_eq!(
        (facts.choices, facts.max_output_tokens, facts.bad_numbers),
        (1, None, 2)
    );
    assert_eq!(check(Api::ChatCompletions, r#"{"n":0}"#).choices, 1);
    assert_eq!(
        check(Api::ChatCompletions, r#"{"n":9007199254740992}"#).choices,
        100_000
    );
}

#[test]
fn an_echo_would_repeat_the_last_message_alone() {
    let body = r#"{"messages":[{"content":"first"},{"content":"last"}],"echo":true}"#;
    assert_eq!(
        format!("{:?}", check(Api::ChatCompletions, body).echoed_text),
        "EchoedText(4 bytes)"
    );
    let parts =
        r#"{"messages":[{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]}"#;
    assert_eq!(
        format!("{:?}", check(Api::ChatCompletions, parts).echoed_text),
        "EchoedText(7 bytes)"
    );
    let call = r#"{"messages":[{"content":"first"},{"content":null,"tool_calls":[]}]}"#;
    assert!(check(Api::ChatCompletions, call).echoed_text.is_empty());
}

#[test]
fn what_stands_before_a_flaw_is_kept() {
    let facts = check(
        Api::ChatCompletions,
        r#"{"model":"m","stream":true,"messages":[}"#,
    );
    assert_eq!(
        (facts.model.unwrap().as_str(), facts.stream),
        ("m", Some(true))
    );
    assert_eq!(facts.state, PayloadState::Malformed);
    assert_eq!(
        check(Api::ChatCompletions, r#"{"model":"m","#).state,
        PayloadState::Truncated
    );
    assert_eq!(check(Api::ChatCompletions, "").state, PayloadState::Empty);
    assert_eq!(
        check(Api::ChatCompletions, "model=m&stream=true").state,
        PayloadState::Malformed
    );
    let deep = format!(r#"{{"model":"m","x":{}"#, "[".repeat(200));
    assert_eq!(
        check(Api::ChatCompletions, &deep).state,
        PayloadState::TooDeep
    );
}

#[test]
fn a_model_name_of_a_megabyte_is_cut() {
    let facts = scan(
        Api::Messages,
        &[
            br#"{"model":""#,
            &vec![b'x'; 1 << 20],
            br#"","stream":true}"#,
        ],
    );
    let model = facts.model.unwrap();
    assert_eq!(
        (model.as_str(), model.is_cut()),
        ("x".repeat(128).as_str(), true)
    );
    assert_eq!(facts.stream, Some(true));
}

#[test]
fn a_scan_says_when_it_has_seen_enough() {
    let mut scan = RequestScan::new(Api::Embeddings);
    assert!(scan.wants_more());
    scan.push(br#"{"model":"m""#);
    assert_eq!(scan.facts().model.unwrap().as_str(), "m");
    assert!(scan.wants_more());
    scan.push(b"}");
    assert!(!scan.wants_more());
}
