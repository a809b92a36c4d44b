//! Exemplars: single measurements, each with the span of its request, that stand beside the points they went into.

use prost::Message;

/// How many series keep one.
const LIMIT: usize = 128;

/// One measurement of a series, and the span of the request that it was made of.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Exemplar {
    #[prost(string, tag = "1")]
    metric: String,
    /// Names and values, one after the other.
    #[prost(string, repeated, tag = "2")]
    labels: Vec<String>,
    #[prost(uint64, tag = "3")]
    pub(crate) amount: u64,
    #[prost(fixed64, tag = "4")]
    pub(crate) time_unix_nanos: u64,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    pub(crate) span_id: Vec<u8>,
}

impl Exemplar {
    /// A measurement in its metric's own integers, the labels of its series that are present, its time in nanoseconds
    /// since 1970, and the trace and the span of its request.
    #[must_use]
    pub fn new<'a>(
        metric: &str,
        labels: impl Iterator<Item = (&'a str, &'a str)>,
        amount: u64,
        time_unix_nanos: u64,
        (trace_id, span_id): ([u8; 16], [u8; 8]),
    ) -> Exemplar {
        let mut labels: Vec<_> = labels.collect();
        labels.sort_unstable();
        Exemplar {
            metric: metric.to_owned(),
            labels: labels
                .into_iter()
                .flat_map(|(name, value)| [name.to_owned(), value.to_owned()])
                .collect(),
            amount,
            time_unix_nanos,
            trace_id: trace_id.to_vec(),
            span_id: span_id.to_vec(),
        }
    }

    fn is_of_same_series(&self, other: &Exemplar) -> bool {
        (&self.metric, &self.labels) == (&other.metric, &other.labels)
    }
}

/// The newest exemplar of each series, of the 128 series whose are the newest.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Exemplars {
    /// The newest last.
    #[prost(message, repeated, tag = "1")]
    all: Vec<Exemplar>,
}

impl Exemplars {
    /// Takes one in, in the place of an older one of its series.
    pub fn add(&mut self, exemplar: Exemplar) {
        self.all.retain(|other| !other.is_of_same_series(&exemplar));
        if self.all.len() >= LIMIT {
            self.all.remove(0);
        }
        self.all.push(exemplar);
    }

    /// Takes in all of another list.
    pub fn merge(&mut self, other: Exemplars) {
        for exemplar in other.all {
            self.add(exemplar);
        }
    }

    /// Leaves those out that are not newer than a time.
    #[must_use]
    pub fn since(mut self, time_unix_nanos: u64) -> Exemplars {
        self.all
            .retain(|exemplar| exemplar.time_unix_nanos > time_unix_nanos);
        self
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The value under which workers tell one another.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Reads such a value; nothing where it is none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Exemplars> {
        Exemplars::decode(bytes).ok()
    }

    /// The one of a series, whose labels are sorted.
    pub(crate) fn find(&self, metric: &str, labels: &[(&str, &str)]) -> Option<&Exemplar> {
        self.all.iter().find(|exemplar| {
            let pairs = exemplar.labels.chunks(2);
            exemplar.metric == metric
                && pairs.len() == labels.len()
                && pairs
                    .zip(labels)
                    .all(|(pair, (name, value))| pair == [*name, *value])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemplar(model: u64, time: u64) -> Exemplar {
        let model = model.to_string();
        let labels = [("model", model.as_str())].into_iter();
        Exemplar::new("duration", labels, 1, time, ([7; 16], [9; 8]))
    }

    #[test]
    fn the_newest_of_a_bounded_number_of_series_stay() {
        let mut exemplars = Exemplars::default();
        for number in 0..200 {
            exemplars.add(exemplar(number, number));
            exemplars.add(exemplar(199, number));
        }
        assert_eq!(exemplars.all.len(), LIMIT);
        let newest = exemplars.find("duration", &[("model", "199")]);
        assert_eq!(newest.map(|newest| newest.time_unix_nanos), Some(199));
        assert_eq!(exemplars.find("duration", &[("model", "0")]), None);
        assert_eq!(exemplars.find("other", &[("model", "199")]), None);
        assert_eq!(exemplars.find("duration", &[]), None);
        assert!(!exemplars.clone().since(198).is_empty());
        assert!(exemplars.clone().since(199).is_empty());
        let mut other = Exemplars::default();
        other.merge(exemplars.clone());
        assert_eq!(other, exemplars);
    }

    #[test]
    fn what_is_no_list_is_none() {
        assert_eq!(Exemplars::from_bytes(b"\xff\xff"), None);
    }
}
