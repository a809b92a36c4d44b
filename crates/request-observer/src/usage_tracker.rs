//! Joins the usage that the payloads of one answer state into the usage of the answer.

use llm_payloads::{AnswerEvent, Api, Usage, UsagePatch, UsageRule, update_number};

/// The most choices whose usage is followed apart.
const MAX_CHOICES: usize = 64;

/// The usage of one answer so far.
///
/// Within one source the last statement counts. A payload that holds exactly one choice states that choice's usage
/// (llama.cpp for each prompt of a batch, vLLM and SGLang when they state usage continuously); these are summed over
/// the choices, unless a payload without choices states the whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageTracker {
    whole: UsagePatch,
    /// The first choice stated is held apart, so that an answer of one choice never allocates.
    first: Option<ChoiceUsage>,
    others: Vec<ChoiceUsage>,
    has_dropped: bool,
}

#[derive(Clone, Copy, Debug)]
struct ChoiceUsage {
    choice: u32,
    patch: UsagePatch,
    /// The output tokens that output events have accounted for.
    accounted: Option<u64>,
}

impl UsageTracker {
    /// Takes what a payload states. `whole_body` is whether it is the whole answer.
    pub(crate) fn take(&mut self, api: Api, event: &AnswerEvent, whole_body: bool) {
        let rule = api.dialect().rules.usage;
        if rule == UsageRule::Counted
            && let Some(tokens) = event.tokens
        {
            let counted = &mut self.whole.stated.output;
            *counted = Some(
                counted
                    .unwrap_or_default()
                    .saturating_add(u64::from(tokens)),
            );
        }
        let patch = &event.usage;
        if patch.stated.is_empty() && patch.timings.is_empty() {
            return;
        }
        if rule == UsageRule::InputParts {
            update_messages(&mut self.whole.stated, &patch.stated);
        } else if rule == UsageRule::OutputPlusReasoning && event.choices == 1 && event.choice > 0 {
            // Each event restates the usage of the whole, whichever choice it is about.
        } else if whole_body || event.choices != 1 {
            update(&mut self.whole, patch);
        } else if let Some(choice) = self.choice(event.choice) {
            update(&mut choice.patch, patch);
        }
    }

    /// How many tokens an output event brought, at least one: by the growth of the output tokens stated with it,
    /// else by its own exact count. Call it after [`take`](Self::take).
    pub(crate) fn tokens_of(&mut self, event: &AnswerEvent) -> u32 {
        let counted = u64::from(event.tokens.unwrap_or(1).max(1));
        let stated = event.usage.stated.output.or(event.usage.timings.output);
        let known = self
            .first
            .iter_mut()
            .chain(&mut self.others)
            .find(|known| known.choice == event.choice);
        let Some(choice) = known.filter(|_| event.choices == 1) else {
            return u32::try_from(counted).unwrap_or(u32::MAX);
        };
        let tokens = match (stated, choice.accounted) {
            (Some(stated), Some(accounted)) => stated.saturating_sub(accounted).max(1),
            _ => counted,
        };
        choice.accounted = match (stated, choice.accounted) {
            (Some(stated), _) => Some(stated),
            (None, accounted) => accounted.map(|accounted| accounted.saturating_add(tokens)),
        };
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// The usage of the whole answer. `choices_of_a_prompt` says which choices share their prompt: with more than
    /// one prompt, as many consecutive ones; with one prompt, all.
    pub(crate) fn usage(&self, prompts: u32, choices_of_a_prompt: u32) -> Usage {
        let mut choices = Usage::default();
        let mut timings = Usage::default();
        for (position, known) in self.choices().enumerate() {
            let prompt = |choice: u32| {
                if prompts > 1 {
                    choice.checked_div(choices_of_a_prompt).unwrap_or_default()
                } else {
                    0
                }
            };
            let shares_prompt = self
                .choices()
                .take(position)
                .any(|earlier| prompt(earlier.choice) == prompt(known.choice));
            choices = choices.plus(&own_part(&known.patch.stated, shares_prompt));
            timings = timings.plus(&own_part(&known.patch.timings, shares_prompt));
        }
        let mut usage = choices;
        usage.update(&self.whole.stated);
        timings.update(&self.whole.timings);
        usage.fill(&timings);
        usage
    }

    /// Whether choices were left out and nothing states the whole.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.has_dropped && self.whole.stated.output.unwrap_or_default() == 0
    }

