//! What most tests of the module begin with: workers with an observing and a scraping listener, and
//! ordinary exchanges to send through them.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};

use super::{
    Action, CompiledModule, Host, HostOptions, LocalResponse, Root, RootOptions, Stream, Vm,
    VmOptions,
};
use crate::metric_assert::Exposition;

/// The configuration of the observing listener.
pub const OBSERVE: &str = "{}";
/// The configuration of the scraping listener.
pub const SCRAPE: &str = r#"{"observe": false, "scrape": {"path": "/metrics"}}"#;
/// Where the scraping listener answers.
pub const SCRAPE_PATH: &str = "/metrics";

/// A host with the built module.
pub struct Bed {
    /// The process.
    pub host: Host,
    module: &'static CompiledModule,
}

impl Bed {
    /// A process without workers.
    ///
    /// # Errors
    ///
    /// When there is no current module.
    pub fn new() -> anyhow::Result<Bed> {
        Bed::with(&HostOptions::default())
    }

    /// A process that begins so, without workers.
    ///
    /// # Errors
    ///
    /// When there is no current module.
    pub fn with(options: &HostOptions) -> anyhow::Result<Bed> {
        Ok(Bed {
            host: Host::new(options),
            module: CompiledModule::inferometer()?,
        })
    }

    /// A virtual machine without roots.
    ///
    /// # Errors
    ///
    /// When the module does not start.
    pub fn vm(&self) -> anyhow::Result<Vm> {
        self.host.vm(self.module, VmOptions::default())
    }

    /// A worker with both listeners.
    ///
    /// # Errors
    ///
    /// When the module does not start, or refuses a configuration.
    pub fn worker(&self) -> anyhow::Result<Worker> {
        self.worker_configured(OBSERVE)
    }

    /// A worker with both listeners, the observing one configured so.
    ///
    /// # Errors
    ///
    /// When the module does not start, or refuses a configuration.
    pub fn worker_configured(&self, observe: &str) -> anyhow::Result<Worker> {
        let vm = self.vm()?;
        let observe = vm.root(listener("observe", observe));
        let scrape = vm.root(listener("scrape", SCRAPE));
        if !observe.accepted() || !scrape.accepted() {
            bail!("a configuration was refused: {:?}", vm.failure());
        }
        Ok(Worker {
            vm,
            observe,
            scrape,
        })
    }
}

/// A listener's root context; its name is what makes it the same listener after an update.
#[must_use]
pub fn listener(name: &str, configuration: impl AsRef<[u8]>) -> RootOptions {
    RootOptions {
        name: name.to_owned(),
        ..RootOptions::configured(configuration)
    }
}

/// One virtual machine with both listeners.
pub struct Worker {
    /// The machine.
    pub vm: Vm,
    /// The listener in front of the model servers.
    pub observe: Root,
    /// The listener that scrapes are answered on.
    pub scrape: Root,
}

impl Worker {
    /// Sends a whole exchange through the observing listener, with a little time between callbacks.
    ///
    /// # Errors
    ///
    /// When a callback holds the stream.
    pub fn exchange(&self, host: &Host, exchange: &Exchange) -> anyhow::Result<()> {
        exchange.run(host, &self.vm, &self.observe)
    }

    /// The page that the scraping listener answers with.
    ///
    /// # Errors
    ///
    /// When there is no answer, or it is no page.
    pub fn page(&self) -> anyhow::Result<Exposition> {
        page_of(&self.scrape)
    }
}

/// The page of a scraping root.
///
/// # Errors
///
/// When there is no answer, or it is no page.
pub fn page_of(scrape: &Root) -> anyhow::Result<Exposition> {
    let answer: LocalResponse = scrape
        .get(SCRAPE_PATH, "text/plain")
        .context("the scrape was not answered")?;
    if answer.status != 200 {
        bail!("the scrape was answered with {}", answer.status);
    }
    Exposition::parse(&answer.text()).map_err(|error| anyhow!("{error}"))
}

/// A request and its answer, as the proxy would show them.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request's path.
    pub path: String,
    /// What the request has of headers besides the usual ones.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The request's body.
    pub request: Vec<u8>,
    /// The answer's status.
    pub status: u16,
    /// The answer's content type.
    pub content_type: &'static str,
    /// The answer's body, chunk by chunk.
    pub chunks: Vec<Vec<u8>>,
    /// The time between two callbacks.
    pub step: Duration,
}

/// How many input tokens the answers of this file state.
pub const INPUT_TOKENS: u32 = 11;

