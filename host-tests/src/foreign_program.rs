//! Programs of others that are run for a test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::module::workspace_root;

/// A running program. It ends with this value.
#[derive(Debug)]
pub(crate) struct ForeignProgram(Child);

impl ForeignProgram {
    /// Starts a program and waits until it listens at all of these.
    pub(crate) fn start(
        command: &mut Command,
        log: &Path,
        addresses: &[SocketAddr],
    ) -> Result<ForeignProgram> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log)?)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let mut program = ForeignProgram(child);
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

impl Drop for ForeignProgram {
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

/// An address that nobody listens at. Between this and its use somebody else may take it, and the test then fails.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}
