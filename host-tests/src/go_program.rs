//! Programs that are built from their Go modules, once, and run for a test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::envoy_rig::say;
use crate::module::workspace_root;

/// Whether there is a Go to build with.
#[must_use]
pub fn can_be_built() -> bool {
    let go = Command::new("go").arg("version").output();
    go.is_ok_and(|output| output.status.success())
}

/// A running program. It ends with this value.
#[derive(Debug)]
pub(crate) struct GoProgram(Child);

impl GoProgram {
    /// Starts a program and waits until it listens at all of these.
    pub(crate) fn start(
        command: &mut Command,
        log: &Path,
        addresses: &[SocketAddr],
    ) -> Result<GoProgram> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log)?)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let mut program = GoProgram(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        for address in addresses {
            while TcpStream::connect(address).is_err() {
                let has_ended = program.0.try_wait()?.is_some();
                if has_ended || Instant::now() > deadline {
                    let log = std::fs::read_to_string(log).unwrap_or_default();
                    bail!("{command:?} does not listen; its log:\n{log}");
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(program)
    }
}

impl Drop for GoProgram {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for a program of that name and version, made if need be.
pub(crate) fn home(name: &str, version: &str) -> Result<PathBuf> {
    let home = workspace_root()
        .join("target/tools")
        .join(format!("{name}-{version}"));
    std::fs::create_dir_all(&home)?;
    Ok(home)
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

/// An address that nobody listens at. Between this and its use somebody else may take it, and the test then fails.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}
