//! Sends an Envoy its signals, and kills it when the program that started it is gone.
//!
//! A small shell reads signal names from a pipe. The pipe's other end is held by this program alone, so any
//! death of it, a kill included, ends the shell's input, and the shell's last act is the kill of Envoy. The
//! parent-death signal of Linux would do the same in less, but setting it in a child takes `unsafe` code and
//! ties it to the thread that started the child, not to the program.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context, Result};

const SCRIPT: &str = r#"while read -r signal; do kill -"$signal" "$1"; done; kill -KILL "$1""#;

/// Watches over one process until dropped.
#[derive(Debug)]
pub(crate) struct Guardian {
    shell: Child,
    orders: Option<ChildStdin>,
}

impl Guardian {
    /// Starts watching over `process_id`.
    pub(crate) fn over(process_id: u32) -> Result<Guardian> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "guardian"])
            .arg(process_id.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt typed at the terminal reaches its whole group and must not end the guardian first.
            .process_group(0)
            .spawn()
            .context("cannot start /bin/sh to guard Envoy")?;
        let orders = shell.stdin.take();
        Ok(Guardian { shell, orders })
    }

    /// Sends a signal by its name without `SIG`.
    pub(crate) fn send(&mut self, signal: &str) -> Result<()> {
        let orders = self.orders.as_mut().context("the guardian has no input")?;
        writeln!(orders, "{signal}").context("the guardian is gone")
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // The process may be gone and its number in use again, so the shell must end before its input does.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::process::ExitStatusExt as _, time::Duration};

    fn sleeper() -> Child {
        Command::new("sleep").arg("30").spawn().unwrap()
    }

    #[test]
    fn signals_reach_the_process() {
        let mut child = sleeper();
        let mut guardian = Guardian::over(child.id()).unwrap();
        guardian.send("TERM").unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }

    #[test]
    fn a_dropped_guardian_leaves_the_process_alone() {
        let mut child = sleeper();
        drop(Guardian::over(child.id()).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_end_of_the_pipe_kills_the_process() {
        let mut child = sleeper();
        let mut guardian = Guardian::over(child.id()).unwrap();
        guardian.orders = None;
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
