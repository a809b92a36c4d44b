//! inference-simulator: an inference server without a model, for tests and demonstrations.
//!
//! It speaks the OpenAI API (chat completions, completions, responses, embeddings, models) and Anthropic's
//! messages, streamed and not, in the wire shape of a real vLLM: a role chunk first, then the tokens each in an event
//! of its own, the finish, the usage, `[DONE]`; or the named events of responses and messages. What a real engine
//! does by accident it does on purpose: times to the first token and between tokens, token counts, prefix cache hits,
//! errors before and inside a stream, ends without a terminal event, broken connections. [`Behaviour`] lists it all;
//! the server holds defaults, and a request overrides them by a `simulate` object in its body.
//!
//! ```
//! use inference_simulator::{Behaviour, Settings, Simulator};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let behaviour = Behaviour { time_to_first_token_ms: 5.0, output_tokens: 3, ..Behaviour::default() };
//! let simulator = Simulator::start(Settings { behaviour, ..Settings::default() }).await?;
//!
//! let body = r#"{"model": "any", "prompt": "one two", "simulate": {"inter_token_ms": 1}}"#;
//! let mut connection = tokio::net::TcpStream::connect(simulator.address()).await?;
//! let request = format!(
//!     "POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
//!     body.len()
//! );
//! connection.write_all(request.as_bytes()).await?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK"));
//! assert!(answer.contains(r#""completion_tokens":3"#));
//! assert_eq!(simulator.counts().received, 1);
//! # std::io::Result::Ok(())
//! # })?;
//! # std::io::Result::Ok(())
//! ```
//!
//! # What this crate does not do
//!
//! No model and no tokenizer: a token is a word, of the prompt as of the answer. It keeps no queue, so requests do not
//! wait for one another. The keys of its JSON stand in alphabetical order, and the end-of-sequence token, which
//! vLLM counts, is neither sent nor counted. No TLS, no HTTP/3, no authentication.
//!
//! # Limits
//!
//! A request body of 64 MiB, 16 choices, [`MAX_OUTPUT_TOKENS`] tokens a choice, an hour for each time.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "a tool for tests, where an overflow may well end the run"
)]

mod behaviour;
mod generation;
mod playback;
mod prefix_cache;
mod request;
mod schedule;
mod script;
mod server;
mod wire;

pub use behaviour::{Behaviour, Failure, MAX_OUTPUT_TOKENS, UsageMode};
pub use playback::Counts;
pub use request::Api;
pub use server::{Settings, Simulator};
