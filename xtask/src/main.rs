//! The one task runner of the project: `cargo xtask --help` tells all of it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program speaks to its user"
)]
#![allow(
    clippy::arithmetic_side_effects,
    reason = "counts of lines, tests and seconds, never on the data path"
)]

mod build;
mod check_config;
mod demo;
mod formats_page;
mod fuzz;
mod generate;
mod lint;
mod process;
mod run;
mod steps;
mod test;
mod tidy;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, shows, tests and checks Inferometer.
///
/// Nothing needs to be set up first: each task gets what it needs (a wasm target, Envoy, a Python
/// environment) into the folder `target`, and says what it gets and from where.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    after_help = "Environment:
  INFEROMETER_WASM_TOOLCHAIN  installed, rustup or debian: use this way to compile the module and no other
  ENVOY_BIN                   an Envoy binary to use where its version is the one asked for

Start here:
  cargo xtask demo            the main job on one machine, nothing to set up
  cargo xtask run --upstream http://127.0.0.1:8000
                              the same in front of your own server
  cargo xtask test            everything that is tested, in order
  cargo xtask lint            everything that is checked without running it"
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Compile the wasm module into target/inferometer and print its size.
    ///
    /// Uses the wasm target of this Rust toolchain; else asks rustup for it, for at most 20 seconds; else
    /// uses Debian's packages and builds the standard library for the target.
    Build(build::BuildArguments),
    /// Show the main job: Envoy with the module, a simulated inference server, a mixed load, a live table.
    ///
    /// Exits with success only when the scraped metrics agree with what the load itself measured.
    Demo(demo::DemoArgs),
    /// Run Envoy with the module in front of your own inference server, until Ctrl-C.
    Run(run::RunArgs),
    /// Build the module, then run every test of the project and sum them up.
    Test(test::TestArguments),
    /// Run the fuzz targets over their stored corpora, a minute each.
    ///
    /// Needs a C++ compiler. What is found lies in target/fuzz; `cargo xtask test` runs each target for five seconds.
    Fuzz(fuzz::FuzzArguments),
    /// Check formatting, lints, documentation links and the rules of the house.
    Lint(lint::LintArguments),
    /// Read a plugin configuration as the module would and print every mistake.
    CheckConfig(check_config::CheckConfigArguments),
    /// Write docs/METRICS.md, docs/CONFIG.md and docs/config.schema.json from the code.
    Gen,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Build(arguments) => build::command(arguments),
        Task::Demo(arguments) => demo::run(arguments),
        Task::Run(arguments) => run::run(arguments),
        Task::Test(arguments) => test::command(&arguments),
        Task::Fuzz(arguments) => fuzz::command(&arguments),
        Task::Lint(arguments) => lint::command(&arguments),
        Task::CheckConfig(arguments) => check_config::command(&arguments),
        Task::Gen => generate::command(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_task_and_every_option_has_a_help_text() {
        for task in Arguments::command().get_subcommands() {
            assert!(task.get_about().is_some(), "task {}", task.get_name());
            for option in task.get_arguments() {
                assert!(
                    option.get_help().is_some(),
                    "{} {}",
                    task.get_name(),
                    option.get_id()
                );
            }
        }
    }
}
