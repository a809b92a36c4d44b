//! What one payload of an answer says: a whole JSON body, or the data of one server-sent event.

use json_scan::Scanner;

use crate::answer_places::Place;
use crate::answer_sink::{AnswerSink, Draft};
use crate::dialect::{UsageRule, Wrapping};
use crate::echo::EchoedText;
use crate::event_type::EventType;
use crate::unwrapping::Base64Member;
use crate::{Api, ErrorFacts, FinishReason, Oddities, Text, Usage};

/// What a body or a payload was as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PayloadState {
    /// Nothing, or whitespace only.
    #[default]
    Empty,
    /// One whole document.
    Complete,
    /// `[DONE]`, which is no JSON and ends a stream.
    DoneMarker,
    /// It ended inside the document.
    Truncated,
    /// It is not JSON.
    Malformed,
    /// It is nested deeper than the scanner follows.
    TooDeep,
}

impl PayloadState {
    /// Every state, for tables and tests.
    pub const ALL: [Self; 6] = [
        Self::Empty,
        Self::Complete,
        Self::DoneMarker,
        Self::Truncated,
        Self::Malformed,
        Self::TooDeep,
    ];

    /// The state's name in snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Complete => "complete",
            Self::DoneMarker => "done_marker",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::TooDeep => "too_deep",
        }
    }
}

/// What kinds of generated output a payload carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Output other than reasoning: content, a refusal, a call of a tool.
    pub visible: bool,
    /// Reasoning.
    pub reasoning: bool,
}

impl Output {
    /// Whether there is output of any kind.
    #[must_use]
    pub const fn any(self) -> bool {
        self.visible || self.reasoning
    }
}

/// The token numbers that one payload states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsagePatch {
    /// From the API's usage object.
    pub stated: Usage,
    /// From llama.cpp's `timings`, which count where the usage object is silent.
    pub timings: Usage,
}

/// What one payload says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerEvent {
    /// What the payload was as JSON. Of a payload that is [`Malformed`](PayloadState::Malformed) or
    /// [`TooDeep`](PayloadState::TooDeep) nothing is believed; of one that is
    /// [`Truncated`](PayloadState::Truncated) only its usage and its error.
    pub state: PayloadState,
    /// The generated output it carries.
    pub output: Output,
    /// Whether it repeats the prompt.
    pub echoed: bool,
    /// The index of its first choice; zero where the API has no choices.
    pub choice: u32,
    /// How many choices it holds.
    pub choices: u32,
    /// The exact number of generated tokens in it, where the payload tells by token ids or log probabilities.
    pub tokens: Option<u32>,
    /// The token numbers it states.
    pub usage: UsagePatch,
    /// Why generation ended, if it says so.
    pub finish: Option<FinishReason>,
    /// The error it carries.
    pub error: Option<ErrorFacts>,
    /// Whether it is the protocol's terminal event.
    pub terminal: bool,
    /// The model's name, given once an answer.
    pub model: Option<Text>,
    /// How many numbers of tokens were not believed.
    pub bad_numbers: u32,
    /// What else is odd about it.
    pub oddities: Oddities,
}

/// Reads the payloads of one answer, one after the other, each in any pieces.
#[derive(Clone, Debug)]
pub struct AnswerScan {
    scanner: Scanner<Place>,
    sink: AnswerSink,
    done: DoneMarker,
    named: Option<EventType>,
    encoding: Encoding,
}

/// How the payloads are written.
#[derive(Clone, Debug)]
enum Encoding {
    /// As JSON.
    Json,
    /// As JSON that is wrapped in another document.
    Wrapped(Base64Member),
    /// As messages of protocol buffers.
    Message(Box<protobuf_scan::Scanner<Place>>),
}

impl Encoding {
    fn of(api: Api) -> Self {
        let dialect = api.dialect();
        match (&dialect.messages, dialect.rules.wrapping) {
            (Some(messages), _) => {
                Self::Message(Box::new(protobuf_scan::Scanner::new(messages.answer)))
            }
            (None, Wrapping::Base64Bytes) => Self::Wrapped(Base64Member::new()),
            (None, Wrapping::None) => Self::Json,
        }
    }
}

impl AnswerScan {
    /// A scan before an answer's first payload.
    #[must_use]
    pub fn new(api: Api) -> Self {
        let sink = AnswerSink {
            api,
            model_known: false,
            echoed_text: EchoedText::EMPTY,
            echoes_left: 0,
            cumulative: (0, 0),
            called_a_tool: false,
            draft: Draft::EMPTY,
        };
        Self {
            scanner: Scanner::new(api.dialect().answer),
            sink,
            done: DoneMarker::START,
            named: None,
            encoding: Encoding::of(api),
        }
    }