    fn choices(&self) -> impl Iterator<Item = &ChoiceUsage> {
        self.first.iter().chain(&self.others)
    }

    fn choice(&mut self, choice: u32) -> Option<&mut ChoiceUsage> {
        let new = ChoiceUsage {
            choice,
            patch: UsagePatch::default(),
            accounted: None,
        };
        let first = self.first.get_or_insert(new);
        if first.choice == choice {
            return Some(first);
        }
        match self.others.iter().position(|known| known.choice == choice) {
            Some(position) => self.others.get_mut(position),
            None if self.others.len() < MAX_CHOICES.saturating_sub(1) => {
                self.others.push(new);
                self.others.last_mut()
            }
            None => {
                self.has_dropped = true;
                None
            }
        }
    }
}

fn update(patch: &mut UsagePatch, later: &UsagePatch) {
    patch.stated.update(&later.stated);
    patch.timings.update(&later.timings);
}

/// The parts of the input belong together: the last payload that states the input counts as a whole, so that what
/// one payload includes is not added again from another. A placeholder of zero replaces nothing.
fn update_messages(usage: &mut Usage, later: &Usage) {
    if later
        .input
        .is_some_and(|input| input > 0 || usage.input.is_none())
    {
        usage.input = later.input;
        usage.cached_input = later.cached_input;
        usage.cache_write_input = later.cache_write_input;
    }
    update_number(&mut usage.output, later.output);
    update_number(&mut usage.reasoning, later.reasoning);
}

