//! What headers tell: the server's word on its times, a gateway's routing as labels that every worker
//! caps alike, and requests that are none of a client's.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "this file is a test"
)]

use std::time::Duration;

use host_tests::metric_assert::{Exposition, absent, equal};
use host_tests::wasmtime_host::bed::{Bed, Exchange, SCRAPE, Worker, listener, page_of, passed};
use host_tests::wasmtime_host::{Root, Stream};

const TICK: Duration = Duration::from_secs(1);
const REQUESTS: &str = "inference_requests_total";
type Headers<'a> = &'a [(&'a str, &'a str)];

const ROUTING: &str = r#"{"labels": {"inference_objective": true, "inference_fairness_id": true,
    "inference_model_rewrite": true, "destination_endpoint": true}}"#;

/// A worker whose observing listener has this configuration.
fn worker(bed: &Bed, configuration: &str) -> Worker {
    let vm = bed.vm().unwrap();
    let observe = vm.root(listener("observe", configuration));
    let scrape = vm.root(listener("scrape", SCRAPE));
    assert!(observe.accepted() && bed.host.log().iter().all(|line| line.level < 4));
    Worker {
        vm,
        observe,
        scrape,
    }
}

/// What a request and its answer have besides the usual.
#[derive(Clone, Copy, Default)]
struct Extra<'a> {
    /// What the request carries when it comes.
    asked: Headers<'a>,
    /// What filters behind the module add to it.
    added: Headers<'a>,
    answered: Headers<'a>,
    trailers: Headers<'a>,
    refused: bool,
}

/// An exchange of a whole chat with more headers than usual.
fn send(worker: &Worker, extra: Extra<'_>) {
    let Worker { vm, observe, .. } = worker;
    let exchange = Exchange::whole_chat("m", 2);
    let stream = vm.stream(observe);
    let mut request = vec![
        (":method", "POST"),
        (":path", "/v1/chat/completions"),
        ("content-type", "application/json"),
    ];
    request.extend(extra.asked);
    passed(stream.request_headers(&request, false)).unwrap();
    passed(stream.request_body(&exchange.request, true)).unwrap();
    request.extend(extra.added);
    let mut response = vec![
        (":status", if extra.refused { "503" } else { "200" }),
        ("content-type", "application/json"),
    ];
    response.extend(extra.answered);
    passed(stream.response_headers(&response, false)).unwrap();
    let ends = extra.trailers.is_empty();
    passed(stream.response_body(&exchange.chunks.concat(), ends)).unwrap();
    if !ends {
        passed(stream.response_trailers(extra.trailers)).unwrap();
    }
    stream.set_logged_headers(&request, &response);
    stream.end();
    assert_eq!(vm.failure(), None);
}

fn page(worker: &Worker) -> Exposition {
    worker.page().unwrap()
}

#[test]
fn the_servers_word_on_its_times_comes_from_headers_and_trailers() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, "{}");
    send(
        &worker,
        Extra {
            answered: &[("x-queue-time", "30"), ("x-inference-time", "400")],
            trailers: &[("x-time-to-first-token", "250")],
            ..Extra::default()
        },
    );
    page(&worker).assert(&[
        equal("inference_server_queue_time_seconds_count", &[], 1.0),
        equal(
            "inference_server_queue_time_seconds_sum",
            &[("model", "m")],
            0.03,
        ),
        equal("inference_server_processing_time_seconds_sum", &[], 0.4),
        equal(
            "inference_server_time_to_first_token_seconds_sum",
            &[],
            0.25,
        ),
        equal(REQUESTS, &[("outcome", "success")], 1.0),
        absent("gen_ai_server_time_to_first_token_seconds_count", &[]),
    ]);
}

#[test]
fn configured_headers_mean_what_the_configuration_says() {
    let bed = Bed::new().unwrap();
    let configuration = r#"{"telemetry_headers": [
        {"header": "x-waited", "meaning": "queue_time", "unit": "microseconds"},
        {"header": "x-warm", "meaning": "prompt_cache_hit", "unit": "flag"},
        {"header": "x-inference-time", "meaning": "total_time", "unit": "seconds"}
    ]}"#;
    let worker = worker(&bed, configuration);
    send(
        &worker,
        Extra {
            answered: &[
                ("x-waited", "7500"),
                ("x-warm", "hit"),
                ("x-inference-time", "2"),
            ],
            ..Extra::default()
        },
    );
    page(&worker).assert(&[
        equal("inference_server_queue_time_seconds_sum", &[], 0.0075),
        // The body states no cached tokens.
        equal(
            "inference_prompt_cache_requests_total",
            &[("result", "hit")],
            1.0,
        ),
        absent("inference_server_processing_time_seconds_sum", &[]),
    ]);
}

