//! What a request asks for, read from its body in one pass without holding it.

use json_scan::{Container, Outcome, Progress, Scanner, Sink, Value};

use crate::answer::PayloadState;
use crate::echo::EchoedText;
use crate::first_message::FirstMessage;
use crate::request_places::RequestPlace as Place;
use crate::usage::token_number;
use crate::{Api, Oddities, Text};

/// What a request asks for. With a key given twice the last one counts, as in the servers' own parsers.
#[derive(Clone, Debug)]
pub struct RequestFacts {
    /// The model's name as the client gave it.
    pub model: Option<Text>,
    /// `stream`, where it was given.
    pub stream: Option<bool>,
    /// `stream_options.include_usage`, where it was given.
    pub include_usage: Option<bool>,
    /// `n`: how many choices are asked for of each prompt, at least one.
    pub choices: u32,
    /// How many prompts a batch holds; one where `prompt` is no array of prompts.
    pub prompts: u32,
    /// The limit on output tokens, where one was given.
    pub max_output_tokens: Option<u64>,
    /// Whether the prompt is to be repeated before the answer.
    pub echo: bool,
    /// Whether the answer is to be generated later and fetched by another request.
    pub background: bool,
    /// What an echo would repeat: the content of a chat's last message.
    pub echoed_text: EchoedText,
    /// What the body was as JSON. Facts found before a flaw stand.
    pub state: PayloadState,
    /// How many numbers could not be read as the small whole numbers that they ought to be.
    pub bad_numbers: u32,
    /// Which of the dialects on the path its keys tell, where they do.
    pub speaks: Option<Api>,
    /// Whether it only prepares the prompt for another server, which will generate the answer.
    pub prefill_leg: bool,
    /// Whether it is an engine's own probe of its health.
    pub health_probe: bool,
    /// What else is odd about it.
    pub oddities: Oddities,
    /// The keys met so far that may stand once.
    seen: u8,
    is_object: bool,
}

impl Default for RequestFacts {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl RequestFacts {
    const EMPTY: Self = Self {
        model: None,
        stream: None,
        include_usage: None,
        choices: 1,
        prompts: 1,
        max_output_tokens: None,
        echo: false,
        background: false,
        echoed_text: EchoedText::EMPTY,
        state: PayloadState::Empty,
        bad_numbers: 0,
        speaks: None,
        prefill_leg: false,
        health_probe: false,
        oddities: Oddities::NONE,
        seen: 0,
        is_object: false,
    };
}

/// The most choices and prompts that are believed.
const MAX_COUNT: u64 = 100_000;

/// Reads a request body piece by piece.
#[derive(Clone, Debug)]
pub struct RequestScan {
    scanner: Scanner<Place>,
    facts: RequestFacts,
    progress: Progress,
    /// Reads the body where it is a message of gRPC and not JSON.
    message: Option<Box<FirstMessage>>,
}

impl RequestScan {
    /// A scan at the beginning of a body.
    #[must_use]
    pub fn new(api: Api) -> Self {
        Self {
            scanner: Scanner::new(api.dialect().request),
            facts: RequestFacts::EMPTY,
            progress: Progress::More,
            message: api
                .dialect()
                .messages
                .as_ref()
                .map(|messages| Box::new(FirstMessage::new(messages.request))),
        }
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(message) = &mut self.message {
            message.push(bytes, &mut self.facts);
            if message.is_whole() {
                self.progress = Progress::Complete;
            }
            return;
        }
        self.progress = self.scanner.push(bytes, &mut self.facts);
    }

    /// Whether further bytes can still tell something: not after the document's end or a flaw.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.progress == Progress::More
    }

    /// What has been found so far.
    #[must_use]
    pub const fn facts(&self) -> &RequestFacts {
        &self.facts
    }

    /// Ends the body and says what it asks for.
    pub fn finish(&mut self) -> RequestFacts {
        if let Some(message) = &mut self.message {
            self.facts.state = message.finish(&mut self.facts);
            return self.facts.clone();
        }
        let outcome = self.scanner.finish(&mut self.facts);
        self.facts.state = PayloadState::from(outcome);
        let is_whole = matches!(
            self.facts.state,
            PayloadState::Complete | PayloadState::Empty
        );
        self.facts.oddities.not_an_object = u32::from(is_whole && !self.facts.is_object);
        self.facts.clone()
    }
}

impl RequestFacts {
    fn number(&mut self, text: &[u8]) -> Option<u64> {
        let number = token_number(text);
        if number.is_none() {
            self.bad_numbers = self.bad_numbers.saturating_add(1);
        }
        number
    }

    fn count(&mut self, text: &[u8]) -> u32 {
        let count = self.number(text).unwrap_or(1).clamp(1, MAX_COUNT);
        u32::try_from(count).unwrap_or(1)
    }

