//! What the headers of a request tell about where a gateway sent it.

use response_telemetry::Routing;

fn routed<'a>(headers: &[(&str, &'a [u8])]) -> Routing<'a> {
    let mut routing = Routing::default();
    for (name, value) in headers {
        routing.read(name.as_bytes(), value);
    }
    routing
}

#[test]
fn each_header_is_read_by_its_new_name_and_its_old_one() {
    type Of = for<'a> fn(Routing<'a>) -> Option<&'a str>;
    for (new, old, of) in [
        (
            "x-llm-d-inference-objective",
            "x-gateway-inference-objective",
            (|routing| routing.objective) as Of,
        ),
        (
            "x-llm-d-inference-fairness-id",
            "x-gateway-inference-fairness-id",
            |routing| routing.fairness_id,
        ),
        (
            "x-llm-d-model-name-rewrite",
            "x-gateway-model-name-rewrite",
            |routing| routing.model_rewrite,
        ),
    ] {
        assert_eq!(of(routed(&[(new, b"a")])), Some("a"));
        assert_eq!(of(routed(&[(old, b" a ")])), Some("a"));
        assert_eq!(of(routed(&[(&old.to_uppercase(), b"a")])), Some("a"));
        assert_eq!(of(routed(&[(old, b"a"), (new, b"b")])), Some("b"), "{new}");
        assert_eq!(of(routed(&[(new, b"b"), (old, b"a")])), Some("b"), "{new}");
        assert_eq!(of(routed(&[(new, b"b"), (new, b"c")])), Some("b"), "{new}");
        assert_eq!(of(routed(&[(old, b"b"), (old, b"c")])), Some("b"), "{old}");
        // A new name with nothing to it does not hide what the old one says, nor what comes after it.
        assert_eq!(
            of(routed(&[(old, b"a"), (new, b""), (new, b"c")])),
            Some("c")
        );
        assert_eq!(of(routed(&[(new, b""), (old, b"a")])), Some("a"));
    }
}

#[test]
fn the_endpoint_is_the_first_of_the_list() {
    for (value, endpoint) in [
        (&b"10.0.0.7:8000"[..], Some("10.0.0.7:8000")),
        (b"10.0.0.7:8000, 10.0.0.9:8000", Some("10.0.0.7:8000")),
        (b"[fd00::7]:8000,[fd00::9]:8000", Some("[fd00::7]:8000")),
        (b"", None),
    ] {
        let routing = routed(&[("x-gateway-destination-endpoint", value)]);
        assert_eq!(routing.destination_endpoint, endpoint);
        assert_eq!(routing.bad_values, 0);
    }
}

#[test]
fn other_headers_of_the_same_families_tell_nothing() {
    for name in [
        "x-llm-d-",
        "x-gateway-",
        "x-llm-d-slo-ttft-ms",
        "x-llm-d-destination-endpoint",
        "x-gateway-destination-endpoint-subset",
        "x-gateway-destination-endpoint-scores",
        "x-gateway-inference-objectives",
        "authorization",
        "",
    ] {
        assert_eq!(routed(&[(name, b"a")]), Routing::default(), "{name}");
    }
}

#[test]
fn what_is_no_name_is_counted_and_left_out() {
    let long = vec![b'a'; 60_000];
    for value in [&b"\xff\xfe"[..], &long] {
        let routing = routed(&[
            ("x-llm-d-inference-objective", value),
            ("x-llm-d-inference-fairness-id", b"me"),
            ("x-gateway-destination-endpoint", value),
        ]);
        assert_eq!(routing.objective, None);
        assert_eq!(routing.fairness_id, Some("me"));
        assert_eq!(routing.bad_values, 2);
    }
}
