//! What is sent, read by the published messages: every field, every series, every value.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "this file is a test"
)]

use std::collections::BTreeMap;
use std::rc::Rc;

use metric_registry::{
    FamilyDef, FamilyId, Gauges, Kind, Limits, OVERFLOW_LABEL, Registry, SeriesValue, Snapshot,
};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Metric, exemplar, metric::Data, number_data_point,
};
use otlp_encoding::{
    Bounds, Delivered, Exemplar, Exemplars, HistogramAggregation, MetricsExport, MetricsInput,
    ResourceAttributes, Sender, Step, Temporality,
};
use proptest::prelude::*;

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn families() -> Vec<FamilyDef> {
    let family = |name, kind, unit, scale, labels: &[&'static str], bounds: &[u64]| FamilyDef {
        name,
        kind,
        unit,
        scale,
        labels: labels.to_vec(),
        bounds: bounds.to_vec(),
    };
    let quarters = [250_000_000, SECOND];
    vec![
        family(
            "requests",
            Kind::Counter,
            "{request}",
            1,
            &["model", "server.port"],
            &[],
        ),
        family("cost", Kind::Counter, "1", 1_000_000, &["model"], &[]),
        family("in_flight", Kind::Gauge, "{request}", 1, &["model"], &[]),
        family(
            "duration",
            Kind::Histogram,
            "s",
            SECOND,
            &["model"],
            &quarters,
        ),
        family(
            "tokens",
            Kind::Histogram,
            "{token}",
            1,
            &["model"],
            &[1, 4, 16],
        ),
    ]
}

fn sender() -> Rc<Sender> {
    let mut resource = ResourceAttributes::default();
    resource.set("service.name", "gateway");
    Rc::new(Sender::new(&resource, "inferometer", "0.1.0"))
}

/// Every request of an export, and how many steps they took.
fn requests(input: MetricsInput, bounds: Bounds) -> (Vec<ExportMetricsServiceRequest>, usize) {
    let mut export = MetricsExport::new(input, sender(), bounds);
    let mut requests = Vec::new();
    for steps in 1..100_000 {
        match export.step() {
            Step::More => {}
            Step::Request { bytes, points } => {
                let request: ExportMetricsServiceRequest = prost::Message::decode(&*bytes).unwrap();
                assert_eq!(points, points_of(&request));
                requests.push(request);
            }
            Step::Done => return (requests, steps),
        }
    }
    panic!("it does not end");
}

fn metrics(request: &ExportMetricsServiceRequest) -> &[Metric] {
    &request.resource_metrics[0].scope_metrics[0].metrics
}

fn points_of(request: &ExportMetricsServiceRequest) -> usize {
    metrics(request)
        .iter()
        .map(|metric| match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => sum.data_points.len(),
            Data::Gauge(gauge) => gauge.data_points.len(),
            Data::Histogram(histogram) => histogram.data_points.len(),
            Data::ExponentialHistogram(histogram) => histogram.data_points.len(),
            Data::Summary(_) => panic!("nothing sends summaries"),
        })
        .sum()
}

/// Everything that tells one point from another.
type Series = (String, Vec<(String, String)>);

fn labels(attributes: &[KeyValue]) -> Vec<(String, String)> {
    attributes
        .iter()
        .map(|pair| {
            let value = pair.value.as_ref().unwrap().value.as_ref().unwrap();
            let text = match value {
                Value::StringValue(text) => text.clone(),
                Value::IntValue(number) => number.to_string(),
                Value::BoolValue(is) => is.to_string(),
                other => panic!("{other:?}"),
            };
            (pair.key.clone(), text)
        })
        .collect()
}