    /// Notes a key that may stand once, and whether it stood before.
    fn meet(&mut self, place: Place) {
        let bit = match place {
            Place::Model => 1,
            Place::Stream => 2,
            Place::IncludeUsage => 4,
            Place::Choices => 8,
            Place::Echo => 16,
            Place::Background => 32,
            _ => return,
        };
        if self.seen & bit != 0 {
            self.oddities.duplicate_keys = self.oddities.duplicate_keys.saturating_add(1);
        }
        self.seen |= bit;
    }

    fn prompt_element_is_a_prompt(&mut self) {
        self.prompts = u64::from(self.prompts)
            .saturating_add(1)
            .min(MAX_COUNT)
            .try_into()
            .unwrap_or(1);
    }
}

impl protobuf_scan::Sink<Place> for RequestFacts {
    fn number(&mut self, place: Place, value: u64) {
        match place {
            Place::MaxOutputTokens => self.max_output_tokens = Some(value),
            Place::Choices => {
                self.choices = u32::try_from(value.clamp(1, MAX_COUNT)).unwrap_or(1);
            }
            _ => {}
        }
    }

    fn text(&mut self, place: Place, text: protobuf_scan::Text<'_>) {
        let text = json_scan::Text {
            prefix: text.prefix,
            len: text.len,
        };
        Sink::value(self, place, Value::Text(text));
    }

    fn open(&mut self, _: Place) {}

    fn close(&mut self, _: Place) {}

    fn elements(&mut self, _: Place, _: u64) {}
}

impl Sink<Place> for RequestFacts {
    fn value(&mut self, place: Place, value: Value<'_>) {
        self.meet(place);
        match (place, value) {
            (Place::Model, Value::Text(text)) => {
                let model = Text::from_prefix(text.prefix, text.len);
                self.oddities.mended_texts = u32::from(model.is_mended());
                self.model = Some(model);
            }
            // A key whose value is null is a default that a client wrote out.
            (Place::Speaks(_), Value::Null) => {}
            (Place::Speaks(api), _) => self.speaks = self.speaks.or(Some(api)),
            (Place::RemoteDecode, Value::Bool(remote)) => self.prefill_leg = remote,
            (Place::RequestId, Value::Text(text)) => {
                self.health_probe = text.prefix.starts_with(b"HEALTH_CHECK");
            }
            (Place::Model, _) => self.model = None,
            (Place::Stream, Value::Bool(stream)) => self.stream = Some(stream),
            (Place::IncludeUsage, Value::Bool(include)) => self.include_usage = Some(include),
            (Place::Echo, Value::Bool(echo)) => self.echo = echo,
            (Place::Background, Value::Bool(background)) => self.background = background,
            (Place::Choices, Value::Number(text)) => self.choices = self.count(text),
            // llama.cpp and Ollama write a negative number where there is no limit.
            (Place::MaxOutputTokens, Value::Number([b'-', ..])) => self.max_output_tokens = None,
            (Place::MaxOutputTokens, Value::Number(text)) => {
                self.max_output_tokens = self.number(text)
            }
            (Place::PromptElement, Value::Text(_)) => self.prompt_element_is_a_prompt(),
            (Place::MessageText, Value::Text(text)) => {
                self.echoed_text.append(text.prefix, text.len)
            }
            _ => {}
        }
    }

    fn open(&mut self, place: Place, kind: Container) {
        match (place, kind) {
            (Place::Root, Container::Object) => self.is_object = true,
            (Place::Model, _) => {
                self.meet(place);
                self.model = None;
            }
            (Place::Speaks(api), kind) => {
                self.speaks = self.speaks.or(Some(api));
                if kind == Container::Array {
                    self.prompts = 0;
                }
            }
            (Place::Prompt, _) => self.prompts = 0,
            (Place::PromptElement, Container::Array) => self.prompt_element_is_a_prompt(),
            (Place::Message, _) => self.echoed_text = EchoedText::EMPTY,
            _ => {}
        }
    }

    fn close(&mut self, place: Place, _: Container, _: u64) {
        if let Place::Prompt | Place::Speaks(_) = place {
            self.prompts = self.prompts.max(1);
        }
    }
}

impl From<protobuf_scan::Outcome> for PayloadState {
    fn from(outcome: protobuf_scan::Outcome) -> Self {
        match outcome {
            protobuf_scan::Outcome::Empty => Self::Empty,
            protobuf_scan::Outcome::Complete => Self::Complete,
            protobuf_scan::Outcome::Truncated => Self::Truncated,
            protobuf_scan::Outcome::Malformed => Self::Malformed,
        }
    }
}

impl From<Outcome> for PayloadState {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Empty => Self::Empty,
            Outcome::Complete => Self::Complete,
            Outcome::Truncated => Self::Truncated,
            Outcome::Malformed(json_scan::Flaw::TooDeep) => Self::TooDeep,
            Outcome::Malformed(_) => Self::Malformed,
        }
    }
}
