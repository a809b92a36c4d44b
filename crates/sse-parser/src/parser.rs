//! The state machine that cuts a stream into fields and events.

use memchr::{memchr2, memchr3};

/// The field that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// `data`.
    Data,
    /// `event`.
    Event,
    /// `id`.
    Id,
    /// `retry`.
    Retry,
    /// `error`, which no standard knows: llama.cpp wrote its errors so.
    Error,
    /// A line that begins with a colon.
    Comment,
    /// A line of a JSON document that stands where a field should: some servers let their errors break in so.
    Bare,
    /// Any other name.
    Unknown,
}

impl Field {
    /// Every field, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::Data,
        Self::Event,
        Self::Id,
        Self::Retry,
        Self::Error,
        Self::Comment,
        Self::Bare,
        Self::Unknown,
    ];

    /// The field's name in snake case, as a label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Event => "event",
            Self::Id => "id",
            Self::Retry => "retry",
            Self::Error => "error",
            Self::Comment => "comment",
            Self::Bare => "bare",
            Self::Unknown => "unknown",
        }
    }

    /// The field with this name; names are case-sensitive.
    fn named(name: &[u8]) -> Self {
        match name {
            b"data" => Self::Data,
            b"event" => Self::Event,
            b"id" => Self::Id,
            b"retry" => Self::Retry,
            b"error" => Self::Error,
            _ => Self::Unknown,
        }
    }
}

/// Takes what a stream says, in its order.
pub trait Sink {
    /// A piece of the field's value, never empty; several pieces may follow one another.
    fn bytes(&mut self, field: Field, bytes: &[u8]);
    /// The field's line ended; an empty value gives this call alone.
    fn field_end(&mut self, field: Field);
    /// A blank line after at least one field that is no comment: the event is complete.
    fn dispatch(&mut self);
}

/// Cuts a stream of server-sent events into fields and events, and tells a [`Sink`].
///
/// It has a fixed size, never allocates, and gives the same calls however the stream is cut, save that a value may
/// arrive in other pieces.
/// A clone goes on independently from the same point.
#[derive(Debug, Clone)]
pub struct SseParser {
    state: State,
    name: Name,
    /// Whether a field that is no comment has ended since the last dispatch.
    pending: bool,
    /// Whether the event in progress is a JSON document without a field.
    is_bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of the stream, with this many bytes of a byte order mark seen.
    Mark(u8),
    /// After a carriage return, whose line feed belongs to the same line end.
    CarriageReturn,
    /// In a name, or at the beginning of a line while the name is empty.
    Name,
    /// After the colon, where one space is dropped.
    Space(Field),
    /// In a value.
    Value(Field),
}

const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The beginning of a field name, one byte longer than the longest known one.
#[derive(Debug, Clone)]
struct Name {
    bytes: [u8; 6],
    len: u8,
}

impl Name {
    const fn new() -> Self {
        Self {
            bytes: [0; 6],
            len: 0,
        }
    }

    /// Appends as much as there is room for; a full name is none of the known ones.
    fn append(&mut self, piece: &[u8]) {
        let room = self.bytes.iter_mut().skip(usize::from(self.len));
        for (slot, byte) in room.zip(piece) {
            *slot = *byte;
            self.len = self.len.wrapping_add(1);
        }
    }

    fn held(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl SseParser {
    /// A parser at the beginning of a stream.
    pub const fn new() -> Self {
        Self {
            state: State::Mark(0),
            name: Name::new(),
            pending: false,
            is_bare: false,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match self.state {
                State::Value(field) => self.value(field, rest, sink),
                State::Space(field) => {
                    self.state = State::Value(field);
                    if byte == b' ' { after } else { rest }
                }
                State::Name => self.name(rest, sink),
                State::CarriageReturn => {
                    self.state = State::Name;
                    if byte == b'\n' { after } else { rest }
                }
                State::Mark(seen) => self.mark(seen, byte, rest, after),
            };
        }
    }

    /// Ends the stream: an unfinished last line ends, an undispatched event is dispatched.
    ///
    /// The standard drops an event that no blank line completed; a server that forgets the last blank line has still
    /// sent it.
    /// The parser is at the beginning of a stream afterwards.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        if let State::Mark(seen) = self.state {
            self.begin_without_mark(seen);
        }
        match self.state {
            State::Space(field) | State::Value(field) => self.end_field(field, sink),
            State::Name if self.name.len > 0 => self.end_bare_name(sink),
            State::Name | State::CarriageReturn | State::Mark(_) => {}
        }
        self.end_event(sink);
        *self = Self::new();
    }

