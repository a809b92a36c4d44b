//! The walk itself.

use crate::field::{Field, Kind};

/// How much of a text reaches the sink.
pub const TEXT_PREFIX_BYTES: usize = 256;
/// How many messages deep fields may be wanted.
pub const MAX_DEPTH: usize = 8;

/// A text at a wanted place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Its beginning.
    pub prefix: &'a [u8],
    /// Its whole length.
    pub len: u64,
}

/// What is told of a message.
pub trait Sink<T> {
    /// A number.
    fn number(&mut self, tag: T, value: u64);
    /// A string, or bytes.
    fn text(&mut self, tag: T, text: Text<'_>);
    /// A message begins.
    fn open(&mut self, tag: T);
    /// A message ends.
    fn close(&mut self, tag: T);
    /// So many numbers stand here.
    fn elements(&mut self, tag: T, count: u64);
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing, which is a message without fields.
    Empty,
    /// A whole message.
    Complete,
    /// It ended inside a field.
    Truncated,
    /// It is no message.
    Malformed,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Key,
    Number,
    Length,
    Skip,
    Text,
    Packed,
    Broken,
}

/// A wanted message that is open.
#[derive(Clone, Copy, Debug)]
struct Open<T: 'static> {
    tag: Option<T>,
    fields: &'static [Field<T>],
    /// Where it ends, counted from the beginning of all.
    end: u64,
}

/// Walks one message, in whatever pieces it comes.
#[derive(Clone, Debug)]
pub struct Scanner<T: 'static> {
    root: &'static [Field<T>],
    open: [Option<Open<T>>; MAX_DEPTH],
    depth: usize,
    position: u64,
    place: Place,
    field: Option<&'static Field<T>>,
    number: u64,
    shift: u32,
    /// How much of a value is left.
    left: u64,
    length: u64,
    count: u64,
    text: [u8; TEXT_PREFIX_BYTES],
    held: usize,
}