/// What a choice adds to the sum: its input only if no earlier choice has the same prompt.
fn own_part(usage: &Usage, shares_prompt: bool) -> Usage {
    if shares_prompt {
        Usage {
            output: usage.output,
            reasoning: usage.reasoning,
            ..Usage::default()
        }
    } else {
        *usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cached: Option<u64>) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            cached_input: cached,
            ..Usage::default()
        }
    }

    fn event(choices: u32, choice: u32, stated: Usage) -> AnswerEvent {
        let usage = UsagePatch {
            stated,
            timings: Usage::default(),
        };
        AnswerEvent {
            choices,
            choice,
            usage,
            ..AnswerEvent::default()
        }
    }

    fn check(api: Api, prompts: u32, of_a_prompt: u32, events: &[AnswerEvent], expected: Usage) {
        let mut tracker = UsageTracker::default();
        for event in events {
            tracker.take(api, event, false);
        }
        assert_eq!(tracker.usage(prompts, of_a_prompt), expected);
    }

    #[test]
    fn the_last_statement_counts_and_nothing_is_summed_over_events() {
        let events = [
            event(1, 0, usage(9, 1, None)),
            event(1, 0, usage(9, 2, None)),
            event(0, 0, usage(9, 3, Some(4))),
        ];
        check(Api::ChatCompletions, 1, 1, &events, usage(9, 3, Some(4)));
    }

    #[test]
    fn a_placeholder_of_zero_replaces_nothing() {
        let events = [
            event(1, 0, usage(9, 3, None)),
            event(0, 0, usage(0, 0, None)),
        ];
        check(Api::ChatCompletions, 1, 1, &events, usage(9, 3, None));
        check(
            Api::Completions,
            1,
            1,
            &[event(1, 0, usage(0, 0, None))],
            usage(0, 0, None),
        );
    }

    #[test]
    fn usage_stated_for_each_prompt_of_a_batch_is_summed() {
        let events = [
            event(1, 0, usage(3, 4, Some(2))),
            event(1, 1, usage(5, 4, Some(0))),
        ];
        check(Api::Completions, 2, 1, &events, usage(8, 8, Some(2)));
    }

    #[test]
    fn choices_of_one_prompt_share_its_input() {
        let events = [
            event(1, 0, usage(9, 3, None)),
            event(1, 1, usage(9, 4, None)),
        ];
        check(Api::ChatCompletions, 1, 2, &events, usage(9, 7, None));
        let batch = [0, 1, 2, 3]
            .map(|choice| event(1, choice, usage(if choice < 2 { 9 } else { 5 }, 1, None)));
        check(Api::Completions, 2, 2, &batch, usage(14, 4, None));
    }

    #[test]
    fn a_statement_of_the_whole_stands_over_the_sum() {
        let events = [
            event(1, 0, usage(9, 3, None)),
            event(1, 1, usage(9, 4, None)),
            event(0, 0, usage(9, 8, None)),
        ];
        check(Api::ChatCompletions, 1, 2, &events, usage(9, 8, None));
    }

    #[test]
    fn the_parts_of_a_messages_input_come_from_one_payload() {
        let start = event(
            0,
            0,
            Usage {
                input: Some(724),
                ..Usage::default()
            },
        );
        let delta = event(0, 0, usage(724, 4, Some(704)));
        let bare_delta = event(
            0,
            0,
            Usage {
                output: Some(4),
                ..Usage::default()
            },
        );
        check(
            Api::Messages,
            1,
            1,
            &[start.clone(), delta.clone()],
            usage(724, 4, Some(704)),
        );
        check(
            Api::Messages,
            1,
            1,
            &[delta.clone(), bare_delta],
            usage(724, 4, Some(704)),
        );
        check(
            Api::Messages,
            1,
            1,
            &[delta.clone(), start],
            usage(724, 4, None),
        );
        let placeholder = event(0, 0, usage(9, 1, Some(8)));
        check(
            Api::Messages,
            1,
            1,
            &[placeholder, delta],
            usage(724, 4, Some(704)),
        );
    }

    #[test]
    fn timings_count_only_where_usage_is_silent() {
        let mut with_both = event(1, 0, usage(3, 4, None));
        with_both.usage.timings = usage(30, 40, Some(2));
        check(Api::Completions, 1, 1, &[with_both], usage(3, 4, Some(2)));
        let mut alone = event(1, 0, Usage::default());
        alone.usage.timings = usage(30, 40, Some(2));
        check(Api::ChatCompletions, 1, 1, &[alone], usage(30, 40, Some(2)));
    }

    #[test]
    fn choices_past_the_limit_are_told() {
        let mut tracker = UsageTracker::default();
        for choice in 0..100 {
            tracker.take(
                Api::Completions,
                &event(1, choice, usage(1, 1, None)),
                false,
            );
        }
        assert!(tracker.is_incomplete());
        assert_eq!(tracker.usage(100, 1), usage(64, 64, None));
        tracker.take(Api::Completions, &event(0, 0, usage(100, 100, None)), false);
        assert!(!tracker.is_incomplete());
        assert_eq!(tracker.usage(100, 1), usage(100, 100, None));
    }

    #[test]
    fn the_tokens_of_an_event_are_what_its_continuous_usage_grew_by() {
        let mut tracker = UsageTracker::default();
        let mut tokens = |event: AnswerEvent| {
            tracker.take(Api::ChatCompletions, &event, false);
            tracker.tokens_of(&event)
        };
        assert_eq!(tokens(event(1, 0, usage(9, 17, None))), 1);
        assert_eq!(tokens(event(1, 0, usage(9, 22, None))), 5);
        assert_eq!(tokens(event(1, 0, usage(9, 22, None))), 1);
        assert_eq!(
            tokens(event(1, 0, Usage::default())),
            1,
            "an event that does not tell counts as one"
        );
        assert_eq!(
            tokens(event(1, 0, usage(9, 25, None))),
            2,
            "one of the three is accounted for already"
        );
        assert_eq!(
            tokens(AnswerEvent {
                tokens: Some(3),
                ..event(1, 0, Usage::default())
            }),
            3
        );
        assert_eq!(
            tokens(AnswerEvent {
                tokens: Some(0),
                ..event(1, 7, Usage::default())
            }),
            1
        );
    }
}
