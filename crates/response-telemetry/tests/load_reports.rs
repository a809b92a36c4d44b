//! Load reports in their three forms, as servers write them and as they must not be.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking, as it should"
)]

use proptest::prelude::*;
use prost::Message;
use response_telemetry::{OrcaReport, TelemetryReader};

/// What a header reader makes of these headers: the report and the number of bad values.
fn told(headers: &[(&str, &[u8])]) -> (Option<OrcaReport>, u32) {
    let mut reader = TelemetryReader::new(&[]);
    for (name, value) in headers {
        reader.read(name.as_bytes(), value);
    }
    let telemetry = reader.finish();
    (telemetry.orca, telemetry.bad_values)
}

fn load(value: &str) -> (Option<OrcaReport>, u32) {
    told(&[("endpoint-load-metrics", value.as_bytes())])
}

fn kv(utilization: f64) -> OrcaReport {
    OrcaReport {
        kv_cache_utilization: Some(utilization),
        ..OrcaReport::default()
    }
}

/// The message as its definition has it, read and written by another implementation.
#[derive(Clone, PartialEq, Message)]
struct LoadReport {
    #[prost(double, tag = "1")]
    cpu_utilization: f64,
    #[prost(double, tag = "2")]
    mem_utilization: f64,
    #[prost(uint64, tag = "3")]
    rps: u64,
    #[prost(map = "string, double", tag = "4")]
    request_cost: std::collections::HashMap<String, f64>,
    #[prost(map = "string, double", tag = "5")]
    utilization: std::collections::HashMap<String, f64>,
    #[prost(double, tag = "6")]
    rps_fractional: f64,
    #[prost(double, tag = "7")]
    eps: f64,
    #[prost(map = "string, double", tag = "8")]
    named_metrics: std::collections::HashMap<String, f64>,
    #[prost(double, tag = "9")]
    application_utilization: f64,
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits: String = group.iter().map(|byte| format!("{byte:08b}")).collect();
        for place in 0..4 {
            let sextet: String = bits.chars().skip(place * 6).take(6).collect();
            let letter = u8::from_str_radix(&format!("{sextet:0<6}"), 2).unwrap();
            let padding = sextet.is_empty();
            text.push(if padding {
                '='
            } else {
                LETTERS.chars().nth(letter.into()).unwrap()
            });
        }
    }
    text
}

