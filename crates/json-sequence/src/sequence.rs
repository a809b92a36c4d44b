//! The cutting itself.

use memchr::memchr2;

/// How the values stand in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value a line.
    Lines,
    /// One value after the other.
    Concatenated,
    /// The elements of one array.
    Array,
}

/// What is told of a stream.
pub trait Sink {
    /// The next bytes of a value.
    fn bytes(&mut self, bytes: &[u8]);
    /// The value is whole.
    fn value_end(&mut self);
}

/// Where in the stream the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the bracket of the array.
    BeforeArray,
    /// Between values.
    Between,
    /// In a value that is neither a container nor a string, or in a line.
    Plain,
    /// In a container, outside its strings.
    Container,
    /// In a string.
    Text,
    /// After a backslash in a string.
    Escape,
}

/// Cuts one stream, in whatever pieces it comes.
#[derive(Clone, Debug)]
pub struct JsonSequence {
    place: Place,
    shape: Shape,
    /// How many containers are open in the value.
    depth: u32,
}

impl JsonSequence {
    /// At the beginning of a stream.
    #[must_use]
    pub const fn new(shape: Shape) -> Self {
        let place = match shape {
            Shape::Array => Place::BeforeArray,
            Shape::Lines | Shape::Concatenated => Place::Between,
        };
        Self {
            place,
            shape,
            depth: 0,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = match self.place {
                Place::BeforeArray | Place::Between => self.between(rest, sink),
                Place::Plain => self.plain(rest, sink),
                Place::Container => self.container(rest, sink),
                Place::Text => self.text(rest, sink),
                Place::Escape => {
                    sink.bytes(rest.get(..1).unwrap_or_default());
                    self.place = Place::Text;
                    1
                }
            };
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// Ends the stream, and with it the value that it is in.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        if !matches!(self.place, Place::Between | Place::BeforeArray) {
            self.end_value(sink);
        }
    }

    /// Passes over what stands between values, up to where one begins.
    fn between(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let means_nothing = |byte: &u8| match self.shape {
            Shape::Lines => byte.is_ascii_whitespace(),
            Shape::Concatenated | Shape::Array => {
                byte.is_ascii_whitespace()
                    || (self.place == Place::Between && matches!(byte, b',' | b']' | b'}'))
            }
        };
        let Some(start) = bytes.iter().position(|byte| !means_nothing(byte)) else {
            return bytes.len();
        };
        let after = start.saturating_add(1);
        match (self.shape, bytes.get(start)) {
            (Shape::Lines, _) => self.place = Place::Plain,
            (_, Some(b'[')) if self.place == Place::BeforeArray => {
                self.place = Place::Between;
                return after;
            }
            (_, Some(b'{' | b'[')) => self.place = Place::Container,
            (_, Some(b'"')) => {
                // The opening quote is taken here, so that the next one is the end.
                sink.bytes(b"\"");
                self.place = Place::Text;
                return after;
            }
            _ => self.place = Place::Plain,
        }
        start
    }

    fn plain(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let end = if self.shape == Shape::Lines {
            memchr2(b'\n', b'\r', bytes)
        } else {
            bytes.iter().position(|byte| {
                byte.is_ascii_whitespace()
                    || matches!(byte, b',' | b'[' | b']' | b'{' | b'}' | b'"')
            })
        };
        let used = end.unwrap_or(bytes.len());
        if used > 0 {
            sink.bytes(bytes.get(..used).unwrap_or_default());
        }
        if end.is_some() {
            self.end_value(sink);
        }
        used
    }

    fn container(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        for (position, byte) in bytes.iter().enumerate() {
            match byte {
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b'"' => self.place = Place::Text,
                _ => continue,
            }
            let is_over = self.depth == 0;
            if is_over || self.place == Place::Text {
                let used = position.saturating_add(1);
                sink.bytes(bytes.get(..used).unwrap_or_default());
                if is_over {
                    self.end_value(sink);
                }
                return used;
            }
        }
        sink.bytes(bytes);
        bytes.len()
    }

    fn text(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let Some(end) = memchr2(b'"', b'\\', bytes) else {
            sink.bytes(bytes);
            return bytes.len();
        };
        let used = end.saturating_add(1);
        sink.bytes(bytes.get(..used).unwrap_or_default());
        if bytes.get(end) == Some(&b'\\') {
            self.place = Place::Escape;
        } else if self.depth > 0 {
            self.place = Place::Container;
        } else {
            self.end_value(sink);
        }
        used
    }

    fn end_value(&mut self, sink: &mut impl Sink) {
        self.depth = 0;
        self.place = Place::Between;
        sink.value_end();
    }
}