    /// Expects the server to repeat a text before it generates any, at most `times` times. Content that equals it is
    /// then no output. A server that does not echo loses nothing, since its first content is another.
    pub fn expect_echo(&mut self, text: EchoedText, times: u32) {
        self.sink.echoed_text = text;
        self.sink.echoes_left = times;
    }

    /// Takes the next bytes of a payload.
    pub fn push(&mut self, bytes: &[u8]) {
        let (scanner, sink) = (&mut self.scanner, &mut self.sink);
        match &mut self.encoding {
            Encoding::Json => {
                self.done.push(bytes);
                scanner.push(bytes, sink);
            }
            Encoding::Wrapped(wrapped) => wrapped.push(bytes, &mut |bytes| {
                scanner.push(bytes, sink);
            }),
            Encoding::Message(message) => message.push(bytes, sink),
        }
    }

    /// Takes the name of the server-sent event that carries the payload. It counts where the payload has no type.
    pub fn name_event(&mut self, name: &[u8]) {
        self.named = Some(EventType::from_name(self.sink.api, name));
    }

    /// Takes the name of an exception of an AWS event stream, which the payload then is.
    pub fn name_exception(&mut self, name: &[u8]) {
        self.named = Some(EventType::Error);
        self.sink.draft.error.read_code(name);
    }

    /// Forgets the payload that has begun.
    pub fn reset(&mut self) {
        self.scanner.reset();
        self.sink.draft = Draft::EMPTY;
        self.done = DoneMarker::START;
        self.named = None;
        match &mut self.encoding {
            Encoding::Json => {}
            Encoding::Wrapped(wrapped) => *wrapped = Base64Member::new(),
            Encoding::Message(message) => message.reset(),
        }
    }

    /// Ends the payload, says what it was, and is ready for the next one.
    pub fn finish(&mut self) -> AnswerEvent {
        let state = match &mut self.encoding {
            Encoding::Message(message) => PayloadState::from(message.finish(&mut self.sink)),
            Encoding::Json | Encoding::Wrapped(_) => {
                PayloadState::from(self.scanner.finish(&mut self.sink))
            }
        };
        let event = self.event(state);
        if event.state == PayloadState::Complete {
            self.remember(&event);
        }
        if event.model.is_some() {
            self.sink.model_known = true;
        }
        if event.echoed {
            self.sink.echoes_left = self.sink.echoes_left.saturating_sub(1);
        }
        self.reset();
        event
    }

    /// Keeps what the payloads that follow are judged by.
    fn remember(&mut self, event: &AnswerEvent) {
        let draft = &self.sink.draft;
        self.sink.called_a_tool |= draft.called_a_tool;
        if let Some(length) = cumulative_length(draft) {
            // Tokens whose text is held back count with the text.
            let stated = draft.stated.output.filter(|_| event.output.any());
            self.sink.cumulative = (length, stated.unwrap_or(self.sink.cumulative.1));
        }
    }

    fn event(&self, state: PayloadState) -> AnswerEvent {
        let draft = &self.sink.draft;
        let state = if self.done.is_whole() {
            PayloadState::DoneMarker
        } else {
            state
        };
        match state {
            PayloadState::DoneMarker => AnswerEvent {
                state,
                terminal: true,
                ..AnswerEvent::default()
            },
            PayloadState::Complete => self.complete_event(draft),
            PayloadState::Truncated => AnswerEvent {
                state,
                usage: self.usage(draft),
                error: draft.is_error.then_some(draft.error),
                bad_numbers: draft.bad_numbers,
                ..AnswerEvent::default()
            },
            PayloadState::Empty | PayloadState::Malformed | PayloadState::TooDeep => {
                let event_type = self.named.unwrap_or(EventType::Other);
                let failed = matches!(event_type, EventType::Error | EventType::Failed);
                // Of a payload that is there and not JSON nothing is believed, but an exception has a name.
                let error = if state == PayloadState::Empty {
                    draft.error
                } else {
                    ErrorFacts::default()
                };
                AnswerEvent {
                    state,
                    error: failed.then_some(error),
                    terminal: is_terminal(event_type),
                    ..AnswerEvent::default()
                }
            }
        }
    }

