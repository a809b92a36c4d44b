//! Header maps, bodies, attributes and local responses.

use std::rc::Rc;

use wasmtime::Linker;

use super::{ENV, answer, read_or_return, written};
use crate::wasmtime_host::calls::Pairs;
use crate::wasmtime_host::context::{LocalResponse, Phase, first_value};
use crate::wasmtime_host::memory::{Guest, decode_pairs, encode_pairs, give, read, read_text};
use crate::wasmtime_host::properties::{plugin_property, stream_property};
use crate::wasmtime_host::status;
use crate::wasmtime_host::vm_state::VmState;

const HTTP_CALL_RESPONSE_HEADERS: u32 = 6;
const HTTP_CALL_RESPONSE_TRAILERS: u32 = 7;

pub(super) fn link(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    link_reads(linker)?;
    linker.func_wrap(ENV, "proxy_send_local_response", send_local_response)?;
    Ok(())
}

fn link_reads(linker: &mut Linker<VmState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_get_header_map_value",
        |mut guest: Guest<'_>, map: u32, name: u32, name_size: u32, data: u32, size: u32| {
            answer(&mut guest, "proxy_get_header_map_value", |guest| {
                let name = read_or_return!(read(guest, name, name_size));
                match header_value(guest.data(), map, &name) {
                    Ok(value) => Ok(written(give(guest, &value, data, size)?)),
                    Err(status) => Ok(status),
                }
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_header_map_pairs",
        |mut guest: Guest<'_>, map: u32, data: u32, size: u32| {
            answer(&mut guest, "proxy_get_header_map_pairs", |guest| {
                // A map that is not readable is an empty list here, and no error.
                let pairs = header_pairs(guest.data(), map);
                let bytes = pairs.filter(|pairs| !pairs.is_empty());
                let bytes = bytes.map(encode_pairs).unwrap_or_default();
                Ok(written(give(guest, &bytes, data, size)?))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_buffer_bytes",
        |mut guest: Guest<'_>, buffer: u32, start: u32, length: u32, data: u32, size: u32| {
            answer(&mut guest, "proxy_get_buffer_bytes", |guest| {
                let Some(bytes) = buffer_bytes(guest.data(), buffer) else {
                    return Ok(status::NOT_FOUND);
                };
                let Some(end) = start.checked_add(length) else {
                    return Ok(status::BAD_ARGUMENT);
                };
                let end = usize::try_from(end)?.min(bytes.len());
                let part = bytes.get(usize::try_from(start)?..end).unwrap_or_default();
                if part.is_empty() {
                    // The real host leaves both results as they are.
                    return Ok(status::OK);
                }
                Ok(written(give(guest, part, data, size)?))
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_property",
        |mut guest: Guest<'_>, path: u32, path_size: u32, data: u32, size: u32| {
            answer(&mut guest, "proxy_get_property", |guest| {
                let path = read_or_return!(read(guest, path, path_size));
                match property(guest.data(), &path) {
                    Ok(value) => Ok(written(give(guest, &value, data, size)?)),
                    Err(status) => Ok(status),
                }
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_property",
        |mut guest: Guest<'_>, path: u32, path_size: u32, value: u32, value_size: u32| {
            answer(&mut guest, "proxy_set_property", |guest| {
                let path = read_or_return!(read(guest, path, path_size));
                let value = read_or_return!(read(guest, value, value_size));
                let id = guest.data().context_id();
                let Some(stream) = guest.data_mut().stream_mut(id) else {
                    return Ok(status::NOT_FOUND);
                };
                stream.filter_state.insert(path, value);
                Ok(status::OK)
            })
        },
    )?;
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the ABI's signature")]
fn send_local_response(
    mut guest: Guest<'_>,
    status_code: u32,
    details: u32,
    details_size: u32,
    body: u32,
    body_size: u32,
    headers: u32,
    headers_size: u32,
    grpc_status: i32,
) -> wasmtime::Result<u32> {
    answer(&mut guest, "proxy_send_local_response", |guest| {
        let details = read_or_return!(read_text(guest, details, details_size));
        let body = read_or_return!(read(guest, body, body_size));
        let headers = read_or_return!(read(guest, headers, headers_size));
        let id = guest.data().context_id();
        // Without a stream nothing happens, and the module is not told.
        if let Some(stream) = guest.data_mut().stream_mut(id) {
            stream.local_response.get_or_insert(LocalResponse {
                status: status_code,
                details,
                headers: decode_pairs(&headers).unwrap_or_default(),
                body,
                grpc_status,
            });
        }
        Ok(status::OK)
    })
}

fn header_value(state: &VmState, map: u32, name: &[u8]) -> Result<Vec<u8>, u32> {
    match map {
        HTTP_CALL_RESPONSE_HEADERS | HTTP_CALL_RESPONSE_TRAILERS => {
            let pairs = header_pairs(state, map).ok_or(status::BAD_ARGUMENT)?;
            let value = first_value(pairs, name).ok_or(status::NOT_FOUND)?;
            Ok(value.to_vec())
        }
        _ => {
            let stream = state.stream().ok_or(status::BAD_ARGUMENT)?;
            Ok(stream.header(map, name, state.phase)?.to_vec())
        }
    }
}

fn header_pairs(state: &VmState, map: u32) -> Option<&Pairs> {
    let answer = state.call_answer.as_ref();
    match map {
        HTTP_CALL_RESPONSE_HEADERS => answer.map(|answer| &answer.headers),
        HTTP_CALL_RESPONSE_TRAILERS => answer.map(|answer| &answer.trailers),
        _ => state.stream()?.header_map(map, state.phase),
    }
}

/// The buffer of that number; nothing where there is no such buffer now.
fn buffer_bytes(state: &VmState, buffer: u32) -> Option<Rc<[u8]>> {
    let body = |wanted: Phase| {
        let stream = state.stream();
        Some(stream.map_or_else(Rc::default, |stream| stream.body(wanted, state.phase)))
    };
    match buffer {
        0 => body(Phase::RequestBody),
        1 => body(Phase::ResponseBody),
        4 | 5 => state
            .call_answer
            .as_ref()
            .map(|answer| Rc::from(answer.body.as_slice())),
        6 => Some(Rc::default()),
        7 if state.phase == Phase::Configure => state
            .root()
            .map(|root| Rc::from(root.options.configuration.as_slice())),
        _ => None,
    }
}

fn property(state: &VmState, path: &[u8]) -> Result<Vec<u8>, u32> {
    let of_plugin = state
        .root()
        .and_then(|root| plugin_property(root, &state.vm_id, path));
    if let Some(value) = of_plugin {
        return Ok(value);
    }
    let stream = state.stream().ok_or(status::NOT_FOUND)?;
    stream_property(stream, path, state.phase)
}
