//! Collects what stands at the wanted places of one payload.

use json_scan::{Container, Sink, Value};

use crate::answer::Output;
use crate::answer_places::{Place, TokenKind};
use crate::echo::EchoedText;
use crate::event_type::EventType;
use crate::usage::{MAX_TOKENS, token_number, update_number};
use crate::{Api, ErrorFacts, FinishReason, Oddities, Text, Usage};

/// What one payload has said so far, and what is known from the payloads before it.
#[derive(Clone, Debug)]
pub(crate) struct AnswerSink {
    pub(crate) api: Api,
    /// Whether the model's name has been given out.
    pub(crate) model_known: bool,
    /// What an echo would look like.
    pub(crate) echoed_text: EchoedText,
    /// How many echoes may still come.
    pub(crate) echoes_left: u32,
    /// The length of the text that may be cumulative, and the output tokens stated with it, in the last payload.
    pub(crate) cumulative: (u64, u64),
    /// Whether a payload before has called a tool.
    pub(crate) called_a_tool: bool,
    pub(crate) draft: Draft,
}

/// What one payload has said so far.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) output: Output,
    pub(crate) echoed: bool,
    pub(crate) delta: bool,
    pub(crate) item_name: bool,
    pub(crate) event_type: Option<EventType>,
    pub(crate) is_error: bool,
    pub(crate) error: ErrorFacts,
    pub(crate) choice_now: u32,
    pub(crate) choice: u32,
    pub(crate) choices: u32,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) status: Option<FinishReason>,
    pub(crate) called_a_tool: bool,
    pub(crate) token_ids: Option<u64>,
    pub(crate) logprobs: Option<u64>,
    pub(crate) stated: Usage,
    pub(crate) timings: Timings,
    /// The sums over the finished elements of an array at the top level.
    pub(crate) summed_stated: Usage,
    pub(crate) summed_timings: Usage,
    pub(crate) model: Option<Text>,
    /// Whether the object in progress has named it.
    pub(crate) model_is_named: bool,
    /// What the usage in progress has stated, as bits; `None` outside of one.
    pub(crate) usage_keys: Option<u8>,
    pub(crate) bad_numbers: u32,
    pub(crate) oddities: Oddities,
    /// The length of a text that may repeat what earlier payloads held.
    pub(crate) cumulative: Option<u64>,
    /// The same of a list of tokens.
    pub(crate) cumulative_ids: Option<u64>,
    /// Whether it says that it is the last one.
    pub(crate) done: bool,
    /// What the part in progress holds: text, and whether that is reasoning.
    pub(crate) part_has_text: bool,
    pub(crate) part_is_thought: bool,
    /// Tokens that came as objects of their own.
    pub(crate) token_objects: Option<u64>,
}

/// llama.cpp's own numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timings {
    pub(crate) cached: Option<u64>,
    pub(crate) prompt: Option<u64>,
    pub(crate) output: Option<u64>,
}

impl Timings {
    const NONE: Self = Self {
        cached: None,
        prompt: None,
        output: None,
    };

    /// `prompt_n` leaves out what was cached, so without `cache_n` the input is unknown.
    pub(crate) fn usage(&self) -> Usage {
        let input = self
            .cached
            .zip(self.prompt)
            .map(|(cached, prompt)| cached.saturating_add(prompt));
        Usage {
            input,
            output: self.output,
            cached_input: self.cached,
            ..Usage::default()
        }
    }
}

const NO_USAGE: Usage = Usage {
    input: None,
    output: None,
    cached_input: None,
    cache_write_input: None,
    reasoning: None,
};

impl Draft {
    pub(crate) const EMPTY: Self = Self {
        output: Output {
            visible: false,
            reasoning: false,
        },
        echoed: false,
        delta: false,
        item_name: false,
        event_type: None,
        is_error: false,
        error: ErrorFacts {
            kind: crate::ErrorKind::Other,
        },
        choice_now: 0,
        choice: 0,
        choices: 0,
        finish: None,
        status: None,
        called_a_tool: false,
        token_ids: None,
        logprobs: None,
        stated: NO_USAGE,
        timings: Timings::NONE,
        summed_stated: NO_USAGE,
        summed_timings: NO_USAGE,
        model: None,
        model_is_named: false,
        usage_keys: None,
        bad_numbers: 0,
        oddities: Oddities::NONE,
        cumulative: None,
        cumulative_ids: None,
        done: false,
        part_has_text: false,
        part_is_thought: false,
        token_objects: None,
    };

    fn finish_with(&mut self, word: &[u8]) {
        if let Some(reason) = FinishReason::from_word(word) {
            self.finish = Some(
                self.finish
                    .map_or(reason, |earlier| earlier.or_later(reason)),
            );
        }
    }

