//! What the built module imports, and how large it is.
#![allow(clippy::unwrap_used, reason = "this file is a test")]

use std::collections::BTreeSet;
use std::fs;

use host_tests::module::built_module;
use host_tests::wasmtime_host::CompiledModule;
use wasmparser::{Parser, Payload};

/// The largest module that is still quick to fetch and compile.
const SIZE_LIMIT_BYTES: usize = 900 * 1024;

/// All WASI functions that the module may import. Envoy serves a few more, other hosts fewer.
const WASI_ALLOWED: &[&str] = &[
    "wasi_snapshot_preview1.clock_time_get",
    "wasi_snapshot_preview1.environ_get",
    "wasi_snapshot_preview1.environ_sizes_get",
    "wasi_snapshot_preview1.random_get",
];

fn imports() -> BTreeSet<String> {
    let bytes = fs::read(built_module().unwrap()).unwrap();
    let mut imports = BTreeSet::new();
    for payload in Parser::new(0).parse_all(&bytes) {
        if let Payload::ImportSection(section) = payload.unwrap() {
            for import in section.into_imports() {
                let import = import.unwrap();
                imports.insert(format!("{}.{}", import.module, import.name));
            }
        }
    }
    imports
}

#[test]
fn the_module_imports_the_abi_and_a_handful_of_wasi_functions_only() {
    let imports = imports();
    assert!(!imports.is_empty());
    let strange: Vec<&String> = imports
        .iter()
        .filter(|import| !import.starts_with("env.proxy_"))
        .filter(|import| !WASI_ALLOWED.contains(&import.as_str()))
        .collect();
    assert!(strange.is_empty(), "the module also imports {strange:?}");
}

#[test]
fn the_module_is_small() {
    let size = CompiledModule::inferometer().unwrap().size_bytes();
    println!("inferometer.wasm has {size} bytes of at most {SIZE_LIMIT_BYTES}");
    assert!(
        size <= SIZE_LIMIT_BYTES,
        "{size} bytes are more than {SIZE_LIMIT_BYTES}"
    );
}