#[test]
fn header_values_that_make_no_sense_are_counted_and_ignored() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, "{}");
    send(
        &worker,
        Extra {
            answered: &[("x-queue-time", "-1"), ("x-inference-time", "soon")],
            ..Extra::default()
        },
    );
    page(&worker).assert(&[
        equal(
            "inferometer_stream_anomalies_total",
            &[("kind", "bad_header_value")],
            2.0,
        ),
        absent("inference_server_queue_time_seconds_sum", &[]),
        equal(REQUESTS, &[("outcome", "success")], 1.0),
    ]);
}

#[test]
fn routing_is_read_as_the_request_left_and_by_old_and_new_names() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, ROUTING);
    send(
        &worker,
        Extra {
            asked: &[
                ("x-gateway-inference-objective", "batch"),
                ("x-llm-d-inference-fairness-id", "tenant-a"),
            ],
            added: &[
                (
                    "x-gateway-destination-endpoint",
                    "10.0.0.9:8000,10.0.0.7:8000",
                ),
                ("x-llm-d-model-name-rewrite", "m-tuned"),
            ],
            ..Extra::default()
        },
    );
    send(&worker, Extra::default());
    let page = page(&worker);
    let told = [
        ("inference_objective", "batch"),
        ("inference_fairness_id", "tenant-a"),
        ("inference_model_rewrite", "m-tuned"),
        ("destination_endpoint", "10.0.0.9:8000"),
    ];
    page.assert(&[equal(REQUESTS, &told, 1.0), equal(REQUESTS, &[], 2.0)]);
    // The series of the request without such headers has none of the labels.
    let without = page.samples().iter().filter(|sample| {
        sample.name == REQUESTS
            && told
                .iter()
                .all(|(name, _)| !sample.labels.contains_key(*name))
    });
    assert_eq!(without.count(), 1);
}

#[test]
fn routing_is_no_label_unless_it_is_switched_on() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, r#"{"labels": {"inference_objective": true}}"#);
    send(
        &worker,
        Extra {
            asked: &[
                ("x-llm-d-inference-objective", "critical"),
                ("x-llm-d-inference-fairness-id", "tenant-a"),
            ],
            ..Extra::default()
        },
    );
    let page = page(&worker);
    page.assert(&[equal(REQUESTS, &[("inference_objective", "critical")], 1.0)]);
    let fairness = page
        .samples()
        .iter()
        .filter(|sample| sample.labels.contains_key("inference_fairness_id"));
    assert_eq!(fairness.count(), 0);
}

#[test]
fn values_beyond_the_cap_are_other_on_every_worker() {
    let check = |header: &str, label: &str, cap: u32| {
        let bed = Bed::new().unwrap();
        let workers = [worker(&bed, ROUTING), worker(&bed, ROUTING)];
        for number in 0..cap {
            let worker = &workers[usize::from(number % 2 == 1)];
            let value = format!("v{number}");
            let asked: Headers<'_> = &[(header, &value)];
            send(
                worker,
                Extra {
                    asked,
                    ..Extra::default()
                },
            );
        }
        for worker in &workers {
            for value in ["v0", "v1", "too-many"] {
                let asked: Headers<'_> = &[(header, value)];
                send(
                    worker,
                    Extra {
                        asked,
                        ..Extra::default()
                    },
                );
            }
        }
        bed.host.run_for(TICK * 2);
        let page = page(&workers[0]);
        page.assert(&[
            equal(REQUESTS, &[(label, "v0")], 3.0),
            equal(REQUESTS, &[(label, "v1")], 3.0),
            equal(REQUESTS, &[(label, "other")], 2.0),
            absent(REQUESTS, &[(label, "too-many")]),
            equal(REQUESTS, &[], f64::from(cap) + 6.0),
        ]);
    };
    check("x-llm-d-inference-objective", "inference_objective", 100);
    check(
        "x-llm-d-inference-fairness-id",
        "inference_fairness_id",
        100,
    );
    check("x-llm-d-model-name-rewrite", "inference_model_rewrite", 100);
    check(
        "x-gateway-destination-endpoint",
        "destination_endpoint",
        1_000,
    );
}

#[test]
fn only_an_accepted_request_brings_a_new_value() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, ROUTING);
    let asked: Headers<'_> = &[("x-llm-d-inference-objective", "junk")];
    let extra = Extra {
        asked,
        ..Extra::default()
    };
    send(
        &worker,
        Extra {
            refused: true,
            ..extra
        },
    );
    page(&worker).assert(&[
        equal(REQUESTS, &[("inference_objective", "other")], 1.0),
        absent(REQUESTS, &[("inference_objective", "junk")]),
    ]);
    send(&worker, extra);
    page(&worker).assert(&[equal(REQUESTS, &[("inference_objective", "junk")], 1.0)]);
}

