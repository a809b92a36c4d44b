//! Writes [`EnvoyOptions`] as the bootstrap, listeners and clusters that Envoy reads.

use std::{net::SocketAddr, path::Path, time::Duration};

use serde_json::{Map, Value, json};

use crate::options::{
    DownstreamProtocol, EnvoyOptions, HttpFilter, Listener, Route, Upstream, UpstreamProtocol,
    UpstreamTls, WasmPlugin,
};

/// The name of the watched listener list in the run directory.
pub(crate) const LISTENERS_FILE: &str = "listeners.json";
/// The name of the access log in the run directory.
pub(crate) const ACCESS_LOG_FILE: &str = "access.log";

const LISTENER_TYPE: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";

/// The whole bootstrap.
pub(crate) fn render(options: &EnvoyOptions, run_dir: &Path) -> Value {
    let clusters: Vec<Value> = options.upstreams.iter().map(cluster).collect();
    let mut resources = Map::new();
    resources.insert("clusters".to_owned(), Value::Array(clusters));
    let mut bootstrap = options.extra.clone();
    bootstrap.insert(
        "admin".to_owned(),
        json!({"address": socket_address(options.admin)}),
    );
    // A node is needed by listeners that come from a file, and harmless otherwise.
    bootstrap.insert(
        "node".to_owned(),
        json!({"id": "inferometer", "cluster": "inferometer"}),
    );
    if options.dynamic_listeners {
        bootstrap.insert(
            "dynamic_resources".to_owned(),
            json!({"lds_config": {
                "resource_api_version": "V3",
                "path_config_source": {"path": run_dir.join(LISTENERS_FILE)},
            }}),
        );
    } else {
        let listeners: Vec<Value> = options
            .listeners
            .iter()
            .map(|each| listener(each, run_dir))
            .collect();
        resources.insert("listeners".to_owned(), Value::Array(listeners));
    }
    bootstrap.insert("static_resources".to_owned(), Value::Object(resources));
    if let Some(stats_config) = &options.stats_config {
        bootstrap.insert("stats_config".to_owned(), stats_config.clone());
    }
    Value::Object(bootstrap)
}

/// The content of the watched listener list.
pub(crate) fn listener_list(listeners: &[Listener], run_dir: &Path) -> Value {
    let resources: Vec<Value> = listeners
        .iter()
        .map(|each| {
            let mut rendered = listener(each, run_dir);
            if let Some(members) = rendered.as_object_mut() {
                members.insert("@type".to_owned(), Value::from(LISTENER_TYPE));
            }
            rendered
        })
        .collect();
    json!({"resources": resources})
}

fn listener(listener: &Listener, run_dir: &Path) -> Value {
    json!({
        "name": listener.name,
        "address": socket_address(listener.address),
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": connection_manager(listener, run_dir),
        }]}],
    })
}

fn connection_manager(listener: &Listener, run_dir: &Path) -> Value {
    let mut filters: Vec<Value> = listener
        .filters
        .iter()
        .map(|filter| match filter {
            HttpFilter::Wasm(plugin) => wasm_filter(plugin),
            HttpFilter::Raw(raw) => raw.clone(),
        })
        .collect();
    filters.push(json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    }));
    let mut manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": listener.name,
        "codec_type": match listener.protocol {
            DownstreamProtocol::Auto => "AUTO",
            DownstreamProtocol::Http1 => "HTTP1",
            DownstreamProtocol::Http2 => "HTTP2",
        },
        // A model may think for longer than the five minutes of silence that Envoy grants by default.
        "stream_idle_timeout": "0s",
        "http_protocol_options": {
            "accept_http_10": true,
            "default_host_for_http_10": "localhost",
            "enable_trailers": true,
        },
        "http_filters": filters,
        "route_config": route_config(&listener.route),
    });
    if let (Some(format), Some(members)) = (&listener.access_log_format, manager.as_object_mut()) {
        members.insert("access_log".to_owned(), access_log(format, run_dir));
    }
    manager
}

fn wasm_filter(plugin: &WasmPlugin) -> Value {
    json!({
        "name": plugin.name,
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": plugin.name,
                "root_id": plugin.root_id,
                "fail_open": plugin.fail_open,
                "vm_config": {
                    "vm_id": plugin.vm_id,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": plugin.module}},
                },
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": plugin.configuration,
                },
            },
        },
    })
}

