//! The simulated inference server as a program.
#![allow(clippy::print_stdout, reason = "it says where it listens")]

use std::net::SocketAddr;

use clap::Parser;
use inference_simulator::{Behaviour, Settings, Simulator};

/// A simulated inference server: OpenAI-compatible chat/completions, completions, responses, embeddings and models,
/// and Anthropic-compatible messages, over HTTP/1.1 and HTTP/2 without TLS.
///
/// The flags set the defaults. A request overrides any of them by a `simulate` object in its body, or the same as
/// text in an `x-simulate` header, with the names of the flags in snake case, for example
/// {"model": "m", "messages": [], "stream": true, "simulate": {"output_tokens": 5, "error_after_tokens": 2}}.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// A model to serve, may be given several times; with none, every name is served
    #[arg(long = "model")]
    models: Vec<String>,
    /// Tokens of a block of the simulated prefix cache
    #[arg(long, default_value_t = Settings::default().cache_block_tokens)]
    cache_block_tokens: usize,
    /// Blocks the prefix cache holds at most; 0 turns it off
    #[arg(long, default_value_t = Settings::default().cache_capacity_blocks)]
    cache_capacity_blocks: usize,
    #[command(flatten)]
    behaviour: Behaviour,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let settings = Settings {
        listen: flags.listen,
        models: flags.models,
        behaviour: flags.behaviour,
        cache_block_tokens: flags.cache_block_tokens,
        cache_capacity_blocks: flags.cache_capacity_blocks,
    };
    let simulator = Simulator::start(settings).await?;
    println!("listening on http://{}", simulator.address());
    tokio::select! {
        () = simulator.run_forever() => anyhow::bail!("the server ended by itself"),
        signal = tokio::signal::ctrl_c() => Ok(signal?),
    }
}
