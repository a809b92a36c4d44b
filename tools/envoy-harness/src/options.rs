//! What an Envoy shall do: listeners, filters, routes and clusters, as plain values.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::bootstrap;

/// Everything one Envoy is started with. All addresses default to a port that the kernel chooses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EnvoyOptions {
    /// Number of worker threads.
    pub concurrency: u32,
    /// Envoy's own log level: `trace`, `debug`, `info`, `warning`, `error`, `critical` or `off`.
    pub log_level: String,
    /// How long a removed listener may go on serving the requests it has. Envoy's own default is 600 s.
    pub drain: Duration,
    /// Where the admin page listens.
    pub admin: SocketAddr,
    /// The listeners at the start.
    pub listeners: Vec<Listener>,
    /// The clusters that routes name.
    pub upstreams: Vec<Upstream>,
    /// Listeners come from a watched file, so that [`crate::EnvoyProcess::set_listeners`] can change them.
    pub dynamic_listeners: bool,
    /// `stats_config` of the bootstrap: tags and histogram buckets.
    pub stats_config: Option<Value>,
    /// Members put into the bootstrap's top level as they are.
    pub extra: serde_json::Map<String, Value>,
}

impl EnvoyOptions {
    /// No listener and no cluster yet, one worker, log level `info`.
    #[must_use]
    pub fn new() -> EnvoyOptions {
        EnvoyOptions {
            concurrency: 1,
            log_level: "info".to_owned(),
            drain: Duration::from_secs(1),
            admin: any_port(),
            listeners: Vec::new(),
            upstreams: Vec::new(),
            dynamic_listeners: false,
            stats_config: None,
            extra: serde_json::Map::new(),
        }
    }

    /// The usual arrangement: listener `observe` in front of `upstream`, watched by `plugin` with
    /// `configuration`, its root id `observe`. Add a scrape listener by [`EnvoyOptions::with_scrape`].
    #[must_use]
    pub fn observed(upstream: Upstream, plugin: WasmPlugin, configuration: &str) -> EnvoyOptions {
        let mut options = EnvoyOptions::new();
        options.listeners.push(
            Listener::to_upstream("observe", &upstream.name).with_filter(HttpFilter::Wasm(
                plugin.rooted("observe").configured(configuration),
            )),
        );
        options.upstreams.push(upstream);
        options
    }

    /// Adds listener `scrape`, whose only content is what `plugin` answers with `configuration`, its root id `scrape`.
    #[must_use]
    pub fn with_scrape(mut self, plugin: WasmPlugin, configuration: &str) -> EnvoyOptions {
        self.listeners.push(
            Listener::replying("scrape", 404).with_filter(HttpFilter::Wasm(
                plugin.rooted("scrape").configured(configuration),
            )),
        );
        self
    }

    /// The bootstrap as Envoy reads it; `run_dir` is where files such as the listener list will lie.
    #[must_use]
    pub fn bootstrap(&self, run_dir: &Path) -> Value {
        bootstrap::render(self, run_dir)
    }
}

impl Default for EnvoyOptions {
    fn default() -> EnvoyOptions {
        EnvoyOptions::new()
    }
}

/// What clients may speak on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownstreamProtocol {
    /// HTTP/1 or HTTP/2, told apart by the first bytes.
    Auto,
    /// HTTP/1.0 and HTTP/1.1 only.
    Http1,
    /// HTTP/2 without an upgrade only.
    Http2,
}

/// One listener with one HTTP connection manager, without TLS.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listener {
    /// The name under which its address is found again.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// What its clients may speak.
    pub protocol: DownstreamProtocol,
    /// HTTP filters in order; the router follows by itself.
    pub filters: Vec<HttpFilter>,
    /// Where requests go.
    pub route: Route,
    /// The format of a line in the access log `access.log` of the run directory; none, no access log.
    pub access_log_format: Option<String>,
}

impl Listener {
    /// A listener that sends every request to `cluster`.
    #[must_use]
    pub fn to_upstream(name: &str, cluster: &str) -> Listener {
        Listener {
            name: name.to_owned(),
            address: any_port(),
            protocol: DownstreamProtocol::Auto,
            filters: Vec::new(),
            route: Route::Upstream {
                cluster: cluster.to_owned(),
                timeout: Duration::ZERO,
                host_rewrite: None,
            },
            access_log_format: None,
        }
    }

