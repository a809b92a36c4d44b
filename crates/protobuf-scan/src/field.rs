//! The wanted fields, written by the caller as constants.

/// What kind of value a wanted field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message, in which other fields are wanted.
    Message,
    /// A string, or bytes.
    Text,
    /// A number of variable length.
    Number,
    /// Numbers of variable length, packed or one by one, which are counted.
    Numbers,
}

/// A wanted field.
#[derive(Clone, Copy, Debug)]
pub struct Field<T: 'static> {
    /// Its number.
    pub number: u32,
    /// What the sink is told when it stands there; a message without a tag only leads to others.
    pub tag: Option<T>,
    /// The kind of its value.
    pub kind: Kind,
    /// The wanted fields inside it.
    pub children: &'static [Field<T>],
}

impl<T: 'static> Field<T> {
    const fn leaf(number: u32, tag: T, kind: Kind) -> Self {
        Self {
            number,
            tag: Some(tag),
            kind,
            children: &[],
        }
    }

    /// A message that only leads to others.
    pub const fn message(number: u32, children: &'static [Field<T>]) -> Self {
        Self {
            number,
            tag: None,
            kind: Kind::Message,
            children,
        }
    }

    /// A message whose beginning and end are told.
    pub const fn tagged(number: u32, tag: T, children: &'static [Field<T>]) -> Self {
        Self {
            number,
            tag: Some(tag),
            kind: Kind::Message,
            children,
        }
    }

    /// A string, or bytes.
    pub const fn text(number: u32, tag: T) -> Self {
        Self::leaf(number, tag, Kind::Text)
    }

    /// A number of variable length.
    pub const fn number(number: u32, tag: T) -> Self {
        Self::leaf(number, tag, Kind::Number)
    }

    /// Numbers of variable length, which are counted.
    pub const fn numbers(number: u32, tag: T) -> Self {
        Self::leaf(number, tag, Kind::Numbers)
    }
}
