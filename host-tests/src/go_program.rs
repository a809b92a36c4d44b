//! Programs that are built from their Go modules, once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};

use crate::envoy_rig::say;

/// Whether there is a Go to build with.
#[must_use]
pub fn can_be_built() -> bool {
    let go = Command::new("go").arg("version").output();
    go.is_ok_and(|output| output.status.success())
}

/// The program, built where it is not there. One is built at a time.
pub(crate) fn built(
    program: PathBuf,
    what: &str,
    build: impl FnOnce() -> Result<()>,
) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !program.exists() {
        say(&format!("building {what}, once"));
        build()?;
        ensure!(program.exists(), "there is no {} now", program.display());
    }
    Ok(program)
}

/// `go install` of a module into a folder.
pub(crate) fn install(module: &str, folder: &Path) -> Result<()> {
    run(Command::new("go")
        .args(["install", module])
        .env("GOBIN", folder))
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
