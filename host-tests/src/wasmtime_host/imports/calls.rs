//! Outbound HTTP and gRPC calls.

use wasmtime::Linker;

use super::{ENV, answer, read_or_return, written};
use crate::wasmtime_host::calls::{GrpcCall, HttpCall};
use crate::wasmtime_host::context::first_value;
use crate::wasmtime_host::memory::{Guest, decode_pairs, give, read, read_text, write};
use crate::wasmtime_host::status;
use crate::wasmtime_host::vm_state::VmState;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(ENV, "proxy_http_call", http_call)?;
    linker.func_wrap(ENV, "proxy_grpc_call", grpc_call)?;
    linker.func_wrap(
        ENV,
        "proxy_grpc_cancel",
        |mut guest: Guest<'_>, token: u32| {
            answer(&mut guest, "proxy_grpc_cancel", |guest| {
                let mut process = guest.data().process.borrow_mut();
                process.outbound.grpc.retain(|call| call.token != token);
                Ok(status::OK)
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_status",
        |mut guest: Guest<'_>, code: u32, data: u32, size: u32| {
            answer(&mut guest, "proxy_get_status", |guest| {
                let answer = guest.data_mut().call_answer.take().unwrap_or_default();
                let fits = write(guest, code, &answer.grpc_status.to_le_bytes())
                    && give(guest, &answer.grpc_message, data, size)?;
                guest.data_mut().call_answer = Some(answer);
                Ok(written(fits))
            })
        },
    )?;
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the ABI's signature")]
fn http_call(
    mut guest: Guest<'_>,
    cluster: u32,
    cluster_size: u32,
    headers: u32,
    headers_size: u32,
    body: u32,
    body_size: u32,
    _trailers: u32,
    _trailers_size: u32,
    timeout_ms: u32,
    token_at: u32,
) -> wasmtime::Result<u32> {
    answer(&mut guest, "proxy_http_call", |guest| {
        let cluster = read_or_return!(read_text(guest, cluster, cluster_size));
        let headers = read_or_return!(read(guest, headers, headers_size));
        let body = read_or_return!(read(guest, body, body_size));
        let headers = decode_pairs(&headers).unwrap_or_default();
        let required: [&[u8]; 3] = [b":method", b":path", b":authority"];
        let complete = required
            .iter()
            .all(|name| first_value(&headers, name).is_some());
        let state = guest.data();
        let (vm, root) = (state.number, state.root_id());
        let mut process = state.process.borrow_mut();
        if !complete || !process.outbound.clusters.contains(&cluster) {
            return Ok(status::BAD_ARGUMENT);
        }
        let token = process.outbound.number();
        process.outbound.http.push(HttpCall {
            vm,
            root,
            token,
            cluster,
            headers,
            body,
            timeout_ms,
        });
        drop(process);
        Ok(written(write(guest, token_at, &token.to_le_bytes())))
    })
}

#[expect(clippy::too_many_arguments, reason = "the ABI's signature")]
fn grpc_call(
    mut guest: Guest<'_>,
    target: u32,
    target_size: u32,
    service: u32,
    service_size: u32,
    method: u32,
    method_size: u32,
    _metadata: u32,
    _metadata_size: u32,
    message: u32,
    message_size: u32,
    timeout_ms: u32,
    token_at: u32,
) -> wasmtime::Result<u32> {
    answer(&mut guest, "proxy_grpc_call", |guest| {
        let target = read_or_return!(read(guest, target, target_size));
        let service = read_or_return!(read_text(guest, service, service_size));
        let method = read_or_return!(read_text(guest, method, method_size));
        let message = read_or_return!(read(guest, message, message_size));
        let state = guest.data();
        let (vm, root) = (state.number, state.root_id());
        let mut process = state.process.borrow_mut();
        // A serialised service names its cluster somewhere inside.
        let names = |cluster: &String| {
            let cluster = cluster.as_bytes();
            !cluster.is_empty() && target.windows(cluster.len()).any(|part| part == cluster)
        };
        if !process.outbound.clusters.iter().any(names) {
            return Ok(status::PARSE_FAILURE);
        }
        let token = process.outbound.number();
        process.outbound.grpc.push(GrpcCall {
            vm,
            root,
            token,
            target,
            service,
            method,
            message,
            timeout_ms,
        });
        drop(process);
        Ok(written(write(guest, token_at, &token.to_le_bytes())))
    })
}
