//! A compiled module, compiled once however many virtual machines run it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, anyhow};
use wasmtime::{Config, Engine, Module};

/// A module ready to be instantiated.
#[derive(Clone)]
pub struct CompiledModule {
    module: Module,
    bytes: usize,
}

impl CompiledModule {
    /// Compiles a module; its instructions will be counted as fuel.
    ///
    /// # Errors
    ///
    /// When the bytes are no valid module.
    pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<CompiledModule> {
        let mut config = Config::new();
        config.consume_fuel(true);
        let engine = Engine::new(&config).map_err(plain)?;
        let module = Module::new(&engine, bytes).map_err(plain)?;
        Ok(CompiledModule {
            module,
            bytes: bytes.len(),
        })
    }

    /// Compiles a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or holds no valid module.
    pub fn from_file(path: &Path) -> anyhow::Result<CompiledModule> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        CompiledModule::from_bytes(&bytes).with_context(|| format!("compiling {}", path.display()))
    }

    /// The built `inferometer.wasm`, compiled once in a process.
    ///
    /// # Errors
    ///
    /// As [`crate::module::built_module`], and when it does not compile.
    pub fn inferometer() -> anyhow::Result<&'static CompiledModule> {
        static COMPILED: OnceLock<Result<CompiledModule, String>> = OnceLock::new();
        let compiled = COMPILED.get_or_init(|| {
            let path = crate::module::built_module();
            path.and_then(|path| CompiledModule::from_file(&path))
                .map_err(|error| format!("{error:#}"))
        });
        compiled.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// The size of the module's file.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn module(&self) -> &Module {
        &self.module
    }
}

/// An error of the engine in this crate's form, with its causes.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where `map_err` wants a function"
)]
pub(super) fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:?}")
}