    /// A listener that answers every request its filters let through with an empty `status`.
    #[must_use]
    pub fn replying(name: &str, status: u16) -> Listener {
        Listener {
            route: Route::Reply { status },
            ..Listener::to_upstream(name, "")
        }
    }

    /// The same listener with one more filter at the end of its chain.
    #[must_use]
    pub fn with_filter(mut self, filter: HttpFilter) -> Listener {
        self.filters.push(filter);
        self
    }
}

/// One HTTP filter of a listener.
#[derive(Clone, Debug)]
pub enum HttpFilter {
    /// A wasm module.
    Wasm(WasmPlugin),
    /// Any other filter, as Envoy's configuration writes it.
    Raw(Value),
}

/// One use of a wasm module as an HTTP filter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WasmPlugin {
    /// The module.
    pub module: PathBuf,
    /// Modules of one `vm_id` share their data, and one VM a worker if they are the same module.
    pub vm_id: String,
    /// The plugin's name in Envoy's logs.
    pub name: String,
    /// The root id that the module is told.
    pub root_id: String,
    /// The plugin's configuration, passed on byte for byte.
    pub configuration: String,
    /// Whether traffic passes unobserved when the VM is gone. The legacy field of that name is rendered,
    /// because it alone also lets the streams in flight through.
    pub fail_open: bool,
}

impl WasmPlugin {
    /// `module` as `inferometer`, failing open, configured by `{}`.
    #[must_use]
    pub fn new(module: impl Into<PathBuf>) -> WasmPlugin {
        WasmPlugin {
            module: module.into(),
            vm_id: "inferometer".to_owned(),
            name: "inferometer".to_owned(),
            root_id: "inferometer".to_owned(),
            configuration: "{}".to_owned(),
            fail_open: true,
        }
    }

    /// The same plugin with another root id. Different uses of a module need different ones: a module may keep what
    /// the last good configuration of a plugin was.
    #[must_use]
    pub fn rooted(mut self, root_id: &str) -> WasmPlugin {
        root_id.clone_into(&mut self.root_id);
        self
    }

    /// The same plugin with another configuration.
    #[must_use]
    pub fn configured(mut self, configuration: &str) -> WasmPlugin {
        configuration.clone_into(&mut self.configuration);
        self
    }
}

/// Where the requests of a listener go.
#[derive(Clone, Debug)]
pub enum Route {
    /// To a cluster.
    Upstream {
        /// The cluster's name.
        cluster: String,
        /// The route's timeout, until the whole answer has come; zero is none.
        timeout: Duration,
        /// The authority that the upstream sees instead of the client's.
        host_rewrite: Option<String>,
    },
    /// An answer without a body by Envoy itself.
    Reply {
        /// Its status.
        status: u16,
    },
    /// A whole `route_config`, as Envoy's configuration writes it.
    Raw(Value),
}

/// What Envoy speaks to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamProtocol {
    /// HTTP/1.1, trailers included.
    Http1,
    /// HTTP/2, over cleartext without an upgrade.
    Http2,
}

/// One cluster of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Upstream {
    /// The cluster's name.
    pub name: String,
    /// An address or a host name.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What it speaks.
    pub protocol: UpstreamProtocol,
    /// How long a connection may take to come up.
    pub connect_timeout: Duration,
    /// TLS towards it; none, cleartext.
    pub tls: Option<UpstreamTls>,
}

impl Upstream {
    /// A cleartext HTTP/1.1 server.
    #[must_use]
    pub fn new(name: &str, host: &str, port: u16) -> Upstream {
        Upstream {
            name: name.to_owned(),
            host: host.to_owned(),
            port,
            protocol: UpstreamProtocol::Http1,
            connect_timeout: Duration::from_secs(5),
            tls: None,
        }
    }

    /// The server behind a socket address.
    #[must_use]
    pub fn at(name: &str, address: SocketAddr) -> Upstream {
        Upstream::new(name, &address.ip().to_string(), address.port())
    }

    /// The same server spoken to in HTTP/2.
    #[must_use]
    pub fn http2(mut self) -> Upstream {
        self.protocol = UpstreamProtocol::Http2;
        self
    }
}

/// TLS towards an upstream.
#[derive(Clone, Debug)]
pub struct UpstreamTls {
    /// The name asked for and expected in the certificate.
    pub server_name: String,
    /// The file of trusted certificates; none, the certificate is not checked.
    pub trusted_certificates: Option<PathBuf>,
}

/// A loopback address whose port the kernel chooses.
fn any_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}