fn route_config(route: &Route) -> Value {
    let rule = match route {
        Route::Raw(raw) => return raw.clone(),
        Route::Upstream {
            cluster,
            timeout,
            host_rewrite,
        } => {
            let mut action = json!({"cluster": cluster, "timeout": duration(*timeout)});
            if let (Some(host), Some(members)) = (host_rewrite, action.as_object_mut()) {
                members.insert("host_rewrite_literal".to_owned(), Value::from(host.clone()));
            }
            json!({"match": {"prefix": "/"}, "route": action})
        }
        Route::Reply { status } => {
            json!({"match": {"prefix": "/"}, "direct_response": {"status": status}})
        }
    };
    json!({
        "name": "all",
        "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [rule]}],
    })
}

fn access_log(format: &str, run_dir: &Path) -> Value {
    json!([{
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": run_dir.join(ACCESS_LOG_FILE),
            "log_format": {"text_format_source": {"inline_string": format!("{format}\n")}},
        },
    }])
}

fn cluster(upstream: &Upstream) -> Value {
    let protocol = match upstream.protocol {
        UpstreamProtocol::Http1 => json!({"http_protocol_options": {"enable_trailers": true}}),
        UpstreamProtocol::Http2 => json!({"http2_protocol_options": {}}),
    };
    let is_address = upstream.host.parse::<std::net::IpAddr>().is_ok();
    // Every address of a name is tried, one after the other: by itself Envoy takes the IPv6 one where
    // there are both, and would not find a server at `localhost` that listens on IPv4 only.
    let mut cluster = json!({
        "name": upstream.name,
        "dns_lookup_family": "ALL",
        "type": if is_address { "STATIC" } else { "LOGICAL_DNS" },
        "connect_timeout": duration(upstream.connect_timeout),
        "load_assignment": {
            "cluster_name": upstream.name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {
                "address": upstream.host, "port_value": upstream.port,
            }}}}]}],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": protocol,
            },
        },
        // The defaults (1,024 requests and connections) are for fleets, and would refuse a load test.
        "circuit_breakers": {"thresholds": [{
            "max_connections": 100_000, "max_pending_requests": 100_000, "max_requests": 100_000,
        }]},
    });
    if let (Some(tls), Some(members)) = (&upstream.tls, cluster.as_object_mut()) {
        members.insert("transport_socket".to_owned(), transport_socket(tls));
    }
    cluster
}

fn transport_socket(tls: &UpstreamTls) -> Value {
    let mut context = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "sni": tls.server_name,
    });
    if let (Some(path), Some(members)) = (&tls.trusted_certificates, context.as_object_mut()) {
        members.insert(
            "common_tls_context".to_owned(),
            json!({"validation_context": {
                "trusted_ca": {"filename": path},
                "match_typed_subject_alt_names": [
                    {"san_type": "DNS", "matcher": {"exact": tls.server_name}},
                ],
            }}),
        );
    }
    json!({"name": "envoy.transport_sockets.tls", "typed_config": context})
}

fn socket_address(address: SocketAddr) -> Value {
    json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}})
}

/// A duration as Envoy's JSON writes it.
fn duration(duration: Duration) -> String {
    format!("{}.{:09}s", duration.as_secs(), duration.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_their_nanoseconds() {
        assert_eq!(duration(Duration::ZERO), "0.000000000s");
        assert_eq!(
            duration(Duration::from_nanos(1_500_000_001)),
            "1.500000001s"
        );
    }

    #[test]
    fn dynamic_listeners_leave_the_static_resources() {
        let mut options = EnvoyOptions::observed(
            Upstream::new("up", "example.org", 443),
            WasmPlugin::new("m.wasm"),
            "{}",
        );
        options.dynamic_listeners = true;
        let bootstrap = render(&options, Path::new("/run"));
        assert!(bootstrap.pointer("/static_resources/listeners").is_none());
        assert_eq!(
            bootstrap.pointer("/dynamic_resources/lds_config/path_config_source/path"),
            Some(&json!("/run/listeners.json"))
        );
        let list = listener_list(&options.listeners, Path::new("/run"));
        assert_eq!(
            list.pointer("/resources/0/@type"),
            Some(&json!(LISTENER_TYPE))
        );
    }

    #[test]
    fn a_host_name_is_resolved_and_an_address_is_not() {
        let named = cluster(&Upstream::new("up", "example.org", 443));
        let plain = cluster(&Upstream::new("up", "::1", 443));
        assert_eq!(named.get("type"), Some(&json!("LOGICAL_DNS")));
        assert_eq!(plain.get("type"), Some(&json!("STATIC")));
    }
}
