//! What has been learnt of an answer from its payloads so far.

use grpc_frames::StatusCode;
use llm_payloads::{AnswerEvent, Api, ErrorFacts, FinishReason, PayloadState, Text};

use crate::usage_tracker::UsageTracker;
use crate::{AnomalyCounts, AnomalyKind};

/// What an answer has said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) usage: UsageTracker,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) error: Option<ErrorFacts>,
    /// Whether the terminal event came, or the whole of a body that is one document.
    pub(crate) is_terminal: bool,
    pub(crate) model: Option<Text>,
    /// What headers or trailers say, or those that gRPC-Web puts into the body.
    pub(crate) grpc_status: Option<StatusCode>,
    pub(crate) events: u64,
    /// Payloads that ought to be JSON, and how many of them were not.
    pub(crate) payloads: u64,
    pub(crate) unreadable: u64,
    pub(crate) anomalies: AnomalyCounts,
    /// Whether messages went by that were compressed by themselves.
    pub(crate) has_unread_messages: bool,
    /// Whether the borders between messages were lost.
    pub(crate) framing_is_lost: bool,
}

impl Answer {
    /// Takes a payload of a stream. Whether it ends the stream is for the caller to say.
    pub(crate) fn take_event(&mut self, api: Api, event: &AnswerEvent) {
        self.events = self.events.saturating_add(1);
        match event.state {
            PayloadState::Empty | PayloadState::DoneMarker => {}
            PayloadState::Complete => {
                self.payloads = self.payloads.saturating_add(1);
                self.usage.take(api, event, false);
            }
            PayloadState::Truncated | PayloadState::Malformed | PayloadState::TooDeep => {
                self.payloads = self.payloads.saturating_add(1);
                self.take_unreadable(event.state);
            }
        }
        // A payload that broke off inside its JSON may have said half of what it meant.
        if event.state != PayloadState::Truncated {
            self.take_facts(event);
        }
    }

    /// Takes a body that is one document.
    pub(crate) fn take_body(&mut self, api: Api, event: &AnswerEvent) {
        if event.state == PayloadState::Empty {
            return;
        }
        self.events = self.events.saturating_add(1);
        self.payloads = self.payloads.saturating_add(1);
        match event.state {
            PayloadState::Complete => self.is_terminal = true,
            state => self.take_unreadable(state),
        }
        self.usage.take(api, event, true);
        self.take_facts(event);
    }

    /// Whether most of the payloads were not what they ought to be. One that broke off says nothing about that.
    pub(crate) fn is_mostly_malformed(&self) -> bool {
        let broken_off = u64::from(self.anomalies.of(AnomalyKind::PayloadTruncated));
        self.unreadable.saturating_sub(broken_off).saturating_mul(2) > self.payloads
    }

    /// Notes a message that could not be read because of its own compression.
    pub(crate) fn take_unread_message(&mut self) {
        self.events = self.events.saturating_add(1);
        self.has_unread_messages = true;
    }

    /// Notes that the borders between the messages of the stream are lost.
    pub(crate) fn lose_framing(&mut self) {
        self.anomalies.add(AnomalyKind::BrokenFraming, 1);
        self.framing_is_lost = true;
    }

    /// Whether the answer could be read so far, as a whole.
    pub(crate) fn is_readable(&self) -> bool {
        !self.framing_is_lost && !self.is_mostly_malformed()
    }

    fn take_unreadable(&mut self, state: PayloadState) {
        self.unreadable = self.unreadable.saturating_add(1);
        let kind = match state {
            PayloadState::Truncated => AnomalyKind::PayloadTruncated,
            PayloadState::TooDeep => AnomalyKind::PayloadTooDeep,
            _ => AnomalyKind::PayloadNotJson,
        };
        self.anomalies.add(kind, 1);
    }

    fn take_facts(&mut self, event: &AnswerEvent) {
        if let Some(finish) = event.finish {
            self.finish = Some(
                self.finish
                    .map_or(finish, |earlier| earlier.or_later(finish)),
            );
        }
        self.error = self.error.or(event.error);
        if self.model.is_none() {
            self.model = event.model;
        }
        let oddities = event.oddities;
        self.anomalies
            .add(AnomalyKind::DuplicateKey, oddities.duplicate_keys);
        self.anomalies
            .add(AnomalyKind::MendedText, oddities.mended_texts);
        if event.bad_numbers > 0 {
            self.anomalies
                .add(AnomalyKind::BadTokenNumber, event.bad_numbers);
        }
    }
}
