//! The task `test`: everything that is tested, in the order in which one thing rests on another.

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use envoy_harness::{NEWEST, OLDEST, python_venv};

use crate::{
    build, fuzz, process,
    steps::{Report, Tally},
    workspace::{self, Package},
};

/// The foreign parser that reads every scrape; pinned, so that every run has the same judge.
const PARSER: &str = "prometheus-client==0.26.0";
/// Tells the tests which Python has the parser.
const PYTHON_VARIABLE: &str = "INFEROMETER_PYTHON";
/// Tells the tests which Envoy to run.
const ENVOY_VARIABLE: &str = "INFEROMETER_ENVOY";
/// Tests of `host-tests` whose name begins with this run a real Envoy; the others need none.
const ENVOY_TESTS: &str = "envoy";
/// Tests of `host-tests` whose name begins with this run a real inference server, which is fetched when asked for.
const REAL_TESTS: &str = "real";

/// One step of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Module,
    Python,
    Envoy,
    Crates,
    Tools,
    Fuzz,
    Expectations,
    Host,
    EnvoyNewest,
    EnvoyOldest,
    Demo,
    Real,
}

impl Step {
    const ALL: [Step; 12] = [
        Self::Module,
        Self::Python,
        Self::Envoy,
        Self::Crates,
        Self::Tools,
        Self::Fuzz,
        Self::Expectations,
        Self::Host,
        Self::EnvoyNewest,
        Self::EnvoyOldest,
        Self::Demo,
        Self::Real,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Python => "python",
            Self::Envoy => "envoy",
            Self::Crates => "crates",
            Self::Tools => "tools",
            Self::Fuzz => "fuzz",
            Self::Expectations => "expectations",
            Self::Host => "host",
            Self::EnvoyNewest => "envoy-newest",
            Self::EnvoyOldest => "envoy-oldest",
            Self::Demo => "demo",
            Self::Real => "real",
        }
    }

    fn purpose(self) -> String {
        match self {
            Self::Module => "compile the module that the later steps run".to_owned(),
            Self::Python => format!("a Python with {PARSER}"),
            Self::Envoy => format!("Envoy {NEWEST} and {OLDEST}"),
            Self::Crates => "the pure libraries, natively".to_owned(),
            Self::Tools => {
                "the simulator, the load generator, the harness and this task runner".to_owned()
            }
            Self::Fuzz => "every fuzz target over its corpus, for five seconds".to_owned(),
            Self::Expectations => {
                "the second decoder agrees with the file of expectations".to_owned()
            }
            Self::Host => "the built module in the wasmtime host".to_owned(),
            Self::EnvoyNewest => format!("the built module in Envoy {NEWEST}"),
            Self::EnvoyOldest => format!("the built module in Envoy {OLDEST}"),
            Self::Demo => "the demonstration, for ten seconds".to_owned(),
            Self::Real => {
                format!(
                    "a real llama.cpp server and a real OpenTelemetry Collector, with Envoy {NEWEST}"
                )
            }
        }
    }

    /// What must have passed before.
    fn needs(self) -> &'static [Step] {
        match self {
            Self::Crates => &[Self::Python],
            Self::Host => &[Self::Module, Self::Python],
            Self::EnvoyNewest | Self::EnvoyOldest => &[Self::Module, Self::Python, Self::Envoy],
            Self::Demo | Self::Real => &[Self::Module, Self::Envoy],
            _ => &[],
        }
    }

    /// What this machine lacks for a step that can be left out.
    fn hindrance(self) -> Option<String> {
        (self == Self::Fuzz).then(fuzz::hindrance).flatten()
    }

    fn named(name: &str) -> Option<Step> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

/// What to test.
#[derive(Args, Debug)]
pub(crate) struct TestArguments {
    /// Run this step alone, with the steps it needs: module, python, envoy, crates, tools, fuzz, expectations,
    /// host, envoy-newest, envoy-oldest, demo or real.
    #[arg(long, value_name = "STEP", value_parser = Step::ALL.map(Step::name))]
    only: Option<String>,

    /// Run only what needs a real inference server or collector, with the steps it needs; the server comes from the
    /// Python package index (0.2 GB), the collector is built where there is Go. Without this it is left out.
    #[arg(long, conflicts_with = "only")]
    real: bool,
}

