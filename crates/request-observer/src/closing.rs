//! Makes the record of a request that has ended.

use llm_payloads::{Oddities, PayloadState, RequestFacts, Usage};
use response_telemetry::Telemetry;

use crate::classify::{Origin, Seen, Verdict};
use crate::{AnomalyKind, Ending, RequestObserver, RequestRecord, UsageReason, UsageStatus};

impl RequestObserver {
    pub(crate) fn record(&mut self, ending: &Ending<'_>) -> RequestRecord {
        let purpose = self.purpose();
        let facts = self.request.finish();
        let rules = &self.api.dialect().rules;
        let seen = Seen {
            status: self.status,
            grpc_status: self.answer.grpc_status,
            api: self.api,
            body: &self.body,
            has_ended: self.response_has_ended,
            answer: &self.answer,
        };
        let verdict = Verdict::of(&seen, ending);
        let mut usage = self.answer.usage.usage(facts.prompts, facts.choices);
        usage.fill(&told_by_headers(&self.telemetry));
        let estimated_output = Some(self.timeline.output_events())
            .filter(|events| *events > 0 && usage.output.is_none());
        let was_requested =
            !self.is_stream || facts.include_usage == Some(true) || !rules.usage_is_asked_for;
        let reason = verdict.usage_reason(&seen, was_requested);
        let (usage_status, usage_reason) = self.usage_status(&usage, reason);
        let is_answered = matches!(
            verdict.origin,
            Origin::UpstreamAccepted | Origin::UpstreamRefused(_)
        );
        let attempts = ending
            .attempts
            .filter(|_| ending.known)
            .unwrap_or(u64::from(is_answered));
        self.note_anomalies(&facts, &usage);
        RequestRecord {
            api: self.api,
            purpose,
            request_model: self.path_model.or(facts.model),
            response_model: self.answer.model,
            accepted: verdict.origin == Origin::UpstreamAccepted,
            stream: if is_answered {
                self.is_stream
            } else {
                facts.stream.unwrap_or(rules.streams_by_default)
            },
            status: self.status.or_else(|| code(ending)),
            outcome: verdict.outcome,
            error_type: verdict.error_type(),
            finish_reason: self.answer.finish,
            attempts,
            choices: facts.choices.saturating_mul(facts.prompts),
            usage,
            usage_status,
            usage_reason,
            estimated_output,
            durations: self.timeline.durations(),
            gaps: self.timeline.gaps().clone(),
            telemetry: std::mem::take(&mut self.telemetry),
            anomalies: self.answer.anomalies,
            events: self.answer.events,
            inspected_bytes: self.inspected_bytes,
            first_token_chunk: self.first_token_chunk,
            first_token_offset: self.first_token_offset,
        }
    }

    fn usage_status(&self, usage: &Usage, reason: UsageReason) -> (UsageStatus, UsageReason) {
        let output_is_known = usage.output.is_some() || !self.api.dialect().rules.generates;
        let has_holes = matches!(
            reason,
            UsageReason::TooManyChoices | UsageReason::BytesNotSeen
        );
        match (usage.input.is_some(), output_is_known) {
            (true, true) if !has_holes => (UsageStatus::Reported, UsageReason::None),
            _ if usage.input.is_some() || usage.output.is_some() => (UsageStatus::Partial, reason),
            _ if self.timeline.output_events() > 0 => (UsageStatus::Estimated, reason),
            _ => (UsageStatus::Missing, reason),
        }
    }

    fn note_anomalies(&mut self, facts: &RequestFacts, usage: &Usage) {
        let broke_off = facts.state == PayloadState::Truncated && self.request_has_ended;
        let is_not_json = matches!(facts.state, PayloadState::Malformed | PayloadState::TooDeep);
        let cut_texts = [self.path_model, facts.model, self.answer.model]
            .iter()
            .flatten()
            .filter(|text| text.is_cut())
            .count();
        let Oddities {
            duplicate_keys,
            mended_texts,
            not_an_object,
            ..
        } = facts.oddities;
        let is_impossible = usage
            .cached_input
            .zip(usage.input)
            .is_some_and(|(cached, input)| cached > input);
        let counts = [
            (
                AnomalyKind::RequestNotJson,
                u32::from(broke_off || is_not_json),
            ),
            (
                AnomalyKind::RequestNotObject,
                if self.request_has_ended {
                    not_an_object
                } else {
                    0
                },
            ),
            (AnomalyKind::DuplicateKey, duplicate_keys),
            (AnomalyKind::MendedText, mended_texts),
            (AnomalyKind::BadRequestNumber, facts.bad_numbers),
            (
                AnomalyKind::CutText,
                u32::try_from(cut_texts).unwrap_or(u32::MAX),
            ),
            (AnomalyKind::ImpossibleUsage, u32::from(is_impossible)),
            (AnomalyKind::BadHeaderValue, self.telemetry.bad_values),
            (AnomalyKind::ClockBackwards, self.timeline.backwards()),
            (
                AnomalyKind::TooManyChoices,
                u32::from(self.answer.usage.is_incomplete()),
            ),
        ];
        for (kind, times) in counts {
            self.answer.anomalies.add(kind, times);
        }
    }
}

/// The token numbers that stand in headers.
fn told_by_headers(telemetry: &Telemetry) -> Usage {
    Usage {
        input: telemetry.input_tokens,
        output: telemetry.output_tokens,
        cached_input: telemetry.cached_tokens,
        ..Usage::default()
    }
}

/// The proxy's code, where it is one that a response can have.
fn code(ending: &Ending<'_>) -> Option<u16> {
    let code = ending.code.filter(|_| ending.known)?;
    u16::try_from(code)
        .ok()
        .filter(|code| (100..=599).contains(code))
}
