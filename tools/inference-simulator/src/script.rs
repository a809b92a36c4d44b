//! Joins what is said with when: the steps in which one answer is sent, and how it ends.

use std::time::Duration;

use bytes::Bytes;

use crate::behaviour::{Behaviour, Failure};
use crate::generation::Generation;
use crate::request::{Api, GenerationRequest};
use crate::schedule::Schedule;
use crate::wire::{self, Frame, Moment, problems};

/// One answer, ready to be played.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) is_stream: bool,
    /// When the head goes out.
    pub(crate) head_at: Duration,
    /// Pieces of the body in the order of their moments.
    pub(crate) steps: Vec<Step>,
    /// Whether the connection breaks after the last step.
    pub(crate) breaks: bool,
}

/// A piece of the body and when it goes out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) bytes: Bytes,
}

/// How a stream ends before its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlyEnd {
    Error,
    Silence,
    Break,
}

/// A streamed answer.
pub(crate) fn streamed(
    api: Api,
    generation: &Generation,
    behaviour: &Behaviour,
    schedule: &Schedule,
) -> Script {
    let mut frames = wire::stream(api, generation);
    let mut end = schedule.end();
    let mut breaks = false;
    if let Some((after, how)) = early_end(behaviour) {
        frames.retain(|frame| frame.moment <= Moment::Token(after));
        end = schedule.token(after.saturating_add(1));
        match how {
            EarlyEnd::Error => frames.extend(problems::frames_in_stream(api, frames.len())),
            EarlyEnd::Silence => {}
            EarlyEnd::Break => breaks = true,
        }
        if frames
            .last()
            .is_none_or(|frame| frame.moment != Moment::End)
        {
            // An empty piece holds the body open until its end is due.
            frames.push(Frame {
                moment: Moment::End,
                text: String::new(),
            });
        }
    }
    let mut steps = keep_alives(behaviour, schedule.first().min(end));
    steps.extend(frames.into_iter().map(|frame| {
        let at = match frame.moment {
            Moment::AtOnce => Duration::ZERO,
            Moment::Token(number) => schedule.token(number),
            Moment::End => end,
        };
        Step {
            at,
            bytes: frame.text.into(),
        }
    }));
    steps.sort_by_key(|step| step.at);
    let head_at = if behaviour.head_with_first_token {
        schedule.first().min(end)
    } else {
        Duration::ZERO
    };
    Script {
        status: 200,
        is_stream: true,
        head_at,
        steps,
        breaks,
    }
}

/// An answer of one JSON document.
pub(crate) fn whole(
    request: &GenerationRequest,
    generation: &Generation,
    schedule: &Schedule,
) -> Script {
    let document = wire::whole(request.api, generation, request.inputs);
    json(200, schedule.end(), &document.to_string())
}

/// An error before any token, sent at once as a real server refuses at once.
pub(crate) fn refusal(api: Api, failure: Failure, model: &str, message: Option<&str>) -> Script {
    let document = problems::body(api, failure, model, message);
    json(failure.status(), Duration::ZERO, &document.to_string())
}

fn json(status: u16, at: Duration, document: &str) -> Script {
    let steps = vec![Step {
        at,
        bytes: Bytes::copy_from_slice(document.as_bytes()),
    }];
    Script {
        status,
        is_stream: false,
        head_at: at,
        steps,
        breaks: false,
    }
}

/// The early end that comes first.
fn early_end(behaviour: &Behaviour) -> Option<(u32, EarlyEnd)> {
    [
        (behaviour.error_after_tokens, EarlyEnd::Error),
        (behaviour.end_after_tokens, EarlyEnd::Silence),
        (behaviour.reset_after_tokens, EarlyEnd::Break),
    ]
    .into_iter()
    .filter_map(|(after, how)| Some((after?, how)))
    .min_by_key(|(after, _)| *after)
}