/// Count, or level, or count and sum in the unit, of every point; and the time that it covers.
fn values(requests: &[ExportMetricsServiceRequest]) -> BTreeMap<Series, (f64, f64, u64, u64)> {
    let mut values = BTreeMap::new();
    let mut put = |metric: &Metric, attributes: &[KeyValue], value: (f64, f64, u64, u64)| {
        let series = (metric.name.clone(), labels(attributes));
        let before = values.insert(series.clone(), value);
        assert_eq!(before, None, "{series:?} stands twice");
    };
    for metric in requests.iter().flat_map(metrics) {
        match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic);
                for point in &sum.data_points {
                    let time = (point.start_time_unix_nano, point.time_unix_nano);
                    let value = number(point.value.unwrap());
                    put(metric, &point.attributes, (value, 0.0, time.0, time.1));
                }
            }
            Data::Gauge(gauge) => {
                for point in &gauge.data_points {
                    assert_eq!(point.start_time_unix_nano, 0);
                    let value = number(point.value.unwrap());
                    let end = point.time_unix_nano;
                    put(metric, &point.attributes, (value, 0.0, 0, end));
                }
            }
            Data::Histogram(histogram) => {
                for point in &histogram.data_points {
                    let counts = &point.bucket_counts;
                    assert_eq!(counts.len(), point.explicit_bounds.len() + 1);
                    assert_eq!(counts.iter().sum::<u64>(), point.count);
                    let time = (point.start_time_unix_nano, point.time_unix_nano);
                    let value = (point.count as f64, point.sum.unwrap(), time.0, time.1);
                    put(metric, &point.attributes, value);
                }
            }
            Data::ExponentialHistogram(histogram) => {
                for point in &histogram.data_points {
                    let counts = &point.positive.as_ref().unwrap().bucket_counts;
                    assert_eq!(counts.iter().sum::<u64>(), point.count);
                    assert!(counts.len() <= 160);
                    let time = (point.start_time_unix_nano, point.time_unix_nano);
                    let value = (point.count as f64, point.sum.unwrap(), time.0, time.1);
                    put(metric, &point.attributes, value);
                }
            }
            Data::Summary(_) => panic!("nothing sends summaries"),
        }
    }
    values
}

fn number(value: number_data_point::Value) -> f64 {
    match value {
        number_data_point::Value::AsInt(number) => number as f64,
        number_data_point::Value::AsDouble(number) => number,
    }
}

