//! The task `run`: Envoy with the module in front of the user's own server, until told to stop.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use envoy_harness::{EnvoyOptions, EnvoyProcess, Route, Upstream, UpstreamTls, WasmPlugin};
use hyper::Uri;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::demo::stage::{SCRAPE_CONFIGURATION, SCRAPE_PATH, last_lines};
use crate::{build, workspace};

/// How long Envoy may take to compile the module and to serve.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// How long the upstream may take to accept a connection before a warning is printed.
const KNOCK_LIMIT: Duration = Duration::from_secs(3);
/// Names a file of trusted certificates, as with other programs.
const CERTIFICATES_VARIABLE: &str = "SSL_CERT_FILE";
/// Where systems keep their trusted certificates.
const CERTIFICATES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// What to run.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The inference server: `http://` or `https://`, a host, and a port where it is not the usual one.
    #[arg(long, value_name = "URL", value_parser = parse_upstream)]
    upstream: UpstreamUrl,
    /// Where clients send their requests.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where `/metrics` is answered.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9464")]
    scrape: SocketAddr,
    /// Envoy's worker threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: u32,
    /// A file with the plugin's configuration (JSON); without it, `{}`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The Envoy version to use; without it, what `ENVOY_BIN` or PATH names, else the newest tested one.
    #[arg(long, value_name = "VERSION")]
    envoy: Option<String>,
}

/// A server by its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UpstreamUrl {
    is_tls: bool,
    host: String,
    port: u16,
    /// Host and port as the URL has them, which is what the server expects in its `host` header.
    authority: String,
}

/// The task.
///
/// # Errors
///
/// When the configuration has mistakes, when something cannot be built, fetched or started, and when Envoy ends
/// by itself.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    // Mistakes first: nobody should wait for a build to learn of them.
    let configuration = configuration(args.config.as_deref())?;
    let certificates = args
        .upstream
        .is_tls
        .then(trusted_certificates)
        .transpose()?;
    for address in [args.listen, args.scrape] {
        check_free(address)?;
    }
    let built = build::build(build::Parts::All, &mut |line| println!("{line}"))?;
    let binary = envoy_harness::locate(args.envoy.as_deref(), &workspace::tools(), &mut |line| {
        println!("{line}")
    })?;
    println!(
        "Envoy {} from {}: {}",
        binary.version,
        binary.source,
        binary.path.display()
    );
    let options = options(&args, &built.path, &configuration, certificates);
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut envoy = EnvoyProcess::start(&binary, &options)?;
        let reason = tokio::select! {
            signal = told_to_stop() => signal?,
            error = serve(&args.upstream, &mut envoy) => return error,
        };
        println!("{reason}: stopping Envoy");
        envoy.stop().await?;
        Ok(())
    })
}

/// Waits for Ctrl-C or SIGTERM and names what came.
pub(crate) async fn told_to_stop() -> Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        _ = interrupt.recv() => Ok("Ctrl-C"),
        _ = terminate.recv() => Ok("SIGTERM"),
    }
}

/// Says when it serves, and comes back only with an error.
async fn serve(upstream: &UpstreamUrl, envoy: &mut EnvoyProcess) -> Result<()> {
    envoy.wait_ready(READY_LIMIT).await?;
    let observed = envoy.listener_address("observe").await?;
    let scraped = envoy.listener_address("scrape").await?;
    let address = (upstream.host.trim_matches(['[', ']']), upstream.port);
    if !matches!(
        timeout(KNOCK_LIMIT, TcpStream::connect(address)).await,
        Ok(Ok(_))
    ) {
        println!(
            "warning: nothing accepts connections at {} yet",
            upstream.authority
        );
    }
    println!("ready");
    println!(
        "  send requests to   http://{observed}  (instead of {})",
        upstream.url()
    );
    println!("  scrape metrics at  http://{scraped}{SCRAPE_PATH}");
    println!("  stop with Ctrl-C or SIGTERM");
    let status = envoy.wait().await?;
    bail!(
        "Envoy ended by itself with {status}; its last lines:\n{}",
        last_lines(&envoy.log(), 20)
    )
}

