//! A real llama.cpp server over a tiny model, what it says of its tokens, and a naive reader of its answers.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use envoy_harness::python_venv;
use serde_json::{Value, json};

use crate::{
    envoy_rig::say,
    metric_assert::Exposition,
    module::workspace_root,
    test_client::{Answer, Ask, Http1Client},
};

/// The name under which the server offers its model.
pub const MODEL: &str = "tiny-llama";
/// The environment's folder; it has the version, so that another version is another folder.
const ENVIRONMENT: &str = "xllamacpp-2026.10.11549";

/// A running server. It ends with this value, and with this program.
#[derive(Debug)]
pub struct LlamaServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// What runs, with versions.
    pub versions: String,
    child: Child,
}

impl LlamaServer {
    /// Starts one, after fetching what it needs where that is not there.
    ///
    /// # Errors
    ///
    /// When the packages cannot be had or the server does not start; its log is in the message.
    pub fn start() -> Result<LlamaServer> {
        let scripts = workspace_root().join("host-tests/real");
        let tools = workspace_root().join("target/tools");
        let requirement = format!(
            "--requirement={}",
            scripts.join("requirements.txt").display()
        );
        let home = python_venv::ensure(&tools, ENVIRONMENT, &requirement, &mut say)?;
        let log = tools.join("llama-server.log");
        let errors = std::fs::File::create(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = Command::new(python_venv::interpreter(&home))
            .arg(scripts.join("serve_llama.py"))
            .arg(model_file(&home, &scripts)?)
            .arg(MODEL)
            // The scripts' folder is a source folder, so Python must leave nothing in it.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("cannot start Python")?;
        match read_greeting(&mut child) {
            Ok((address, versions)) => Ok(LlamaServer {
                address,
                versions,
                child,
            }),
            Err(error) => {
                end(&mut child);
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                Err(error.context(format!("the server did not start; its log:\n{log}")))
            }
        }
    }

    /// What the server itself counts.
    ///
    /// # Errors
    ///
    /// When its metrics cannot be had.
    pub async fn own_counts(&self) -> Result<OwnCounts> {
        let answer = Http1Client::once(self.address, &Ask::new("GET", "/metrics")).await?;
        let metrics = Exposition::parse(&answer.text()).map_err(anyhow::Error::msg)?;
        let whole = |name: &str| {
            let value = metrics
                .total(name, &[])
                .with_context(|| format!("the server has no {name}"))?;
            anyhow::Ok(value as u64)
        };
        Ok(OwnCounts {
            computed_input: whole("llamacpp:prompt_tokens_total")?,
            cached_input: whole("llamacpp:prompt_tokens_cached_total")?,
            output: whole("llamacpp:tokens_predicted_total")?,
        })
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// The model's file, which the server's script makes where it is not there; a changed script is another file.
fn model_file(home: &std::path::Path, scripts: &std::path::Path) -> Result<PathBuf> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    std::fs::read(scripts.join("tiny_model.py"))
        .context("cannot read the model's script")?
        .hash(&mut hasher);
    Ok(home.join(format!("{MODEL}-{:016x}.gguf", hasher.finish())))
}

fn read_greeting(child: &mut Child) -> Result<(SocketAddr, String)> {
    let output = child.stdout.take().context("the server has no output")?;
    for line in BufReader::new(output).lines() {
        let Ok(told) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        let address = told.pointer("/address").and_then(Value::as_str);
        let address = address.and_then(|text| text.strip_prefix("http://"));
        let address = address.context("the server did not say where it listens")?;
        let versions = told.pointer("/versions").cloned().unwrap_or_default();
        return Ok((address.parse()?, versions.to_string()));
    }
    bail!("it ended before it listened")
}

/// Sums that the server keeps over all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCounts {
    /// Input tokens that were computed.
    pub computed_input: u64,
    /// Input tokens that came from its cache.
    pub cached_input: u64,
    /// Generated tokens.
    pub output: u64,
}

impl OwnCounts {
    /// What was added since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: OwnCounts) -> OwnCounts {
        OwnCounts {
            computed_input: self.computed_input - earlier.computed_input,
            cached_input: self.cached_input - earlier.cached_input,
            output: self.output - earlier.output,
        }
    }
}

/// What one answer says of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// All input tokens.
    pub input: u64,
    /// Those of them that came from the cache, if the answer says so.
    pub cached: Option<u64>,
    /// Generated tokens, if the answer is one that has any.
    pub output: Option<u64>,
}

