//! Keeps a Python environment with one pinned package in a directory, fetched once and whole.
//!
//! Two programs that ask at once share one fetch: the second waits for the first one's lock. An environment
//! appears under its name only when it is complete, so a fetch that was cut off leaves nothing to trip over.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// How long one step of a fetch may take before it is given up.
const STEP_LIMIT: Duration = Duration::from_secs(15 * 60);
/// How often a waiting step says that it is still there.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Gives the environment `tools_dir/name`, in which `requirement` (as pip writes it, with `==`) is installed.
///
/// # Errors
///
/// When Python 3 with `venv` is missing, when pip cannot get the package, or when the directory cannot be
/// written; the message says what to do.
pub fn ensure(
    tools_dir: &Path,
    name: &str,
    requirement: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf> {
    let home = tools_dir.join(name);
    if home.is_dir() {
        return Ok(home);
    }
    fs::create_dir_all(tools_dir)
        .with_context(|| format!("cannot create the tools directory {}", tools_dir.display()))?;
    let lock_path = tools_dir.join(format!("{name}.lock"));
    let lock = File::create(&lock_path)
        .with_context(|| format!("cannot create {}", lock_path.display()))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(&format!(
                "another program is fetching {requirement}; waiting for it"
            ));
            lock.lock().context("cannot wait for the other fetch")?;
        }
        Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the fetch"),
    }
    if home.is_dir() {
        return Ok(home);
    }
    let partial = tools_dir.join(format!("{name}.partial"));
    if partial.exists() {
        fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    fetch(&partial, requirement, progress)?;
    fs::rename(&partial, &home).with_context(|| format!("cannot create {}", home.display()))?;
    Ok(home)
}

/// The Python interpreter of an environment that [`ensure`] gave.
#[must_use]
pub fn interpreter(home: &Path) -> PathBuf {
    home.join("bin").join("python")
}

fn fetch(partial: &Path, requirement: &str, progress: &mut dyn FnMut(&str)) -> Result<()> {
    progress(&format!("creating a Python environment for {requirement}"));
    let log = partial.with_extension("log");
    run(Command::new("python3").args(["-m", "venv"]).arg(partial), &log, progress).context(
        "python3 with its venv module is needed: install it (Debian: apt-get install python3 python3-venv)",
    )?;
    progress(&format!(
        "fetching {requirement} from the Python package index"
    ));
    let options = [
        "--disable-pip-version-check",
        "--no-input",
        "--timeout",
        "30",
    ];
    run(
        Command::new(interpreter(partial))
            .args(["-m", "pip", "install"])
            .args(options)
            .arg(requirement),
        &log,
        progress,
    )
    .with_context(|| {
        format!("pip could not install {requirement}: check the network, or a package index in pip's configuration")
    })
}

/// Runs one step with its output in `log`, says now and then that it still runs, and ends it at the limit.
fn run(command: &mut Command, log: &Path, progress: &mut dyn FnMut(&str)) -> Result<()> {
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let errors = output.try_clone().context("cannot share the log")?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let started = Instant::now();
    let mut reported = started;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the step")? {
            if status.success() {
                return Ok(());
            }
            let text = fs::read_to_string(log).unwrap_or_default();
            bail!("{program} ended with {status}:\n{}", last_lines(&text, 12));
        }
        if started.elapsed() > STEP_LIMIT {
            // The step is given up either way; an error of its ending would hide the reason.
            let _ = child.kill();
            let _ = child.wait();
            bail!("{program} did not end within {} s", STEP_LIMIT.as_secs());
        }
        if reported.elapsed() > REPORT_EVERY {
            reported = Instant::now();
            let text = fs::read_to_string(log).unwrap_or_default();
            let line = last_lines(&text, 1);
            let doing = if line.is_empty() {
                "still running"
            } else {
                line.trim()
            };
            progress(&format!("{} s: {doing}", started.elapsed().as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The last `count` lines of a text that are not empty.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let skipped = lines.len().saturating_sub(count);
    lines
        .iter()
        .skip(skipped)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_is_there_is_not_fetched_again() {
        let tools = tempfile::tempdir().unwrap();
        fs::create_dir(tools.path().join("thing-1")).unwrap();
        let home = ensure(tools.path(), "thing-1", "no-such==1", &mut |_| {
            panic!("nothing is to be done")
        });
        assert_eq!(home.unwrap(), tools.path().join("thing-1"));
    }

    #[test]
    fn a_failing_step_shows_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo first; echo the reason >&2; exit 3"]);
        let error = run(&mut command, &folder.path().join("log"), &mut |_| {}).unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("exit status: 3"), "{message}");
        assert!(message.contains("the reason"), "{message}");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("no-such-program-anywhere");
        let error = run(&mut command, &folder.path().join("log"), &mut |_| {}).unwrap_err();
        assert!(format!("{error:#}").contains("no-such-program-anywhere"));
    }

    #[test]
    fn last_lines_leave_empty_ones_out() {
        assert_eq!(last_lines("a\n\nb\nc\n\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
    }
}
