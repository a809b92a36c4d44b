//! The task `lint`: what can be checked without running the project.

use anyhow::Result;
use clap::Args;

use crate::{build, generate, process, steps::Report, tidy, toolchain::WASM_TARGET, workspace};

/// The packages that run inside a proxy.
const PLUGINS: [&str; 4] = ["--package", "hostcalls", "--package", "inferometer"];
/// Every other package.
const NATIVE: [&str; 5] = [
    "--workspace",
    "--exclude",
    "hostcalls",
    "--exclude",
    "inferometer",
];

const STEPS: [&str; 7] = [
    "format",
    "clippy",
    "clippy-plugins",
    "documentation",
    "tidy",
    "generated",
    "licences",
];

/// What to lint.
#[derive(Args, Debug)]
pub(crate) struct LintArguments {
    /// Run this step alone.
    #[arg(long, value_name = "STEP", value_parser = STEPS)]
    only: Option<String>,
}

/// The task.
pub(crate) fn command(arguments: &LintArguments) -> Result<()> {
    let mut report = Report::default();
    let wanted = |name: &str| arguments.only.as_deref().is_none_or(|only| only == name);
    if wanted("format") {
        report.step("format", "every file is as rustfmt writes it", |_| {
            process::run(workspace::cargo().args(["fmt", "--all", "--check"]))
        });
    }
    if wanted("clippy") {
        report.step(
            "clippy",
            "the house lints, for all that runs natively",
            |_| {
                let mut cargo = workspace::cargo();
                process::run(cargo.args(["clippy", "--keep-going"]).args(NATIVE).args([
                    "--all-targets",
                    "--features",
                    "host-tests/real",
                    "--",
                    "-D",
                    "warnings",
                ]))
            },
        );
    }
    if wanted("clippy-plugins") {
        report.step(
            "clippy-plugins",
            "the house lints, for what runs in the proxy",
            |_| plugins(),
        );
    }
    if wanted("documentation") {
        report.step(
            "documentation",
            "every link in the documentation leads somewhere",
            |_| documentation(),
        );
    }
    if wanted("tidy") {
        report.step("tidy", "the rules of the house", |_| tidy::check());
    }
    if wanted("generated") {
        report.step(
            "generated",
            "the pages made from the code are current",
            |_| generate::check(),
        );
    }
    if wanted("licences") {
        if process::capture(workspace::cargo().args(["deny", "--version"])).is_ok() {
            report.step(
                "licences",
                "licences and sources of the dependencies",
                |_| process::run(workspace::cargo().args(["deny", "check"])),
            );
        } else {
            report.not_run("licences", "optional, and cargo-deny is not installed");
        }
    }
    report.finish()
}

/// The front pages of the libraries are what a newcomer reads, so those are looked at.
fn documentation() -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo
        .args(["doc", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings");
    for package in workspace::packages()? {
        if package.group() == "crates" {
            cargo.args(["--package", &package.name]);
        }
    }
    process::run(&mut cargo)
}

fn plugins() -> Result<()> {
    // Both with the role `push` and without it.
    for features in [&[] as &[&str], &["--no-default-features"]] {
        let mut cargo = workspace::cargo();
        cargo
            .args(["clippy", "--keep-going"])
            .args(PLUGINS)
            .args(features);
        if build::target_is_installed() {
            cargo.args(["--target", WASM_TARGET]);
        } else {
            // Clippy does not link, so the host functions that are missing here do no harm.
            println!(
                "{WASM_TARGET} is not installed, so clippy looks at the plugins as native code"
            );
        }
        process::run(cargo.args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}