    /// Takes one byte at the beginning of the stream.
    fn mark<'input>(
        &mut self,
        seen: u8,
        byte: u8,
        rest: &'input [u8],
        after: &'input [u8],
    ) -> &'input [u8] {
        if BYTE_ORDER_MARK.get(usize::from(seen)) != Some(&byte) {
            self.begin_without_mark(seen);
            return rest;
        }
        let seen = seen.wrapping_add(1);
        self.state = if usize::from(seen) == BYTE_ORDER_MARK.len() {
            State::Name
        } else {
            State::Mark(seen)
        };
        after
    }

    /// What looked like a byte order mark is the beginning of a name.
    fn begin_without_mark(&mut self, seen: u8) {
        let piece = BYTE_ORDER_MARK.get(..usize::from(seen));
        self.name.append(piece.unwrap_or_default());
        self.state = State::Name;
    }

    fn name<'input>(&mut self, rest: &'input [u8], sink: &mut impl Sink) -> &'input [u8] {
        if self.name.len == 0 {
            let first = rest.first().copied().unwrap_or_default();
            if self.separates(first) {
                self.end_event(sink);
                self.is_bare = first == b'{';
            }
            if let Some(after) = rest.strip_prefix(b"data:") {
                self.state = State::Space(Field::Data);
                return after;
            }
            if self.is_bare && !matches!(first, b'\n' | b'\r') {
                self.state = State::Value(Field::Bare);
                return rest;
            }
        }
        let end = memchr3(b':', b'\n', b'\r', rest).unwrap_or(rest.len());
        let (piece, rest) = split(rest, end);
        self.name.append(piece);
        let Some((&byte, after)) = rest.split_first() else {
            return rest;
        };
        if byte == b':' {
            let field = match self.name.held() {
                b"" => Field::Comment,
                name => Field::named(name),
            };
            self.state = State::Space(field);
            self.name.len = 0;
            return after;
        }
        if self.name.len > 0 {
            self.end_bare_name(sink);
        } else {
            self.end_event(sink);
        }
        self.end_line(byte);
        after
    }

    /// Whether the next byte ends the event in progress before it begins another: one without a field has no other end
    /// than the beginning of what follows.
    #[must_use]
    pub fn ends_event(&self, next: u8) -> bool {
        let at_line = match self.state {
            State::Name => self.name.len == 0,
            State::CarriageReturn => next != b'\n',
            State::Mark(_) | State::Space(_) | State::Value(_) => false,
        };
        at_line && self.pending && self.separates(next)
    }

    /// Whether a line that begins so belongs to another event than the line before it.
    const fn separates(&self, first: u8) -> bool {
        match first {
            b'{' => true,
            b' ' | b'\t' | b'"' | b'}' | b'[' | b']' | b'\n' | b'\r' => false,
            _ => self.is_bare,
        }
    }

    fn value<'input>(
        &mut self,
        field: Field,
        rest: &'input [u8],
        sink: &mut impl Sink,
    ) -> &'input [u8] {
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (piece, rest) = split(rest, end);
        if !piece.is_empty() {
            sink.bytes(field, piece);
        }
        let Some((&byte, after)) = rest.split_first() else {
            return rest;
        };
        self.end_field(field, sink);
        self.end_line(byte);
        after
    }

    /// A line without a colon is a field with an empty value.
    fn end_bare_name(&mut self, sink: &mut impl Sink) {
        let field = Field::named(self.name.held());
        self.name.len = 0;
        self.end_field(field, sink);
    }

    fn end_field(&mut self, field: Field, sink: &mut impl Sink) {
        self.pending |= field != Field::Comment;
        sink.field_end(field);
    }

    fn end_event(&mut self, sink: &mut impl Sink) {
        self.is_bare = false;
        if self.pending {
            self.pending = false;
            sink.dispatch();
        }
    }

    /// A carriage return ends its line at once, so that an event never waits for the byte after it.
    fn end_line(&mut self, byte: u8) {
        self.state = if byte == b'\r' {
            State::CarriageReturn
        } else {
            State::Name
        };
    }
}

/// Splits at a position that is inside the bytes by construction, without a branch that could panic.
fn split(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(at).unwrap_or((bytes, &[]))
}