impl Exchange {
    /// A streamed chat of so many tokens, with usage at its end.
    #[must_use]
    pub fn streamed_chat(model: &str, tokens: u32) -> Exchange {
        let mut chunks = vec![event(&chunk(model, r#"{"role":"assistant","content":""}"#))];
        for _ in 0..tokens {
            chunks.push(event(&chunk(model, r#"{"content":" token"}"#)));
        }
        chunks.push(event(&format!(
            r#"{{"id":"c","object":"chat.completion.chunk","model":"{model}","choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}}"#
        )));
        chunks.push(event(&format!(
            r#"{{"id":"c","object":"chat.completion.chunk","model":"{model}","choices":[],"usage":{}}}"#,
            usage(tokens)
        )));
        chunks.push(event("[DONE]"));
        Exchange {
            path: "/v1/chat/completions".to_owned(),
            headers: Vec::new(),
            request: format!(
                r#"{{"model":"{model}","stream":true,"stream_options":{{"include_usage":true}},"messages":[{{"role":"user","content":"hello"}}]}}"#
            )
            .into_bytes(),
            status: 200,
            content_type: "text/event-stream",
            chunks,
            step: Duration::from_millis(10),
        }
    }

    /// A chat that is answered whole.
    #[must_use]
    pub fn whole_chat(model: &str, tokens: u32) -> Exchange {
        let answer = format!(
            r#"{{"id":"c","object":"chat.completion","model":"{model}","choices":[{{"index":0,"message":{{"role":"assistant","content":"token"}},"finish_reason":"stop"}}],"usage":{}}}"#,
            usage(tokens)
        );
        Exchange {
            request: format!(
                r#"{{"model":"{model}","messages":[{{"role":"user","content":"hello"}}]}}"#
            )
            .into_bytes(),
            content_type: "application/json",
            chunks: vec![answer.into_bytes()],
            ..Exchange::streamed_chat(model, 0)
        }
    }

    /// The whole exchange on a root, every callback in its order.
    ///
    /// # Errors
    ///
    /// When a callback holds the stream.
    pub fn run(&self, host: &Host, vm: &Vm, root: &Root) -> anyhow::Result<()> {
        let stream = self.begin(host, vm, root)?;
        self.answer(host, &stream)?;
        stream.end();
        Ok(())
    }

    /// The request's half.
    ///
    /// # Errors
    ///
    /// When a callback holds the stream.
    pub fn begin(&self, host: &Host, vm: &Vm, root: &Root) -> anyhow::Result<Stream> {
        let stream = vm.stream(root);
        stream.set("xds.cluster_name", "model-servers");
        stream.set("upstream.address", "10.0.0.7:8000");
        stream.set("upstream.request_attempt_count", 1);
        let mut head = vec![
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "models.local"),
            (":path", self.path.as_str()),
            ("content-type", "application/json"),
        ];
        head.extend(&self.headers);
        passed(stream.request_headers(&head, false))?;
        host.advance(self.step);
        passed(stream.request_body(&self.request, true))?;
        host.advance(self.step);
        Ok(stream)
    }

    /// The answer's half, up to its last byte.
    ///
    /// # Errors
    ///
    /// When a callback holds the stream.
    pub fn answer(&self, host: &Host, stream: &Stream) -> anyhow::Result<()> {
        let status = self.status.to_string();
        let head = [
            (":status", status.as_str()),
            ("content-type", self.content_type),
        ];
        passed(stream.response_headers(&head, false))?;
        for chunk in &self.chunks {
            host.advance(self.step);
            passed(stream.response_body(chunk, false))?;
        }
        passed(stream.response_body(b"", true))
    }
}

/// An observer never holds a stream.
///
/// # Errors
///
/// When it did.
pub fn passed(action: Action) -> anyhow::Result<()> {
    match action {
        Action::Continue => Ok(()),
        Action::Pause => bail!("the module holds the stream"),
    }
}

/// A server-sent event of one payload.
#[must_use]
pub fn event(payload: &str) -> Vec<u8> {
    format!("data: {payload}\n\n").into_bytes()
}

/// A chat chunk with this delta, of the size that servers send.
#[must_use]
pub fn chunk(model: &str, delta: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-9f1c","object":"chat.completion.chunk","created":1750000000,"model":"{model}","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}]}}"#
    )
}

fn usage(output: u32) -> String {
    let total = INPUT_TOKENS + output;
    format!(
        r#"{{"prompt_tokens":{INPUT_TOKENS},"completion_tokens":{output},"total_tokens":{total}}}"#
    )
}
