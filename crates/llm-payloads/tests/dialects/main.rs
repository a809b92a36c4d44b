//! Every dialect over payloads in the forms of its servers: what is asked for, output, usage, ends and errors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail by a panic"
)]

mod anthropic;
mod bedrock;
mod exchange;
mod gemini;
mod generate;
mod grpc;
mod jetstream;
mod kserve;
mod llamacpp;
mod ollama;
mod openai;
mod openai_responses;
mod ranking;
mod triton;
mod vllm;
