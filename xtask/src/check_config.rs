//! The task `check-config`: reads a plugin configuration as the module would, and names every mistake.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;

/// What to check.
#[derive(Args, Debug)]
pub(crate) struct CheckConfigArguments {
    /// The file with the plugin configuration (JSON); `-` reads it from the standard input.
    file: PathBuf,
}

/// The task.
pub(crate) fn command(arguments: &CheckConfigArguments) -> Result<()> {
    let bytes = read(&arguments.file)?;
    let lines = judge(&bytes);
    match lines {
        Ok(warnings) => {
            for warning in &warnings {
                println!("warning: {warning}");
            }
            println!("{}: accepted", arguments.file.display());
            Ok(())
        }
        Err(mistakes) => {
            for mistake in &mistakes {
                println!("{mistake}");
            }
            bail!(
                "{}: {} mistakes; the module would refuse it",
                arguments.file.display(),
                mistakes.len()
            )
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read the standard input")?;
        return Ok(bytes);
    }
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The warnings of an accepted configuration, or each of its mistakes; the module prints at most 50 of them.
fn judge(bytes: &[u8]) -> Result<Vec<String>, Vec<String>> {
    match plugin_config::parse(bytes) {
        Ok(parsed) => Ok(parsed.warnings),
        Err(mistakes) => Err(mistakes.iter().map(ToString::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_configuration_is_accepted() {
        assert_eq!(judge(b"{}"), Ok(Vec::new()));
    }

    #[test]
    fn every_mistake_is_named_not_the_first_alone() {
        let mistakes = judge(br#"{"no_such_key": 1, "tick": "never", "another": 2}"#).unwrap_err();
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
        for key in ["no_such_key", "tick", "another"] {
            assert!(mistakes.concat().contains(key), "{key} in {mistakes:?}");
        }
    }

    #[test]
    fn text_that_is_no_json_is_a_mistake() {
        assert_eq!(judge(b"tick: 1s").unwrap_err().len(), 1);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let arguments = CheckConfigArguments {
            file: PathBuf::from("no-such-file.json"),
        };
        let error = format!("{:#}", command(&arguments).unwrap_err());
        assert!(error.contains("no-such-file.json"), "{error}");
    }
}