/// Envoy would share a port with another Envoy and take a part of its connections, without a word.
fn check_free(address: SocketAddr) -> Result<()> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => {
            bail!("cannot listen at {address}: {error}; choose another by `--listen` or `--scrape`")
        }
    }
}

/// The text of the plugin's configuration, once nothing is wrong with it.
fn configuration(file: Option<&Path>) -> Result<String> {
    let Some(file) = file else {
        return Ok("{}".to_owned());
    };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    match plugin_config::parse(text.as_bytes()) {
        Ok(parsed) => {
            for warning in &parsed.warnings {
                println!("warning: {warning}");
            }
            if !parsed.config.observes() {
                bail!(
                    "{}: `observe` is off, so there would be nothing to see",
                    file.display()
                );
            }
            Ok(text)
        }
        Err(mistakes) => {
            let lines: Vec<String> = mistakes
                .iter()
                .map(|mistake| format!("  {mistake}"))
                .collect();
            bail!(
                "{}: {} mistakes\n{}",
                file.display(),
                lines.len(),
                lines.join("\n")
            )
        }
    }
}

fn options(
    args: &RunArgs,
    module: &Path,
    configuration: &str,
    certificates: Option<PathBuf>,
) -> EnvoyOptions {
    let plugin = WasmPlugin::new(module);
    let host = args.upstream.host.trim_matches(['[', ']']);
    let mut upstream = Upstream::new("inference", host, args.upstream.port);
    upstream.tls = certificates.map(|trusted| UpstreamTls {
        server_name: host.to_owned(),
        trusted_certificates: Some(trusted),
    });
    let mut options = EnvoyOptions::observed(upstream, plugin.clone(), configuration)
        .with_scrape(plugin, SCRAPE_CONFIGURATION);
    options.concurrency = args.workers;
    for listener in &mut options.listeners {
        listener.address = if listener.name == "scrape" {
            args.scrape
        } else {
            args.listen
        };
        if let Route::Upstream { host_rewrite, .. } = &mut listener.route {
            *host_rewrite = Some(args.upstream.authority.clone());
        }
    }
    options
}

impl UpstreamUrl {
    fn url(&self) -> String {
        format!(
            "{}://{}",
            if self.is_tls { "https" } else { "http" },
            self.authority
        )
    }
}

fn parse_upstream(text: &str) -> Result<UpstreamUrl, String> {
    const EXPECTED: &str =
        "give a URL such as `http://127.0.0.1:8000` or `https://api.example.com`";
    let uri: Uri = text
        .parse()
        .map_err(|error| format!("{error}; {EXPECTED}"))?;
    let is_tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(EXPECTED.to_owned()),
    };
    let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
        return Err(EXPECTED.to_owned());
    };
    if authority.as_str().contains('@') {
        return Err(format!(
            "a user or password cannot be passed on; {EXPECTED}"
        ));
    }
    if uri
        .path_and_query()
        .is_some_and(|path| path.as_str() != "/")
    {
        return Err(format!(
            "without a path, as clients' own paths are passed on as they are; {EXPECTED}"
        ));
    }
    if is_tls && host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
        return Err(format!(
            "https by name, since certificates are for names; {EXPECTED}"
        ));
    }
    Ok(UpstreamUrl {
        is_tls,
        host: host.to_owned(),
        port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
        authority: authority.to_string(),
    })
}

