//! Real scrapes of real Envoy, read by parsers that are not ours: those of the Python client, and promtool where it is
//! installed.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use envoy_harness::python_venv;
use host_tests::{
    envoy_rig::{EnvoyRig, RigPlan, say},
    metric_assert::Exposition,
    mixed_load::Load,
    module::workspace_root,
    scripted_upstream::{Finish, Gate, Script, ScriptedUpstream, Step},
    test_client::{Ask, Http1Client, Leave},
};

/// The client whose parsers read the scrapes, pinned; in an interpreter that this variable names, or in one made here.
const CLIENT: &str = "prometheus-client==0.26.0";
const PYTHON_VARIABLE: &str = "INFEROMETER_PYTHON";

/// What a scraper of today sends, and what it asks for first.
const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

const NAMES: [&str; 8] = [
    "plain",
    "a\"b",
    "a\\b",
    "a\\nb\n",
    "模型-ü-🚀",
    "{model=\"x\"} 1",
    "# EOF",
    "trailing\\",
];

type Series = (String, BTreeMap<String, String>);

fn python() -> PathBuf {
    if let Some(given) = std::env::var_os(PYTHON_VARIABLE) {
        return PathBuf::from(given);
    }
    let tools = workspace_root().join("target/tools");
    let home = python_venv::ensure(&tools, &CLIENT.replace("==", "-"), CLIENT, &mut say).unwrap();
    python_venv::interpreter(&home)
}

fn from_hex(text: &str) -> String {
    let bytes: Vec<u8> = (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect();
    String::from_utf8(bytes).unwrap()
}

/// Every sample as the Python client reads it.
fn read_by_python(python: &PathBuf, form: &str, text: &str) -> BTreeMap<Series, f64> {
    let script = workspace_root().join("crates/prometheus-text/tests/read_exposition.py");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let output = Command::new(python)
        .arg(script)
        .arg(form)
        .arg(file.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the {form} parser refuses the scrape: {errors}\n{text}"
    );
    let mut samples = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [kind, name, labels, value] = words[..]
            && kind != "documented"
        {
            let labels = labels.split(',').filter(|pair| *pair != "-").map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                (from_hex(name), from_hex(value))
            });
            let value = value.parse().unwrap();
            samples.insert((from_hex(name), labels.collect()), value);
        }
    }
    samples
}

fn read_by_us(text: &str) -> BTreeMap<Series, f64> {
    let exposition = Exposition::parse(text).unwrap();
    exposition
        .samples()
        .iter()
        .map(|sample| ((sample.name.clone(), sample.labels.clone()), sample.value))
        .collect()
}

/// Gives whether promtool is there; where it is, it must accept the text.
fn check_by_promtool(text: &str) -> bool {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        return false;
    };
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "promtool: {}\n{text}",
        String::from_utf8_lossy(&said)
    );
    true
}

async fn check(rig: &EnvoyRig, python: &PathBuf, when: &str) -> usize {
    let plain = rig.scrape_answer(None).await.unwrap();
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert_eq!(
        read_by_python(python, "prometheus", &plain.text()),
        read_by_us(&plain.text()),
        "{when}"
    );
    let open = rig.scrape_answer(Some(OPENMETRICS)).await.unwrap();
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let text = open.text();
    assert!(text.ends_with("# EOF\n"), "{when}");
    assert_eq!(
        read_by_python(python, "openmetrics", &text),
        read_by_us(&text),
        "{when}"
    );
    let asked = check_by_promtool(&plain.text());
    let promtool = if asked {
        "promtool accepts it"
    } else {
        "promtool is not installed and was not asked"
    };
    let samples = read_by_us(&plain.text()).len();
    say(&format!(
        "scrape {when}: {samples} samples read alike by {CLIENT} in both formats; {promtool}"
    ));
    samples
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_parsers_accept_every_scrape_and_read_what_we_read() {
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let upstream = Arc::new(ScriptedUpstream::http1().await.unwrap());
    let rig = RigPlan::default().start(upstream.address()).await.unwrap();
    rig.scrape_until("a first snapshot", |scrape| {
        scrape.total("inferometer_build_info", &[]).is_some()
    })
    .await
    .unwrap();
    let empty = check(&rig, &python, "before any request").await;

    let gate = Gate::closed();
    let script = Script::new(vec![
        Step::event_stream(),
        Step::Data(Bytes::from_static(
            b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        )),
    ]);
    let report = upstream.next(script.finishing(Finish::Stall));
    let ask = Ask::post("/v1/chat/completions", "{\"model\":\"m\",\"stream\":true}")
        .leaving(Leave::When(gate.clone()));
    let observe = rig.observe;
    let streaming = tokio::spawn(async move { Http1Client::once(observe, &ask).await });
    let in_flight = [("phase", "decode")];
    rig.scrape_until("a stream in flight", |scrape| {
        scrape.total("inference_requests_in_flight", &in_flight) == Some(1.0)
    })
    .await
    .unwrap();
    check(&rig, &python, "with a stream in flight").await;
    gate.open();
    streaming.await.unwrap().unwrap();
    report.within(Duration::from_secs(5)).await.unwrap();

    for name in NAMES {
        let model = serde_json::Value::from(name).to_string();
        let body = format!(
            "{{\"model\":{model},\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":1}}}}"
        );
        let report = upstream.next(Script::reply(200, "application/json", body));
        let ask = Ask::post("/v1/chat/completions", format!("{{\"model\":{model}}}"));
        assert_eq!(
            Http1Client::once(rig.observe, &ask).await.unwrap().status,
            200
        );
        report.within(Duration::from_secs(5)).await.unwrap();
    }
    let load = Load {
        connections: 16,
        requests: 300,
        seed: 7,
        reconnect: false,
    };
    let truth = load.run(&upstream, rig.observe).await.unwrap();
    let expected = truth.watched() as f64 + NAMES.len() as f64 + 1.0;
    rig.scrape_until("all requests", |scrape| {
        scrape.total_or_zero("inference_requests_total", &[]) >= expected
    })
    .await
    .unwrap();
    rig.scrape_settled().await.unwrap();
    let full = check(&rig, &python, "after a mixed load and odd names").await;
    assert!(full > empty + 100, "{full} samples after, {empty} before");
    rig.stop().await.unwrap();
}
