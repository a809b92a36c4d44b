//! The grammar of numbers, one byte after the other.

/// How much of a number has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberState {
    Start,
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// What a piece of input did to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberStep {
    /// The piece ended before the number did.
    Unfinished(NumberState),
    /// The number ended before the piece did.
    Ended,
    /// The piece breaks the grammar.
    Flawed,
}

impl NumberState {
    /// Whether the number may end here.
    pub(crate) const fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits
        )
    }

    /// Whether a digit leaves the state as it is.
    const fn repeats_digits(self) -> bool {
        matches!(self, Self::Integer | Self::Fraction | Self::ExponentDigits)
    }

    /// The state after one more byte of the number, or none if the byte cannot go on with it.
    ///
    /// The match on the state comes first, since a match on the pair compiles to several times the instructions.
    const fn after(self, byte: u8) -> Option<Self> {
        let next = match self {
            Self::Start => match byte {
                b'-' => Self::Minus,
                b'0' => Self::Zero,
                b'1'..=b'9' => Self::Integer,
                _ => return None,
            },
            Self::Minus => match byte {
                b'0' => Self::Zero,
                b'1'..=b'9' => Self::Integer,
                _ => return None,
            },
            Self::Zero => match byte {
                b'.' => Self::Point,
                b'e' | b'E' => Self::Exponent,
                _ => return None,
            },
            Self::Integer => match byte {
                b'0'..=b'9' => Self::Integer,
                b'.' => Self::Point,
                b'e' | b'E' => Self::Exponent,
                _ => return None,
            },
            Self::Point => match byte {
                b'0'..=b'9' => Self::Fraction,
                _ => return None,
            },
            Self::Fraction => match byte {
                b'0'..=b'9' => Self::Fraction,
                b'e' | b'E' => Self::Exponent,
                _ => return None,
            },
            Self::Exponent => match byte {
                b'+' | b'-' => Self::ExponentSign,
                b'0'..=b'9' => Self::ExponentDigits,
                _ => return None,
            },
            Self::ExponentSign | Self::ExponentDigits => match byte {
                b'0'..=b'9' => Self::ExponentDigits,
                _ => return None,
            },
        };
        Some(next)
    }
}

/// Follows a number through a piece of input and gives back what follows it.
pub(crate) fn follow(mut state: NumberState, bytes: &[u8]) -> (&[u8], NumberStep) {
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let Some(next) = state.after(byte) else {
            // The terminator is checked here, so that `12x` is not delivered as 12 before it is refused.
            return if state.may_end() && ends_a_number(byte) {
                (rest, NumberStep::Ended)
            } else {
                (rest, NumberStep::Flawed)
            };
        };
        state = next;
        rest = after;
        if state.repeats_digits() {
            // Most of a number is digits that change nothing, so they are passed in loops of their own.
            rest = skip_digits(rest);
        }
    }
    (rest, NumberStep::Unfinished(state))
}

fn skip_digits(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        if !all_digits(u64::from_le_bytes(*word)) {
            break;
        }
        rest = after;
    }
    while let Some((b'0'..=b'9', after)) = rest.split_first() {
        rest = after;
    }
    rest
}

/// A byte is a digit if its upper half is 3 and stays 3 when six is added.
const fn all_digits(word: u64) -> bool {
    const UPPER_HALVES: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const THREES: u64 = 0x3030_3030_3030_3030;
    let with_six = word.wrapping_add(0x0606_0606_0606_0606);
    word & UPPER_HALVES == THREES && with_six & UPPER_HALVES == THREES
}

const fn ends_a_number(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t')
}
