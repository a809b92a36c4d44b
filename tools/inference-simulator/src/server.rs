//! The server: takes connections, answers each request by its script, and can be stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::behaviour::{Behaviour, Failure};
use crate::generation::Generation;
use crate::playback::{self, Counters, Counts};
use crate::prefix_cache::PrefixCache;
use crate::request::{Api, GenerationRequest};
use crate::schedule::Schedule;
use crate::script::{self, Script};

/// The longest request body taken.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The models served, others get 404; with none named, every name is served.
    pub models: Vec<String>,
    /// The behaviour of requests that say nothing of their own.
    pub behaviour: Behaviour,
    /// Tokens of a block of the simulated prefix cache.
    pub cache_block_tokens: usize,
    /// Blocks the cache holds at most; 0 turns it off.
    pub cache_capacity_blocks: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            models: Vec::new(),
            behaviour: Behaviour::default(),
            cache_block_tokens: 16,
            cache_capacity_blocks: 65_536,
        }
    }
}

struct Shared {
    settings: Settings,
    cache: Mutex<PrefixCache>,
    counters: Arc<Counters>,
}

/// A running server; it stops when this is dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    counters: Arc<Counters>,
    accepting: JoinHandle<()>,
}

impl Simulator {
    /// Starts a server on the current Tokio runtime.
    ///
    /// # Errors
    /// When the behaviour has a value out of range or the address cannot be bound.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        settings
            .behaviour
            .check()
            .map_err(|mistake| io::Error::new(io::ErrorKind::InvalidInput, mistake))?;
        let listener = TcpListener::bind(settings.listen).await?;
        let address = listener.local_addr()?;
        let counters = Arc::new(Counters::default());
        let cache = PrefixCache::new(settings.cache_block_tokens, settings.cache_capacity_blocks);
        let shared = Shared {
            settings,
            cache: Mutex::new(cache),
            counters: Arc::clone(&counters),
        };
        let router = router(Arc::new(shared));
        Ok(Self {
            address,
            counters,
            accepting: tokio::spawn(accept(listener, router)),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it saw so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// Waits until it ends, which only an unforeseen fault brings about.
    pub async fn run_forever(mut self) {
        // An error says that the task was cut off, which is the end waited for.
        let _ended = (&mut self.accepting).await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // The connections live in a set inside this task and go with it.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    // Events must leave one by one, as those of a real engine do. A refusal only costs time.
                    let _refused = socket.set_nodelay(true);
                    let service = TowerToHyperService::new(router.clone());
                    connections.spawn(async move {
                        let server = auto::Builder::new(TokioExecutor::new());
                        // A connection that ends in an error is one a client left or a script broke.
                        let _ended = server.serve_connection(TokioIo::new(socket), service).await;
                    });
                }
                // Out of file descriptors: wait for some to be free.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new()
        .route("/health", get(|| async { StatusCode::OK }))
        .route("/v1/models", get(models));
    for api in Api::ALL {
        let handler = move |State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Body| async move {
            answer(&shared, api, &headers, body).await
        };
        router = router.route(api.path(), post(handler));
    }
    router.with_state(shared)
}

async fn models(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let models: Vec<Value> = shared
        .settings
        .models
        .iter()
        .map(|model| json!({"id": model, "object": "model", "created": 0, "owned_by": "simulator"}))
        .collect();
    Json(json!({"object": "list", "data": models}))
}

async fn answer(shared: &Shared, api: Api, headers: &HeaderMap, body: Body) -> Response {
    let script = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => {
            let ordinal = shared.counters.count_received();
            direct(shared, api, headers, &body.to_bytes(), ordinal)
        }
        Err(_) => script::refusal(
            api,
            Failure::InvalidRequest,
            "",
            Some("the request body is too long"),
        ),
    };
    playback::play(script, Arc::clone(&shared.counters)).await
}

/// The script of the answer to a request.
fn direct(shared: &Shared, api: Api, headers: &HeaderMap, body: &[u8], ordinal: u64) -> Script {
    let settings = &shared.settings;
    let complain = |model: &str, mistake: &str| {
        script::refusal(api, Failure::InvalidRequest, model, Some(mistake))
    };
    let request = match GenerationRequest::parse(api, body) {
        Ok(request) => request,
        Err(mistake) => return complain("", &mistake),
    };
    let (behaviour, has_own_seed) = match behaviour_of(&settings.behaviour, &request, headers) {
        Ok(behaviour) => behaviour,
        Err(mistake) => return complain(&request.model, &mistake),
    };
    if let Some(failure) = behaviour.error {
        return script::refusal(api, failure, &request.model, None);
    }
    if !settings.models.is_empty() && !settings.models.contains(&request.model) {
        return script::refusal(api, Failure::NotFound, &request.model, None);
    }
    let prompt = prompt_tokens(&request, behaviour.prompt_tokens);
    let held = shared
        .cache
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .look_up_and_keep(&request.model, &prompt);
    let input = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
    let cached = behaviour.cached_tokens.unwrap_or(held).min(input);
    let generation = Generation::new(
        &request,
        &behaviour,
        (input, cached),
        (ordinal, unix_seconds()),
    );
    let tokens = generation
        .deltas
        .last()
        .map_or(0, |delta| delta.tokens_so_far);
    let place_in_order = if has_own_seed { 0 } else { ordinal };
    let schedule = Schedule::draw(&behaviour, tokens, input - cached, place_in_order);
    if request.stream && api != Api::Embeddings {
        script::streamed(api, &generation, &behaviour, &schedule)
    } else {
        script::whole(&request, &generation, &schedule)
    }
}

/// The behaviour a request gets, and whether it gave a seed of its own.
fn behaviour_of(
    defaults: &Behaviour,
    request: &GenerationRequest,
    headers: &HeaderMap,
) -> Result<(Behaviour, bool), String> {
    let header = match headers.get("x-simulate") {
        Some(header) => Some(
            serde_json::from_slice(header.as_bytes())
                .map_err(|error| format!("`x-simulate`: {error}"))?,
        ),
        None => None,
    };
    let mut behaviour = defaults.clone();
    let mut has_own_seed = false;
    for overrides in [&request.simulate, &header].into_iter().flatten() {
        behaviour = behaviour.with(overrides)?;
        has_own_seed = has_own_seed || overrides.get("seed").is_some();
    }
    Ok((behaviour, has_own_seed))
}

/// The prompt's words, cut or filled up to the wanted count.
fn prompt_tokens(request: &GenerationRequest, wanted: Option<u32>) -> Vec<u64> {
    let mut tokens = request.prompt_words.clone();
    if let Some(wanted) = wanted {
        tokens.resize(usize::try_from(wanted).unwrap_or(usize::MAX), 0);
    }
    tokens
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
