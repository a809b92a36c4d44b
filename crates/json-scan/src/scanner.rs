//! The state machine that walks a document piece by piece.

use crate::document::{Container, Flaw, NUMBER_BYTES, Outcome, Progress, Sink, Value};
use crate::node::Node;
use crate::number::{self, NumberState, NumberStep};
use crate::prefix::text_of;
use crate::string::{StringDecoder, StringStep, split, split_plain};

/// The most containers inside one another that a document may have.
pub const MAX_DEPTH: usize = 128;

/// How many containers deep wanted places are found; what the tree names below that is never found.
pub const MAX_WANTED_DEPTH: usize = 16;

/// Walks one document at a time and tells a [`Sink`] what stands at the wanted places.
///
/// It has a fixed size, never allocates, and gives the same calls however the input is cut.
/// A clone goes on independently from the same point.
#[derive(Debug, Clone)]
pub struct Scanner<T: 'static> {
    root: &'static Node<T>,
    state: State,
    /// The wanted place of the value that is next or current; always absent inside an unwanted container.
    wanted: Option<&'static Node<T>>,
    /// How many containers are open.
    depth: u8,
    /// How many of them, from the outermost, are wanted places or lead to some.
    matched: u8,
    /// One bit for each open container, the innermost lowest: set for an object.
    objects: u128,
    levels: [Level<T>; MAX_WANTED_DEPTH],
    /// The string at hand; a number that arrives in pieces borrows its buffer.
    string: StringDecoder,
}

/// An open container on the path to wanted places.
#[derive(Debug, Clone, Copy)]
struct Level<T: 'static> {
    node: &'static Node<T>,
    items: u64,
}

/// The plain tag makes the dispatch of each byte one jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// A value must begin.
    Value,
    /// An element or the end of the array.
    FirstElement,
    /// A key or the end of the object.
    FirstKey,
    /// A key, after a comma.
    Key,
    /// The colon after a key.
    Colon,
    /// A comma or the end of the container; at the top level the end of the document.
    AfterValue,
    /// Inside a key.
    InKey,
    /// Inside a string that is a value.
    InText,
    /// Inside a number.
    InNumber(NumberState),
    /// Inside `null`, `true` or `false`.
    InLiteral(Literal, u8),
    /// Past the point where the document broke.
    Failed(Flaw),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Literal {
    Null,
    True,
    False,
}

impl Literal {
    const fn word(self) -> &'static [u8] {
        match self {
            Self::Null => b"null",
            Self::True => b"true",
            Self::False => b"false",
        }
    }

    fn strip(self, bytes: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Null => bytes.strip_prefix(b"null"),
            Self::True => bytes.strip_prefix(b"true"),
            Self::False => bytes.strip_prefix(b"false"),
        }
    }

    const fn value(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::True => Value::Bool(true),
            Self::False => Value::Bool(false),
        }
    }
}

