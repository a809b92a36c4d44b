//! The label values of one series, gathered without an allocation.

use metric_registry::MAX_LABELS;

/// Up to as many values as a family may have labels; surplus ones are left out.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    values: [&'a str; MAX_LABELS],
    count: usize,
}

impl<'a> Values<'a> {
    pub(crate) fn new(values: &[&'a str]) -> Values<'a> {
        Values {
            values: [""; MAX_LABELS],
            count: 0,
        }
        .and(values)
    }

    /// These values and more.
    pub(crate) fn and(mut self, more: &[&'a str]) -> Values<'a> {
        for value in more {
            self.push(value);
        }
        self
    }

    /// One more where a switch is on; absent is empty.
    pub(crate) fn and_if(mut self, switch: bool, value: Option<&'a str>) -> Values<'a> {
        if switch {
            self.push(value.unwrap_or_default());
        }
        self
    }

    pub(crate) fn as_slice(&self) -> &[&'a str] {
        self.values.get(..self.count).unwrap_or_default()
    }

    fn push(&mut self, value: &'a str) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
            self.count = self.count.saturating_add(1);
        }
    }
}
