//! The task `fuzz`: every fuzz target over its stored corpus, for seconds in the tests, for as long as asked otherwise.
//!
//! The compiler's stable options instrument the code, so neither a nightly Rust nor cargo-fuzz is needed; libFuzzer
//! itself is C++, so a C++ compiler is.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Deserialize;

use crate::{process, workspace};

/// What libFuzzer needs to see of a program: its branches, as counters, and what it compares.
const INSTRUMENTED: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// What each run may take: an input its length and its time, the process its memory.
const BOUNDS: [&str; 3] = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=512"];
/// How long each target runs in the tests.
const SHORT_SECONDS: u64 = 5;
/// How much of a failed run is shown.
const SHOWN_LINES: usize = 60;

const INSTALL: [&str; 5] = ["apt-get", "install", "-y", "--no-install-recommends", "g++"];

/// What to fuzz, and for how long.
#[derive(Args, Debug)]
pub(crate) struct FuzzArguments {
    /// How many seconds each target runs.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,

    /// Run this target alone: the name of a file in fuzz/fuzz_targets.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

/// The task; what it finds lies in target/fuzz.
pub(crate) fn command(arguments: &FuzzArguments) -> Result<()> {
    if let Some(hindrance) = hindrance() {
        bail!(hindrance);
    }
    let mut targets = targets()?;
    if let Some(wanted) = &arguments.target {
        let all = targets.join(", ");
        targets.retain(|target| target == wanted);
        if targets.is_empty() {
            bail!("there is no target {wanted}; there are {all}");
        }
    }
    let programs = build()?;
    for target in &targets {
        let found = folder("found", target)?;
        let mut program = Command::new(programs.join(target));
        program.arg(&found).arg(corpus(target)).args(BOUNDS);
        program.arg(artifacts(target)?);
        program.arg(format!("-max_total_time={}", arguments.seconds));
        process::run(&mut program).with_context(|| failed(target))?;
    }
    Ok(())
}

/// Every target for a few seconds; the tests run this.
pub(crate) fn run_short() -> Result<()> {
    let programs = build()?;
    for target in targets()? {
        // What an earlier run found would make this run another one.
        let found = folder("short", &target)?;
        fs::remove_dir_all(&found)?;
        fs::create_dir_all(&found)?;
        let mut program = Command::new(programs.join(&target));
        program.arg(&found).arg(corpus(&target)).args(BOUNDS);
        program.arg(artifacts(&target)?);
        program.arg(format!("-max_total_time={SHORT_SECONDS}"));
        program.args(["-seed=1", "-print_final_stats=1"]);
        let output = program
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {target}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let lines: Vec<&str> = said.lines().collect();
            for line in lines.iter().skip(lines.len().saturating_sub(SHOWN_LINES)) {
                println!("{line}");
            }
            bail!(failed(&target));
        }
        let figure = |name| statistic(&said, name).unwrap_or("?");
        println!(
            "{target:<20} {:>8} inputs in {SHORT_SECONDS} s, {} MB",
            figure("number_of_executed_units"),
            figure("peak_rss_mb"),
        );
    }
    Ok(())
}

/// Why fuzzing is not possible here; nothing where it is. Gets a C++ compiler where it may.
pub(crate) fn hindrance() -> Option<String> {
    if has_compiler() {
        return None;
    }
    let line = INSTALL.join(" ");
    let prints = |program: &str, argument: &str| {
        process::capture(Command::new(program).arg(argument)).unwrap_or_default()
    };
    if prints("apt-get", "--version").is_empty() || prints("id", "-u").trim() != "0" {
        return Some(format!(
            "libFuzzer needs a C++ compiler, and there is none; on Debian, as root: {line}"
        ));
    }
    println!("libFuzzer needs a C++ compiler; running as root: {line}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{line} || (apt-get update && {line})")])
        .env("DEBIAN_FRONTEND", "noninteractive");
    match process::run(&mut shell) {
        Ok(()) if has_compiler() => None,
        _ => Some(format!(
            "libFuzzer needs a C++ compiler, and `{line}` brought none"
        )),
    }
}

/// The compiler that the library's build script will ask for.
fn has_compiler() -> bool {
    let name = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    process::capture(Command::new(name).arg("--version")).is_ok()
}

/// Builds every target; gives the folder that they lie in.
fn build() -> Result<PathBuf> {
    let version = process::capture(
        Command::new("rustc")
            .current_dir(workspace::root())
            .arg("-vV"),
    )?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc does not tell its host")?;
    let folder = workspace::target().join("fuzz");
    let mut cargo = workspace::cargo();
    cargo
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        // With a target named, build scripts and macros are not instrumented.
        .args(["--target", host, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", INSTRUMENTED)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::run(&mut cargo)?;
    Ok(folder.join(host).join("release"))
}

/// The names of the targets, as the manifest has them.
fn targets() -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Manifest {
        bin: Vec<Bin>,
    }
    #[derive(Deserialize)]
    struct Bin {
        name: String,
    }
    let text = fs::read_to_string(workspace::root().join("fuzz/Cargo.toml"))
        .context("cannot read fuzz/Cargo.toml")?;
    let manifest: Manifest = toml::from_str(&text).context("fuzz/Cargo.toml")?;
    Ok(manifest.bin.into_iter().map(|bin| bin.name).collect())
}

/// The inputs of a target that are kept in the repository.
fn corpus(target: &str) -> PathBuf {
    workspace::root().join("fuzz/corpus").join(target)
}

/// A folder for what a run writes.
fn folder(kind: &str, target: &str) -> Result<PathBuf> {
    let folder = workspace::target().join("fuzz").join(kind).join(target);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The option that says where an input goes that makes a target fail.
fn artifacts(target: &str) -> Result<String> {
    Ok(format!(
        "-artifact_prefix={}/",
        folder("artifacts", target)?.display()
    ))
}

fn failed(target: &str) -> String {
    format!(
        "the target {target} failed; the input lies in target/fuzz/artifacts/{target}, and the built target takes it \
         as its argument"
    )
}

/// A figure of libFuzzer's last lines.
fn statistic<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    said.lines().find_map(|line| {
        let (own, value) = line.strip_prefix("stat::")?.split_once(':')?;
        (own == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_target_is_built_and_has_a_corpus() {
        let mut files: Vec<String> = fs::read_dir(workspace::root().join("fuzz/fuzz_targets"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| fs::read_to_string(path).unwrap().contains("fuzz_target!("))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut targets = targets().unwrap();
        targets.sort();
        assert_eq!(targets, files);
        for target in targets {
            let inputs = fs::read_dir(corpus(&target)).unwrap();
            assert!(inputs.count() > 0, "{target}");
        }
    }

    #[test]
    fn the_stored_corpus_is_small() {
        let bytes: u64 = targets()
            .unwrap()
            .iter()
            .flat_map(|target| fs::read_dir(corpus(target)).unwrap())
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes < 200_000, "{bytes} bytes");
    }

    #[test]
    fn the_last_lines_are_read() {
        let said =
            "#5 DONE\nstat::number_of_executed_units: 753063\nstat::peak_rss_mb:              28\n";
        assert_eq!(statistic(said, "peak_rss_mb"), Some("28"));
        assert_eq!(statistic(said, "number_of_executed_units"), Some("753063"));
        assert_eq!(statistic(said, "slowest_unit_time_sec"), None);
    }
}
