//! What a request asks for, read from its body in one pass without holding it.

use json_scan::{Container, Node, Outcome, Progress, Scanner, Sink, Value};

use crate::answer::PayloadState;
use crate::echo::EchoedText;
use crate::usage::token_number;
use crate::{Api, Text};

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
    };
}

/// The most choices and prompts that are believed.
const MAX_COUNT: u64 = 100_000;

#[derive(Clone, Copy, Debug)]
enum Place {
    Model,
    Stream,
    IncludeUsage,
    Choices,
    MaxOutputTokens,
    Echo,
    Background,
    Prompt,
    PromptElement,
    Message,
    MessageText,
}

const MODEL: Node<Place> = Node::leaf("model", Place::Model);
const STREAM: Node<Place> = Node::leaf("stream", Place::Stream);
const MAX_TOKENS: Node<Place> = Node::leaf("max_tokens", Place::MaxOutputTokens);
const MAX_OUTPUT_TOKENS: Node<Place> = Node::leaf("max_output_tokens", Place::MaxOutputTokens);
const STREAM_OPTIONS: Node<Place> = Node::branch(
    "stream_options",
    &[Node::leaf("include_usage", Place::IncludeUsage)],
);
const CHOICES: Node<Place> = Node::leaf("n", Place::Choices);
const BACKGROUND: Node<Place> = Node::leaf("background", Place::Background);
const ECHO: Node<Place> = Node::leaf("echo", Place::Echo);
const PROMPT: Node<Place> = Node::tagged(
    "prompt",
    Place::Prompt,
    &[Node::leaf("[]", Place::PromptElement)],
);
const MESSAGE_CONTENT: Node<Place> = Node::tagged(
    "content",
    Place::MessageText,
    &[Node::branch(
        "[]",
        &[Node::leaf("text", Place::MessageText)],
    )],
);
const MESSAGES: Node<Place> = Node::branch(
    "messages",
    &[Node::tagged("[]", Place::Message, &[MESSAGE_CONTENT])],
);
const MAX_COMPLETION_TOKENS: Node<Place> =
    Node::leaf("max_completion_tokens", Place::MaxOutputTokens);

static CHAT: Node<Place> = Node::root(&[
    MODEL,
    MESSAGES,
    STREAM,
    STREAM_OPTIONS,
    MAX_TOKENS,
    MAX_COMPLETION_TOKENS,
    CHOICES,
    ECHO,
]);
static COMPLETIONS: Node<Place> = Node::root(&[
    MODEL,
    PROMPT,
    STREAM,
    STREAM_OPTIONS,
    MAX_TOKENS,
    CHOICES,
    ECHO,
]);
static RESPONSES: Node<Place> = Node::root(&[MODEL, STREAM, MAX_OUTPUT_TOKENS, BACKGROUND]);
static EMBEDDINGS: Node<Place> = Node::root(&[MODEL]);
static MESSAGES_API: Node<Place> = Node::root(&[MODEL, STREAM, MAX_TOKENS]);

/// Reads a request body piece by piece.
#[derive(Clone, Debug)]
pub struct RequestScan {
    scanner: Scanner<Place>,
    facts: RequestFacts,
    progress: Progress,
    any_bytes: bool,
}

impl RequestScan {
    /// A scan at the beginning of a body.
    #[must_use]
    pub const fn new(api: Api) -> Self {
        let root = match api {
            Api::ChatCompletions => &CHAT,
            Api::Completions => &COMPLETIONS,
            Api::Responses => &RESPONSES,
            Api::Embeddings => &EMBEDDINGS,
            Api::Messages => &MESSAGES_API,
        };
        Self {
            scanner: Scanner::new(root),
            facts: RequestFacts::EMPTY,
            progress: Progress::More,
            any_bytes: false,
        }
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        self.any_bytes |= !bytes.is_empty();
        self.progress = self.scanner.push(bytes, &mut self.facts);
    }

    /// Whether further bytes can still tell something: not after the document's end or a flaw.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.progress == Progress::More
    }

    /// Whether any byte has come.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.any_bytes
    }

    /// What has been found so far.
    #[must_use]
    pub const fn facts(&self) -> &RequestFacts {
        &self.facts
    }

    /// Ends the body and says what it asks for.
    pub fn finish(&mut self) -> RequestFacts {
        let outcome = self.scanner.finish(&mut self.facts);
        self.facts.state = PayloadState::from(outcome);
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

    fn prompt_element_is_a_prompt(&mut self) {
        self.prompts = u64::from(self.prompts)
            .saturating_add(1)
            .min(MAX_COUNT)
            .try_into()
            .unwrap_or(1);
    }
}

impl Sink<Place> for RequestFacts {
    fn value(&mut self, place: Place, value: Value<'_>) {
        match (place, value) {
            (Place::Model, Value::Text(text)) => {
                self.model = Some(Text::from_prefix(text.prefix, text.len))
            }
            (Place::Model, _) => self.model = None,
            (Place::Stream, Value::Bool(stream)) => self.stream = Some(stream),
            (Place::IncludeUsage, Value::Bool(include)) => self.include_usage = Some(include),
            (Place::Echo, Value::Bool(echo)) => self.echo = echo,
            (Place::Background, Value::Bool(background)) => self.background = background,
            (Place::Choices, Value::Number(text)) => self.choices = self.count(text),
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
            (Place::Model, _) => self.model = None,
            (Place::Prompt, _) => self.prompts = 0,
            (Place::PromptElement, Container::Array) => self.prompt_element_is_a_prompt(),
            (Place::Message, _) => self.echoed_text = EchoedText::EMPTY,
            _ => {}
        }
    }

    fn close(&mut self, place: Place, _: Container, _: u64) {
        if let Place::Prompt = place {
            self.prompts = self.prompts.max(1);
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