/// The task.
pub(crate) fn command(arguments: &TestArguments) -> Result<()> {
    let only = if arguments.real {
        Some(Step::Real)
    } else {
        arguments.only.as_deref().and_then(Step::named)
    };
    let wanted = wanted(only);
    let mut run = Run {
        packages: workspace::packages()?,
        python: None,
    };
    let mut report = Report::default();
    let mut passed = BTreeSet::new();
    for step in wanted {
        let missing = step.needs().iter().find(|needed| !passed.contains(*needed));
        if let Some(missing) = missing {
            report.not_run(step.name(), &format!("{} failed", missing.name()));
        } else if let Some(hindrance) = step.hindrance() {
            report.not_run(step.name(), &hindrance);
        } else if report.step(step.name(), &step.purpose(), |tally| run.step(step, tally)) {
            passed.insert(step);
        }
    }
    if only.is_none() {
        report.not_run(
            Step::Real.name(),
            "it fetches a real server and builds a collector: cargo xtask test --real",
        );
    }
    report.finish()
}

/// The steps to run, in order: all but the one with a real server, or one with what it needs.
fn wanted(only: Option<Step>) -> Vec<Step> {
    let Some(only) = only else {
        return Step::ALL
            .into_iter()
            .filter(|step| *step != Step::Real)
            .collect();
    };
    Step::ALL
        .into_iter()
        .filter(|step| *step == only || only.needs().contains(step))
        .collect()
}

/// What the steps of one run hand on to each other.
struct Run {
    packages: Vec<Package>,
    python: Option<PathBuf>,
}

impl Run {
    fn step(&mut self, step: Step, tally: &mut Tally) -> Result<()> {
        match step {
            Step::Module => {
                let built = build::build(build::Parts::All, &mut |line| println!("{line}"))?;
                println!("{}: {} bytes", workspace::shown(&built.path), built.size);
                Ok(())
            }
            Step::Python => {
                let name = PARSER.replace("==", "-");
                let mut progress = |line: &str| println!("{line}");
                let home = python_venv::ensure(&workspace::tools(), &name, PARSER, &mut progress)?;
                let python = python_venv::interpreter(&home);
                println!("{PYTHON_VARIABLE}={}", workspace::shown(&python));
                self.python = Some(python);
                Ok(())
            }
            Step::Envoy => locate_envoys(),
            Step::Crates => {
                let mut cargo = self.cargo_test(&self.named(&["crates"]));
                // The schema is left out of the module, so its tests must be asked for.
                cargo.args(["--features", "plugin-config/schema"]);
                run_tests(&mut cargo, tally)
            }
            Step::Tools => run_tests(
                &mut self.cargo_test(&self.named(&["tools", "xtask"])),
                tally,
            ),
            Step::Fuzz => fuzz::run_short(),
            Step::Expectations => {
                let mut python = Command::new("python3");
                python.current_dir(workspace::root());
                python.args(["testdata/captures/expectations/decode.py", "--check"]);
                process::run(&mut python).context("the recordings or the decoder have changed")
            }
            Step::Host => self.host_tests(None, tally),
            Step::EnvoyNewest => self.host_tests(Some(NEWEST), tally),
            Step::EnvoyOldest => self.host_tests(Some(OLDEST), tally),
            Step::Real => self.real_tests(tally),
            Step::Demo => {
                let myself = std::env::current_exe().context("cannot find this program")?;
                let mut demo = Command::new(myself);
                process::run(
                    demo.current_dir(workspace::root())
                        .args(["demo", "--seconds", "10"]),
                )
            }
        }
    }

    /// The names of the packages in these groups.
    fn named(&self, groups: &[&str]) -> Vec<String> {
        let in_group = |package: &&Package| groups.contains(&package.group().as_str());
        self.packages
            .iter()
            .filter(in_group)
            .map(|package| package.name.clone())
            .collect()
    }

    /// The tests of `host-tests` that need no Envoy, or those that do, in this version of it.
    fn host_tests(&self, envoy: Option<&str>, tally: &mut Tally) -> Result<()> {
        let package = self
            .packages
            .iter()
            .find(|package| package.name == "host-tests");
        let targets = test_targets(package.context("there is no package host-tests")?);
        let (with_envoy, without): (Vec<String>, Vec<String>) = targets
            .into_iter()
            .filter(|name| !name.starts_with(REAL_TESTS))
            .partition(|name| name.starts_with(ENVOY_TESTS));
        let mut cargo = self.cargo_test(&["host-tests".to_owned()]);
        let chosen = match envoy {
            Some(version) => {
                cargo.env(ENVOY_VARIABLE, version);
                with_envoy
            }
            None => {
                cargo.arg("--lib");
                without
            }
        };
        if chosen.is_empty() {
            bail!("host-tests has no such tests");
        }
        for name in chosen {
            cargo.args(["--test", &name]);
        }
        run_tests(&mut cargo, tally)?;
        if envoy.is_none() {
            // Cargo runs the examples of the documentation apart from everything else.
            let mut cargo = self.cargo_test(&["host-tests".to_owned()]);
            run_tests(cargo.arg("--doc"), tally)?;
        }
        Ok(())
    }