impl<T: Copy + 'static> Scanner<T> {
    /// Before a message in which these fields are wanted.
    #[must_use]
    pub const fn new(root: &'static [Field<T>]) -> Self {
        Self {
            root,
            open: [const { None }; MAX_DEPTH],
            depth: 0,
            position: 0,
            place: Place::Key,
            field: None,
            number: 0,
            shift: 0,
            left: 0,
            length: 0,
            count: 0,
            text: [0; TEXT_PREFIX_BYTES],
            held: 0,
        }
    }

    /// Begins the next message.
    pub fn reset(&mut self) {
        self.depth = 0;
        self.position = 0;
        self.place = Place::Key;
        self.number = 0;
        self.shift = 0;
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink<T>) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            rest = match self.place {
                Place::Skip | Place::Text => self.value(rest, sink),
                Place::Broken => return,
                Place::Key | Place::Number | Place::Length | Place::Packed => {
                    self.position = self.position.saturating_add(1);
                    if self.position > self.end() {
                        self.place = Place::Broken;
                        return;
                    }
                    self.digit(*first, sink);
                    after
                }
            };
        }
    }

    /// Ends the message and says what it was.
    pub fn finish(&mut self, _: &mut impl Sink<T>) -> Outcome {
        let at_border = self.place == Place::Key && self.shift == 0 && self.depth == 0;
        match self.place {
            Place::Broken => Outcome::Malformed,
            _ if self.position == 0 => Outcome::Empty,
            _ if at_border => Outcome::Complete,
            _ => Outcome::Truncated,
        }
    }

    /// Where the innermost open message ends.
    fn end(&self) -> u64 {
        self.innermost().map_or(u64::MAX, |open| open.end)
    }

    fn innermost(&self) -> Option<&Open<T>> {
        let at = self.depth.checked_sub(1)?;
        self.open.get(at).and_then(Option::as_ref)
    }

    /// Takes a byte of a number of variable length.
    fn digit(&mut self, byte: u8, sink: &mut impl Sink<T>) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds one bit; what is beyond is not.
        if self.shift > 63 || (self.shift == 63 && byte > 1) {
            self.place = Place::Broken;
            return;
        }
        self.number |= bits << self.shift;
        if byte & 0x80 != 0 {
            self.shift = self.shift.saturating_add(7);
            if self.place == Place::Packed && self.position >= self.left {
                self.place = Place::Broken;
            }
            return;
        }
        let number = std::mem::take(&mut self.number);
        self.shift = 0;
        match self.place {
            Place::Key => self.key(number),
            Place::Number => {
                if let Some(field) = self.field
                    && let Some(tag) = field.tag
                {
                    match field.kind {
                        Kind::Number => sink.number(tag, number),
                        Kind::Numbers => sink.elements(tag, 1),
                        Kind::Message | Kind::Text => {}
                    }
                }
                self.end_field(sink);
            }
            Place::Length => self.length(number, sink),
            Place::Packed => {
                self.count = self.count.saturating_add(1);
                if self.position >= self.left {
                    if let Some(tag) = self.field.and_then(|field| field.tag) {
                        sink.elements(tag, self.count);
                    }
                    self.end_field(sink);
                }
            }
            Place::Skip | Place::Text | Place::Broken => {}
        }
    }

    fn key(&mut self, key: u64) {
        let fields = self.innermost().map_or(self.root, |open| open.fields);
        let number = u32::try_from(key >> 3).unwrap_or(0);
        self.field = fields.iter().find(|field| field.number == number);
        let is_number = number > 0 && number < 1 << 29;
        self.place = match key & 7 {
            _ if !is_number => Place::Broken,
            0 => Place::Number,
            1 => self.skip(8),
            2 => Place::Length,
            5 => self.skip(4),
            _ => Place::Broken,
        };
    }

    fn skip(&mut self, bytes: u64) -> Place {
        self.left = bytes;
        self.field = None;
        if self.position.saturating_add(bytes) > self.end() {
            Place::Broken
        } else {
            Place::Skip
        }
    }

    fn length(&mut self, length: u64, sink: &mut impl Sink<T>) {
        let end = self.position.saturating_add(length);
        if end > self.end() || length > i32::MAX as u64 {
            self.place = Place::Broken;
            return;
        }
        self.left = length;
        self.length = length;
        let kind = self.field.map(|field| field.kind);
        match (kind, self.field) {
            (Some(Kind::Message), Some(field)) => self.enter(field, end, sink),
            (Some(Kind::Text), _) => {
                self.held = 0;
                self.place = Place::Text;
                if length == 0 {
                    self.end_text(sink);
                }
            }
            (Some(Kind::Numbers), _) if length > 0 => {
                self.count = 0;
                self.left = end;
                self.place = Place::Packed;
            }
            _ if length == 0 => self.end_field(sink),
            _ => self.place = Place::Skip,
        }
    }

    fn enter(&mut self, field: &'static Field<T>, end: u64, sink: &mut impl Sink<T>) {
        let Some(place) = self.open.get_mut(self.depth) else {
            // Nothing is wanted this deep.
            self.place = Place::Skip;
            if self.left == 0 {
                self.end_field(sink);
            }
            return;
        };
        *place = Some(Open {
            tag: field.tag,
            fields: field.children,
            end,
        });
        self.depth = self.depth.saturating_add(1);
        if let Some(tag) = field.tag {
            sink.open(tag);
        }
        self.end_field(sink);
    }

    /// Takes bytes of a value that is passed over or held.
    fn value<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink<T>) -> &'a [u8] {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (part, rest) = bytes
            .split_at_checked(wanted.min(bytes.len()))
            .unwrap_or((bytes, &[]));
        if self.place == Place::Text {
            let room = self.text.iter_mut().skip(self.held);
            for (place, byte) in room.zip(part) {
                *place = *byte;
                self.held = self.held.saturating_add(1);
            }
        }
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        self.left = self.left.saturating_sub(length);
        self.position = self.position.saturating_add(length);
        if self.left == 0 {
            if self.place == Place::Text {
                self.end_text(sink);
            } else {
                self.end_field(sink);
            }
        }
        rest
    }

    fn end_text(&mut self, sink: &mut impl Sink<T>) {
        if let Some(tag) = self.field.and_then(|field| field.tag) {
            let prefix = self.text.get(..self.held).unwrap_or_default();
            sink.text(
                tag,
                Text {
                    prefix,
                    len: self.length,
                },
            );
        }
        self.end_field(sink);
    }

    /// Goes on to the next field, and out of the messages that end here.
    fn end_field(&mut self, sink: &mut impl Sink<T>) {
        self.place = Place::Key;
        while let Some(open) = self.innermost().copied() {
            if open.end > self.position {
                return;
            }
            self.depth = self.depth.saturating_sub(1);
            if let Some(tag) = open.tag {
                sink.close(tag);
            }
        }
    }
}