/// One way to ask the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/completion`, the server's own.
    Completion,
    /// `/infill`, the server's own.
    Infill,
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
    /// `/v1/embeddings`.
    Embeddings,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Endpoint; 7] = [
        Self::Completion,
        Self::Infill,
        Self::Chat,
        Self::Completions,
        Self::Responses,
        Self::Messages,
        Self::Embeddings,
    ];

    /// Its path.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Completion => "/completion",
            Self::Infill => "/infill",
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Embeddings => "/v1/embeddings",
        }
    }

    /// Whether it can be asked for a stream.
    #[must_use]
    pub fn streams(self) -> bool {
        self != Self::Embeddings
    }

    /// A request with this prompt for so many tokens; always the same answer to it.
    #[must_use]
    pub fn ask(self, prompt: &str, tokens: u64, stream: bool) -> Ask {
        let messages = json!([{"role": "user", "content": prompt}]);
        let mut body = match self {
            Self::Completion => json!({"prompt": prompt, "n_predict": tokens}),
            Self::Infill => {
                json!({"input_prefix": prompt, "input_suffix": " end", "n_predict": tokens})
            }
            Self::Chat | Self::Messages => json!({"messages": messages, "max_tokens": tokens}),
            Self::Completions => json!({"prompt": prompt, "max_tokens": tokens}),
            Self::Responses => json!({"input": prompt, "max_output_tokens": tokens}),
            Self::Embeddings => json!({"input": prompt}),
        };
        if let Some(members) = body.as_object_mut() {
            members.insert("model".to_owned(), json!(MODEL));
            if self.streams() {
                members.insert("temperature".to_owned(), json!(0));
                members.insert("stream".to_owned(), json!(stream));
            }
        }
        Ask::post(self.path(), body.to_string())
    }

    /// What an answer says of its tokens, found in its whole text.
    ///
    /// # Errors
    ///
    /// When it does not say it.
    pub fn told(self, answer: &Answer) -> Result<Told> {
        let documents = documents(&answer.text());
        // What stands last is the sum of all before.
        let last = |pointers: &[&str]| {
            let mut found = None;
            for document in &documents {
                for pointer in pointers {
                    found = document.pointer(pointer).and_then(Value::as_u64).or(found);
                }
            }
            found
        };
        let timings = || {
            let cached = last(&["/timings/cache_n"])?;
            Some(Told {
                input: last(&["/timings/prompt_n"])? + cached,
                cached: Some(cached),
                output: last(&["/timings/predicted_n"]),
            })
        };
        let told = match self {
            Self::Completion | Self::Infill => last(&["/tokens_evaluated"]).map(|input| Told {
                input,
                cached: last(&["/timings/cache_n"]),
                output: last(&["/tokens_predicted"]),
            }),
            Self::Chat | Self::Completions => last(&["/usage/prompt_tokens"])
                .map(|input| Told {
                    input,
                    cached: last(&["/usage/prompt_tokens_details/cached_tokens"]),
                    output: last(&["/usage/completion_tokens"]),
                })
                .or_else(timings),
            Self::Responses => {
                let usage = |name: &str| {
                    last(&[
                        &format!("/usage/{name}"),
                        &format!("/response/usage/{name}"),
                    ])
                };
                usage("input_tokens").map(|input| Told {
                    input,
                    cached: usage("input_tokens_details/cached_tokens"),
                    output: usage("output_tokens"),
                })
            }
            Self::Messages => {
                let usage = |name: &str| {
                    last(&[&format!("/usage/{name}"), &format!("/message/usage/{name}")])
                };
                usage("input_tokens").map(|beside| {
                    let cached = usage("cache_read_input_tokens");
                    Told {
                        input: beside + cached.unwrap_or(0),
                        cached,
                        output: usage("output_tokens"),
                    }
                })
            }
            Self::Embeddings => last(&["/usage/prompt_tokens"]).map(|input| Told {
                input,
                ..Told::default()
            }),
        };
        told.with_context(|| {
            format!(
                "{} says nothing of its tokens: {}",
                self.path(),
                answer.text()
            )
        })
    }

    /// How long the body is when the event with the first generated text is whole.
    #[must_use]
    pub fn first_token_end(self, body: &[u8]) -> Option<u64> {
        let text: &[&str] = match self {
            Self::Completion | Self::Infill => &["/content"],
            Self::Chat => &[
                "/choices/0/delta/content",
                "/choices/0/delta/reasoning_content",
            ],
            Self::Completions => &["/choices/0/text"],
            Self::Responses => &["/delta"],
            Self::Messages => &["/delta/text", "/delta/thinking"],
            Self::Embeddings => &[],
        };
        let mut end = 0;
        for event in body.split_inclusive(|byte| *byte == b'\n') {
            end += event.len() as u64;
            let says = |document: &Value| {
                text.iter()
                    .filter_map(|pointer| document.pointer(pointer)?.as_str())
                    .any(|text| !text.is_empty())
            };
            if documents(&String::from_utf8_lossy(event)).iter().any(says) {
                // The event is whole with the empty line after it.
                return Some(end + 1);
            }
        }
        None
    }
}

/// All JSON documents of an answer: one, or one for each event.
fn documents(text: &str) -> Vec<Value> {
    let whole = serde_json::from_str(text).ok();
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok());
    whole.into_iter().chain(events).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_token_is_the_first_text_and_not_the_first_event() {
        let role =
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n";
        let empty = "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n";
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let before = format!("{role}: ping\n\n{empty}");
        let body = format!("{before}{text}{text}data: [DONE]\n\n");
        let end = Endpoint::Chat.first_token_end(body.as_bytes());
        assert_eq!(end, Some((before.len() + text.len()) as u64));
        assert_eq!(Endpoint::Chat.first_token_end(before.as_bytes()), None);
    }

    #[test]
    fn documents_are_found_in_both_kinds_of_answers() {
        assert_eq!(documents("{\"a\":1}"), [json!({"a": 1})]);
        assert_eq!(
            documents("event: x\ndata: {\"a\":\ndata: {\"a\":2}\n\ndata: [DONE]\n\n"),
            [json!({"a": 2})]
        );
    }
}