/// The system's file of trusted certificates.
fn trusted_certificates() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(CERTIFICATES_VARIABLE) {
        return Ok(PathBuf::from(named));
    }
    match CERTIFICATES
        .iter()
        .map(Path::new)
        .find(|path| path.is_file())
    {
        Some(path) => Ok(path.to_owned()),
        None => bail!(
            "no file of trusted certificates, without which https cannot be trusted: install the package \
             `ca-certificates`, or name a file in {CERTIFICATES_VARIABLE}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RunArgs,
    }

    fn line(words: &[&str]) -> RunArgs {
        Line::try_parse_from(["run"].iter().chain(words))
            .unwrap()
            .args
    }

    #[test]
    fn a_url_gives_host_port_and_tls() {
        let cases = [
            (
                "http://127.0.0.1:8000",
                false,
                "127.0.0.1",
                8000,
                "127.0.0.1:8000",
            ),
            ("http://localhost/", false, "localhost", 80, "localhost"),
            (
                "https://api.example.com",
                true,
                "api.example.com",
                443,
                "api.example.com",
            ),
            ("http://[::1]:8443", false, "[::1]", 8443, "[::1]:8443"),
        ];
        for (text, is_tls, host, port, authority) in cases {
            let (host, authority) = (host.to_owned(), authority.to_owned());
            assert_eq!(
                parse_upstream(text),
                Ok(UpstreamUrl {
                    is_tls,
                    host,
                    port,
                    authority
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_server_is_refused_with_an_example() {
        for text in [
            "127.0.0.1:8000",
            "https://127.0.0.1",
            "https://[::1]:1",
            "ftp://x",
            "http://x/v1",
            "http://x/?a=b",
            "http://user@x",
            "",
            "http://",
        ] {
            assert!(
                parse_upstream(text)
                    .unwrap_err()
                    .contains("http://127.0.0.1:8000"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_command_line_reaches_envoy() {
        let args = line(&[
            "--upstream",
            "https://api.example.com",
            "--listen",
            "0.0.0.0:1234",
            "--scrape",
            "127.0.0.1:5678",
            "--workers",
            "3",
        ]);
        let certificates = Some(PathBuf::from("/trusted.crt"));
        let options = options(&args, Path::new("module.wasm"), "{}", certificates);
        assert_eq!(options.concurrency, 3);
        // The folder is for files that these options do not ask for.
        let bootstrap = options.bootstrap(Path::new("."));
        let at = |place: &str| bootstrap.pointer(place).cloned().unwrap_or_default();
        let port = |listener: usize| {
            at(&format!(
                "/static_resources/listeners/{listener}/address/socket_address/port_value"
            ))
        };
        assert_eq!((port(0), port(1)), (json!(1234), json!(5678)));
        let text = bootstrap.to_string();
        for piece in [
            "/trusted.crt",
            "\"sni\":\"api.example.com\"",
            "\"type\":\"LOGICAL_DNS\"",
            "\"dns_lookup_family\":\"ALL\"",
            "\"host_rewrite_literal\":\"api.example.com\"",
        ] {
            assert!(text.contains(piece), "{piece} in {text}");
        }
        assert_ne!(
            at("/static_resources/clusters/0/transport_socket"),
            Value::Null
        );
    }

    #[test]
    fn a_port_in_use_is_refused_and_a_free_one_is_not() {
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = held.local_addr().unwrap();
        let error = check_free(address).unwrap_err().to_string();
        assert!(error.contains(&address.to_string()), "{error}");
        drop(held);
        assert!(check_free(address).is_ok());
    }

    #[test]
    fn every_mistake_of_a_configuration_is_told_before_anything_starts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, r#"{"tick": 5, "lables": {}}"#).unwrap();
        let error = configuration(Some(&file)).unwrap_err().to_string();
        assert!(
            error.contains("2 mistakes") && error.contains("`tick`") && error.contains("`lables`"),
            "{error}"
        );
        std::fs::write(&file, SCRAPE_CONFIGURATION).unwrap();
        assert!(
            configuration(Some(&file))
                .unwrap_err()
                .to_string()
                .contains("`observe` is off")
        );
        std::fs::write(&file, r#"{"tick": "500ms"}"#).unwrap();
        assert_eq!(configuration(Some(&file)).unwrap(), r#"{"tick": "500ms"}"#);
        assert_eq!(configuration(None).unwrap(), "{}");
    }
}
