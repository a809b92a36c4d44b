//! Token numbers as an answer states them, in one meaning for all APIs.

/// Token numbers of one answer; `None` is unknown, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, those read from a prompt cache and written to it among them.
    pub input: Option<u64>,
    /// Output tokens, those of reasoning among them.
    pub output: Option<u64>,
    /// Input tokens that were read from a prompt cache.
    pub cached_input: Option<u64>,
    /// Input tokens that were written to a prompt cache.
    pub cache_write_input: Option<u64>,
    /// Output tokens that were reasoning.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Whether no number is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.input.is_none()
            && self.output.is_none()
            && self.cached_input.is_none()
            && self.cache_write_input.is_none()
            && self.reasoning.is_none()
    }

    /// Takes the numbers of a later statement: the last one counts, but a zero never replaces another number.
    pub fn update(&mut self, later: &Self) {
        update_number(&mut self.input, later.input);
        update_number(&mut self.output, later.output);
        update_number(&mut self.cached_input, later.cached_input);
        update_number(&mut self.cache_write_input, later.cache_write_input);
        update_number(&mut self.reasoning, later.reasoning);
    }

    /// Takes from `other` the numbers that are unknown here.
    pub fn fill(&mut self, other: &Self) {
        self.input = self.input.or(other.input);
        self.output = self.output.or(other.output);
        self.cached_input = self.cached_input.or(other.cached_input);
        self.cache_write_input = self.cache_write_input.or(other.cache_write_input);
        self.reasoning = self.reasoning.or(other.reasoning);
    }

    /// The sum of two statements about different parts of an answer; a number known in neither stays unknown.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached_input: sum(self.cached_input, other.cached_input),
            cache_write_input: sum(self.cache_write_input, other.cache_write_input),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }
}

/// Replaces a number by a later one, unless that is unknown or a zero in the place of something else.
pub fn update_number(number: &mut Option<u64>, later: Option<u64>) {
    match (later, *number) {
        (None, _) | (Some(0), Some(_)) => {}
        (later, _) => *number = later,
    }
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (None, None) => None,
        (left, right) => Some(
            left.unwrap_or_default()
                .saturating_add(right.unwrap_or_default()),
        ),
    }
}

/// The largest number of tokens that is believed: every integer up to here is exact in any JSON implementation.
pub const MAX_TOKENS: u64 = 1 << 53;

/// Reads a JSON number as a number of tokens: whole, not negative, at most [`MAX_TOKENS`].
///
/// A fraction of zeros (`12.0`) is tolerated, since some proxies write every number so.
pub(crate) fn token_number(text: &[u8]) -> Option<u64> {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let whole = parts.next()?;
    if parts
        .next()
        .is_some_and(|fraction| fraction.iter().any(|digit| *digit != b'0'))
        || whole.is_empty()
    {
        return None;
    }
    let number = whole.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })?;
    (number <= MAX_TOKENS).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_within_the_limit_are_tokens() {
        for (text, expected) in [
            ("0", Some(0)),
            ("24", Some(24)),
            ("12.0", Some(12)),
            ("9007199254740992", Some(MAX_TOKENS)),
            ("9007199254740993", None),
            ("99999999999999999999999999", None),
            ("-1", None),
            ("-0", None),
            ("1.5", None),
            ("1e3", None),
            ("", None),
            (".0", None),
        ] {
            assert_eq!(token_number(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_zero_never_replaces_another_number_and_an_unreplaced_zero_stays() {
        let mut usage = Usage {
            output: Some(7),
            ..Usage::default()
        };
        usage.update(&Usage {
            output: Some(0),
            cached_input: Some(0),
            ..Usage::default()
        });
        assert_eq!(
            usage,
            Usage {
                output: Some(7),
                cached_input: Some(0),
                ..Usage::default()
            }
        );
        usage.update(&Usage {
            output: Some(9),
            ..Usage::default()
        });
        assert_eq!(usage.output, Some(9));
    }

    #[test]
    fn a_sum_knows_what_either_side_knows() {
        let left = Usage {
            input: Some(1),
            output: Some(2),
            ..Usage::default()
        };
        let right = Usage {
            output: Some(3),
            cached_input: Some(4),
            ..Usage::default()
        };
        let expected = Usage {
            input: Some(1),
            output: Some(5),
            cached_input: Some(4),
            ..Usage::default()
        };
        assert_eq!(left.plus(&right), expected);
        assert!(Usage::default().plus(&Usage::default()).is_empty());
    }
}
