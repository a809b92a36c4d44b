//! Asks Envoy's admin page.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt as _, Empty};
use hyper::{Method, Request, StatusCode, body::Bytes};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// One answer of the admin page.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// Sends one request over a connection of its own.
pub(crate) async fn ask(address: SocketAddr, method: Method, path: &str) -> Result<Answer> {
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("cannot connect to the admin page at {address}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .context("the admin page does not speak HTTP")?;
    // The connection ends with the request; its own error shows in the answer.
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "admin")
        .header("connection", "close")
        .body(Empty::<Bytes>::new())
        .with_context(|| format!("{path} is no path"))?;
    let response = sender
        .send_request(request)
        .await
        .context("the admin page did not answer")?;
    let status = response.status();
    let body = response
        .into_body()
        .collect()
        .await
        .context("the admin page's answer was cut off")?;
    Ok(Answer {
        status,
        body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    })
}

/// The address of a listener in the answer to `/listeners?format=json`.
pub(crate) fn listener_address(listeners: &str, name: &str) -> Result<SocketAddr> {
    let parsed: serde_json::Value =
        serde_json::from_str(listeners).context("the list of listeners is no JSON")?;
    let statuses = parsed
        .get("listener_statuses")
        .and_then(|list| list.as_array());
    let wanted = statuses
        .into_iter()
        .flatten()
        .find(|status| status.get("name").and_then(|value| value.as_str()) == Some(name));
    let Some(status) = wanted else {
        bail!("Envoy has no listener `{name}`");
    };
    let socket = status
        .pointer("/local_address/socket_address")
        .with_context(|| format!("listener `{name}` has no socket address"))?;
    let host = socket
        .get("address")
        .and_then(|value| value.as_str())
        .unwrap_or_default();
    let port = socket
        .get("port_value")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or_default();
    let port = u16::try_from(port).context("a port is out of range")?;
    let host = host
        .parse()
        .with_context(|| format!("`{host}` is no address"))?;
    Ok(SocketAddr::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_name() {
        let list = r#"{"listener_statuses":[
            {"name":"a","local_address":{"socket_address":{"address":"127.0.0.1","port_value":1}}},
            {"name":"b","local_address":{"socket_address":{"address":"::1","port_value":65535}}}]}"#;
        assert_eq!(
            listener_address(list, "b").unwrap(),
            "[::1]:65535".parse().unwrap()
        );
        let error = listener_address(list, "c").unwrap_err();
        assert!(error.to_string().contains("no listener `c`"));
    }

    #[test]
    fn no_listener_at_all_is_an_error_with_the_name() {
        let error = listener_address("{}", "observe").unwrap_err();
        assert!(error.to_string().contains("`observe`"));
    }
}
