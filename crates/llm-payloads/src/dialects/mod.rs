//! The dialects, a file for each server or API.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod gemini;
pub(crate) mod generate;
pub(crate) mod grpc;
pub(crate) mod jetstream;
pub(crate) mod kserve;
pub(crate) mod llamacpp;
pub(crate) mod ollama;
pub(crate) mod openai;
pub(crate) mod openai_responses;
pub(crate) mod ranking;
pub(crate) mod triton;
pub(crate) mod vllm;