fn full_message() -> LoadReport {
    let metrics = [
        ("kv_cache_utilization", 0.5),
        ("num_requests_waiting", 3.0),
        ("num_requests_running", 7.0),
        ("max_token_capacity", 6400.0),
        ("anything_else", -1.0),
    ];
    LoadReport {
        cpu_utilization: 1.25,
        mem_utilization: 0.75,
        application_utilization: 2.5,
        rps: 100,
        rps_fractional: 99.5,
        eps: 0.5,
        request_cost: [("kv_cache_utilization".to_owned(), 0.9)].into(),
        utilization: [("gpu".to_owned(), 0.3)].into(),
        named_metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

fn full_report() -> OrcaReport {
    OrcaReport {
        cpu_utilization: Some(1.25),
        mem_utilization: Some(0.75),
        application_utilization: Some(2.5),
        requests_per_second: Some(99.5),
        errors_per_second: Some(0.5),
        kv_cache_utilization: Some(0.5),
        requests_waiting: Some(3.0),
        requests_running: Some(7.0),
        max_token_capacity: Some(6400.0),
    }
}

#[test]
fn what_vllm_writes_is_read() {
    let expected = OrcaReport {
        requests_waiting: Some(0.0),
        ..kv(0.4)
    };
    for value in [
        "TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=0.0",
        "text named_metrics.num_requests_waiting=0.0,named_metrics.kv_cache_usage_perc:0.4",
        r#"JSON {"named_metrics": {"kv_cache_usage_perc": 0.4, "num_requests_waiting": 0.0}}"#,
    ] {
        assert_eq!(load(value), (Some(expected), 0), "{value}");
    }
    let recorded = r#"JSON {"named_metrics": {"num_requests_waiting": 0.0, "kv_cache_usage_perc": 0.002931118710307823}}"#;
    let utilization = load(recorded).0.unwrap().kv_cache_utilization;
    assert_eq!(utilization, Some(0.002_931_118_710_307_823));
}

#[test]
fn what_triton_writes_is_read() {
    let expected = OrcaReport {
        max_token_capacity: Some(6400.0),
        ..kv(0.5)
    };
    for value in [
        "TEXT named_metrics.kv_cache_utilization=0.5, named_metrics.max_token_capacity=6400",
        r#"JSON {"named_metrics":{"kv_cache_utilization":0.5,"max_token_capacity":6400}}"#,
    ] {
        assert_eq!(load(value), (Some(expected), 0), "{value}");
    }
}

#[test]
fn the_recorded_answers_have_no_bad_value() {
    for recorded in [
        &include_bytes!("../../../testdata/captures/vllm/orca_TEXT_nonstream.response")[..],
        include_bytes!("../../../testdata/captures/vllm/orca_lowercase_nonstream.response"),
        include_bytes!("../../../testdata/captures/vllm/orca_JSON_nonstream.response"),
        include_bytes!(
            "../../../testdata/captures/vllm-features/queue_orca_JSON_nonstream.response"
        ),
    ] {
        let mut lines = recorded.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| line.strip_prefix(b"endpoint-load-metrics:"));
        let (report, bad) = told(&[("endpoint-load-metrics", value.unwrap())]);
        let report = report.unwrap();
        assert!(report.kv_cache_utilization.is_some());
        assert!(report.requests_waiting.is_some());
        assert_eq!(bad, 0);
    }
}

#[test]
fn every_field_is_read_in_every_form() {
    let text = "TEXT cpu_utilization=1.25,mem_utilization=0.75,application_utilization=2.5,eps=0.5,rps_fractional=99.5,\
                named_metrics.kv_cache_utilization=0.5,named_metrics.num_requests_waiting=3,utilization.gpu=0.3,\
                named_metrics.num_requests_running=7,named_metrics.max_token_capacity=6400,named_metrics.anything_else=-1";
    let json = r#"JSON {"cpu_utilization":1.25,"mem_utilization":0.75,"application_utilization":2.5,"eps":0.5,"rps":100,
        "rps_fractional":99.5,"request_cost":{"kv_cache_utilization":0.9},"utilization":{"gpu":0.3},
        "named_metrics":{"kv_cache_utilization":0.5,"num_requests_waiting":3,"num_requests_running":7,
        "max_token_capacity":6400,"anything_else":-1}}"#;
    let camel = r#"json {"cpuUtilization":"1.25","memUtilization":0.75,"applicationUtilization":2.5,"eps":5e-1,
        "rpsFractional":99.5,"namedMetrics":{"kv_cache_utilization":0.5,"num_requests_waiting":3,
        "num_requests_running":7,"max_token_capacity":6400}}"#;
    let message = full_message().encode_to_vec();
    let binary = format!("BIN {}", base64(&message));
    for value in [text, json, camel, &binary] {
        assert_eq!(load(value), (Some(full_report()), 0), "{value}");
    }
    for encoded in [
        base64(&message),
        base64(&message).trim_end_matches('=').to_owned(),
    ] {
        let header = told(&[("Endpoint-Load-Metrics-Bin", encoded.as_bytes())]);
        assert_eq!(header, (Some(full_report()), 0));
    }
}