    fn tokens(&mut self, kind: TokenKind, value: Value<'_>) {
        let number = match value {
            Value::Null => return,
            Value::Number(text) => token_number(text),
            Value::Bool(_) | Value::Text(_) => None,
        };
        let Some(number) = number else {
            self.bad_numbers = self.bad_numbers.saturating_add(1);
            return;
        };
        self.stated_tokens(kind, number);
    }

    /// Takes a number of tokens; one beyond belief is ignored and counted.
    fn stated_tokens(&mut self, kind: TokenKind, number: u64) {
        if number > MAX_TOKENS {
            self.bad_numbers = self.bad_numbers.saturating_add(1);
            return;
        }
        self.meet(kind);
        let slot = match kind {
            TokenKind::Input => &mut self.stated.input,
            TokenKind::Output => &mut self.stated.output,
            TokenKind::CachedInput => &mut self.stated.cached_input,
            TokenKind::CacheWriteInput => &mut self.stated.cache_write_input,
            TokenKind::Reasoning => &mut self.stated.reasoning,
            TokenKind::TimingsCached => &mut self.timings.cached,
            TokenKind::TimingsPrompt => &mut self.timings.prompt,
            TokenKind::TimingsOutput => &mut self.timings.output,
        };
        // Of two usages in one payload the one with numbers counts: some proxies add one of zeros.
        update_number(slot, Some(number));
    }

    /// Notes that a usage states a number, which it may do once.
    fn meet(&mut self, kind: TokenKind) {
        let bit = match kind {
            TokenKind::Input => 1,
            TokenKind::Output => 2,
            _ => return,
        };
        if let Some(keys) = &mut self.usage_keys {
            if *keys & bit != 0 {
                self.oddities.duplicate_keys = self.oddities.duplicate_keys.saturating_add(1);
            }
            *keys |= bit;
        }
    }

    fn answer_index(&mut self, index: u32) {
        if self.choices == 0 {
            self.choice = index;
        }
        self.choices = self.choices.saturating_add(1);
    }

    fn end_part(&mut self) {
        if self.part_has_text && self.part_is_thought {
            self.output.reasoning = true;
        } else if self.part_has_text {
            self.output.visible = true;
        }
        self.part_has_text = false;
        self.part_is_thought = false;
    }

    /// Takes tokens, which are output whatever their text.
    fn bare_tokens(&mut self, count: u64) {
        self.output.visible = true;
        self.token_objects = Some(self.token_objects.unwrap_or(0).saturating_add(count));
    }
}

impl AnswerSink {
    fn content(&mut self, text: json_scan::Text<'_>) {
        if text.is_empty() {
            return;
        }
        if self.echoes_left > 0 && self.echoed_text.matches(text.prefix, text.len) {
            self.draft.echoed = true;
        } else {
            self.draft.output.visible = true;
        }
    }

    fn model(&mut self, text: json_scan::Text<'_>) {
        if !self.model_known && !text.is_empty() {
            let model = Text::from_prefix(text.prefix, text.len);
            let draft = &mut self.draft;
            draft.oddities.mended_texts = u32::from(model.is_mended());
            draft.oddities.duplicate_keys = draft
                .oddities
                .duplicate_keys
                .saturating_add(u32::from(draft.model_is_named));
            draft.model_is_named = true;
            draft.model = Some(model);
        }
    }

    fn text(&mut self, place: Place, text: json_scan::Text<'_>) {
        let draft = &mut self.draft;
        match place {
            Place::Content => self.content(text),
            Place::Visible => draft.output.visible |= !text.is_empty(),
            Place::Reasoning => draft.output.reasoning |= !text.is_empty(),
            Place::Delta => draft.delta |= !text.is_empty(),
            Place::ItemName => draft.item_name |= !text.is_empty(),
            Place::Type => draft.event_type = Some(EventType::from_name(self.api, text.prefix)),
            Place::Finish | Place::IncompleteReason => draft.finish_with(text.prefix),
            Place::Status => draft.status = status(text.prefix),
            Place::OutputItemType => draft.called_a_tool |= is_call(text.prefix),
            Place::Model => self.model(text),
            Place::Object => draft.is_error |= text.prefix == b"error",
            Place::Error if text.is_empty() => {}
            Place::Error => {
                draft.is_error = true;
                draft.error.read_message(text.prefix);
            }
            Place::ErrorCode => draft.error.read_code(text.prefix),
            Place::ErrorMessage => draft.error.read_message(text.prefix),
            Place::Tokens(kind) => draft.tokens(kind, Value::Text(text)),
            Place::Cumulative => draft.cumulative = Some(text.len),
            Place::PartText => draft.part_has_text |= !text.is_empty(),
            Place::CalledTool => {
                draft.called_a_tool = true;
                draft.output.visible |= !text.is_empty();
            }
            Place::Final => {
                draft.done = true;
                // Where tokens come as objects of their own, this repeats them.
                draft.output.visible |= draft.token_objects.is_none() && !text.is_empty();
            }
            Place::FinalReason => {
                draft.done = true;
                draft.finish_with(text.prefix);
            }
            // A number of 64 bits is a text in the JSON of protocol buffers.
            Place::Token => draft.bare_tokens(1),
            Place::Blocked => {
                draft.done = true;
                draft.finish = Some(FinishReason::ContentFilter);
            }
            Place::Element
            | Place::Choice
            | Place::ChoiceIndex
            | Place::AnswerIndex
            | Place::TokenIds
            | Place::OutputIds
            | Place::CumulativeIds
            | Place::Logprobs
            | Place::Usage
            | Place::Tensor
            | Place::PromptTokens
            | Place::Part
            | Place::PartIsThought
            | Place::Done => {}
        }
    }