    fn complete_event(&self, draft: &Draft) -> AnswerEvent {
        let event_type = draft.event_type.or(self.named).unwrap_or(EventType::Other);
        let output = match event_type {
            EventType::OutputDelta { reasoning } if draft.delta => Output {
                visible: !reasoning,
                reasoning,
            },
            EventType::ItemAdded if draft.item_name => Output {
                visible: true,
                reasoning: false,
            },
            _ => draft.output,
        };
        let growth = self.growth(draft);
        let output = Output {
            visible: output.visible || growth.is_some(),
            ..output
        };
        let failed = draft.is_error || matches!(event_type, EventType::Error | EventType::Failed);
        let called_a_tool = draft.called_a_tool || self.sink.called_a_tool;
        let finish = match (draft.finish.or(draft.status), called_a_tool) {
            (Some(FinishReason::Stop), true) => Some(FinishReason::ToolCalls),
            (finish, _) => finish,
        };
        let tokens = draft
            .token_ids
            .or(draft.token_objects)
            .or(draft.logprobs)
            .or(growth.filter(|tokens| *tokens > 0))
            .map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        AnswerEvent {
            state: PayloadState::Complete,
            output,
            echoed: draft.echoed,
            choice: draft.choice,
            choices: draft.choices,
            tokens,
            usage: self.usage(draft),
            finish,
            error: failed.then_some(draft.error),
            terminal: draft.done || is_terminal(event_type),
            model: draft.model,
            bad_numbers: draft.bad_numbers,
            oddities: draft.oddities,
        }
    }

    /// By how many stated tokens a text that may be cumulative has grown; `None` if it holds nothing new. One that is
    /// not cumulative grows in tokens where it does not in length.
    fn growth(&self, draft: &Draft) -> Option<u64> {
        let (length_before, tokens_before) = self.sink.cumulative;
        let length = cumulative_length(draft)?;
        let stated = draft.stated.output.unwrap_or_default();
        let tokens = stated.saturating_sub(tokens_before);
        (length > 0 && (length != length_before || tokens > 0)).then_some(tokens)
    }

    fn usage(&self, draft: &Draft) -> UsagePatch {
        let mut stated = draft.summed_stated.plus(&draft.stated);
        let rule = self.sink.api.dialect().rules.usage;
        if rule == UsageRule::OutputPlusReasoning {
            stated = output_with_reasoning(stated);
        }
        if rule == UsageRule::InputParts {
            stated = messages_usage(stated);
            if draft.event_type.or(self.named) == Some(EventType::MessageStart) {
                stated.output = None;
            }
        }
        UsagePatch {
            stated,
            timings: draft.summed_timings.plus(&draft.timings.usage()),
        }
    }
}

/// How much there is of what may be cumulative: of the text, or of the tokens where there is none.
fn cumulative_length(draft: &Draft) -> Option<u64> {
    draft.cumulative.or(draft.cumulative_ids)
}

/// Anthropic's `input_tokens` leaves out what was read from the cache and written to it. The parts belong together,
/// so they count only where one payload states all it has of them.
fn messages_usage(parts: Usage) -> Usage {
    let Some(uncached) = parts.input else {
        return Usage {
            cached_input: None,
            cache_write_input: None,
            ..parts
        };
    };
    let cached = parts
        .cached_input
        .unwrap_or_default()
        .saturating_add(parts.cache_write_input.unwrap_or_default());
    Usage {
        input: Some(uncached.saturating_add(cached)),
        ..parts
    }
}

/// Gemini's output leaves out what it thought. While only thoughts have come, it may state no output at all.
fn output_with_reasoning(stated: Usage) -> Usage {
    let output = match (stated.output, stated.reasoning) {
        (None, None) => None,
        (output, reasoning) => Some(
            output
                .unwrap_or_default()
                .saturating_add(reasoning.unwrap_or_default()),
        ),
    };
    Usage { output, ..stated }
}

const fn is_terminal(event_type: EventType) -> bool {
    matches!(event_type, EventType::Terminal | EventType::Failed)
}

/// Recognises `[DONE]`, with any whitespace around it, in any pieces.
#[derive(Clone, Copy, Debug)]
struct DoneMarker {
    /// How much of the marker has come; `None` once it cannot be it any more.
    matched: Option<usize>,
}

impl DoneMarker {
    const BYTES: &'static [u8] = b"[DONE]";
    const START: Self = Self { matched: Some(0) };

    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes.iter();
        while let (Some(matched), Some(byte)) = (self.matched, rest.next()) {
            let between = matched == 0 || matched == Self::BYTES.len();
            if !(between && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
                let fits = Self::BYTES.get(matched) == Some(byte);
                self.matched = fits.then(|| matched.saturating_add(1));
            }
        }
    }

    fn is_whole(self) -> bool {
        self.matched == Some(Self::BYTES.len())
    }
}
