//! `/generate` of TGI, SGLang and those that take a prompt.

use llm_payloads::Api;

use crate::exchange::{check_answer, check_request};

#[test]
fn the_request_tells_whose_it_is() {
    for (body, expected) in [
        (
            r#"{"inputs":"Hi","parameters":{"max_new_tokens":20,"details":true}}"#,
            "limit=20 speaks=tgi_generate",
        ),
        (
            r#"{"text":"Hi","sampling_params":{"max_new_tokens":16,"n":2},"stream":true}"#,
            "stream=true limit=16 choices=2 speaks=sglang_generate",
        ),
        (
            r#"{"text":["a","b","c"],"sampling_params":{}}"#,
            "prompts=3 speaks=sglang_generate",
        ),
        (r#"{"input_ids":[1,2,3]}"#, "speaks=sglang_generate"),
        (
            r#"{"input_ids":[[1,2],[3]]}"#,
            "prompts=2 speaks=sglang_generate",
        ),
        (
            r#"{"prompt":"Hi","max_tokens":32}"#,
            "limit=32 speaks=prompt_generate",
        ),
        (
            r#"{"text":null,"input_ids":null,"prompt":"Hi","n":2,"stream":false}"#,
            "stream=false choices=2 speaks=prompt_generate",
        ),
        (
            r#"{"rid":"HEALTH_CHECK_1","input_ids":[0],"sampling_params":{"max_new_tokens":1}}"#,
            "limit=1 speaks=sglang_generate health_probe",
        ),
        (r#"{"query":"Hi"}"#, ""),
        ("[]", "no_object=1"),
    ] {
        check_request(Api::Generate, body, expected);
    }
}

#[test]
fn each_of_them_reads_the_same_forms() {
    for api in [Api::TgiGenerate, Api::SglangGenerate, Api::PromptGenerate] {
        check_answer(api, &[(r#"{"response":"Hi"}"#, "visible")]);
        check_answer(api, &[(r#"{"text":["Hi there"]}"#, "visible")]);
    }
}

#[test]
fn tgi_streams_tokens_and_ends_with_the_whole_text() {
    check_answer(
        Api::TgiGenerateStream,
        &[
            (
                r#"{"index":1,"token":{"id":17,"text":"Hel","logprob":-0.1,"special":false},"generated_text":null,"details":null}"#,
                "visible tokens=1",
            ),
            (
                r#"{"index":2,"token":{"id":18,"text":"lo","logprob":-0.1,"special":false},"top_tokens":[{"id":18,"text":"lo","logprob":-0.1,"special":false},{"id":19,"text":"x","logprob":-3,"special":false}],"generated_text":null,"details":null}"#,
                "visible tokens=1",
            ),
            (
                r#"{"index":3,"token":{"id":2,"text":"</s>","logprob":-0.2,"special":true},"generated_text":"Hello","details":{"finish_reason":"eos_token","generated_tokens":3,"seed":null,"input_length":9}}"#,
                "visible end tokens=1 in=9 out=3 finish=stop",
            ),
        ],
    );
    check_answer(
        Api::TgiGenerateStream,
        &[(
            r#"{"index":1,"token":{"id":2,"text":"","logprob":0,"special":true},"generated_text":"","details":null}"#,
            "visible end tokens=1",
        )],
    );
}

#[test]
fn tgi_answers_whole_and_on_the_root_as_an_array() {
    let answer = r#"{"generated_text":"Hello","details":{"finish_reason":"length","generated_tokens":20,"seed":1,"prefill":[{"id":1,"text":"a","logprob":null},{"id":2,"text":"b","logprob":-1}],"tokens":[{"id":17,"text":"Hel","logprob":-1,"special":false}]}}"#;
    check_answer(
        Api::TgiGenerate,
        &[(answer, "visible end in=2 out=20 finish=length")],
    );
    check_answer(
        Api::TgiGenerate,
        &[(
            &format!("[{answer}]"),
            "visible end in=2 out=20 finish=length",
        )],
    );
    check_answer(
        Api::TgiGenerate,
        &[(r#"{"generated_text":"Hello"}"#, "visible end")],
    );
    check_answer(
        Api::TgiGenerate,
        &[(
            r#"{"generated_text":"","details":{"finish_reason":"stop_sequence","generated_tokens":0,"prefill":[],"tokens":[]}}"#,
            "end out=0 finish=stop",
        )],
    );
}

#[test]
fn tgis_errors_are_texts_with_a_type_also_inside_a_stream() {
    for (payload, expected) in [
        (
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            "error=overloaded",
        ),
        (
            r#"{"error":"Request failed during generation: x","error_type":"generation"}"#,
            "error=other",
        ),
        (
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 17 `inputs` tokens and 10000 `max_new_tokens`","error_type":"validation"}"#,
            "error=context_length",
        ),
        (
            r#"{"error":"Input validation error: `inputs` must have less than 1024 tokens. Given: 2000","error_type":"validation"}"#,
            "error=context_length",
        ),
    ] {
        check_answer(Api::TgiGenerateStream, &[(payload, expected)]);
        check_answer(Api::TgiGenerate, &[(payload, expected)]);
    }
}

fn sglang(text: &str, finish: &str, tokens: u32) -> String {
    format!(
        r#"{{"text":"{text}","output_ids":[1],"meta_info":{{"id":"r","finish_reason":{finish},"prompt_tokens":7,"weight_version":"default","completion_tokens":{tokens},"cached_tokens":2,"e2e_latency":0.5}}}}"#
    )
}

#[test]
fn sglangs_text_is_cumulative_and_what_did_not_grow_is_no_output() {
    let stop = r#"{"type":"stop","matched":2}"#;
    check_answer(
        Api::SglangGenerate,
        &[
            (&sglang("", "null", 1), "in=7 out=1 cached=2"),
            (
                &sglang("Hel", "null", 2),
                "visible tokens=2 in=7 out=2 cached=2",
            ),
            (
                &sglang("Hello", "null", 5),
                "visible tokens=3 in=7 out=5 cached=2",
            ),
            (&sglang("Hello", stop, 5), "in=7 out=5 cached=2 finish=stop"),
            ("[DONE]", "done_marker end"),
        ],
    );
}

#[test]
fn sglangs_text_in_pieces_of_one_length_grows_in_tokens() {
    check_answer(
        Api::SglangGenerate,
        &[
            (
                &sglang("ab", "null", 1),
                "visible tokens=1 in=7 out=1 cached=2",
            ),
            (
                &sglang("cd", "null", 2),
                "visible tokens=1 in=7 out=2 cached=2",
            ),
        ],
    );
}

#[test]
fn without_a_tokenizer_sglangs_output_is_its_tokens() {
    check_answer(
        Api::SglangGenerate,
        &[
            (
                r#"{"output_ids":[5],"meta_info":{"finish_reason":null,"prompt_tokens":3,"completion_tokens":1}}"#,
                "visible tokens=1 in=3 out=1",
            ),
            (
                r#"{"output_ids":[5,6,7],"meta_info":{"finish_reason":{"type":"length","length":3},"prompt_tokens":3,"completion_tokens":3}}"#,
                "visible tokens=2 in=3 out=3 finish=length",
            ),
            (
                r#"{"output_ids":[5,6,7],"meta_info":{"finish_reason":{"type":"length","length":3},"prompt_tokens":3,"completion_tokens":3}}"#,
                "in=3 out=3 finish=length",
            ),
        ],
    );
}

#[test]
fn sglang_answers_whole_and_sums_a_batch() {
    check_answer(
        Api::SglangGenerate,
        &[(
            &sglang(
                "Hello",
                r#"{"type":"abort","message":"x","status_code":503}"#,
                4,
            ),
            "visible tokens=4 in=7 out=4 cached=2 finish=abort",
        )],
    );
    let batch = format!(
        "[{},{}]",
        sglang("a", r#"{"type":"stop"}"#, 4),
        sglang("b", r#"{"type":"length","length":6}"#, 6)
    );
    check_answer(
        Api::SglangGenerate,
        &[(
            &batch,
            "visible choices=2 in=14 out=10 cached=4 finish=length",
        )],
    );
}

#[test]
fn sglangs_errors_are_objects_and_fastapis_a_detail() {
    check_answer(
        Api::SglangGenerate,
        &[(
            r#"{"error":{"message":"The input (3615 tokens) is longer than the model's context length (2048 tokens)."}}"#,
            "error=context_length",
        )],
    );
    check_answer(
        Api::SglangGenerate,
        &[(
            r#"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
            "error=other",
        )],
    );
    check_answer(
        Api::PromptGenerate,
        &[(r#"{"detail":[{"loc":["body"],"msg":"m"}]}"#, "")],
    );
}

#[test]
fn a_plain_server_streams_lists_of_texts() {
    check_answer(
        Api::PromptGenerate,
        &[
            (r#"{"text":["Once"]}"#, "visible"),
            (r#"{"text":["Once upon"]}"#, "visible"),
            (r#"{"text":[""]}"#, ""),
        ],
    );
}