    fn number(&mut self, place: Place, number: &[u8]) {
        match place {
            Place::Tokens(kind) => self.draft.tokens(kind, Value::Number(number)),
            Place::ChoiceIndex => self.draft.choice_now = index(number),
            Place::AnswerIndex => self.draft.answer_index(index(number)),
            Place::Error => self.draft.is_error = true,
            Place::Token => self.draft.bare_tokens(1),
            _ => {}
        }
    }
}

/// Whether an item of a response's output asks the client to call a tool; tools that the server runs itself do not.
fn is_call(item_type: &[u8]) -> bool {
    matches!(item_type, b"function_call" | b"custom_tool_call")
}

fn index(number: &[u8]) -> u32 {
    token_number(number)
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or_default()
}

/// A response's status as a reason to end; `None` while it has not ended.
fn status(word: &[u8]) -> Option<FinishReason> {
    match word {
        b"completed" | b"failed" | b"cancelled" => FinishReason::from_word(word),
        b"incomplete" => Some(FinishReason::Length),
        _ => None,
    }
}

impl protobuf_scan::Sink<Place> for AnswerSink {
    fn number(&mut self, place: Place, value: u64) {
        if let Place::Tokens(kind) = place {
            self.draft.stated_tokens(kind, value);
        }
    }

    fn text(&mut self, place: Place, text: protobuf_scan::Text<'_>) {
        let text = json_scan::Text {
            prefix: text.prefix,
            len: text.len,
        };
        Self::text(self, place, text);
    }

    fn open(&mut self, place: Place) {
        Sink::open(self, place, Container::Object);
    }

    fn close(&mut self, place: Place) {
        Sink::close(self, place, Container::Object, 0);
    }

    fn elements(&mut self, place: Place, count: u64) {
        Sink::close(self, place, Container::Array, count);
    }
}

impl Sink<Place> for AnswerSink {
    fn value(&mut self, place: Place, value: Value<'_>) {
        match value {
            Value::Text(text) => self.text(place, text),
            Value::Number(number) => self.number(place, number),
            Value::Bool(flag) => match place {
                Place::Tokens(kind) => self.draft.tokens(kind, value),
                Place::Error => self.draft.is_error |= flag,
                Place::Done => self.draft.done |= flag,
                Place::PartIsThought => self.draft.part_is_thought = flag,
                _ => {}
            },
            Value::Null => {}
        }
    }

    fn open(&mut self, place: Place, _: Container) {
        match place {
            Place::Choice => self.draft.choice_now = 0,
            Place::Error => self.draft.is_error = true,
            Place::Token => self.draft.bare_tokens(1),
            Place::Usage => self.draft.usage_keys = Some(0),
            Place::Tensor => self.draft.output.visible = true,
            _ => {}
        }
    }

    fn close(&mut self, place: Place, _: Container, items: u64) {
        let draft = &mut self.draft;
        match place {
            Place::Choice => {
                if draft.choices == 0 {
                    draft.choice = draft.choice_now;
                }
                draft.choices = draft.choices.saturating_add(1);
            }
            Place::TokenIds | Place::OutputIds if items > 0 => {
                draft.token_ids = Some(draft.token_ids.unwrap_or(0).saturating_add(items));
                draft.output.visible |= matches!(place, Place::OutputIds);
            }
            Place::CumulativeIds => draft.cumulative_ids = Some(items),
            Place::Usage => draft.usage_keys = None,
            Place::Part => draft.end_part(),
            Place::PromptTokens if items > 0 => draft.stated.input = Some(items),
            Place::Logprobs if items > 0 => {
                draft.logprobs = Some(draft.logprobs.unwrap_or(0).saturating_add(items))
            }
            Place::Element => {
                draft.summed_stated = draft.summed_stated.plus(&draft.stated);
                draft.summed_timings = draft.summed_timings.plus(&draft.timings.usage());
                draft.stated = NO_USAGE;
                draft.timings = Timings::NONE;
                draft.model_is_named = false;
            }
            _ => {}
        }
    }
}