#[test]
fn hostile_routing_headers_stay_within_a_label() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, ROUTING);
    let long = "x".repeat(600);
    send(
        &worker,
        Extra {
            asked: &[
                ("x-llm-d-inference-objective", &long),
                ("x-llm-d-inference-fairness-id", "a\nb\"c\\"),
                ("x-llm-d-model-name-rewrite", "  "),
            ],
            ..Extra::default()
        },
    );
    let page = page(&worker);
    let label = |name: &str| {
        let sample = page.samples().iter().find(|sample| sample.name == REQUESTS);
        sample.and_then(|sample| sample.labels.get(name).cloned())
    };
    assert_eq!(label("inference_objective"), Some("x".repeat(128)));
    assert_eq!(label("inference_fairness_id").as_deref(), Some("a_b\"c\\"));
    assert_eq!(label("inference_model_rewrite"), None);
}

/// A request with this body, to its end.
fn ask(bed: &Bed, worker: &Worker, path: &str, body: &[u8]) -> Stream {
    let exchange = Exchange {
        path: path.to_owned(),
        request: body.to_vec(),
        ..Exchange::whole_chat("m", 2)
    };
    exchange
        .begin(&bed.host, &worker.vm, &worker.observe)
        .unwrap()
}

#[test]
fn what_is_none_of_a_clients_requests_is_only_counted_as_skipped() {
    let prefill_leg =
        br#"{"model":"m","messages":[],"kv_transfer_params":{"do_remote_decode":true}}"#;
    let probe = br#"{"rid":"HEALTH_CHECK_1","text":"a","sampling_params":{"max_new_tokens":1}}"#;
    for (path, body, reason) in [
        ("/v1/chat/completions", &prefill_leg[..], "prefill_leg"),
        ("/generate", probe, "health_probe"),
        ("/generate", br#"{"report":"yearly"}"#, "unrecognised_body"),
    ] {
        let bed = Bed::new().unwrap();
        let worker = bed.worker().unwrap();
        let stream = ask(&bed, &worker, path, body);
        bed.host.run_for(TICK);
        let in_flight =
            |worker: &Worker| page(worker).total_or_zero("inference_requests_in_flight", &[]);
        assert_eq!(in_flight(&worker), 0.0, "{reason}");
        Exchange::whole_chat("m", 2)
            .answer(&bed.host, &stream)
            .unwrap();
        stream.end();
        let page = page(&worker);
        page.assert(&[equal(
            "inferometer_skipped_total",
            &[("reason", reason)],
            1.0,
        )]);
        for name in [
            REQUESTS,
            "inference_usage_total",
            "inferometer_events_total",
        ] {
            assert_eq!(page.total_or_zero(name, &[]), 0.0, "{reason}: {name}");
        }
    }
}

#[test]
fn requests_of_no_client_admit_no_model_name() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, r#"{"models": {"max": 1}}"#);
    let leg =
        br#"{"model":"of-the-leg","messages":[],"kv_transfer_params":{"do_remote_decode":true}}"#;
    let stream = ask(&bed, &worker, "/v1/chat/completions", leg);
    Exchange::whole_chat("of-the-leg", 2)
        .answer(&bed.host, &stream)
        .unwrap();
    stream.end();
    let exchange = Exchange::whole_chat("m", 2);
    worker.exchange(&bed.host, &exchange).unwrap();
    page(&worker).assert(&[equal(REQUESTS, &[("model", "m")], 1.0)]);
}

#[test]
fn the_provider_is_the_apis_unless_the_configuration_names_one() {
    let provider = |configuration: &str, path: &str, body: &[u8]| {
        let bed = Bed::new().unwrap();
        let worker = worker(&bed, configuration);
        let stream = ask(&bed, &worker, path, body);
        Exchange::whole_chat("m", 2)
            .answer(&bed.host, &stream)
            .unwrap();
        stream.end();
        let page = page_of(&worker.scrape).unwrap();
        let sample = page.samples().iter().find(|sample| sample.name == REQUESTS);
        sample.unwrap().labels["provider"].clone()
    };
    let chat = br#"{"model":"m","messages":[]}"#;
    assert_eq!(provider("{}", "/v1/chat/completions", chat), "openai");
    assert_eq!(provider("{}", "/v1/messages", chat), "anthropic");
    let named = r#"{"provider": "vllm"}"#;
    assert_eq!(provider(named, "/v1/chat/completions", chat), "vllm");
}

#[test]
fn an_answer_of_headers_alone_is_read_too() {
    let bed = Bed::new().unwrap();
    let worker = worker(&bed, "{}");
    let root: &Root = &worker.observe;
    let exchange = Exchange::whole_chat("m", 2);
    let stream = exchange.begin(&bed.host, &worker.vm, root).unwrap();
    let head = [(":status", "503"), ("x-queue-time", "5")];
    passed(stream.response_headers(&head, true)).unwrap();
    stream.end();
    page(&worker).assert(&[
        equal("inference_server_queue_time_seconds_sum", &[], 0.005),
        equal(REQUESTS, &[("outcome", "overloaded")], 1.0),
    ]);
}
