//! What a request to an inference server asks for, and what one payload of its answer says.
//!
//! A [`RequestScan`] takes the bytes of a request body in any pieces and gives [`RequestFacts`]. An [`AnswerScan`]
//! takes the bytes of one payload (the data of one server-sent event, or a whole JSON body) and gives an
//! [`AnswerEvent`]; then it is ready for the next payload of the same answer.
//!
//! ```
//! use llm_payloads::{AnswerScan, Api, RequestScan};
//!
//! let api = Api::from_path(b"/v1/chat/completions").unwrap();
//! let mut request = RequestScan::new(api);
//! request.push(br#"{"messages":[{"role":"user","content":"Hi"}],"stream":true,"mod"#);
//! request.push(br#"el":"qwen3"}"#);
//! let facts = request.finish();
//! assert_eq!(facts.model.unwrap().as_str(), "qwen3");
//! assert_eq!(facts.stream, Some(true));
//!
//! let mut answer = AnswerScan::new(api);
//! answer.push(br#"{"model":"qwen3","choices":[{"index":0,"delta":{"content":"Hello"}}]}"#);
//! let event = answer.finish();
//! assert!(event.output.visible);
//!
//! answer.push(br#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#);
//! assert_eq!(answer.finish().usage.stated.output, Some(4));
//!
//! answer.push(b"[DONE]");
//! assert!(answer.finish().terminal);
//! ```
//!
//! # What counts as output
//!
//! Non-empty content, reasoning and refusals; a tool call's or function call's name or arguments. In the Responses
//! API every `response.*.delta` event with a non-empty `delta`; in the Messages API a `content_block_delta` with
//! non-empty text, thinking or partial JSON. In both, the event that begins a call and names it
//! (`response.output_item.added`, `content_block_start`): the name is the first thing of a call that the model
//! generates. Signatures and citations are not output, nor are role-only deltas, empty strings, `null`, pings,
//! progress and usage. A chat completion that repeats the last message because of `echo` is not output; a completion
//! that holds the prompt and more in one payload is. Text that SGLang repeats with every event is output where it has
//! grown. Token ids are output where a server gives them in the place of text (vLLM's tokens in and out, JetStream);
//! beside a text they only count it.
//!
//! # What this crate does not do
//!
//! It does not cut a body into payloads, knows no HTTP and no time. It keeps no text of prompts, answers or error
//! messages, except the first 64 bytes of a chat's last message, which are compared with an echo and then gone.
//!
//! # Limits
//!
//! Memory is constant: no body is held, whatever its size, and nothing is allocated, but for
//! one scanner where messages of gRPC are read. Model names are cut at
//! [`TEXT_BYTES`] bytes. Numbers of tokens that are negative, broken, or above [`MAX_TOKENS`] are ignored and
//! counted. Containers may lie 128 deep. Causes of errors are looked for in the first 256 bytes of a message.

mod answer;
mod answer_places;
mod answer_sink;
mod api;
mod dialect;
mod dialects;
mod echo;
mod error_facts;
mod event_type;
mod finish_reason;
mod first_message;
mod oddities;
mod request;
mod request_places;
mod route_pattern;
mod text;
mod unwrapping;
mod usage;

pub use answer::{AnswerEvent, AnswerScan, Output, PayloadState, UsagePatch};
pub use api::Api;
pub use dialect::{About, Dialect, EndRule, Rules, UsageRule, Wrapping};
pub use echo::{ECHO_PREFIX_BYTES, EchoedText};
pub use error_facts::{ErrorFacts, ErrorKind};
pub use finish_reason::FinishReason;
pub use oddities::Oddities;
pub use request::{RequestFacts, RequestScan};
pub use route_pattern::without_query;
pub use text::{TEXT_BYTES, Text};
pub use usage::{MAX_TOKENS, Usage, update_number};