    /// The tests of `host-tests` with a real server, which cargo leaves out unless their feature is asked for.
    fn real_tests(&self, tally: &mut Tally) -> Result<()> {
        let targets = self
            .packages
            .iter()
            .filter(|package| package.name == "host-tests")
            .flat_map(test_targets);
        let mut cargo = self.cargo_test(&["host-tests".to_owned()]);
        cargo.env(ENVOY_VARIABLE, NEWEST);
        cargo.args(["--features", "host-tests/real"]);
        for name in targets.filter(|name| name.starts_with(REAL_TESTS)) {
            cargo.args(["--test", &name]);
        }
        // What they say of versions and counts is to be seen, one test after the other.
        cargo.args(["--", "--nocapture", "--test-threads=1"]);
        run_tests(&mut cargo, tally)
    }

    /// `cargo test` for these packages, going on after a failure so that the count is whole.
    fn cargo_test(&self, packages: &[String]) -> Command {
        let mut cargo = workspace::cargo();
        cargo.args(["test", "--no-fail-fast"]);
        for package in packages {
            cargo.args(["--package", package]);
        }
        if let Some(python) = &self.python {
            cargo.env(PYTHON_VARIABLE, python);
        }
        cargo
    }
}

fn locate_envoys() -> Result<()> {
    for version in [NEWEST, OLDEST] {
        let tools = workspace::tools();
        let found = envoy_harness::locate(Some(version), &tools, &mut |line| println!("{line}"))
            .with_context(|| format!("Envoy {version} is needed for the tests"))?;
        println!(
            "Envoy {}: {} ({})",
            found.version,
            workspace::shown(&found.path),
            found.source
        );
    }
    Ok(())
}

/// Runs tests and counts them; a run in which nothing was tested is a failure.
fn run_tests(cargo: &mut Command, tally: &mut Tally) -> Result<()> {
    let result = process::run_and_read(cargo, &mut |line| tally.read(line));
    result?;
    if tally.passed + tally.failed == 0 {
        bail!("no test ran");
    }
    if tally.ignored > 0 {
        bail!("{} tests are left out", tally.ignored);
    }
    Ok(())
}

/// The names of a package's integration tests.
fn test_targets(package: &Package) -> Vec<String> {
    let tests = package
        .targets
        .iter()
        .filter(|target| target.kind.iter().any(|kind| kind == "test"));
    tests.map(|target| target.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Target;

    #[test]
    fn every_step_comes_after_what_it_needs() {
        for (index, step) in Step::ALL.into_iter().enumerate() {
            for needed in step.needs() {
                assert!(
                    Step::ALL[..index].contains(needed),
                    "{} before {}",
                    needed.name(),
                    step.name()
                );
            }
        }
    }

    #[test]
    fn every_step_is_found_by_its_name_and_no_two_share_one() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(step));
        }
    }

    #[test]
    fn without_a_choice_every_step_runs_but_the_one_with_a_real_server() {
        let steps = wanted(None);
        assert_eq!(steps.len(), Step::ALL.len() - 1);
        assert!(!steps.contains(&Step::Real));
    }

    #[test]
    fn one_step_brings_what_it_needs_and_no_more() {
        assert_eq!(wanted(Some(Step::Tools)), [Step::Tools]);
        assert_eq!(wanted(Some(Step::Crates)), [Step::Python, Step::Crates]);
        assert_eq!(
            wanted(Some(Step::EnvoyOldest)),
            [Step::Module, Step::Python, Step::Envoy, Step::EnvoyOldest]
        );
        assert_eq!(
            wanted(Some(Step::Real)),
            [Step::Module, Step::Envoy, Step::Real]
        );
    }

    #[test]
    fn integration_tests_are_told_from_other_targets() {
        let target = |name: &str, kind: &str| Target {
            name: name.to_owned(),
            kind: vec![kind.to_owned()],
        };
        let package = Package {
            name: "host-tests".to_owned(),
            manifest_path: PathBuf::new(),
            dependencies: Vec::new(),
            targets: vec![
                target("host_tests", "lib"),
                target("envoy_endings", "test"),
                target("hostile", "test"),
            ],
        };
        assert_eq!(test_targets(&package), ["envoy_endings", "hostile"]);
    }

    #[test]
    fn a_run_without_a_single_test_fails() {
        let mut nothing = Command::new("true");
        let error = run_tests(&mut nothing, &mut Tally::default()).unwrap_err();
        assert_eq!(error.to_string(), "no test ran");
    }

    #[test]
    fn a_run_that_leaves_tests_out_fails() {
        let mut left_out = Command::new("echo");
        left_out.arg("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured");
        let error = run_tests(&mut left_out, &mut Tally::default()).unwrap_err();
        assert_eq!(error.to_string(), "1 tests are left out");
    }
}