const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl<T: Copy> Scanner<T> {
    /// A scanner at the beginning of a document, looking for the places of this tree.
    pub const fn new(root: &'static Node<T>) -> Self {
        Self {
            root,
            state: State::Value,
            wanted: Some(root),
            depth: 0,
            matched: 0,
            objects: 0,
            levels: [Level {
                node: root,
                items: 0,
            }; MAX_WANTED_DEPTH],
            string: StringDecoder::new(),
        }
    }

    /// Goes back to the beginning of a document, whatever became of the last one.
    pub fn reset(&mut self) {
        self.state = State::Value;
        self.wanted = Some(self.root);
        self.depth = 0;
        self.matched = 0;
        self.objects = 0;
    }

    /// Takes the next bytes of the document.
    ///
    /// Once the document is broken, further input is not looked at.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink<T>) -> Progress {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match self.state {
                State::InKey | State::InText => self.resume_string(rest, sink),
                State::InNumber(state) => self.follow_number(state, rest, sink),
                State::InLiteral(literal, seen) => self.literal(literal, seen, rest, sink),
                State::Failed(_) => break,
                _ if is_whitespace(byte) => after,
                State::Colon => self.colon(byte, after),
                State::AfterValue => self.after_value(byte, after, sink),
                State::FirstKey if byte == b'}' => self.close(Container::Object, after, sink),
                State::FirstKey | State::Key => self.key(byte, after),
                State::FirstElement if byte == b']' => self.close(Container::Array, after, sink),
                State::FirstElement | State::Value => self.value(byte, rest, after, sink),
            };
        }
        self.progress()
    }

    /// Ends the input: a number at the top level is delivered now, since only the end completes it.
    ///
    /// A second call gives the same outcome and no further calls; [`reset`](Self::reset) begins the next document.
    pub fn finish(&mut self, sink: &mut impl Sink<T>) -> Outcome {
        if let (State::InNumber(state), 0) = (self.state, self.depth)
            && state.may_end()
        {
            if let Some(tag) = self.tag() {
                sink.value(tag, Value::Number(self.string.decoded.held()));
            }
            self.state = State::AfterValue;
        }
        match (self.state, self.depth) {
            (State::Failed(flaw), _) => Outcome::Malformed(flaw),
            (State::AfterValue, 0) => Outcome::Complete,
            (State::Value, 0) => Outcome::Empty,
            _ => Outcome::Truncated,
        }
    }

    fn progress(&self) -> Progress {
        match (self.state, self.depth) {
            (State::Failed(flaw), _) => Progress::Malformed(flaw),
            (State::AfterValue, 0) => Progress::Complete,
            _ => Progress::More,
        }
    }

    fn fail(&mut self, flaw: Flaw) -> &'static [u8] {
        self.state = State::Failed(flaw);
        &[]
    }

    fn tag(&self) -> Option<T> {
        self.wanted.and_then(|node| node.tag)
    }

    /// The innermost open container, if it is on the path to wanted places.
    fn level(&mut self) -> Option<&mut Level<T>> {
        if self.matched != self.depth {
            return None;
        }
        self.levels
            .get_mut(usize::from(self.matched).wrapping_sub(1))
    }

    fn value<'input>(
        &mut self,
        byte: u8,
        rest: &'input [u8],
        after: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        if let Some(level) = self.level() {
            level.items = level.items.saturating_add(1);
        }
        match byte {
            b'"' => self.text(after, sink),
            b'{' => self.open(Container::Object, after, sink),
            b'[' => self.open(Container::Array, after, sink),
            b'-' | b'0'..=b'9' => {
                self.string.decoded.clear();
                self.follow_number(NumberState::Start, rest, sink)
            }
            b'n' => self.literal(Literal::Null, 0, rest, sink),
            b't' => self.literal(Literal::True, 0, rest, sink),
            b'f' => self.literal(Literal::False, 0, rest, sink),
            _ => self.fail(Flaw::UnexpectedByte),
        }
    }

    fn after_value<'input>(
        &mut self,
        byte: u8,
        after: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        let in_object = self.objects & 1 == 1;
        match byte {
            _ if self.depth == 0 => self.fail(Flaw::TrailingBytes),
            b',' if in_object => {
                self.state = State::Key;
                after
            }
            b',' => {
                self.wanted = self.level().and_then(|level| level.node.element());
                self.state = State::Value;
                after
            }
            b'}' if in_object => self.close(Container::Object, after, sink),
            b']' if !in_object => self.close(Container::Array, after, sink),
            _ => self.fail(Flaw::UnexpectedByte),
        }
    }

    fn open<'input>(
        &mut self,
        kind: Container,
        after: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        if usize::from(self.depth) >= MAX_DEPTH {
            return self.fail(Flaw::TooDeep);
        }
        self.depth = self.depth.wrapping_add(1);
        self.objects = (self.objects << 1) | u128::from(kind == Container::Object);
        self.state = match kind {
            Container::Object => State::FirstKey,
            Container::Array => State::FirstElement,
        };
        let Some(node) = self.wanted.take() else {
            return after;
        };
        let Some(level) = self.levels.get_mut(usize::from(self.matched)) else {
            return after;
        };
        *level = Level { node, items: 0 };
        self.matched = self.matched.wrapping_add(1);
        if kind == Container::Array {
            self.wanted = node.element();
        }
        if let Some(tag) = node.tag {
            sink.open(tag, kind);
        }
        after
    }

    fn close<'input>(
        &mut self,
        kind: Container,
        after: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        if let Some(&mut Level { node, items }) = self.level() {
            self.matched = self.matched.wrapping_sub(1);
            if let Some(tag) = node.tag {
                sink.close(tag, kind, items);
            }
        }
        self.depth = self.depth.wrapping_sub(1);
        self.objects >>= 1;
        self.state = State::AfterValue;
        after
    }

    fn colon<'input>(&mut self, byte: u8, after: &'input [u8]) -> &'input [u8] {
        if byte != b':' {
            return self.fail(Flaw::UnexpectedByte);
        }
        self.state = State::Value;
        after
    }

    fn key<'input>(&mut self, byte: u8, after: &'input [u8]) -> &'input [u8] {
        if byte != b'"' {
            return self.fail(Flaw::UnexpectedByte);
        }
        let (plain, stop) = split_plain(after);
        if let Some((b'"', after)) = stop.split_first() {
            self.wanted = self.level().and_then(|level| level.node.member(plain));
            // The colon nearly always follows at once, which saves a turn of the loop.
            if let Some((b':', after)) = after.split_first() {
                self.state = State::Value;
                return after;
            }
            self.state = State::Colon;
            return after;
        }
        let keep = self.level().is_some();
        self.string.begin(keep, plain);
        self.state = State::InKey;
        stop
    }

    fn text<'input>(&mut self, after: &'input [u8], sink: &mut impl Sink<T>) -> &'input [u8] {
        let (plain, stop) = split_plain(after);
        let tag = self.tag();
        if let Some((b'"', after)) = stop.split_first() {
            if let Some(tag) = tag {
                sink.value(tag, Value::Text(text_of(plain)));
            }
            self.state = State::AfterValue;
            return after;
        }
        self.string.begin(tag.is_some(), plain);
        self.state = State::InText;
        stop
    }

    /// Goes on with a string that has escapes or began in an earlier piece.
    fn resume_string<'input>(
        &mut self,
        bytes: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        let (rest, step) = self.string.resume(bytes);
        match step {
            StringStep::Unfinished => return rest,
            StringStep::Flawed(flaw) => return self.fail(flaw),
            StringStep::Ended => {}
        }
        if self.state == State::InKey {
            let node = self.level().map(|level| level.node);
            // A key longer than the buffer is longer than any wanted one.
            let whole = self.string.decoded.whole();
            self.wanted = node.zip(whole).and_then(|(node, key)| node.member(key));
            self.state = State::Colon;
        } else {
            if let Some(tag) = self.tag() {
                sink.value(tag, Value::Text(self.string.decoded.text()));
            }
            self.state = State::AfterValue;
        }
        rest
    }

    fn follow_number<'input>(
        &mut self,
        state: NumberState,
        bytes: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        let (rest, step) = number::follow(state, bytes);
        let (piece, _) = split(bytes, bytes.len().wrapping_sub(rest.len()));
        let tag = self.tag();
        if tag.is_some() {
            // The length is judged before the grammar, so that a cut cannot change which flaw is found first.
            let len = self.string.decoded.len().saturating_add(piece.len() as u64);
            if len > NUMBER_BYTES as u64 {
                return self.fail(Flaw::NumberTooLong);
            }
        }
        match (step, tag) {
            (NumberStep::Flawed, _) => return self.fail(Flaw::BadNumber),
            (NumberStep::Unfinished(state), Some(_)) => {
                self.string.decoded.append(piece);
                self.state = State::InNumber(state);
            }
            (NumberStep::Unfinished(state), None) => self.state = State::InNumber(state),
            (NumberStep::Ended, Some(tag)) => {
                let whole = if self.string.decoded.len() == 0 {
                    piece
                } else {
                    self.string.decoded.append(piece);
                    self.string.decoded.held()
                };
                sink.value(tag, Value::Number(whole));
                self.state = State::AfterValue;
            }
            (NumberStep::Ended, None) => self.state = State::AfterValue,
        }
        rest
    }

    fn literal<'input>(
        &mut self,
        literal: Literal,
        seen: u8,
        bytes: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        // A word that lies whole in the input is compared at one stroke.
        if let (0, Some(rest)) = (seen, literal.strip(bytes)) {
            return self.end_literal(literal, rest, sink);
        }
        let missing = literal.word().get(usize::from(seen)..).unwrap_or_default();
        let (piece, rest) = split(bytes, missing.len().min(bytes.len()));
        if !missing.starts_with(piece) {
            return self.fail(Flaw::BadLiteral);
        }
        if piece.len() < missing.len() {
            // A word has five letters at most, so the count of those seen fits.
            let seen = usize::from(seen).wrapping_add(piece.len());
            self.state = State::InLiteral(literal, u8::try_from(seen).unwrap_or(u8::MAX));
            return rest;
        }
        self.end_literal(literal, rest, sink)
    }

    fn end_literal<'input>(
        &mut self,
        literal: Literal,
        rest: &'input [u8],
        sink: &mut impl Sink<T>,
    ) -> &'input [u8] {
        if let Some(tag) = self.tag() {
            sink.value(tag, literal.value());
        }
        self.state = State::AfterValue;
        rest
    }
}
