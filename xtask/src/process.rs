//! Runs other programs: shows what is run, within a time limit where one is needed.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// A command as one would type it, with the variables that are set for it in front.
pub(crate) fn shown(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_string_lossy(), value?.to_string_lossy())))
        .map(|(name, value)| format!("{name}={}", quoted(&value)))
        .collect();
    let program = command.get_program().to_string_lossy();
    let named = program.rsplit('/').next().unwrap_or(&program);
    words.push(if program.starts_with("/usr/bin/") {
        program.to_string()
    } else {
        named.to_owned()
    });
    words.extend(
        command
            .get_args()
            .map(|word| quoted(&word.to_string_lossy())),
    );
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:+@*".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a command with this program's own input and output, after showing it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    checked(command, status)
}

/// Runs a command, shows each line that it prints, and hands it on.
pub(crate) fn run_and_read(command: &mut Command, each_line: &mut dyn FnMut(&str)) -> Result<()> {
    println!("$ {}", shown(command));
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read what the program prints")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            each_line(&line);
        }
    }
    let status = child.wait().context("cannot wait for the program")?;
    checked(command, status)
}

/// What a command prints; its complaints are part of the error when it fails.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !output.status.success() {
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("`{}` failed: {}", shown(command), complaints.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command for at most `limit`; past it, the command is ended and that is an error.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<()> {
    let mut child = spawn(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    )?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the program")? {
            if status.success() {
                return Ok(());
            }
            bail!("`{}` failed: {}", shown(command), last_line(&mut child));
        }
        if started.elapsed() >= limit {
            // It is given up either way; an error of its ending would hide the reason.
            let _ = child.kill();
            let _ = child.wait();
            bail!(
                "`{}` did not end within {} s",
                shown(command),
                limit.as_secs()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().display().to_string();
    command
        .spawn()
        .with_context(|| format!("cannot start {program}"))
}

fn checked(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` ended with {status}", shown(command))
}

fn last_line(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(errors) = child.stderr.as_mut() {
        // Without its complaints the status still says that it failed.
        let _ = errors.read_to_string(&mut text);
    }
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it gave no reason")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.env("LEVEL", "a b").args(["test", "--", "it's"]);
        assert_eq!(shown(&command), r"LEVEL='a b' cargo test -- 'it'\''s'");
    }

    #[test]
    fn a_program_of_the_system_is_shown_with_its_place() {
        assert_eq!(shown(&Command::new("/usr/bin/cargo")), "/usr/bin/cargo");
    }

    #[test]
    fn a_command_past_its_limit_is_ended() {
        let started = Instant::now();
        let error = run_within(Duration::from_millis(200), &mut shell("sleep 30")).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5));
        assert!(error.to_string().contains("did not end within"), "{error}");
    }

    #[test]
    fn a_command_that_fails_tells_its_last_complaint() {
        let script = "echo first >&2; echo the reason >&2; exit 3";
        let error = run_within(Duration::from_secs(20), &mut shell(script)).unwrap_err();
        assert!(error.to_string().ends_with("the reason"), "{error}");
    }

    #[test]
    fn a_command_within_its_limit_passes() {
        run_within(Duration::from_secs(20), &mut shell("exit 0")).unwrap();
    }

    #[test]
    fn every_line_is_handed_on_even_when_the_command_fails() {
        let mut lines = Vec::new();
        let result = run_and_read(&mut shell("echo one; echo two; exit 1"), &mut |line| {
            lines.push(line.to_owned());
        });
        assert!(result.is_err());
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn captured_output_is_returned_and_a_failure_is_explained() {
        assert_eq!(capture(&mut shell("echo text")).unwrap(), "text\n");
        let error = capture(&mut shell("echo broken >&2; exit 1")).unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
    }
}