fn keep_alives(behaviour: &Behaviour, until: Duration) -> Vec<Step> {
    let Some(Ok(period)) = behaviour
        .keep_alive_ms
        .map(|ms| Duration::try_from_secs_f64(ms / 1000.0))
    else {
        return Vec::new();
    };
    (1..)
        .map(|number| period.saturating_mul(number))
        .take_while(|at| *at < until)
        .map(|at| Step {
            at,
            bytes: Bytes::from_static(b": keep-alive\n\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn play(api: Api, behaviour: &Behaviour) -> Script {
        let body = json!({"model": "m", "prompt": "a", "messages": [], "input": "a", "stream": true,
            "stream_options": {"include_usage": true}});
        let request = GenerationRequest::parse(api, body.to_string().as_bytes()).unwrap();
        let generation = Generation::new(&request, behaviour, (10, 4), (1, 2));
        let schedule = Schedule::draw(behaviour, behaviour.output_tokens, 0, 0);
        streamed(api, &generation, behaviour, &schedule)
    }

    /// Each step as milliseconds and the short name of what it says.
    fn told(script: &Script) -> Vec<(u128, String)> {
        let name = |bytes: &Bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let event = text.lines().find_map(|line| line.strip_prefix("event: "));
            let data = text.lines().find_map(|line| line.strip_prefix("data: "));
            match (
                event,
                data.map(|data| serde_json::from_str::<Value>(data).map_err(|_| data.to_owned())),
            ) {
                (Some(event), _) => event.to_owned(),
                (None, Some(Err(data))) => data,
                (None, Some(Ok(data))) if data["error"].is_object() => "error".to_owned(),
                (None, Some(Ok(data))) if data["choices"] == json!([]) => "usage".to_owned(),
                (None, Some(Ok(data))) if data["choices"][0]["delta"]["role"].is_string() => {
                    "role".to_owned()
                }
                (None, Some(Ok(data))) if data["choices"][0]["finish_reason"].is_string() => {
                    "finish".to_owned()
                }
                (None, Some(Ok(_))) => "delta".to_owned(),
                (None, None) => text.trim().to_owned(),
            }
        };
        script
            .steps
            .iter()
            .map(|step| (step.at.as_millis(), name(&step.bytes)))
            .collect()
    }

    fn check(api: Api, behaviour: Behaviour, expected: &[(u128, &str)]) {
        let told = told(&play(
            api,
            &Behaviour {
                time_to_first_token_ms: 40.0,
                inter_token_ms: 10.0,
                ..behaviour
            },
        ));
        let told: Vec<(u128, &str)> = told.iter().map(|(at, name)| (*at, name.as_str())).collect();
        assert_eq!(told, expected, "{api:?}");
    }

    #[test]
    fn chat_is_role_deltas_finish_usage_done() {
        let expected = [
            (40, "role"),
            (40, "delta"),
            (50, "delta"),
            (50, "finish"),
            (50, "usage"),
            (50, "[DONE]"),
        ];
        check(
            Api::ChatCompletions,
            Behaviour {
                output_tokens: 2,
                ..Behaviour::default()
            },
            &expected,
        );
    }

    #[test]
    fn completions_finish_with_the_last_text() {
        let expected = [(40, "delta"), (50, "finish"), (50, "usage"), (50, "[DONE]")];
        check(
            Api::Completions,
            Behaviour {
                output_tokens: 2,
                ..Behaviour::default()
            },
            &expected,
        );
    }

    #[test]
    fn responses_begin_before_the_first_token() {
        let expected = [
            (0, "response.created"),
            (0, "response.in_progress"),
            (40, "response.output_item.added"),
            (40, "response.content_part.added"),
            (40, "response.reasoning_text.delta"),
            (40, "response.reasoning_text.done"),
            (40, "response.content_part.done"),
            (40, "response.output_item.done"),
            (50, "response.output_item.added"),
            (50, "response.function_call_arguments.delta"),
            (50, "response.function_call_arguments.done"),
            (50, "response.output_item.done"),
            (50, "response.completed"),
        ];
        let behaviour = Behaviour {
            output_tokens: 2,
            reasoning_tokens: 1,
            tool_call: true,
            ..Behaviour::default()
        };
        check(Api::Responses, behaviour, &expected);
    }

    #[test]
    fn messages_are_start_blocks_delta_stop() {
        let expected = [
            (40, "message_start"),
            (40, "content_block_start"),
            (40, "content_block_delta"),
            (40, "content_block_delta"),
            (40, "content_block_stop"),
            (50, "content_block_start"),
            (50, "content_block_delta"),
            (50, "content_block_stop"),
            (50, "message_delta"),
            (50, "message_stop"),
        ];
        let behaviour = Behaviour {
            output_tokens: 2,
            reasoning_tokens: 1,
            ..Behaviour::default()
        };
        check(Api::Messages, behaviour, &expected);
    }

    #[test]
    fn an_error_in_the_stream_comes_when_the_next_token_was_due() {
        let behaviour = Behaviour {
            output_tokens: 5,
            error_after_tokens: Some(1),
            ..Behaviour::default()
        };
        let openai = [(40, "role"), (40, "delta"), (50, "error"), (50, "[DONE]")];
        check(Api::ChatCompletions, behaviour.clone(), &openai);
        let messages = [
            (40, "message_start"),
            (40, "content_block_start"),
            (40, "content_block_delta"),
            (50, "error"),
        ];
        check(Api::Messages, behaviour, &messages);
        let before_any = Behaviour {
            error_after_tokens: Some(0),
            ..Behaviour::default()
        };
        check(
            Api::Completions,
            before_any,
            &[(40, "error"), (40, "[DONE]")],
        );
    }

    #[test]
    fn a_cut_stream_ends_without_a_word_and_a_broken_one_breaks() {
        let cut = Behaviour {
            end_after_tokens: Some(1),
            ..Behaviour::default()
        };
        check(Api::Completions, cut.clone(), &[(40, "delta"), (50, "")]);
        assert!(!play(Api::Completions, &cut).breaks);
        let broken = Behaviour {
            reset_after_tokens: Some(1),
            end_after_tokens: Some(2),
            ..Behaviour::default()
        };
        assert!(
            play(Api::Completions, &broken).breaks,
            "the earlier end counts"
        );
    }

    #[test]
    fn keep_alives_stand_before_the_first_token_only() {
        let behaviour = Behaviour {
            output_tokens: 2,
            keep_alive_ms: Some(15.0),
            ..Behaviour::default()
        };
        let alive = ": keep-alive";
        let expected = [
            (15, alive),
            (30, alive),
            (40, "delta"),
            (50, "finish"),
            (50, "usage"),
            (50, "[DONE]"),
        ];
        check(Api::Completions, behaviour, &expected);
    }

    #[test]
    fn the_head_waits_for_the_first_token_where_asked() {
        assert_eq!(
            play(Api::Completions, &Behaviour::default()).head_at,
            Duration::ZERO
        );
        let late = Behaviour {
            head_with_first_token: true,
            ..Behaviour::default()
        };
        assert_eq!(
            play(Api::Completions, &late).head_at,
            Duration::from_millis(40)
        );
    }
}