#[test]
fn the_names_of_the_model_server_protocol_are_known() {
    for (name, of) in [
        (
            "TotalQueuedRequests",
            (|report| report.requests_waiting) as fn(OrcaReport) -> Option<f64>,
        ),
        ("vllm:num_requests_waiting", |report| {
            report.requests_waiting
        }),
        ("sglang:num_queue_reqs", |report| report.requests_waiting),
        ("trtllm_num_requests_waiting", |report| {
            report.requests_waiting
        }),
        ("TotalRunningRequests", |report| report.requests_running),
        ("vllm:num_requests_running", |report| {
            report.requests_running
        }),
        ("sglang:num_running_reqs", |report| report.requests_running),
        ("KVCacheUtilization", |report| report.kv_cache_utilization),
        ("vllm:kv_cache_usage_perc", |report| {
            report.kv_cache_utilization
        }),
        ("vllm:gpu_cache_usage_perc", |report| {
            report.kv_cache_utilization
        }),
        ("sglang:token_usage", |report| report.kv_cache_utilization),
        ("trtllm_kv_cache_utilization", |report| {
            report.kv_cache_utilization
        }),
    ] {
        for value in [
            format!("TEXT named_metrics.{name}=1"),
            format!("TEXT named_metrics.{name}:1"),
            format!("TEXT utilization.{name}=1"),
            format!(r#"JSON {{"named_metrics":{{"{name}":1}}}}"#),
        ] {
            let (report, bad) = load(&value);
            assert_eq!((report.and_then(of), bad), (Some(1.0), 0), "{value}");
        }
    }
}

#[test]
fn one_broken_entry_spoils_no_other() {
    for (entry, bad) in [
        ("named_metrics.num_requests_waiting=NaN", 1),
        ("named_metrics.num_requests_waiting=inf", 1),
        ("named_metrics.num_requests_waiting=-1", 1),
        ("named_metrics.num_requests_waiting=", 1),
        ("named_metrics.num_requests_waiting", 1),
        ("mem_utilization=1.5", 1),
        ("named_metrics.kv_cache_utilization=0.5", 1),
        ("named_metrics.unknown=NaN", 0),
        ("unknown=1", 0),
        ("unknown.kv_cache_usage_perc=0.9", 0),
        ("", 0),
    ] {
        // The broken one last: of two values for one thing the first counts.
        let value = format!("TEXT named_metrics.kv_cache_usage_perc=0.4,{entry}");
        assert_eq!(load(&value), (Some(kv(0.4)), bad), "{entry}");
    }
    for (entry, bad) in [
        (r#""num_requests_waiting": NaN"#, 1),
        (r#""num_requests_waiting": "NaN""#, 1),
        (r#""num_requests_waiting": Infinity"#, 1),
        (r#""num_requests_waiting": -Infinity"#, 1),
        (r#""num_requests_waiting": -1"#, 1),
        (r#""num_requests_waiting": 1e999"#, 1),
        (r#""num_requests_waiting": true"#, 1),
        (r#""num_requests_waiting": [1]"#, 1),
        (r#""num_requests_waiting": {"num_requests_waiting": 1}"#, 1),
        (r#""num_requests_waiting": null"#, 0),
        (r#""unknown": NaN"#, 0),
        (r#""unknown": {"num_requests_waiting": 1}"#, 0),
        (r#""un\"known": "a,b}:""#, 0),
    ] {
        for value in [
            format!(r#"JSON {{"named_metrics": {{{entry}, "kv_cache_usage_perc": 0.4}}}}"#),
            format!(r#"JSON {{"named_metrics": {{"kv_cache_usage_perc": 0.4, {entry}}}}}"#),
        ] {
            assert_eq!(load(&value), (Some(kv(0.4)), bad), "{value}");
        }
    }
}

#[test]
fn of_two_values_the_first_counts_in_text_and_the_last_in_binary() {
    let twice =
        r#"JSON {"named_metrics": {"kv_cache_usage_perc": 0.4, "kv_cache_usage_perc": 0.5}}"#;
    assert_eq!(load(twice), (Some(kv(0.4)), 1));
    let message = |value| LoadReport {
        cpu_utilization: value,
        ..LoadReport::default()
    };
    let both = [message(0.1).encode_to_vec(), message(0.2).encode_to_vec()].concat();
    let mut bad = 0;
    let report = OrcaReport::parse_binary(&both, &mut bad);
    assert_eq!((report.cpu_utilization, bad), (Some(0.2), 0));
}

#[test]
fn the_old_rate_counts_only_where_the_new_one_is_not_told() {
    for (value, rate) in [
        ("TEXT rps=5", Some(5.0)),
        ("TEXT rps=5,rps_fractional=5.5", Some(5.5)),
        ("TEXT rps_fractional=5.5,rps=5", Some(5.5)),
    ] {
        let (report, bad) = load(value);
        assert_eq!(
            (report.unwrap().requests_per_second, bad),
            (rate, 0),
            "{value}"
        );
    }
    let old = LoadReport {
        rps: 5,
        ..LoadReport::default()
    };
    let mut bad = 0;
    let report = OrcaReport::parse_binary(&old.encode_to_vec(), &mut bad);
    assert_eq!((report.requests_per_second, bad), (Some(5.0), 0));
}

#[test]
fn a_report_that_cannot_be_read_at_all_is_none() {
    for value in [
        "",
        "TEXT",
        "named_metrics.kv_cache_usage_perc=0.4",
        "XML <a/>",
        "JSON",
        "JSON 0.4",
        "JSON [0.4]",
        "BIN *",
        "TEXT nonsense",
    ] {
        assert_eq!(load(value), (None, 1), "{value}");
    }
    for (value, report) in [
        ("TEXT ,", Some(OrcaReport::default())),
        ("JSON {}", Some(OrcaReport::default())),
    ] {
        assert_eq!(load(value), (report, 0), "{value}");
    }
}

#[test]
fn a_report_that_ends_too_soon_keeps_what_came_before() {
    assert_eq!(
        load(r#"JSON {"named_metrics": {"kv_cache_usage_perc": 0.4, "#),
        (Some(kv(0.4)), 1)
    );
    assert_eq!(
        load(r#"JSON {"named_metrics": {"kv_cache_usage_perc": 0.4, "num"#),
        (Some(kv(0.4)), 1)
    );
    assert_eq!(
        load(r#"JSON {"named_metrics": {"kv_cache_usage_perc": 0.4}}}"#),
        (Some(kv(0.4)), 1)
    );
    let mut message = LoadReport {
        cpu_utilization: 0.5,
        ..LoadReport::default()
    }
    .encode_to_vec();
    message.extend_from_slice(&[0x11, 0, 0]);
    let mut bad = 0;
    let report = OrcaReport::parse_binary(&message, &mut bad);
    assert_eq!((report.cpu_utilization, bad), (Some(0.5), 1));
}

#[test]
fn binary_values_of_the_wrong_kind_or_size_are_bad_ones() {
    for (message, bad) in [
        (&b"\x08\x01"[..], 1),            // field 1 as a varint
        (b"\x0d\0\0\x80\x3f", 1),         // field 1 in four bytes
        (b"\x19\0\0\0\0\0\0\xf0\x3f", 1), // field 3 as a double
        (b"\x40\x01", 1),                 // field 8 as a varint
        (b"\x42\x02\x0a\x09", 1),         // an entry whose name is longer than it
        (b"\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1),
        (b"\x0b", 1), // a group
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1),
        (b"\x50\x01", 0),                 // field 10, which is not known
        (b"\x09\0\0\0\0\0\0\xf8\x7f", 1), // NaN
        (b"\x11\0\0\0\0\0\0\xf0\xbf", 1), // -1
    ] {
        let mut found = 0;
        let report = OrcaReport::parse_binary(message, &mut found);
        assert_eq!((report, found), (OrcaReport::default(), bad), "{message:?}");
    }
}

#[test]
fn the_binary_header_goes_before_the_other_in_any_order() {
    let message = LoadReport {
        cpu_utilization: 0.5,
        ..LoadReport::default()
    };
    let binary = base64(&message.encode_to_vec());
    let expected = OrcaReport {
        cpu_utilization: Some(0.5),
        ..OrcaReport::default()
    };
    let text = (
        "endpoint-load-metrics",
        &b"TEXT named_metrics.kv_cache_usage_perc=0.4"[..],
    );
    let bin = ("endpoint-load-metrics-bin", binary.as_bytes());
    assert_eq!(told(&[text, bin]), (Some(expected), 0));
    assert_eq!(told(&[bin, text]), (Some(expected), 0));
    let broken = ("endpoint-load-metrics-bin", &b"***"[..]);
    assert_eq!(told(&[broken, text]), (Some(kv(0.4)), 1));
}

#[test]
fn a_second_report_is_not_mixed_with_the_first() {
    let first = (
        "endpoint-load-metrics",
        &b"TEXT named_metrics.kv_cache_usage_perc=0.4"[..],
    );
    let second = ("endpoint-load-metrics", &b"TEXT cpu_utilization=0.4"[..]);
    assert_eq!(told(&[first, second]), (Some(kv(0.4)), 1));
    assert_eq!(told(&[first, first]), (Some(kv(0.4)), 0));
}

fn any_message() -> impl Strategy<Value = LoadReport> {
    let metrics = proptest::collection::hash_map(
        "[a-z_]{0,8}|kv_cache_usage_perc|num_requests_running",
        0.0..=1.0,
        0..5,
    );
    let value = || prop_oneof![Just(0.0), 0.0..=1.0, any::<f64>()];
    (value(), value(), any::<u64>(), value(), metrics).prop_map(|(cpu, mem, rps, eps, named)| {
        LoadReport {
            cpu_utilization: cpu,
            mem_utilization: mem,
            rps,
            eps,
            named_metrics: named,
            ..LoadReport::default()
        }
    })
}

/// What a message says by another implementation's reading; fields that are 0 are not in its encoding.
fn naive(message: &LoadReport) -> OrcaReport {
    let sane =
        |value: f64, limit: f64| (value != 0.0 && value > 0.0 && value <= limit).then_some(value);
    OrcaReport {
        cpu_utilization: sane(message.cpu_utilization, f64::MAX),
        mem_utilization: sane(message.mem_utilization, 1.0),
        errors_per_second: sane(message.eps, f64::MAX),
        requests_per_second: sane(message.rps as f64, f64::MAX),
        kv_cache_utilization: message.named_metrics.get("kv_cache_usage_perc").copied(),
        requests_running: message.named_metrics.get("num_requests_running").copied(),
        ..OrcaReport::default()
    }
}

proptest! {
    #[test]
    fn binary_reports_are_read_as_another_implementation_wrote_them(message in any_message()) {
        let mut bad = 0;
        let report = OrcaReport::parse_binary(&message.encode_to_vec(), &mut bad);
        // A negative zero is written although it is one.
        let zeros = |value: Option<f64>| value.filter(|value| *value != 0.0);
        let report = OrcaReport {
            cpu_utilization: zeros(report.cpu_utilization),
            mem_utilization: zeros(report.mem_utilization),
            errors_per_second: zeros(report.errors_per_second),
            ..report
        };
        prop_assert_eq!(report, naive(&message));
    }

    #[test]
    fn json_reports_are_read_as_a_strict_reader_reads_them(
        kv in 0.0..=1.0, cpu in 0.0..1e9, other in "\\PC{0,12}", deep in any::<bool>(),
    ) {
        let mut value = serde_json::json!({
            other.clone(): {"x": [other.clone(), {"kv_cache_usage_perc": 0.9}]},
            "named_metrics": {other.clone(): 1, "kv_cache_usage_perc": kv},
            "cpu_utilization": cpu,
        });
        if deep {
            value["utilization"] = serde_json::json!({"deep": {"num_requests_waiting": 4}});
        }
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let mut bad = 0;
            let report = OrcaReport::parse_json(text.as_bytes(), &mut bad);
            prop_assert_eq!(report.kv_cache_utilization, value["named_metrics"]["kv_cache_usage_perc"].as_f64());
            prop_assert_eq!(report.cpu_utilization, value["cpu_utilization"].as_f64());
            prop_assert_eq!(report.requests_waiting, None);
            prop_assert_eq!(bad, 0, "{}", text);
        }
    }
}