/// For each histogram the upper bound of the bucket that holds a quantile. Beside it stands, of explicit buckets, the
/// last bound; of exponential ones the base.
fn quantile_bounds(
    requests: &[ExportMetricsServiceRequest],
    quantile: f64,
) -> BTreeMap<(String, String), (f64, f64)> {
    let reaching = |counts: &[u64]| {
        let rank = (quantile * counts.iter().sum::<u64>() as f64).ceil() as u64;
        let mut below = 0;
        counts.iter().position(|count| {
            below += count;
            below >= rank.max(1)
        })
    };
    let mut found = BTreeMap::new();
    for metric in requests.iter().flat_map(metrics) {
        let mut put = |attributes: &[KeyValue], bounds| {
            found.insert((metric.name.clone(), format!("{attributes:?}")), bounds);
        };
        match metric.data.as_ref().unwrap() {
            Data::Histogram(histogram) => {
                for point in &histogram.data_points {
                    let bounds = &point.explicit_bounds;
                    let last = bounds.last().copied().unwrap();
                    if let Some(bucket) = reaching(&point.bucket_counts) {
                        let bound = bounds.get(bucket).copied().unwrap_or(f64::INFINITY);
                        put(&point.attributes, (bound, last));
                    }
                }
            }
            Data::ExponentialHistogram(histogram) => {
                for point in &histogram.data_points {
                    let base = f64::from(-point.scale).exp2().exp2();
                    let buckets = point.positive.as_ref().unwrap();
                    if let Some(bucket) = reaching(&buckets.bucket_counts) {
                        let index = buckets.offset + i32::try_from(bucket).unwrap();
                        put(&point.attributes, (base.powi(index + 1), base));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// What the snapshot itself says.
fn expected(snapshot: &Snapshot) -> BTreeMap<Series, (f64, f64)> {
    let mut expected = BTreeMap::new();
    for family in snapshot.families() {
        let scale = family.scale() as f64;
        for series in family.series() {
            let mut labels: Vec<_> = series
                .labels()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            labels.sort();
            let value = match series.value() {
                SeriesValue::Counter(sum) => (sum as f64 / scale, 0.0),
                SeriesValue::Gauge(level) | SeriesValue::Reading { level, .. } => {
                    (level as f64 / scale, 0.0)
                }
                value @ SeriesValue::Histogram { sum, .. } => {
                    (value.count() as f64, sum as f64 / scale)
                }
            };
            expected.insert((family.name().to_owned(), labels), value);
        }
    }
    expected
}

fn filled() -> Registry {
    let mut registry = Registry::new(families(), Limits::default(), START);
    move_series(
        &mut registry,
        &[(0, 0, 3), (1, 1, 2_500_000), (2, 0, 7), (3, 0, 123_456_789)],
    );
    move_series(
        &mut registry,
        &[(3, 1, 5 * SECOND), (4, 0, 4), (4, 0, 17), (0, 2, 1)],
    );
    registry
}

/// Family, model, amount.
fn move_series(registry: &mut Registry, moves: &[(u16, usize, u64)]) {
    for (family, model, amount) in moves {
        let model = ["llama", "", "größe"][*model];
        let id = FamilyId(*family);
        let series = match family {
            0 => registry.series(id, &[model, "8000"]),
            _ => registry.series(id, &[model]),
        };
        match family {
            0 | 1 => registry.add(series, *amount),
            2 => registry.set_gauge(series, i64::try_from(*amount).unwrap()),
            _ => registry.observe(series, *amount),
        }
    }
}

#[test]
fn every_field_is_read_as_it_was_meant() {
    let input = MetricsInput {
        describe: |name| (name == "cost").then_some("What it costs."),
        ..MetricsInput::cumulative(filled().snapshot(), START + 5 * SECOND)
    };
    let (requests, _) = requests(input, Bounds::default());
    assert_eq!(requests.len(), 1);
    let entry = &requests[0].resource_metrics[0];
    let schema = "https://opentelemetry.io/schemas/1.41.0";
    assert_eq!(entry.schema_url, schema);
    let resource = entry.resource.as_ref().unwrap();
    assert_eq!(
        labels(&resource.attributes),
        [("service.name".to_owned(), "gateway".to_owned())]
    );
    let scope = &entry.scope_metrics[0];
    assert_eq!(scope.schema_url, schema);
    let own = scope.scope.as_ref().unwrap();
    assert_eq!((&*own.name, &*own.version), ("inferometer", "0.1.0"));
    let names: Vec<_> = scope.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(
        names,
        ["cost", "duration", "in_flight", "requests", "tokens"]
    );
    assert_eq!(scope.metrics[0].description, "What it costs.");
    assert_eq!(scope.metrics[1].unit, "s");

    let Some(Data::Histogram(duration)) = &scope.metrics[1].data else {
        panic!("{:?}", scope.metrics[1]);
    };
    assert_eq!(
        duration.aggregation_temporality,
        AggregationTemporality::Cumulative as i32
    );
    let point = &duration.data_points[1];
    assert_eq!(
        labels(&point.attributes),
        [("model".into(), "llama".into())]
    );
    assert_eq!(point.explicit_bounds, [0.25, 1.0]);
    assert_eq!(point.bucket_counts, [1, 0, 0]);
    assert_eq!(point.sum, Some(0.123_456_789));
    assert_eq!(point.start_time_unix_nano, START);
    assert_eq!(point.time_unix_nano, START + 5 * SECOND);
    assert_eq!((point.min, point.max, point.flags), (None, None, 0));
    assert_eq!(point.exemplars, []);

    let Some(Data::Sum(requests)) = &scope.metrics[3].data else {
        panic!("{:?}", scope.metrics[3]);
    };
    let port = requests.data_points[0].attributes[1]
        .value
        .as_ref()
        .unwrap();
    assert_eq!(port.value, Some(Value::IntValue(8000)));
}

#[test]
fn an_exemplar_stands_beside_the_point_of_its_series() {
    let exemplar = |amount, model| {
        let labels = [("model", model)].into_iter();
        let place = ([7; 16], [9; 8]);
        Exemplar::new("duration", labels, amount, START + amount, place)
    };
    let mut exemplars = Exemplars::default();
    exemplars.add(exemplar(1, "llama"));
    exemplars.add(exemplar(250_000_000, "llama"));
    exemplars.add(exemplar(2, "another"));
    let told = Exemplars::from_bytes(&exemplars.to_bytes()).unwrap();
    assert_eq!(told, exemplars);
    for histograms in [
        HistogramAggregation::ExplicitBuckets,
        HistogramAggregation::Base2Exponential,
    ] {
        let input = MetricsInput {
            histograms,
            exemplars: told.clone(),
            ..MetricsInput::cumulative(filled().snapshot(), START + 5 * SECOND)
        };
        let (requests, _) = requests(input, Bounds::default());
        let held: Vec<_> = match &metrics(&requests[0])[1].data {
            Some(Data::Histogram(histogram)) => {
                let points = histogram.data_points.iter();
                points
                    .map(|point| (&point.attributes, &point.exemplars))
                    .collect()
            }
            Some(Data::ExponentialHistogram(histogram)) => {
                let points = histogram.data_points.iter();
                points
                    .map(|point| (&point.attributes, &point.exemplars))
                    .collect()
            }
            other => panic!("{other:?}"),
        };
        for (attributes, exemplars) in held {
            if labels(attributes) != [("model".into(), "llama".into())] {
                assert_eq!(exemplars, &[]);
                continue;
            }
            let [exemplar] = exemplars.as_slice() else {
                panic!("{exemplars:?}");
            };
            assert_eq!(exemplar.value, Some(exemplar::Value::AsDouble(0.25)));
            assert_eq!(exemplar.time_unix_nano, START + 250_000_000);
            assert_eq!(
                (&*exemplar.trace_id, &*exemplar.span_id),
                (&[7; 16][..], &[9; 8][..])
            );
        }
    }
}

#[test]
fn an_overflow_series_is_marked_by_a_boolean() {
    let limits = Limits {
        series: 1,
        ..Limits::default()
    };
    let mut registry = Registry::new(families(), limits, START);
    for model in ["a", "b", "c"] {
        let series = registry.series(FamilyId(1), &[model]);
        registry.add(series, 1);
    }
    let input = MetricsInput::cumulative(registry.snapshot(), START);
    let (requests, _) = requests(input, Bounds::default());
    let Some(Data::Sum(cost)) = &metrics(&requests[0])[0].data else {
        panic!("{requests:?}");
    };
    let marked = cost.data_points.iter().find_map(|point| {
        let pair = point.attributes.first()?;
        (pair.key == OVERFLOW_LABEL).then(|| pair.value.clone().unwrap().value)
    });
    assert_eq!(marked, Some(Some(Value::BoolValue(true))));
}

#[test]
fn series_that_look_alike_are_one() {
    let mut one = Registry::new(families(), Limits::default(), START);
    let mut narrow = families();
    narrow[0].labels = vec!["model"];
    let mut other = Registry::new(narrow, Limits::default(), START);
    let series = one.series(FamilyId(0), &["m", ""]);
    one.add(series, 2);
    let series = other.series(FamilyId(0), &["m"]);
    other.add(series, 3);
    let mut all = one.snapshot();
    all.merge(&other.snapshot(), Gauges::Add);
    let (requests, _) = requests(MetricsInput::cumulative(all, START), Bounds::default());
    let values = values(&requests);
    let series = ("requests".into(), vec![("model".into(), "m".into())]);
    assert_eq!(values[&series].0, 5.0);
}

#[test]
fn a_delta_covers_the_time_since_the_last_delivery() {
    let mut registry = filled();
    let first = Delivered {
        snapshot: registry.snapshot(),
        time_unix_nanos: START + SECOND,
    };
    move_series(&mut registry, &[(0, 0, 2), (3, 0, SECOND), (2, 1, 9)]);
    let input = MetricsInput {
        delivered: Some(first),
        temporality: Temporality::Delta,
        ..MetricsInput::cumulative(registry.snapshot(), START + 2 * SECOND)
    };
    let (requests, _) = requests(input, Bounds::default());
    let moved: Vec<_> = values(&requests)
        .into_iter()
        .map(|((name, labels), value)| (name, labels.len(), value))
        .collect();
    let (from, to) = (START + SECOND, START + 2 * SECOND);
    assert_eq!(
        moved,
        [
            ("duration".into(), 1, (1.0, 1.0, from, to)),
            ("in_flight".into(), 0, (9.0, 0.0, 0, to)),
            ("in_flight".into(), 1, (7.0, 0.0, 0, to)),
            ("requests".into(), 2, (2.0, 0.0, from, to)),
        ]
    );
}

#[test]
fn what_began_anew_is_sent_whole_with_its_own_start() {
    let before = Delivered {
        snapshot: filled().snapshot(),
        time_unix_nanos: START + SECOND,
    };
    let start = START + 2 * SECOND;
    let mut registry = Registry::new(families(), Limits::default(), start);
    move_series(&mut registry, &[(0, 0, 1)]);
    let input = MetricsInput {
        delivered: Some(before),
        temporality: Temporality::Delta,
        ..MetricsInput::cumulative(registry.snapshot(), START + 3 * SECOND)
    };
    let (requests, _) = requests(input, Bounds::default());
    let sent: Vec<_> = values(&requests).into_values().collect();
    assert_eq!(sent, [(1.0, 0.0, start, START + 3 * SECOND)]);
}

fn moves() -> impl Strategy<Value = Vec<(u16, usize, u64)>> {
    prop::collection::vec((0_u16..5, 0_usize..3, 0_u64..20 * SECOND), 0..40)
}

proptest! {
    /// Cut into whatever requests, all series come, once, with their values.
    #[test]
    fn the_requests_make_up_the_snapshot(
        moves in moves(), request_bytes in 1_usize..4_000, points_per_step in 1_usize..20, base2: bool,
    ) {
        let mut registry = Registry::new(families(), Limits::default(), START);
        move_series(&mut registry, &moves);
        let snapshot = registry.snapshot();
        let histograms = match base2 {
            true => HistogramAggregation::Base2Exponential,
            false => HistogramAggregation::ExplicitBuckets,
        };
        let input = MetricsInput { histograms, ..MetricsInput::cumulative(snapshot.clone(), START) };
        let bounds = Bounds { request_bytes, points_per_step };
        let (requests, steps) = requests(input, bounds);
        let sent: BTreeMap<_, _> =
            values(&requests).into_iter().map(|(key, value)| (key, (value.0, value.1))).collect();
        prop_assert_eq!(sent, expected(&snapshot));
        prop_assert!(steps <= snapshot.series_count() * 3 + 2);
        let head = 200;
        for request in &requests {
            let size = prost::Message::encoded_len(request);
            let is_one_step = points_of(request) <= points_per_step;
            prop_assert!(size <= request_bytes + head || is_one_step, "{} bytes", size);
        }
    }

    /// A quantile by exponential buckets is the bound that the explicit ones give, within the scale's error.
    #[test]
    fn quantiles_are_those_of_the_explicit_buckets_within_the_scales_error(moves in moves()) {
        let mut registry = Registry::new(families(), Limits::default(), START);
        move_series(&mut registry, &moves);
        let mut bounds_at = |histograms, quantile| {
            let input = MetricsInput {
                histograms,
                ..MetricsInput::cumulative(registry.snapshot(), START)
            };
            let (requests, _) = requests(input, Bounds::default());
            quantile_bounds(&requests, quantile)
        };
        for quantile in [0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
            let explicit = bounds_at(HistogramAggregation::ExplicitBuckets, quantile);
            let exponential = bounds_at(HistogramAggregation::Base2Exponential, quantile);
            prop_assert_eq!(explicit.len(), exponential.len());
            for (key, (bound, last)) in explicit {
                let (upper, base) = exponential[&key];
                if bound.is_infinite() {
                    prop_assert!(upper > last, "{:?}: {} at {}", key, upper, quantile);
                } else {
                    let error = upper / bound;
                    prop_assert!(
                        (1.0 - 1e-9..=base * (1.0 + 1e-9)).contains(&error),
                        "{:?}: {} instead of {} at {}", key, upper, bound, quantile
                    );
                }
            }
        }
    }

    /// Deltas add up to what was counted.
    #[test]
    fn deltas_add_up(rounds in prop::collection::vec(moves(), 1..5)) {
        let mut registry = Registry::new(families(), Limits::default(), START);
        let mut delivered: Option<Delivered> = None;
        let mut sums: BTreeMap<Series, (f64, f64)> = BTreeMap::new();
        for (round, moves) in rounds.iter().enumerate() {
            move_series(&mut registry, moves);
            let time_unix_nanos = START + (round as u64 + 1) * SECOND;
            let from = delivered.as_ref().map_or(START, |before| before.time_unix_nanos);
            let input = MetricsInput {
                delivered: delivered.take(),
                temporality: Temporality::Delta,
                ..MetricsInput::cumulative(registry.snapshot(), time_unix_nanos)
            };
            let (requests, _) = requests(input, Bounds::default());
            for (series, value) in values(&requests) {
                prop_assert!(value.2 == from || value.2 == 0);
                let sum = sums.entry(series.clone()).or_default();
                if series.0 == "in_flight" {
                    *sum = (value.0, 0.0);
                } else {
                    *sum = (sum.0 + value.0, sum.1 + value.1);
                }
            }
            delivered = Some(Delivered { snapshot: registry.snapshot(), time_unix_nanos });
        }
        for (series, (count, sum)) in expected(&registry.snapshot()) {
            let got = sums.get(&series).copied().unwrap_or_default();
            prop_assert!((got.0 - count).abs() < 1e-3 && (got.1 - sum).abs() < 1e-3,
                "{:?}: {:?} instead of {:?}", series, got, (count, sum));
        }
    }

    /// Equal snapshots give equal bytes, whatever order their series came in.
    #[test]
    fn the_order_is_always_the_same(moves in moves()) {
        let bytes = |moves: &[(u16, usize, u64)]| {
            let mut registry = Registry::new(families(), Limits::default(), START);
            move_series(&mut registry, moves);
            let input = MetricsInput::cumulative(registry.snapshot(), START);
            format!("{:?}", requests(input, Bounds::default()).0)
        };
        // The last level of a gauge counts, so those stay in their order.
        let (gauges, mut others): (Vec<_>, Vec<_>) = moves.iter().partition(|(family, ..)| *family == 2);
        let forward = bytes(&[gauges.as_slice(), &others].concat());
        others.reverse();
        prop_assert_eq!(forward, bytes(&[others.as_slice(), &gauges].concat()));
    }
}
